//===- EagerProgram.h - the program of an eager call ----------------------------------------===//
//
// Either the operation is one call of the graph, or Python's decompositions say which calls it is
// made of (the hook; the same tables as for captured graphs). Both become one program, which reads
// views in place.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "CompiledGraph.h"
#include "EagerCall.h"
#include "Prepared.h"

#include <functional>

namespace spyre::plugin {

/// What a call gives for one result of the schema.
struct EagerResult {
  enum class Kind {
    Output,    ///< of the program, by number
    Undefined, ///< None
    Empty,     ///< without elements
    Written,   ///< new contents of an argument, which the program has stored
  };
  Kind kind = Kind::Output;
  size_t output = 0;
  PreparedTensor empty = {};
};

struct EagerProgram {
  /// Null: the compiler refused, and would again.
  Program program;
  /// Why it did, where a row or a formula of the operation exists: ends with the gate.
  std::string refusal;
  /// One per input of the program: number of the call's input, or -1 - number of a constant.
  std::vector<int64_t> sources;
  /// One per input of the program: whether it is copied to the canonical layout first.
  std::vector<bool> isCopied;
  /// Tensors the graph brought along.
  std::vector<at::Tensor> constants;
  std::vector<PreparedTensor> outputs;
  std::vector<EagerResult> results;
};

/// A call as a graph.
struct TracedCall {
  CapturedGraph graph;
  /// One per input of the graph: the tensor it is, and where a later call has it (EagerProgram).
  std::vector<at::Tensor> tensors;
  std::vector<int64_t> sources;
  std::vector<at::Tensor> constants;
  /// Inputs of the graph, each with the value that it holds when the program is done.
  std::vector<std::pair<size_t, GraphValue>> updates;
  std::vector<EagerResult> results;
  /// One per output of the graph: its strides where they are not those of the value.
  std::vector<std::vector<int64_t>> strides = {};
};

enum class TraceAnswer { Traced, Refused, Unknown };
/// Asks Python what the operation is made of. Unknown: the compiler lacks the operation itself,
/// whatever the arguments. A limit of a formula that refuses is put into \p why.
using TraceHook = std::function<TraceAnswer(const c10::OperatorHandle &op, const EagerCall &call,
                                            c10::ArrayRef<c10::IValue> arguments,
                                            TracedCall &traced, std::string &why)>;
void setTraceHook(TraceHook hook);

/// From now on \p target ("aten.add.Tensor") is compiled as what it is made of.
void preferDecomposition(const std::string &target);

/// Compiles; \p arguments are those of the functional form.
std::shared_ptr<const EagerProgram> compileEager(const EagerPlan &plan, const EagerCall &call,
                                                 c10::ArrayRef<c10::IValue> arguments);

/// The results torch would give, as meta tensors; empty when torch itself refuses (then the CPU
/// gives the user torch's own error).
std::vector<at::Tensor> inferResults(const c10::OperatorHandle &op,
                                     c10::ArrayRef<c10::IValue> arguments);

} // namespace spyre::plugin
