//===- LoopBuilder.cpp - emits buffers and loop operations from views -----------------------===//
#include "LoopBuilder.h"

#include "spyre/Dialect/Utils/Attributes.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

namespace spyre {

using views::Atoms;
using views::View;

/// Above this many variables operands are copied instead of splitting loops further; the interface
/// names eight dimensions, and one may be needed for the lanes.
static constexpr size_t kMaxVars = 7;
/// A view that needs more pieces is renumbered before it gets there.
static constexpr int64_t kMaxViewAtoms = 6;

LoopBuilder::LoopBuilder(mlir::func::FuncOp function)
    : function(function), builder(function.getContext()), loc(function.getLoc()) {
  mlir::Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  builder.create<mlir::func::ReturnOp>(loc);
}

std::string LoopBuilder::uniqueName(const std::string &wanted) {
  int64_t &uses = usedNames[wanted];
  std::string name = uses == 0 ? wanted : fmt::format("{}_{}", wanted, uses);
  ++uses;
  if (name != wanted && usedNames.count(name)) {
    return uniqueName(name);
  }
  usedNames[name] = std::max<int64_t>(usedNames[name], 1);
  return name;
}

loop::BufferOp &LoopBuilder::declare(std::string name, const char *kind,
                                     const std::vector<int64_t> &shape, mlir::Type type,
                                     const std::vector<int64_t> &stride) {
  mlir::OpBuilder::InsertionGuard guard(builder);
  if (lastBuffer) {
    builder.setInsertionPointAfter(lastBuffer);
  } else {
    builder.setInsertionPointToStart(&function.getBody().front());
  }
  auto buffer = builder.create<loop::BufferOp>(
      loc, mlir::MemRefType::get(shape, type), builder.getStringAttr(uniqueName(name)),
      builder.getStringAttr(kind), mlir::IntegerAttr(), builder.getDenseI64ArrayAttr(stride),
      mlir::IntegerAttr(), mlir::DictionaryAttr(), mlir::FloatAttr(), mlir::IntegerAttr());
  lastBuffer = buffer;
  buffers.push_back(buffer);
  return buffers.back();
}

int64_t LoopBuilder::addInput(const std::string &name, int64_t index,
                              const std::vector<int64_t> &shape, mlir::Type type,
                              const std::vector<int64_t> &stride, int64_t offset,
                              mlir::DictionaryAttr layout) {
  loop::BufferOp &buffer = declare(name.empty() ? "input" : name, "input", shape, type, stride);
  buffer.setIndex(index);
  buffer.setOffset(offset);
  buffer.setLayoutAttr(layout);
  return int64_t(buffers.size()) - 1;
}

int64_t LoopBuilder::addConstant(double value, mlir::Type type) {
  std::string typeText;
  llvm::raw_string_ostream(typeText) << type;
  auto [it, added] = constants.try_emplace({typeText, std::bit_cast<uint64_t>(value)}, 0);
  if (added) {
    loop::BufferOp &buffer = declare("const", "constant", {}, type, {});
    buffer.setValueAttr(builder.getF64FloatAttr(value));
    Expected<numerics::HostType> hostType = dialect::hostTypeOf(type);
    SPYRE_CHECK(hostType.ok(), "a verified graph has known element types");
    Expected<layout::DeviceLayout> layout = layout::DeviceLayout::makeDefault({}, *hostType);
    SPYRE_CHECK(layout.ok(), "scalars always have a layout");
    buffer.setLayoutAttr(dialect::layoutToAttr(builder.getContext(), *layout));
    it->second = int64_t(buffers.size()) - 1;
  }
  return it->second;
}

View LoopBuilder::addBuffer(const std::vector<int64_t> &shape, mlir::Type type) {
  declare(fmt::format("t{}", temps++), "temp", shape, type, rowMajorStrides(shape));
  return View::whole(int64_t(buffers.size()) - 1, shape);
}

std::vector<int64_t> LoopBuilder::bufferShape(int64_t buffer) {
  return dialect::toVector(
      llvm::cast<mlir::MemRefType>(buffers[buffer].getResult().getType()).getShape());
}

mlir::Type LoopBuilder::elementType(int64_t buffer) {
  return llvm::cast<mlir::MemRefType>(buffers[buffer].getResult().getType()).getElementType();
}

int64_t LoopBuilder::stickDimOf(const View &view) {
  loop::BufferOp buffer = buffers[size_t(view.buffer)];
  int64_t stick = int64_t(bufferShape(view.buffer).size()) - 1;
  if (buffer.getLayoutAttr()) {
    Expected<loop::DimRoles> roles = loop::dimRolesOf(buffer);
    stick = roles.ok() ? roles->stick() : -1;
  }
  for (size_t d = 0; d < view.dims.size(); ++d) {
    const Atoms &atoms = view.dims[d];
    if (!atoms.empty() && atoms.back().dim == stick && atoms.back().stride == 1) {
      return int64_t(d);
    }
  }
  return -1;
}

//===--------------------------------------------------------------------------------------------===//
// One operation
//===--------------------------------------------------------------------------------------------===//

LoopBuilder::Operand LoopBuilder::Operand::straight(const View &view) {
  Operand operand{view, std::vector<int64_t>(view.dims.size())};
  std::iota(operand.dims.begin(), operand.dims.end(), int64_t(0));
  return operand;
}

const Atoms &LoopBuilder::Operand::atoms(size_t loop) const {
  // A loop dimension an operand does not have at all reads as a broadcast.
  static const Atoms absent = {{views::kBroadcast, 1, 1}};
  return dims[loop] < 0 ? absent : view.dims[size_t(dims[loop])];
}

std::vector<size_t> LoopBuilder::Operand::order() const {
  std::vector<size_t> loops;
  for (size_t loop = 0; loop < dims.size(); ++loop) {
    if (dims[loop] >= 0) {
      loops.push_back(loop);
    }
  }
  std::sort(loops.begin(), loops.end(), [&](size_t a, size_t b) { return dims[a] < dims[b]; });
  return loops;
}

namespace {

/// Attaches variables of extent 1 (in the operand's own order) to unused unit dimensions, innermost
/// first.
bool attachUnits(const std::vector<int64_t> &shape, const std::vector<unsigned> &unitVars,
                 std::vector<std::vector<std::pair<unsigned, int64_t>>> &terms) {
  size_t dim = shape.size();
  for (size_t i = unitVars.size(); i-- > 0;) {
    do {
      if (dim == 0) {
        return false;
      }
      --dim;
    } while (shape[dim] != 1 || !terms[dim].empty());
    terms[dim].push_back({unitVars[i], 1});
  }
  return true;
}

bool isCut(const Atoms &atoms) { return atoms.size() > 1; }

/// Each step divides the one outside of it.
bool stepsNest(const loop::LinearIndex &index) {
  for (size_t i = 1; i < index.terms.size(); ++i) {
    if (index.terms[i - 1].coefficient % index.terms[i].coefficient != 0) {
      return false;
    }
  }
  return true;
}

/// What the inner steps reach, from where the walk begins, stays below one outer step.
bool staysInside(const loop::LinearIndex &index, const std::vector<int64_t> &extents) {
  int64_t reach = 0;
  for (size_t i = index.terms.size(); i-- > 1;) {
    reach += index.terms[i].coefficient * (extents[index.terms[i].var] - 1);
    const int64_t step = index.terms[i - 1].coefficient;
    if (index.offset % step + reach >= step) {
      return false;
    }
  }
  return true;
}

size_t cutCount(const View &view) {
  return size_t(std::count_if(view.dims.begin(), view.dims.end(), isCut));
}

} // namespace

std::optional<LoopBuilder::Loops> LoopBuilder::splitLoops(const Request &request) {
  Loops loops;
  const size_t count = request.extents.size();
  for (size_t d = 0; d < count; ++d) {
    std::vector<const Atoms *> atoms{&request.result.atoms(d)};
    for (const Operand &operand : request.inputs) {
      atoms.push_back(&operand.atoms(d));
    }
    auto cut = views::commonSegments(request.extents[d], atoms);
    bool isReduced = d >= count - size_t(request.reductions);
    if (!cut || (isReduced && cut->size() > 1)) {
      return std::nullopt;
    }
    if (request.extents[d] == 1 && (request.keepUnit || int64_t(d) == request.unitLoop)) {
      cut = std::vector<int64_t>{1};
    }
    loops.firstVar.push_back(unsigned(loops.varExtents.size()));
    loops.varExtents.insert(loops.varExtents.end(), cut->begin(), cut->end());
    loops.segments.push_back(*cut);
  }
  return loops;
}

mlir::AffineMap LoopBuilder::accessMap(const Operand &operand, const Loops &loops) {
  std::vector<int64_t> shape = bufferShape(operand.view.buffer);
  std::vector<std::vector<std::pair<unsigned, int64_t>>> terms(shape.size());
  for (size_t d = 0; d < loops.segments.size(); ++d) {
    std::vector<views::Step> steps = views::stepsOf(operand.atoms(d), loops.segments[d]);
    for (size_t s = 0; s < steps.size(); ++s) {
      bool moves = steps[s].dim != views::kBroadcast && loops.segments[d][s] > 1;
      if (moves) {
        terms[steps[s].dim].push_back({loops.firstVar[d] + unsigned(s), steps[s].coefficient});
      }
    }
  }
  std::vector<unsigned> unitVars;
  for (size_t d : operand.order()) {
    if (loops.segments[d] == std::vector<int64_t>{1}) {
      unitVars.push_back(loops.firstVar[d]);
    }
  }
  if (!attachUnits(shape, unitVars, terms)) {
    return {};
  }
  llvm::SmallVector<mlir::AffineExpr> results;
  for (size_t d = 0; d < terms.size(); ++d) {
    mlir::AffineExpr sum = builder.getAffineConstantExpr(operand.view.offset[d]);
    for (auto [var, coefficient] : terms[d]) {
      sum = sum + builder.getAffineDimExpr(var) * coefficient;
    }
    results.push_back(sum);
  }
  return mlir::AffineMap::get(unsigned(loops.varExtents.size()), 0, results, builder.getContext());
}

void LoopBuilder::emit(const Request &request, const Loops &loops,
                       const std::vector<mlir::AffineMap> &maps) {
  llvm::SmallVector<mlir::Attribute> mapAttributes, names;
  llvm::SmallVector<mlir::Value> values;
  for (mlir::AffineMap map : maps) {
    mapAttributes.push_back(mlir::AffineMapAttr::get(map));
  }
  for (const Operand &operand : request.inputs) {
    values.push_back(buffers[size_t(operand.view.buffer)].getResult());
  }
  for (size_t v = 0; v < loops.varExtents.size(); ++v) {
    names.push_back(builder.getStringAttr(fmt::format("c{}", v)));
  }
  llvm::SmallVector<mlir::NamedAttribute> numbers;
  for (const auto &[name, value] : request.constants) {
    numbers.push_back(builder.getNamedAttr(name, builder.getF64FloatAttr(value)));
  }
  builder.setInsertionPoint(function.getBody().front().getTerminator());
  auto op = builder.create<loop::ComputeOp>(
      loc, builder.getStringAttr(request.callee), values,
      buffers[size_t(request.result.view.buffer)].getResult(), builder.getArrayAttr(names),
      builder.getDenseI64ArrayAttr(loops.varExtents), builder.getI64IntegerAttr(request.reductions),
      builder.getArrayAttr(mapAttributes),
      numbers.empty() ? mlir::DictionaryAttr() : builder.getDictionaryAttr(numbers),
      request.indirect.empty()
          ? mlir::ArrayAttr()
          : builder.getArrayAttr({builder.getDenseI64ArrayAttr(request.indirect)}),
      mlir::DenseI64ArrayAttr());
  if (!why.empty() && request.callee == loop::kCopy) {
    op->setAttr(loop::kWhy, builder.getStringAttr(why));
  }
}

bool LoopBuilder::uncutOneInput(Request &request) {
  auto worst = std::max_element(
      request.inputs.begin(), request.inputs.end(),
      [](const Operand &a, const Operand &b) { return cutCount(a.view) < cutCount(b.view); });
  if (worst == request.inputs.end() || cutCount(worst->view) == 0) {
    return false;
  }
  worst->view = materialize(worst->view, "cuts-differ: the operands cut a dimension at places that "
                                         "do not nest, or too often");
  return true;
}

bool LoopBuilder::divides(const Operand &operand, mlir::AffineMap map, const Loops &loops) {
  std::vector<int64_t> shape = bufferShape(operand.view.buffer);
  for (unsigned d = 0; map && d < shape.size(); ++d) {
    Expected<loop::LinearIndex> index = loop::linearize(map.getResult(d), map.getNumDims());
    SPYRE_CHECK(index.ok(), "views are linear");
    const int64_t step = index->terms.empty() ? 1 : index->terms.front().coefficient;
    if (shape[d] % step != 0 || !stepsNest(*index) || !staysInside(*index, loops.varExtents)) {
      return false;
    }
  }
  return true;
}

bool LoopBuilder::regionOneInput(Request &request, const Loops &loops,
                                 std::vector<mlir::AffineMap> &maps) {
  for (Operand &operand : request.inputs) {
    const mlir::AffineMap map = maps.emplace_back(accessMap(operand, loops));
    if (!map) {
      operand.view = materialize(operand.view, "unit-dimension: a dimension of size 1 is needed");
      return true;
    }
    std::vector<int64_t> shape = bufferShape(operand.view.buffer), multiples;
    bool divides = true, nested = true;
    for (unsigned d = 0; d < shape.size(); ++d) {
      Expected<loop::LinearIndex> index = loop::linearize(map.getResult(d), map.getNumDims());
      SPYRE_CHECK(index.ok(), "views are linear");
      multiples.push_back(index->terms.empty() ? 1 : index->terms.front().coefficient);
      divides =
          divides && shape[d] % multiples.back() == 0 && staysInside(*index, loops.varExtents);
      nested = nested && stepsNest(*index);
    }
    if (!nested) { // cut inside by another operand; by itself it can be read
      operand.view = materialize(operand.view,
                                 "steps-do-not-nest: another operand cuts the steps it is read in");
      return true;
    }
    if (!divides) {
      Because reason(*this, "steps-do-not-divide: it is read in steps that do not divide a "
                            "dimension; the region is copied and padded so that they do");
      operand.view = copyRegion(operand.view, multiples);
      return true;
    }
  }
  return false;
}

void LoopBuilder::add(Request request) {
  while (true) {
    std::optional<Loops> loops = splitLoops(request);
    // A copy would only be copied by itself: spyre-loop-limit-vars gives it fewer variables.
    const bool isCopy = request.callee == loop::kCopy;
    if (!loops || (loops->varExtents.size() > kMaxVars && !isCopy)) {
      if (uncutOneInput(request)) {
        continue;
      }
      SPYRE_CHECK(loops.has_value(), "whole operands never cut a loop");
    }
    std::vector<mlir::AffineMap> maps;
    if (regionOneInput(request, *loops, maps)) {
      continue;
    }
    const mlir::AffineMap result = accessMap(request.result, *loops);
    // A part of a buffer is not cut where an input is, unless the buffer divides.
    if (!divides(request.result, result, *loops) && uncutOneInput(request)) {
      continue;
    }
    maps.push_back(request.walksResult ? walkMap(request.result, *loops) : result);
    SPYRE_CHECK(maps.back(), "a result has all loop dimensions");
    return emit(request, *loops, maps);
  }
}

//===--------------------------------------------------------------------------------------------===//
// Copies
//===--------------------------------------------------------------------------------------------===//

void LoopBuilder::addCopy(const View &from, const View &to) {
  add({loop::kCopy, to.shape(), 0, {Operand::straight(from)}, Operand::straight(to)});
}

View LoopBuilder::materialize(const View &view) {
  View result = addBuffer(view.shape(), elementType(view.buffer));
  addCopy(view, result);
  return result;
}

View LoopBuilder::copyRegion(const View &view, const std::vector<int64_t> &multiples) {
  std::vector<int64_t> last(multiples.size(), 0);
  for (const Atoms &atoms : view.dims) {
    for (const views::Atom &atom : atoms) {
      if (atom.dim != views::kBroadcast) {
        last[size_t(atom.dim)] += (atom.extent - 1) * atom.stride;
      }
    }
  }
  std::vector<int64_t> extents, shape;
  for (size_t d = 0; d < last.size(); ++d) {
    extents.push_back(last[d] + 1);
    shape.push_back(roundUp(last[d] + 1, multiples[d]));
  }
  View source = View::whole(view.buffer, bufferShape(view.buffer));
  View target = addBuffer(shape, elementType(view.buffer));
  View part = target;
  for (size_t d = 0; d < extents.size(); ++d) {
    source = *views::slice(source, int64_t(d), view.offset[d], extents[d], 1);
    part = *views::slice(part, int64_t(d), 0, extents[d], 1);
  }
  addCopy(source, part);
  return {target.buffer, view.dims, target.offset};
}

View LoopBuilder::slice(const View &view, int64_t dim, int64_t start, int64_t extent,
                        int64_t step) {
  std::optional<View> sliced = views::slice(view, dim, start, extent, step);
  if (!sliced || !views::nests(*sliced)) {
    sliced = views::slice(materialize(view, "slice-of-joined: a slice begins inside of dimensions "
                                            "that a view joined"),
                          dim, start, extent, step);
    SPYRE_CHECK(sliced.has_value(), "a whole dimension can be sliced");
  }
  return *sliced;
}

View LoopBuilder::reshape(const View &view, const std::vector<int64_t> &shape) {
  std::optional<View> result = views::reshape(view, shape);
  bool tooManyPieces = result && views::atomCount(*result) > kMaxViewAtoms &&
                       views::atomCount(*result) > views::atomCount(view);
  return result && !tooManyPieces && views::nests(*result) ? *result : renumber(view, shape);
}

namespace {

/// Leading dimensions of both shapes that can stay as they are: equal sizes.
size_t commonPrefix(const std::vector<int64_t> &a, const std::vector<int64_t> &b) {
  size_t n = 0;
  while (n < a.size() && n < b.size() && a[n] == b[n]) {
    ++n;
  }
  return n;
}

size_t commonSuffix(const std::vector<int64_t> &a, const std::vector<int64_t> &b, size_t prefix) {
  size_t n = 0;
  while (n + prefix < a.size() && n + prefix < b.size() &&
         a[a.size() - 1 - n] == b[b.size() - 1 - n]) {
    ++n;
  }
  return n;
}

int64_t productOf(const std::vector<int64_t> &sizes, size_t begin, size_t end) {
  return std::accumulate(sizes.begin() + int64_t(begin), sizes.begin() + int64_t(end), int64_t(1),
                         std::multiplies<>());
}

} // namespace

View LoopBuilder::renumber(const View &view, const std::vector<int64_t> &shape) {
  // [.. same .., changes, .. same ..]: what changes becomes one dimension of a buffer. Its layout
  // is chosen later; a dimension that stays the same may carry the sticks.
  std::vector<int64_t> from = view.shape();
  const size_t prefix = commonPrefix(from, shape), suffix = commonSuffix(from, shape, prefix);
  std::vector<int64_t> joined(from.begin(), from.begin() + int64_t(prefix));
  joined.push_back(productOf(from, prefix, from.size() - suffix));
  joined.insert(joined.end(), from.end() - int64_t(suffix), from.end());
  Because reason(*this, "reshape-renumbers: a reshape cuts a dimension where its size does not "
                        "divide, which no address expresses");
  View buffer = addBuffer(joined, elementType(view.buffer));
  std::optional<View> written = views::reshape(buffer, from);
  SPYRE_CHECK(written.has_value(), "one dimension can be cut anywhere its size divides");
  addCopy(view, *written);
  std::optional<View> result = views::reshape(buffer, shape);
  SPYRE_CHECK(result.has_value(), "one dimension can be cut anywhere its size divides");
  return *result;
}

//===--------------------------------------------------------------------------------------------===//
// Operations
//===--------------------------------------------------------------------------------------------===//

View LoopBuilder::addPointwise(const std::string &callee, const std::vector<View> &operands,
                               const std::vector<int64_t> &shape, mlir::Type type,
                               const Constants &constants) {
  View result = addBuffer(shape, type);
  Request request{callee, shape, 0, {}, Operand::straight(result), constants};
  for (const View &operand : operands) {
    request.inputs.push_back(Operand::straight(operand));
  }
  add(std::move(request));
  return result;
}

namespace {

bool repeats(const Atoms &atoms) { return atoms.size() == 1 && atoms[0].dim == views::kBroadcast; }

/// Repeats in a part of the dimension only.
bool mixes(const Atoms &atoms) {
  return !repeats(atoms) && std::any_of(atoms.begin(), atoms.end(), [](const views::Atom &atom) {
    return atom.dim == views::kBroadcast;
  });
}

} // namespace

View LoopBuilder::addReduction(const std::string &callee, View operand, int64_t dim,
                               mlir::Type type, const Constants &constants) {
  const Atoms &along = operand.dims[size_t(dim)];
  if (along.size() > 1 || repeats(along) ||
      std::any_of(operand.dims.begin(), operand.dims.end(), mixes)) {
    operand = materialize(operand, "reduced-view: the reduced dimension is joined or repeated");
  }
  // A kept dimension that only repeats is reduced once and repeated in the result.
  std::vector<int64_t> extents, kept, once;
  Operand input{operand, {}};
  for (size_t d = 0; d < operand.dims.size(); ++d) {
    if (int64_t(d) != dim) {
      const Atoms &atoms = operand.dims[d];
      kept.push_back(views::extentOf(atoms));
      once.push_back(repeats(atoms) ? 1 : kept.back());
      input.dims.push_back(int64_t(d));
    }
  }
  for (size_t d = 0; d < operand.dims.size(); ++d) {
    if (int64_t(d) != dim && repeats(operand.dims[d])) {
      input.view.dims[d].clear();
    }
  }
  View result = addBuffer(once, type);
  extents = once;
  extents.push_back(views::extentOf(operand.dims[size_t(dim)]));
  input.dims.push_back(dim);
  Operand output = Operand::straight(result);
  output.dims.push_back(-1);
  add({callee, extents, 1, {std::move(input)}, std::move(output), constants});
  return views::broadcast(result, kept);
}

View LoopBuilder::addMatmul(const std::string &callee, const View &a, const View &b,
                            const std::vector<int64_t> &shape, mlir::Type type) {
  const size_t rank = shape.size();
  // Columns and the reduced dimension must each be one plain loop; rows and batches may be cut.
  auto plain = [](const Atoms &atoms) { return !isCut(atoms) && !repeats(atoms); };
  const bool aFits = plain(a.dims[rank - 1]) && !repeats(a.dims[rank - 2]) &&
                     std::none_of(a.dims.begin(), a.dims.end(), mixes);
  const bool bFits = plain(b.dims[rank - 1]) && plain(b.dims[rank - 2]);
  constexpr const char *kCut = "matmul-view: columns and reduced dimension must be plain";
  Operand left{aFits ? a : materialize(a, kCut), {}}, right{bFits ? b : materialize(b, kCut), {}};
  Operand out{addBuffer(shape, type), {}};
  std::vector<int64_t> extents;
  auto addLoop = [&](int64_t extent, int64_t inA, int64_t inB, int64_t inC) {
    extents.push_back(extent);
    left.dims.push_back(inA);
    right.dims.push_back(inB);
    out.dims.push_back(inC);
  };
  const auto m = int64_t(rank) - 2, n = int64_t(rank) - 1;
  for (int64_t batch = 0; batch < m; ++batch) {
    if (shape[size_t(batch)] != 1) {
      addLoop(shape[size_t(batch)], batch, batch, batch);
    }
  }
  addLoop(shape[size_t(m)], m, -1, m);
  addLoop(shape[size_t(n)], -1, n, n);
  addLoop(views::extentOf(left.view.dims[size_t(n)]), n, m, -1);
  View result = out.view;
  add({callee, extents, 1, {std::move(left), std::move(right)}, std::move(out), {}, true});
  return result;
}

void LoopBuilder::addOutput(const View &view, int64_t index, const std::vector<int64_t> &shape,
                            const std::vector<int64_t> &stride, mlir::Attribute layout) {
  const auto want = [&](loop::BufferOp output) {
    if (layout) {
      output->setAttr(loop::kWantedLayout, layout);
    }
  };
  loop::BufferOp buffer = buffers[size_t(view.buffer)];
  std::string name = fmt::format("out{}", index);
  if (buffer.getKind() == "temp" && view.isWhole(bufferShape(view.buffer))) {
    buffer.setKind("output");
    buffer.setName(uniqueName(name));
    buffer.setIndex(index);
    buffer.setStride(stride);
    want(buffer);
    return;
  }
  loop::BufferOp &fresh = declare(name, "output", shape, elementType(view.buffer), stride);
  fresh.setIndex(index);
  want(fresh);
  Because reason(*this,
                 buffer.getKind() == "temp"
                     ? "result-is-a-view: a result has memory of its own"
                     : "result-is-given: an input, a constant or another result is returned");
  addCopy(view, View::whole(int64_t(buffers.size()) - 1, shape));
}

} // namespace spyre
