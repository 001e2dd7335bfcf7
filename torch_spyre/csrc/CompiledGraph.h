//===- CompiledGraph.h - a captured graph and its programs ----------------------------------===//
//
// Python hands the nodes over; sizes are fixed. What is still open is how the inputs lie on the
// device: each new combination of strides and layouts gets a program of its own at the first call
// that has it.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Arguments.h"
#include "Programs.h"

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace spyre::plugin {

struct CapturedType {
  c10::ScalarType dtype = c10::ScalarType::Half;
  std::vector<int64_t> size, stride;
};

/// Whether the device can hold a tensor of the type: element type, rank, at least one element.
bool deviceHolds(const CapturedType &type);

/// Values are numbered: inputs first, then calls, in the order they were added.
class CapturedGraph {
public:
  /// All inputs come before the first call.
  GraphValue addInput(std::string name, CapturedType type);
  /// \p target is "aten.add.Tensor"; \p location is "file.py:12" or empty. \p node is the number
  /// under which HostCalls can run it, or -1.
  GraphValue addCall(std::string target, CallArguments arguments, CapturedType type,
                     std::string location, int64_t node);
  void addOutput(GraphValue value);
  /// \p input, one of the inputs, holds \p value when the graph is done. False when the device
  /// cannot do that: it does not hold such tensors.
  bool addMutation(GraphValue input, GraphValue value);

  struct Input {
    std::string name;
    CapturedType type;
  };
  struct Call {
    std::string target;
    CallArguments arguments;
    CapturedType type;
    std::string location;
    int64_t node = -1;
  };
  std::vector<Input> inputs;
  std::vector<Call> calls;
  std::vector<GraphValue> outputs;
  struct Mutation {
    GraphValue input, value;
  };
  std::vector<Mutation> mutations;

  const CapturedType &typeOf(GraphValue value) const;
};

/// What a graph needs of its framework.
struct HostCalls {
  /// Runs node \p node on CPU tensors, given with the numbers of the graph's values, and returns
  /// the results that are asked for; no numbers: the node has one result.
  std::function<std::vector<at::Tensor>(int64_t node, const std::vector<int64_t> &results,
                                        const std::vector<capi::ValueId> &values,
                                        const std::vector<at::Tensor> &tensors)>
      run;
  /// Told once, when the graph is compiled, which nodes run on the CPU and why.
  std::function<void(const std::string &text)> report;
};

class CompiledGraph {
public:
  /// \p device is where graphs without spyre arguments run; no index: the current device.
  CompiledGraph(CapturedGraph graph, std::string name, CompileSettings settings, HostCalls host,
                c10::Device device);

  /// One tensor per input; scalars on the CPU are sent to the device, and what the device cannot
  /// hold is kept for the nodes that run on the CPU. Errors: E6505 (device), E6507 (other sizes
  /// than captured), UnsupportedError from the compiler.
  std::vector<at::Tensor> run(const std::vector<at::Tensor> &arguments);

  /// Compiles for these arguments without running.
  std::shared_ptr<const CompileRecord> compileFor(const std::vector<at::Tensor> &arguments);
  /// Record of the compilation of this graph that ended last; null before the first.
  std::shared_ptr<const CompileRecord> record();
  /// Numbers of the inputs that are inputs of the model: those the device holds.
  const std::vector<int64_t> &heldInputs() const { return held; }

private:
  /// Where all the arguments are.
  c10::Device placement(const std::vector<at::Tensor> &arguments) const;
  /// The arguments the device holds, as the program wants them.
  std::vector<at::Tensor> prepareInputs(const std::vector<at::Tensor> &arguments) const;
  void checkArgument(size_t index, const at::Tensor &argument) const;
  at::Tensor prepareInput(size_t index, const at::Tensor &argument) const;
  /// Arguments that were not given to the program themselves get the new contents by a copy.
  void storeMutations(const std::vector<at::Tensor> &arguments,
                      const std::vector<at::Tensor> &inputs) const;
  Program programFor(const std::vector<at::Tensor> &inputs);
  CompiledProgram compile(const std::vector<at::Tensor> &inputs) const;
  void reportOnce(const Program &program);

  const CapturedGraph graph;
  const std::string name;
  const CompileSettings settings;
  const HostCalls host;
  const c10::Device device;
  /// Node number of input 0; those of calls come before.
  int64_t firstArgumentNode = 0;
  std::vector<int64_t> held;
  bool reported = false;
  std::mutex mutex;
  std::map<std::string, Program> programs;
  std::shared_ptr<const CompileRecord> last;
};

} // namespace spyre::plugin
