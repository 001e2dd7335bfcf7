//===- RandomSteps.cpp - random operations on a value ---------------------------------------===//
#include "RandomSteps.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace spyre::testing {

using numerics::HostType;

void Steps::addUnary(int64_t x) {
  static const char *const plain[] = {
      "aten.abs.default",        "aten.floor.default",    "aten.neg.default",
      "aten.relu.default",       "aten.relu6.default",    "aten.sigmoid.default",
      "aten.tanh.default",       "aten.gelu.default",     "aten.mish.default",
      "aten.silu.default",       "spyre.gelu.default",    "spyre.silu.default",
      "aten.ceil.default",       "aten.hardtanh.default", "aten.clamp_min.default",
      "aten.clamp_max.default",  "aten.clamp.default",    "spyre.clamp.default",
      "aten.leaky_relu.default", "aten.softplus.default", "spyre.softplus.default"};
  static const char *const ofPositive[] = {"aten.log.default", "aten.sqrt.default",
                                           "aten.rsqrt.default", "aten.reciprocal.default"};
  static const double exponents[] = {0, 1, 2, 3, 4, 0.5, -0.5, -1, 5, -2};
  const double largest = values[size_t(x)].largest;
  switch (random.below(8)) {
  case 0:
    unary(pick(ofPositive), positive(x), {}, 8);
    return;
  case 1:
    unary("aten.exp.default", clamped(x, 4), {}, 55);
    return;
  case 2: {
    const double exponent = exponents[random.below(10)];
    const bool isRoot = exponent < 1 && exponent != 0;
    x = isRoot ? positive(x) : clamped(x, 4);
    unary("aten.pow.Tensor_Scalar", x, {{"exponent", exponent}}, isRoot ? 8 : 1024);
    return;
  }
  case 3:
    x = clamped(x, 30);
    oneIn(2) || typeOf(x) == HostType::Float32 ? unary("aten.square.default", x, {}, 900)
                                               : unary("aten.sign.default", x, {}, 1);
    return;
  default:
    break;
  }
  const std::string name = pick(plain);
  const std::string stem = stemOf(name);
  Attributes attributes;
  if (stem == "clamp") {
    attributes = {{"min", -1.5}, {"max", 0.75}};
  } else if (stem == "clamp_min") {
    attributes = {{"min", -0.5}};
  } else if (stem == "clamp_max") {
    attributes = {{"max", 0.5}};
  } else if (stem == "hardtanh" && oneIn(2)) {
    attributes = {{"min_val", -0.5}, {"max_val", 1.25}};
  } else if (stem == "leaky_relu") {
    attributes = {{"negative_slope", 0.125}};
  } else if (stem == "softplus" && oneIn(2)) {
    attributes = {{"beta", 2.0}, {"threshold", 8.0}};
  }
  unary(name, x, attributes, largest + 1);
}

void Steps::addBinary(int64_t x) {
  static const char *const names[] = {"aten.add",  "aten.sub",     "aten.mul",    "aten.div",
                                      "aten.rsub", "aten.maximum", "aten.minimum"};
  const std::string name = pick(names);
  const bool isDiv = name == "aten.div", isRsub = name == "aten.rsub";
  const bool isExtreme = name == "aten.maximum" || name == "aten.minimum";
  const double largest = values[size_t(x)].largest;
  if (!isExtreme && oneIn(4)) {
    const double other = isDiv ? 1.5 : number();
    Attributes attributes = {{"other", other}};
    if (isRsub && oneIn(2)) {
      attributes.push_back({"alpha", 2.0});
    }
    unary(name + ".Scalar", x, attributes, 2 * largest + 2);
    return;
  }
  const Shape shape = shapeOf(x);
  if (!isExtreme && !isRsub && oneIn(4)) { // a number in a tensor position
    const bool first = isDiv || oneIn(2);
    x = isDiv ? positive(x) : x;
    addCall(name + ".Tensor", {x}, {{first ? "scalar0" : "scalar1", number()}}, shape, typeOf(x),
            2 * largest + 4);
    return;
  }
  int64_t y = isDiv ? positive(addInput(broadcastable(shape), typeOf(x))) : partner(x, typeOf(x));
  if (!isDiv && oneIn(6)) {
    y = x;
  }
  std::vector<int64_t> operands = {x, y};
  if (!isDiv && oneIn(2)) {
    std::swap(operands[0], operands[1]);
  }
  const double other = values[size_t(y)].largest;
  addCall(name + (isExtreme ? ".default" : ".Tensor"), operands, {}, shape, typeOf(x),
          std::max(2 * largest, largest * other) + other);
}

