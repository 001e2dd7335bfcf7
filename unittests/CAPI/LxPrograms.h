//===- LxPrograms.h - graphs that scratchpad planning is tested with, and how they run -------===//
#pragma once

#include "spyre/CAPI/Compiler.h"

#include "ModelRunner.h"
#include "RandomGraph.h"

namespace spyre::testing {

/// A graph under construction: inputs and calls by number.
class GraphMaker {
public:
  explicit GraphMaker(uint64_t seed = 1) : random(seed) {}

  int64_t input(const std::vector<int64_t> &shape);
  int64_t call(const std::string &target, const std::vector<int64_t> &operands,
               const std::vector<int64_t> &shape,
               const std::vector<std::pair<std::string, capi::Attribute>> &attributes = {});
  int64_t add(int64_t a, int64_t b) { return call("aten.add.Tensor", {a, b}, shapes[size_t(a)]); }
  int64_t unary(const char *name, int64_t a) {
    return call(std::string("aten.") + name + ".default", {a}, shapes[size_t(a)]);
  }
  /// max, sub, exp, sum, div over \p dim.
  int64_t softmax(int64_t x, int64_t dim);
  int64_t matmul(int64_t a, int64_t b);
  /// Inputs come first: all of them before the first call.
  Graph finish(const std::vector<int64_t> &outputs);

  std::vector<std::vector<int64_t>> shapes;

private:
  Random random;
  Graph graph;
};

/// Options of a machine with LX planning on.
capi::CompileOptions lxOptions(const arch::DeviceDesc &device, int64_t cores);

struct LxRun {
  capi::CompileResult compiled;
  RunResult result;
  int64_t ddrBytes() const {
    return int64_t(result.counters.ddrReadBytes + result.counters.ddrWriteBytes);
  }
};
/// Compiles and runs on the simulator, sanitizer on.
Expected<LxRun> compileAndRun(const Graph &graph, const capi::CompileOptions &options);

/// Number \p name of the decision of stage "plan-lx" about \p subject; -1 when there is none.
int64_t lxNumber(const capi::CompileResult &compiled, const std::string &subject,
                 const std::string &name);
/// Its reason and detail: "too-large: 4194304 bytes ..."; empty when there is none.
std::string lxReason(const capi::CompileResult &compiled, const std::string &subject);
/// Buffers the plan has a place for.
std::vector<std::string> placedBuffers(const capi::CompileResult &compiled);

} // namespace spyre::testing
