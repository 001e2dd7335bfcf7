//===- OpTable.h - which operations the back end lowers, and how ----------------------------===//
//
// One row per operation name of a SuperDSC. A name is lowered, documented but not lowered yet, or
// unknown; the last two are different mistakes of the producer and get different texts.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Program/Program.h"

#include <string>

namespace spyre::backend {

enum class OpClass : uint8_t {
  Pointwise,
  Copy,
  Restickify,
  StickReduction,
  NonStickReduction,
  Matmul,
};

struct OpInfo {
  const char *name;
  OpClass opClass;
  /// Vector function of a pointwise op, Accumulate function of a reduction.
  program::Function function;
  size_t inputs;
};

/// Error: E5301.
Expected<OpInfo> findOp(const std::string &name);

} // namespace spyre::backend