void Steps::addComparison(int64_t x) {
  static const char *const names[] = {"aten.eq", "aten.ne", "aten.gt",
                                      "aten.ge", "aten.lt", "aten.le"};
  const std::string name = pick(names);
  const Shape shape = shapeOf(x);
  if (oneIn(2)) {
    addCall(name + ".Scalar", {x}, {{"other", number()}}, shape, HostType::Bool, 1);
  } else if (oneIn(5)) {
    addCall("aten.logical_not.default", {x}, {}, shape, HostType::Bool, 1);
  } else {
    const int64_t y = partner(x, typeOf(x));
    addCall(name + ".Tensor", {x, y}, {}, shape, HostType::Bool, 1);
  }
  if (oneIn(2)) {
    addTruth(last());
  }
}

void Steps::addTruth(int64_t x) {
  static const char *const conversions[] = {"aten._to_copy.default",
                                            "prims.convert_element_type.default"};
  const Shape shape = shapeOf(x);
  const HostType half = oneIn(4) ? HostType::Bfloat16 : HostType::Float16;
  switch (random.below(6)) {
  case 0:
    addCall(oneIn(2) ? "aten.logical_and.default" : "aten.logical_or.default",
            {x, addInput(broadcastable(shape), HostType::Bool)}, {}, shape, HostType::Bool, 1);
    return;
  case 1:
    addCall("aten.logical_not.default", {x}, {}, shape, HostType::Bool, 1);
    return;
  case 2:
    addCall(pick(conversions), {x}, {}, shape, half, 1);
    return;
  default: {
    const int64_t y = partner(x, half), z = partner(x, half);
    addCall("aten.where.self", {x, y, z}, {}, shape, half, 2);
  }
  }
}

void Steps::addReduction(int64_t x) {
  static const char *const some[] = {"aten.sum.dim_IntList", "aten.mean.dim", "aten.amax.default",
                                     "aten.amin.default"};
  static const char *const all[] = {"aten.sum.default", "aten.mean.default", "aten.max.default",
                                    "aten.min.default"};
  const Shape shape = shapeOf(x);
  const auto rank = int64_t(shape.size());
  if (rank == 0 || oneIn(6)) {
    const std::string name = pick(all);
    const double terms = name == "aten.sum.default" ? double(elementCount(shape)) : 1;
    addCall(name, {x}, {}, {}, typeOf(x), values[size_t(x)].largest * terms);
    return;
  }
  const bool keep = oneIn(2);
  Shape dims = {int64_t(random.below(uint64_t(rank)))}, result;
  if (rank > 1 && oneIn(4)) {
    dims.push_back((dims[0] + 1) % rank);
  }
  double terms = 1;
  for (int64_t d = 0; d < rank; ++d) {
    const bool reduced = std::count(dims.begin(), dims.end(), d) > 0;
    terms *= reduced ? double(shape[size_t(d)]) : 1;
    if (!reduced) {
      result.push_back(shape[size_t(d)]);
    } else if (keep) {
      result.push_back(1);
    }
  }
  for (int64_t &dim : dims) {
    dim = spelled(dim, rank);
  }
  const std::string name = pick(some);
  addCall(name, {x}, {{"dim", dims}, {"keepdim", keep}}, result, typeOf(x),
          values[size_t(x)].largest * (name == "aten.sum.dim_IntList" ? terms : 1));
}

void Steps::addMatmul(int64_t x) {
  const Shape shape = shapeOf(x);
  const auto rank = int64_t(shape.size());
  if (rank >= 3 && oneIn(4)) {
    return addAttention(x);
  }
  if (rank == 0) {
    return addUnary(x);
  }
  x = clamped(x, 8);
  const int64_t n = std::min<int64_t>(size(), 70), k = shape.back();
  Shape result = shape;
  result.back() = n;
  if (elementCount(result) > options.maxElements || elementCount(shape) * n > 400000) {
    return addReduction(x);
  }
  const HostType dtype = typeOf(x);
  const double largest = values[size_t(x)].largest * 2 * double(k);
  if (oneIn(4)) { // a layer with a weight [n, k]
    std::vector<int64_t> operands = {x, addInput({n, k}, dtype)};
    if (oneIn(2)) {
      operands.push_back(addInput({n}, dtype));
    }
    addCall("aten.linear.default", operands, {}, result, dtype, largest);
    return;
  }
  Shape y = shape;
  y.insert(y.begin(), rank == 1 ? 1 : 0, 1);
  y[y.size() - 2] = k;
  y.back() = n;
  const bool isVector = rank == 1;
  const bool transposes = oneIn(3);
  Shape stored = isVector ? Shape{k, n} : y;
  if (transposes) {
    std::swap(stored[stored.size() - 1], stored[stored.size() - 2]);
  }
  int64_t other = addInput(stored, dtype);
  if (transposes) {
    Shape flipped = stored;
    std::swap(flipped[flipped.size() - 1], flipped[flipped.size() - 2]);
    view("aten.transpose.int", other, {{"dim0", int64_t(-1)}, {"dim1", int64_t(-2)}}, flipped);
    other = last();
  }
  if ((rank == 2 || rank == 3) && oneIn(3)) {
    const int64_t bias = addInput(broadcastable(result), dtype);
    Attributes attributes;
    if (oneIn(2)) {
      attributes = {{"beta", oneIn(3) ? 0.0 : 2.0}, {"alpha", 0.5}};
    }
    addCall(rank == 2 ? "aten.addmm.default" : "aten.baddbmm.default", {bias, x, other}, attributes,
            result, dtype, largest + 4);
    return;
  }
  const bool plain = rank >= 2 && oneIn(2);
  const char *name = !plain      ? "aten.matmul.default"
                     : rank == 2 ? "aten.mm.default"
                     : rank == 3 ? "aten.bmm.default"
                                 : "spyre.batched_matmul.default";
  addCall(name, {x, other}, {}, result, dtype, largest);
}

