//===- Compiler.h - the compiler for callers that must not see MLIR -------------------------===//
//
// Text in, bytes out: the plug-in and C++ programs build a graph with GraphBuilder (or bring graph
// IR text of their own) and get the artifacts of a compiled model. No MLIR type crosses this
// header.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Artifacts.h"
#include "spyre/Layout/DeviceLayout.h"
#include "spyre/Pipelines/OperationView.h"
#include "spyre/Solver/Placement/LxPlan.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace spyre::capi {

/// A value of the graph under construction.
using ValueId = int64_t;

using pipelines::OperandView, pipelines::OperationFunction, pipelines::OperationView;

struct TensorType {
  numerics::HostType dtype = numerics::HostType::Float16;
  std::vector<int64_t> size;
  std::vector<int64_t> stride; ///< elements
  /// MLIR's name ("f64", "complex<f32>") of a type the device does not hold, or empty. Such values
  /// may only pass between calls that the caller runs itself.
  std::string hostElement = {};
};

/// Attribute of a graph call: integers, floats, booleans, strings, integer lists.
using Attribute = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>>;

/// Builds graph IR text. Names of operations are the framework's ("aten.mm.default"); whether they
/// are known is decided by the compiler, which reports all unknown ones at once.
class GraphBuilder {
public:
  GraphBuilder();
  ~GraphBuilder();
  GraphBuilder(GraphBuilder &&) noexcept;

