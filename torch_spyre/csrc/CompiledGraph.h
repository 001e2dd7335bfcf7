//===- CompiledGraph.h - a captured graph and its programs ----------------------------------===//
//
// Python hands the nodes over; sizes are fixed. What is still open is how the inputs lie on the
// device: each new combination of strides and layouts gets a program of its own at the first call
// that has it.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Arguments.h"
#include "Programs.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace spyre::plugin {

struct CapturedType {
  c10::ScalarType dtype = c10::ScalarType::Half;
  std::vector<int64_t> size, stride;
};

/// Values are numbered: inputs first, then calls, in the order they were added.
class CapturedGraph {
public:
  /// All inputs come before the first call.
  GraphValue addInput(std::string name, CapturedType type);
  /// \p target is "aten.add.Tensor"; \p location is "file.py:12" or empty.
  GraphValue addCall(std::string target, CallArguments arguments, CapturedType type,
                     std::string location);
  void addOutput(GraphValue value);

  struct Input {
    std::string name;
    CapturedType type;
  };
  struct Call {
    std::string target;
    CallArguments arguments;
    CapturedType type;
    std::string location;
  };
  std::vector<Input> inputs;
  std::vector<Call> calls;
  std::vector<GraphValue> outputs;

  const CapturedType &typeOf(GraphValue value) const;
};

class CompiledGraph {
public:
  CompiledGraph(CapturedGraph graph, std::string name, int64_t cores)
      : graph(std::move(graph)), name(std::move(name)), cores(cores) {}

  /// One tensor per input; scalars on the CPU are sent to the device. Errors: E6505 (device),
  /// E6507 (other sizes than captured), UnsupportedError from the compiler.
  std::vector<at::Tensor> run(const std::vector<at::Tensor> &arguments);

private:
  at::Tensor prepareInput(size_t index, const at::Tensor &argument) const;
  Program programFor(const std::vector<at::Tensor> &inputs);
  Program compile(const std::vector<at::Tensor> &inputs) const;

  const CapturedGraph graph;
  const std::string name;
  const int64_t cores;
  std::mutex mutex;
  std::map<std::string, Program> programs;
};

} // namespace spyre::plugin