void Steps::addAttention(int64_t x) {
  Shape shape = shapeOf(x);
  const size_t rank = shape.size();
  const int64_t heads = shape[rank - 3], rows = shape[rank - 2];
  const int64_t keys = random.between(1, 40), width = random.between(1, 40);
  Shape key = shape, value = shape, result = shape, mask = shape;
  key[rank - 2] = value[rank - 2] = mask[rank - 1] = keys;
  value[rank - 1] = result[rank - 1] = width;
  if (oneIn(3)) {
    key[rank - 3] = value[rank - 3] = 1;
  }
  if (heads * rows * keys * (shape.back() + width) > 200000 ||
      std::max({elementCount(result), elementCount(mask), elementCount(key)}) >
          options.maxElements) {
    return addReduction(x);
  }
  const HostType dtype = typeOf(x);
  x = clamped(x, 2);
  std::vector<int64_t> operands = {x, addInput(key, dtype), addInput(value, dtype)};
  if (oneIn(2)) {
    operands.push_back(addInput(broadcastable(mask), oneIn(2) ? dtype : HostType::Bool));
  }
  Attributes attributes;
  if (oneIn(2)) {
    attributes.push_back({"scale", 0.25});
  }
  addCall(oneIn(2) ? "aten.scaled_dot_product_attention.default"
                   : "aten._scaled_dot_product_fused_attention_overrideable.default",
          operands, attributes, result, dtype, 2);
}

void Steps::addLayer(int64_t x) {
  static const char *const softmaxes[] = {"aten._softmax.default", "aten.softmax.int",
                                          "aten._log_softmax.default", "aten.log_softmax.int",
                                          "aten._safe_softmax.default"};
  const auto rank = int64_t(shapeOf(x).size());
  if (rank == 0) {
    return addUnary(x);
  }
  switch (random.below(3)) {
  case 0: {
    const int64_t dim = spelled(int64_t(random.below(uint64_t(rank))), rank);
    x = clamped(x, 8);
    const std::string name = pick(softmaxes);
    Attributes attributes = {{"dim", dim}};
    if (stemOf(name)[0] == '_' && name != "aten._safe_softmax.default") {
      attributes.push_back({"half_to_float", false});
    }
    unary(name, x, attributes, 16);
    return;
  }
  case 1:
    return addNorm(x);
  default:
    return addPad(x);
  }
}

void Steps::addNorm(int64_t x) {
  static const char *const names[] = {"aten.rms_norm.default", "aten.layer_norm.default",
                                      "aten.native_layer_norm.default"};
  const int64_t width = shapeOf(x).back();
  const HostType dtype = typeOf(x);
  const std::string name = pick(names);
  const bool isRms = name == "aten.rms_norm.default";
  x = clamped(x, 8);
  std::vector<int64_t> operands = {x};
  if (oneIn(2)) {
    operands.push_back(addInput({width}, dtype));
  }
  if (!isRms && operands.size() == 2 && oneIn(2)) {
    operands.push_back(addInput({width}, dtype));
  }
  addCall(name, operands, {{"normalized_shape", Shape{width}}, {"eps", 0.03125}}, shapeOf(x), dtype,
          2 * std::sqrt(double(width)) + 2);
}

void Steps::addPad(int64_t x) {
  Shape shape = shapeOf(x), pads;
  const size_t count = random.below(shape.size()) + 1;
  for (size_t i = 0; i < count; ++i) {
    int64_t &size = shape[shape.size() - 1 - i];
    int64_t before = random.between(-2, 5), after = random.between(-2, 5);
    if (size + std::min<int64_t>(before, 0) + std::min<int64_t>(after, 0) < 1) {
      before = after = 1;
    }
    pads.insert(pads.end(), {before, after});
    size += before + after;
  }
  if (elementCount(shape) > options.maxElements) {
    return addCopy(x);
  }
  addCall("aten.constant_pad_nd.default", {x}, {{"pad", pads}, {"value", number()}}, shape,
          typeOf(x), values[size_t(x)].largest + 2);
}

