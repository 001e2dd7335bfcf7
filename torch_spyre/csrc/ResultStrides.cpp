//===- ResultStrides.cpp - see ResultStrides.h ----------------------------------------------===//
//
// Torch's kernels for meta tensors and for the CPU give dimensions of size 0 and 1 other strides.
// Element-wise operations of the CPU take theirs from TensorIterator, which is asked here; the few
// others that differ are named with the rule of their kernel.
//===--------------------------------------------------------------------------------------------===//
#include "ResultStrides.h"

#include "spyre/Base/Math.h"

#include "ATen/ExpandUtils.h"
#include "ATen/TensorIterator.h"
#include "ATen/ops/empty.h"
#include "ATen/ops/empty_strided.h"
#include "Types.h"

#include <map>
#include <optional>
#include <string>

namespace spyre::plugin {

namespace {

using Strides = std::vector<int64_t>;

const at::TensorOptions &metaOptions() {
  static const auto options = at::TensorOptions(c10::ScalarType::Float).device(c10::kMeta);
  return options;
}

at::Tensor shapeOf(const at::Tensor &tensor) {
  return at::empty_strided(tensor.sizes(), tensor.strides(), metaOptions());
}

/// A number that the CPU's kernel turns into a tensor.
bool isOperand(const c10::Argument &argument) {
  return argument.type()->kind() == c10::TypeKind::NumberType &&
         (argument.name() == "other" || argument.name() == "self");
}

/// Strides of an element-wise result; nullopt when the operation reads no tensors.
std::optional<Strides> iterated(const c10::OperatorHandle &op,
                                c10::ArrayRef<c10::IValue> arguments) {
  at::TensorIteratorConfig config;
  config.check_all_same_dtype(false).set_check_mem_overlap(false);
  config.declare_static_dtype_and_device(c10::ScalarType::Float, c10::kMeta);
  config.add_owned_output(at::Tensor());
  bool hasInputs = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].isTensor() && arguments[i].toTensor().defined()) {
      config.add_owned_const_input(shapeOf(arguments[i].toTensor()));
      hasInputs = true;
    } else if (isOperand(op.schema().arguments()[i])) {
      config.add_owned_const_input(at::empty({}, metaOptions()));
    }
  }
  return hasInputs ? std::optional(toVector(config.build().output().strides())) : std::nullopt;
}

Strides likeInput(const at::Tensor &input) {
  return input.is_non_overlapping_and_dense()
             ? toVector(input.strides())
             : at::infer_dense_strides(input.sizes(), input.strides());
}

Strides rowMajor(const at::Tensor &input) { return rowMajorStrides(toVector(input.sizes())); }

/// Keeps channels last, and no other order.
Strides rolled(const at::Tensor &input) {
  if (input.numel() == 0) {
    return likeInput(input);
  }
  switch (input.suggest_memory_format()) {
  case c10::MemoryFormat::ChannelsLast:
    return c10::get_channels_last_strides_2d(input.sizes());
  case c10::MemoryFormat::ChannelsLast3d:
    return c10::get_channels_last_strides_3d(input.sizes());
  default:
    return rowMajor(input);
  }
}

using Rule = Strides (*)(const at::Tensor &input);

/// Rules of the first result, which has the shape of the first argument.
Rule ruleOf(const std::string &name) {
  static const std::map<std::string, Rule> rules = {{"aten::flip", likeInput},
                                                    {"aten::native_layer_norm", rowMajor},
                                                    {"aten::roll", rolled},
                                                    {"aten::tril", rowMajor},
                                                    {"aten::triu", rowMajor}};
  auto found = rules.find(name);
  return found == rules.end() ? nullptr : found->second;
}

std::optional<Strides> firstOnCpu(const c10::OperatorHandle &op,
                                  c10::ArrayRef<c10::IValue> arguments) {
  if (const Rule rule = ruleOf(op.operator_name().name)) {
    return rule(arguments[0].toTensor());
  }
  return op.hasTag(at::Tag::pointwise) ? iterated(op, arguments) : std::nullopt;
}

} // namespace

std::vector<Strides> resultStrides(const c10::OperatorHandle &op,
                                   c10::ArrayRef<c10::IValue> arguments,
                                   const std::vector<at::Tensor> &metas) {
  std::vector<Strides> strides;
  for (const at::Tensor &meta : metas) {
    strides.push_back(meta.is_non_overlapping_and_dense() ? toVector(meta.strides())
                                                          : rowMajor(meta));
  }
  if (!metas.empty()) {
    const std::optional<Strides> known = firstOnCpu(op, arguments);
    strides[0] = known && known->size() == strides[0].size() ? *known : strides[0];
  }
  return strides;
}

} // namespace spyre::plugin
