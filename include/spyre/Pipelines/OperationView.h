//===- OperationView.h - loop operations for functions that know no IR ------------------------===//
//
// A function of the user's gets the operations of a graph at one of the points pre-scheduling,
// pre-fusion and post-fusion, and says how some of them are to be divided. What it asks for is
// judged like every division.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace spyre::pipelines {

struct OperandView {
  std::string name;
  /// "input", "output", "temp" or "constant".
  std::string kind;
  /// Element type as IR has it, "f16".
  std::string type;
  std::vector<int64_t> size;
  /// Text of the device layout; empty before layouts are chosen.
  std::string layout;
  /// Address in the scratchpads; none: it is in memory, or not planned yet.
  std::optional<int64_t> lxAddress = std::nullopt;
};

struct OperationView {
  /// Its number among the operations of the device and of the host, from 0 on.
  int64_t step = 0;
  std::string name;
  /// "file:line" of the user's program, or empty.
  std::string location;
  std::vector<std::string> vars;
  std::vector<int64_t> extents;
  /// So many of the last variables are reduced.
  int64_t reductions = 0;
  /// The inputs, then the result.
  std::vector<OperandView> operands;
  /// Cores per variable; empty before the operation is divided.
  std::vector<int64_t> division;

  /// Splits that the function asks for, per variable. Before division 0 leaves the choice open.
  std::optional<std::vector<int64_t>> asked = std::nullopt;
};

/// Sets `asked` of some operations.
using OperationFunction = std::function<Status(std::vector<OperationView> &operations)>;

} // namespace spyre::pipelines
