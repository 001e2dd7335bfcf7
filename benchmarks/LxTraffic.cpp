//===- LxTraffic.cpp - memory traffic and time with and without scratchpad plans --------------===//
//
// Parts of models, compiled without a plan, with the documented one and with the exact one, and
// run: bytes of memory traffic and simulated time as the device counted them. A second look at the
// placement problem bounds what any plan could save; the exact plan must reach the bound it claims,
// and no row may be worse than the documented plan or than none.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Json.h"
#include "spyre/CAPI/Compiler.h"
#include "spyre/Runtime/Executable.h"
#include "spyre/Solver/Placement/Files.h"

#include "LxGraphs.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

namespace {

using namespace spyre;

struct Row {
  int64_t ddrBytes = 0, nanoseconds = 0;
  /// Of the exact plan: what it says, and the bound found here.
  int64_t value = 0, gap = -1, bound = 0;
};

/// No choice saves more: at each tick what is alive must fit, so the least valuable bytes beyond
/// the capacity are lost there. A result and the operand whose place it may take count once.
int64_t boundOf(const solver::placement::Problem &problem) {
  int64_t all = 0, worst = 0;
  std::map<int64_t, std::vector<std::pair<double, int64_t>>> alive; // value per byte, bytes
  for (const auto &buffer : problem.buffers) {
    if (buffer.forbidden) {
      continue;
    }
    all += buffer.worth();
    const int64_t first = buffer.lower + (buffer.parents.empty() ? 0 : 1);
    for (int64_t tick = first; tick < buffer.upper; ++tick) {
      alive[tick].push_back({double(buffer.worth()) / double(buffer.sizeBytes), buffer.sizeBytes});
    }
  }
  for (auto &[tick, buffers] : alive) {
    std::sort(buffers.begin(), buffers.end());
    int64_t excess = -problem.capacityBytes;
    for (const auto &[density, bytes] : buffers) {
      excess += bytes;
    }
    double lost = 0;
    for (const auto &[density, bytes] : buffers) {
      const int64_t taken = std::clamp<int64_t>(excess, 0, bytes);
      lost += density * double(taken);
      excess -= taken;
    }
    worst = std::max(worst, int64_t(lost));
  }
  return all - worst;
}

int64_t numberOf(const std::string &decisions, const char *name) {
  const Expected<Json> entries = parseJson(decisions);
  for (const Json &entry : entries.ok() ? *entries : Json::array()) {
    if (entry["stage"] == "plan-lx" && entry["reason"] == "total") {
      return entry["numbers"][name].get<int64_t>();
    }
  }
  return -1;
}

Status runOnce(const capi::CompileResult &compiled, const arch::DeviceDesc &machine, Row &row) {
  SPYRE_ASSIGN_OR_RETURN(auto driver, runtime::createDriver("sim", machine, {0, false}));
  auto device = runtime::Device::create(std::move(driver));
  SPYRE_ASSIGN_OR_RETURN(auto executable, runtime::Executable::load(device, compiled.artifacts));
  std::vector<runtime::BufferRef> inputs, outputs;
  for (const auto &[descs, buffers] : {std::pair(&executable->model().inputs, &inputs),
                                       std::pair(&executable->model().outputs, &outputs)}) {
    for (const spec::TensorDesc &desc : *descs) {
      SPYRE_ASSIGN_OR_RETURN(runtime::BufferRef buffer, device->allocate(desc.layout.bytes()));
      const std::vector<uint8_t> zeros(size_t(desc.layout.bytes()), 0);
      SPYRE_RETURN_IF_ERROR(device->copyToDevice(buffer, 0, zeros.data(), zeros.size()));
      buffers->push_back(buffer);
    }
  }
  SPYRE_RETURN_IF_ERROR(executable->run(inputs, outputs));
  const runtime::DeviceCounters counters = device->counters();
  row.ddrBytes = int64_t(counters.ddrReadBytes + counters.ddrWriteBytes);
  row.nanoseconds = int64_t(counters.nanoseconds);
  return Status::success();
}

Expected<Row> measure(const bench::LxGraph &graph, bool enabled, bool compat) {
  capi::CompileOptions options;
  options.device = *arch::DeviceDesc::preset("openspyre");
  options.cores = graph.cores;
  options.symbolicArguments = true;
  options.lx.enabled = enabled;
  options.lx.compat = compat;
  options.lx.allOps = true; // the stronger opponent: not its documented list of operations only
  options.lx.keepProblem = enabled && !compat;
  SPYRE_ASSIGN_OR_RETURN(capi::CompileResult compiled, capi::compileGraph(graph.text, options));
  Row row;
  if (options.lx.keepProblem) {
    SPYRE_ASSIGN_OR_RETURN(auto problem,
                           solver::placement::parseProblemJson(compiled.lxProblemJson));
    row.bound = boundOf(problem);
    row.gap = numberOf(compiled.decisionsJson, "gap");
    row.value = numberOf(compiled.decisionsJson, "bytes_before") -
                numberOf(compiled.decisionsJson, "bytes_after");
  }
  SPYRE_RETURN_IF_ERROR(runOnce(compiled, options.device, row));
  return row;
}

int run(bool asJson) {
  int faults = 0;
  Json results = Json::array();
  if (!asJson) {
    std::printf("%-24s %12s %12s %12s %9s %9s %9s  %s\n", "", "off, bytes", "compat", "best",
                "off, us", "compat", "best", "best of all?");
  }
  for (const bench::LxGraph &graph : bench::lxGraphs()) {
    const Expected<Row> off = measure(graph, false, false), compat = measure(graph, true, true),
                        best = measure(graph, true, false);
    for (const Expected<Row> *row : {&off, &compat, &best}) {
      if (!row->ok()) {
        std::fprintf(stderr, "%s: %s\n", graph.name.c_str(), row->status().message().c_str());
        return 1;
      }
    }
    const bool isBest = best->gap == 0;
    const bool isWorse = best->ddrBytes > off->ddrBytes || best->ddrBytes > compat->ddrBytes ||
                         best->value > best->bound;
    const bool isReached = best->ddrBytes < compat->ddrBytes || best->value == best->bound;
    faults += isWorse || !isBest || !isReached ? 1 : 0;
    if (!asJson) {
      std::printf("%-24s %12ld %12ld %12ld %9.1f %9.1f %9.1f  %s%s\n", graph.name.c_str(),
                  long(off->ddrBytes), long(compat->ddrBytes), long(best->ddrBytes),
                  double(off->nanoseconds) / 1e3, double(compat->nanoseconds) / 1e3,
                  double(best->nanoseconds) / 1e3, isBest ? "gap 0" : "gap",
                  isWorse                      ? ", WORSE"
                  : best->value == best->bound ? ", bound reached"
                                               : "");
    }
    results.push_back({{"name", graph.name},
                       {"ddr_bytes_off", off->ddrBytes},
                       {"ddr_bytes_compat", compat->ddrBytes},
                       {"ddr_bytes_best", best->ddrBytes},
                       {"ns_off", off->nanoseconds},
                       {"ns_compat", compat->nanoseconds},
                       {"ns_best", best->nanoseconds},
                       {"gap", best->gap},
                       {"saved_bytes", best->value},
                       {"bound_of_the_checker", best->bound}});
  }
  if (asJson) {
    std::printf("%s\n", results.dump(2).c_str());
  }
  return asJson || faults == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) { return run(argc > 1 && std::strcmp(argv[1], "--json") == 0); }