  /// Behind a bar \p name may name the dimensions for hints, several of one from outer to inner,
  /// each with its size: "x|tokens:2048,batch:2*rows:64".
  ValueId addInput(const std::string &name, const TensorType &type, int64_t storageOffset,
                   const layout::DeviceLayout &layout);
  /// \p location is "file.py:12" (base name only) or empty; behind bars it may carry hints by names
  /// of dimensions, from the outermost scope to the innermost, with the number of the scope they
  /// stand in: "file.py:12|work_div=tokens:4@0,hidden:2@0|tiles=rows:2@1", and names of the
  /// result's dimensions, as those of an input: "|named_dims=tokens:2048,hidden:64". One result;
  /// one of several is the attribute "result". A \p node from 0 on says that the caller can run the
  /// call itself: if the device cannot, it becomes a CPU step of the model with this number. Calls
  /// that are results of the same node share it.
  ValueId addCall(const std::string &target, const std::vector<ValueId> &operands,
                  const std::vector<std::pair<std::string, Attribute>> &attributes,
                  const TensorType &result, const std::string &location, int64_t node = -1);
  /// In \p layout; the compiler chooses one where none is given.
  void addOutput(ValueId value, const TensorType &type,
                 const std::optional<layout::DeviceLayout> &layout = std::nullopt);
  /// When the graph is done, the memory of \p input, which addInput gave, holds \p value. At most
  /// once per input.
  void addMutation(ValueId input, ValueId value);
  /// The graph IR module. Error: E1008 (a name or location is malformed behind its bar).
  Expected<std::string> text() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

constexpr uint64_t kDefaultCacheLimitBytes = uint64_t(1) << 30;

/// Whatever is added here must also change the cache's key: Cache.cpp does not compile until it is
/// considered there.
struct CompileOptions {
  arch::DeviceDesc device;
  /// Cores to divide work over, 1..device.cores; 0 means all.
  int64_t cores = 0;
  /// Who divides work over the cores: "best", "compat" or "compat-s1" (ADR 0053).
  std::string planner = "best";
  /// Decisions on divisions also list the candidates with their prices.
  bool explainDivision = false;
  /// Choose layouts for all operations together; otherwise each operation chooses for itself.
  bool wholeGraphLayouts = true;
  /// Intermediates that do not live at the same time may share memory.
  bool sharePool = true;
  /// Stop after this phase: "graph", "loop", "layout", "division", "opspec", "bundle", "code".
  std::string compileTo = "code";
  /// Also return the text of every phase, under "phases/".
  bool keepPhases = false;
  /// Another back end for the phase "code": run as `CMD --bundle -d DIR`, words separated by
  /// blanks; empty means our own. DIR is made in \p scratchDirectory.
  std::string backEndCommand;
  std::string scratchDirectory;
  /// Addresses of tensors are symbols that each call gives, so that bundles end at CPU steps only;
  /// otherwise each tensor has its own segment and a bundle at most six.
  bool symbolicArguments = false;
  /// Loops of a kernel become one operation per iteration.
  bool unrollLoops = true;
  /// Cores that share an output slice of a matmul have consecutive numbers.
  bool kFastCores = true;
  /// In the documented modes too, operations that no split brings below the span limit run in
  /// loops; otherwise E3064.
  bool chunkLargeTensors = false;
  /// Planner best may give cores slices that differ by a piece, where that is cheaper (ADR 0055).
  bool unevenDivision = false;
  /// Planner best may pad dims or run the last rows apart, where that is cheaper (ADR 0073).
  bool padding = true;
  /// Intermediates that stay in the scratchpads.
  solver::placement::LxOptions lx;
  /// Shared libraries with passes of the user's, and which passes run where: a point ("pre",
  /// "post", "pre-scheduling", "pre-fusion", "post-fusion") to a pipeline text.
  std::vector<std::string> passPlugins;
  std::map<std::string, std::string> userPasses;
  /// Functions on loop operations by point: "pre-scheduling" (they ask for splits by the names of
  /// variables), "pre-fusion" or "post-fusion" (they divide operations). Nothing of such a
  /// compilation is taken from the cache or kept in it.
  std::map<std::string, std::vector<OperationFunction>> userFunctions;
  /// Folder of compiled models that processes share (ADR 0030); empty means none.
  std::string cacheDirectory;
  uint64_t cacheLimitBytes = kDefaultCacheLimitBytes;
};

struct CompileResult {
  /// model.json, bundle_<i>/{op_spec.txt, bundle.mlir, sdsc_<n>.json, spyreCodeDir/...}; when
  /// stopped early at an IR phase, "<phase>.mlir".
  Artifacts artifacts;
  std::string decisionsJson;
  /// With lx.keepProblem: the placement problem, for spyre-plan; empty when nothing was planned.
  std::string lxProblemJson;
  /// Nothing was compiled: an earlier compilation of the same had left this.
  bool fromCache = false;
};

/// Graph IR text -> artifacts. Errors: E1001 (malformed text), E1002 (operations that are not
/// supported, all of them with counts), E1003 (dtype), E1004 (rank or shape), E1005 (arguments),
/// E1007 (no device operation), and those of later stages. With planner best, a call with a node
/// number that a later stage refuses becomes a CPU step of the model (docs/adr/0086).
Expected<CompileResult> compileGraph(const std::string &graphText, const CompileOptions &options);

/// True when the compiler has no way to run a program that may be legal: the caller may run it by
/// other means. Other errors (settings, a broken back end) are for the user to see.
bool isRefusal(const Status &status);

/// Continues from a dumped, possibly edited, phase: text of "graph", "loop", "layout" or
/// "division".
Expected<CompileResult> compileFromPhase(const std::string &phase, const std::string &text,
                                         const CompileOptions &options);
/// Continues from a directory that stopped at "opspec" or "bundle".
Expected<CompileResult> compileFromArtifacts(const std::string &phase, const Artifacts &artifacts,
                                             const CompileOptions &options);

/// Loop IR text (phases "loop", "layout", "division") as one line per operation, then the buffers.
/// Error: E1001.
Expected<std::string> describeLoops(const std::string &text);

/// Element-wise device operations that a call may name as "spyre.device.<name>", with their
/// operands and constants.
struct DeviceOp {
  std::string name;
  int64_t operands = 0;
  std::vector<std::string> constants;
};
std::vector<DeviceOp> deviceOperations();

/// Name of a gate that a CPU step gives: "compatibility", "schema", "dtype", "shape", "template".
std::string gateName(int64_t gate);

/// One row of the table of operations, for documents and tests: how it is computed, by which device
/// operation (empty: by several, or none), of how many tensors (-1: any number) and element types.
struct OperationRow {
  std::string name, kind, deviceOp, types;
  int64_t tensors = 0;
  std::vector<std::string> attributes;
};
std::vector<OperationRow> operationTable();
/// Framework names of all operations the compiler accepts, sorted.
std::vector<std::string> supportedOperations();
/// Those of them that compute, sorted: not views, copies or fills, which a framework does itself on
/// tensors it has.
std::vector<std::string> computedOperations();

} // namespace spyre::capi
