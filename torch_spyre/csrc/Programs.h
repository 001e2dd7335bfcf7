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

/// Result of a compilation.
struct CompileRecord {
  std::string name;
  /// It was for a single eager operation, not for a captured graph.
  bool isEager = false;
  std::string graphText;
  capi::CompileResult result;
};

/// What Python's configuration says to the compiler.
struct CompileSettings {
  /// Cores to divide work over; 0 means all.
  int64_t cores = 0;
  /// Who divides work over them, as in capi::CompileOptions.
  std::string planner = "best";
  /// As in capi::CompileOptions.
  bool wholeGraphLayouts = true, sharePool = true;
  bool symbolicArguments = true, unrollLoops = true, kFastCores = true, chunkLargeTensors = false;
  bool unevenDivision = false, padding = true;
  /// Of capi::CompileOptions::lx.
  bool lxPlanning = true, lxCompat = false, lxMoveSplits = false;
  std::string lxSolver = {};
  double lxBackEndShare = 0.2;
  bool lxAllOps = false;
  int64_t lxBudgetBytes = 0;
  std::map<std::string, int64_t> lxPins = {};
  std::vector<std::string> lxForbidden = {};
  std::string cacheDirectory = {};
  uint64_t cacheLimitBytes = capi::kDefaultCacheLimitBytes;
  std::vector<std::string> passPlugins = {};
  std::map<std::string, std::string> userPasses = {};
  /// Code of the user's in Python (PythonPlugins.h).
  std::shared_ptr<const solver::placement::MemoryPlanSolver> lxOwnSolver = nullptr;
  std::vector<std::shared_ptr<const solver::placement::ScratchpadOptimizationPass>> lxOwnPasses =
      {};
  std::map<std::string, std::vector<capi::OperationFunction>> userFunctions = {};
};

/// The compiler's options: settings, machine and environment.
capi::CompileOptions compileOptions(const CompileSettings &settings);

/// Settings of eager operations: asks Python.
void setSettingsHook(std::function<CompileSettings()> hook);
CompileSettings configuredSettings();

/// The same for a program that moves \p bytes: small ones get few cores. Starting a core takes the
/// simulator longer than it saves the device, whose time is that of the launch.
CompileSettings eagerSettings(int64_t bytes);

/// The compiler's table, sorted.
const std::vector<std::string> &supportedOperations();
/// Those that compute: what eager calls are compiled for.
const std::vector<std::string> &computedOperations();

/// A program and the record of its compilation.
struct CompiledProgram {
  Program program;
  std::shared_ptr<const CompileRecord> record;
};

enum class CompiledFor { Graph, EagerOperation };

/// Compiles, or takes from the cache, and loads on the current device; counts which of the two it
/// was. The record is called \p name. What stands behind a bar in the name is said in errors of the
/// device only. With a log open in this thread (CompileLog.h) the record says how work was divided.
Expected<CompiledProgram> compileProgram(const capi::GraphBuilder &graph, const std::string &name,
                                         const CompileSettings &settings, CompiledFor purpose);
/// Record of the compilation that ended last in this process, on whichever thread; null before.
std::shared_ptr<const CompileRecord> lastCompile();

/// A tensor a program can read in place: the tensor itself when it is all of its storage, else a
/// contiguous copy with the canonical layout.
at::Tensor programInput(const at::Tensor &tensor);
capi::TensorType tensorType(const at::Tensor &tensor);
/// Everything a program's code depends on, and the device it is loaded on; equal text, equal
/// program.
std::string signatureOf(const at::Tensor &input);

/// \p inputs are programInput()s with the geometry the program was compiled for. Outputs have the
/// layouts the compiler chose. \p host runs the CPU steps of the program.
std::vector<at::Tensor> runProgram(const Program &program, const std::vector<at::Tensor> &inputs,
                                   const runtime::HostStepRunner &host = nullptr);
/// Runs it on buffers that are there already. \p replacedInput as in runtime::RunOptions.
void runOnBuffers(const Program &program, const std::vector<runtime::BufferRef> &inputs,
                  const std::vector<runtime::BufferRef> &outputs,
                  const runtime::HostStepRunner &host = nullptr, int64_t replacedInput = -1);
/// Finds the line of the user's code that this thread runs: "train.py:12", or null. Asked for
/// programs that take addresses from data only.
using LineHook = std::function<std::shared_ptr<const std::string>()>;
void setLineHook(LineHook hook);

/// A compiled model on the current device, known to evictPrograms().
Expected<Program> loadProgram(const Artifacts &artifacts, const std::string &name);
/// Takes the programs of a device out of its memory; they come back when they are next used.
void evictPrograms(c10::DeviceIndex index);
/// Gives the memory that programs keep for their temporaries back, on all devices.
void releaseTemporaries();
/// Runs Python's garbage collector, which may free tensors that only cycles hold.
void collectGarbage();
void setGarbageCollector(std::function<void()> collect);

} // namespace spyre::plugin
