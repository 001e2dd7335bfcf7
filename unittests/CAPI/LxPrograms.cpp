//===- LxPrograms.cpp - see LxPrograms.h ----------------------------------------------------===//
#include "LxPrograms.h"

#include "spyre/Base/Json.h"

namespace spyre::testing {

using numerics::HostType;

int64_t GraphMaker::input(const std::vector<int64_t> &shape) {
  graph.inputs.push_back(randomTensor(random, shape, HostType::Float16, false));
  shapes.push_back(shape);
  return int64_t(shapes.size()) - 1;
}

int64_t GraphMaker::call(const std::string &target, const std::vector<int64_t> &operands,
                         const std::vector<int64_t> &shape,
                         const std::vector<std::pair<std::string, capi::Attribute>> &attributes) {
  graph.calls.push_back({target, operands, attributes, shape, HostType::Float16});
  shapes.push_back(shape);
  return int64_t(shapes.size()) - 1;
}

int64_t GraphMaker::softmax(int64_t x, int64_t dim) {
  const std::vector<int64_t> shape = shapes[size_t(x)];
  std::vector<int64_t> reduced = shape;
  reduced[size_t(dim)] = 1;
  const std::vector<std::pair<std::string, capi::Attribute>> attributes = {
      {"dim", std::vector<int64_t>{dim}}, {"keepdim", true}};
  const int64_t max = call("aten.amax.default", {x}, reduced, attributes);
  const int64_t exp = unary("exp", call("aten.sub.Tensor", {x, max}, shape));
  const int64_t sum = call("aten.sum.dim_IntList", {exp}, reduced, attributes);
  return call("aten.div.Tensor", {exp, sum}, shape);
}

int64_t GraphMaker::matmul(int64_t a, int64_t b) {
  return call("aten.mm.default", {a, b}, {shapes[size_t(a)][0], shapes[size_t(b)][1]});
}

Graph GraphMaker::finish(const std::vector<int64_t> &outputs) {
  graph.outputs = outputs;
  return graph;
}

capi::CompileOptions lxOptions(const arch::DeviceDesc &device, int64_t cores) {
  capi::CompileOptions options;
  options.device = device;
  options.cores = cores;
  options.symbolicArguments = true;
  options.lx.enabled = true;
  options.lx.acrossBundles = true;
  return options;
}

Expected<LxRun> compileAndRun(const Graph &graph, const capi::CompileOptions &options) {
  LxRun run;
  SPYRE_ASSIGN_OR_RETURN(run.compiled, capi::compileGraph(graphText(graph), options));
  SPYRE_ASSIGN_OR_RETURN(run.result,
                         runOnSimulator(run.compiled.artifacts, options.device, graph.inputs, 1));
  return run;
}

static Json lxEntry(const capi::CompileResult &compiled, const std::string &subject) {
  const Json decisions = *parseJson(compiled.decisionsJson);
  for (const Json &entry : decisions) {
    if (entry["stage"] == "plan-lx" && entry["subject"] == subject) {
      return entry;
    }
  }
  return Json();
}

int64_t lxNumber(const capi::CompileResult &compiled, const std::string &subject,
                 const std::string &name) {
  const Json entry = lxEntry(compiled, subject);
  return entry.is_object() && entry.contains("numbers") && entry["numbers"].contains(name)
             ? entry["numbers"][name].get<int64_t>()
             : -1;
}

std::vector<std::string> placedBuffers(const capi::CompileResult &compiled) {
  std::vector<std::string> names;
  const Json decisions = *parseJson(compiled.decisionsJson);
  for (const Json &entry : decisions) {
    if (entry["stage"] == "plan-lx" && entry["taken"].get<bool>() && entry["subject"] != "all") {
      names.push_back(entry["subject"].get<std::string>());
    }
  }
  return names;
}

std::string lxReason(const capi::CompileResult &compiled, const std::string &subject) {
  const Json entry = lxEntry(compiled, subject);
  return entry.is_object()
             ? entry["reason"].get<std::string>() + ": " + entry["detail"].get<std::string>()
             : "";
}

} // namespace spyre::testing
