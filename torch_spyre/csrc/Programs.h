//===- Programs.h - compile a graph, load it, run it on tensors -----------------------------===//
//
// Eager operations and captured graphs both end here. A program is compiled for the exact geometry
// and layouts of its inputs; who asks keeps a map from signature to program.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/CAPI/Compiler.h"
#include "spyre/Runtime/Executable.h"

#include "ATen/core/Tensor.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace spyre::plugin {

/// A compiled graph on the device.
using Program = std::shared_ptr<runtime::Executable>;

/// What the last successful compilation of the process gave.
struct CompileRecord {
  std::string name;
  std::string graphText;
  capi::CompileResult result;
};

/// Cores to divide work over, for eager operations: asks Python's configuration. 0 means all.
void setCoresHook(std::function<int64_t()> hook);
int64_t configuredCores();

/// The compiler's table, sorted.
const std::vector<std::string> &supportedOperations();
/// Those that compute: what eager calls are compiled for.
const std::vector<std::string> &computedOperations();

/// Compiles and loads; counts programs_compiled and remembers the record under \p name.
Expected<Program> compileProgram(const capi::GraphBuilder &graph, const std::string &name,
                                 int64_t cores);
std::shared_ptr<const CompileRecord> lastCompile();
/// Remembers every compilation from now on, and gives them back in order.
void keepCompiles();
std::vector<std::shared_ptr<const CompileRecord>> takeCompiles();

/// A tensor a program can read in place: the tensor itself when it is all of its storage, else a
/// contiguous copy with the canonical layout.
at::Tensor programInput(const at::Tensor &tensor);
capi::TensorType tensorType(const at::Tensor &tensor);
/// Everything a program's code depends on; equal text, equal program.
std::string signatureOf(const at::Tensor &input);

/// \p inputs are programInput()s with the geometry the program was compiled for. Outputs have the
/// layouts the compiler chose. \p host runs the CPU steps of the program.
std::vector<at::Tensor> runProgram(const Program &program, const std::vector<at::Tensor> &inputs,
                                   const runtime::HostStepRunner &host = nullptr);

} // namespace spyre::plugin