void Steps::addCat(int64_t x) {
  Shape shape = shapeOf(x);
  const HostType dtype = typeOf(x);
  const double largest = values[size_t(x)].largest + 2;
  const bool stacks = shape.empty() || (shape.size() < 4 && oneIn(3));
  const auto rank = int64_t(shape.size()) + (stacks ? 1 : 0);
  const auto dim = int64_t(random.below(uint64_t(rank)));
  std::vector<int64_t> operands = {x};
  Shape result = shape;
  if (stacks) {
    result.insert(result.begin() + dim, 1);
  }
  while (operands.size() < 4 && elementCount(result) < options.maxElements / 2 &&
         (operands.size() < 2 || oneIn(2))) {
    Shape piece = shape;
    if (!stacks) {
      piece[size_t(dim)] = random.between(1, std::max<int64_t>(shape[size_t(dim)], 3));
    }
    result[size_t(dim)] += stacks ? 1 : piece[size_t(dim)];
    operands.push_back(oneIn(4) && stacks ? x : addInput(piece, dtype));
  }
  std::swap(operands[0], operands[random.below(operands.size())]);
  addCall(stacks ? "aten.stack.default" : "aten.cat.default", operands,
          {{"dim", spelled(dim, rank)}}, result, dtype, largest);
}

void Steps::addScatter(int64_t x) {
  const Shape shape = shapeOf(x);
  const auto rank = int64_t(shape.size());
  const double largest = values[size_t(x)].largest + 2;
  if (rank == 0 || oneIn(4)) {
    addCall("aten.copy.default", {addInput(shape, typeOf(x)), x}, {}, shape, typeOf(x), largest);
    return;
  }
  const auto dim = int64_t(random.below(uint64_t(rank)));
  const int64_t size = shape[size_t(dim)], start = random.between(0, size - 1);
  Shape part = shape;
  if (oneIn(2)) {
    part.erase(part.begin() + dim);
    addCall("aten.select_scatter.default", {x, addInput(part, typeOf(x))},
            {{"dim", spelled(dim, rank)}, {"index", oneIn(3) ? start - size : start}}, shape,
            typeOf(x), largest);
    return;
  }
  part[size_t(dim)] = random.between(1, size - start);
  const int64_t end = start + part[size_t(dim)];
  addCall("aten.slice_scatter.default", {x, addInput(part, typeOf(x))},
          {{"dim", spelled(dim, rank)}, {"start", start}, {"end", end}}, shape, typeOf(x), largest);
}

void Steps::addCopy(int64_t x) {
  static const char *const names[] = {"aten.clone.default", "aten.contiguous.default"};
  static const char *const conversions[] = {"aten._to_copy.default",
                                            "prims.convert_element_type.default"};
  if (oneIn(2) || typeOf(x) == HostType::Float32) {
    unary(pick(names), x, {}, values[size_t(x)].largest);
    return;
  }
  static const HostType types[] = {HostType::Float16, HostType::Bfloat16, HostType::Bool};
  addCall(pick(conversions), {x}, {}, shapeOf(x), types[random.below(3)],
          values[size_t(x)].largest);
}

int64_t Steps::addFill(int64_t x, const Shape &shape, HostType dtype) {
  static const char *const free[] = {"aten.full.default", "aten.ones.default",
                                     "aten.zeros.default"};
  static const char *const like[] = {"aten.new_full.default", "aten.new_ones.default",
                                     "aten.new_zeros.default"};
  static const char *const same[] = {"aten.full_like.default", "aten.ones_like.default",
                                     "aten.zeros_like.default"};
  const bool sameType = typeOf(x) == dtype;
  const size_t form = random.below(sameType ? 4 : 2);
  const std::string name = form == 0   ? "aten.scalar_tensor.default"
                           : form == 1 ? pick(free)
                           : form == 2 ? pick(like)
                                       : pick(same);
  Attributes attributes;
  if (name.find("full") != std::string::npos) {
    attributes = {{"fill_value", number()}};
  } else if (form == 0) {
    attributes = {{"s", number()}};
  }
  const Shape result = form == 0 ? Shape{} : form == 3 ? shapeOf(x) : shape;
  return addCall(name, form < 2 ? std::vector<int64_t>{} : std::vector<int64_t>{x}, attributes,
                 result, dtype, 2);
}

} // namespace spyre::testing
