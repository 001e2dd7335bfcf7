//===- Arguments.h - arguments of a torch call as operands and attributes of the graph ------===//
//
// One rule for eager calls and captured graphs. Tensors are operands; numbers, booleans, strings
// and integer lists are attributes under the name of the schema argument; a number in a tensor
// position i is the attribute "scalar<i>". A tensor argument that is None while a later one is
// given has its position in the attribute "absent". All other None, defaults, and where a result
// shall live (device, layout, memory format, pinning) are left out; a dtype is its name
// ("float16").
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/CAPI/Compiler.h"

#include "ATen/core/function_schema.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace spyre::plugin {

/// A value of the captured graph.
struct GraphValue {
  capi::ValueId id = -1;
  bool operator==(const GraphValue &) const = default;
};

/// What an argument can hold; monostate is None, and so is a value without id in a list.
using ArgumentValue =
    std::variant<std::monostate, GraphValue, std::vector<GraphValue>, capi::Attribute>;

struct CallArguments {
  std::vector<capi::ValueId> operands;
  std::vector<std::pair<std::string, capi::Attribute>> attributes;
  /// Tensor positions that were None so far; of no account unless another tensor follows.
  std::vector<int64_t> skipped = {};
};

/// Says where a result lives, which is not the compiler's business.
bool isPlacement(const c10::Argument &argument);
/// Changed in place, or an out= argument.
inline bool isWritten(const c10::Argument &argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}
/// torch's name of a dtype, without "torch.".
std::string dtypeName(c10::ScalarType type);
/// A constant of a schema or of an eager call; nullopt for what the graph cannot hold (complex,
/// generators, ...). Tensors are not constants.
std::optional<ArgumentValue> constantOf(const c10::Argument &argument, const c10::IValue &value);
/// Adds argument number \p position.
void appendArgument(const c10::Argument &argument, size_t position, const ArgumentValue &value,
                    CallArguments &call);

/// "aten.add.Tensor"
std::string operationName(const c10::OperatorName &name);

} // namespace spyre::plugin
