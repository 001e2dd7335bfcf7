//===- GraphInterpreter.h - graphs on the host, straight from their definition --------------===//
//
// An oracle for the whole compiler: logical tensors of floats, one rounding to DLFloat16 per
// operation, no layouts, sticks, tiles or cores.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/CAPI/Compiler.h"

#include <string>
#include <vector>

namespace spyre::testing {

struct HostTensor {
  std::vector<int64_t> shape;
  std::vector<float> values; ///< row-major, already rounded to the device format
  bool isBool = false;
};

/// One call of a random graph.
struct Call {
  std::string target;
  std::vector<int64_t> operands; ///< value ids
  std::vector<std::pair<std::string, capi::Attribute>> attributes;
  std::vector<int64_t> shape;
};

struct Graph {
  std::vector<HostTensor> inputs;
  std::vector<Call> calls; ///< call i defines value inputs.size() + i
  std::vector<int64_t> outputs;
};

int64_t elementCount(const std::vector<int64_t> &shape);

/// Values of all inputs and calls.
std::vector<HostTensor> interpret(const Graph &graph);

} // namespace spyre::testing
