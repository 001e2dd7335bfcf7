//===- DivisionQuality.cpp - how fast divided operations run, by planner --------------------===//
//
//   DivisionQuality [--model-ops=DIRECTORY]
//
// Matrix products of published measurements and, if asked, of model files (YAML lists of calls):
// each is compiled by the documented planner and by the best one, and its program is timed on the
// simulator's clock, never by the planner's price. Rows "published/..." have the two splits of a
// published row, as they are: the clock must put them in the published order.
// [spec: work-division 23.1]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/CAPI/Compiler.h"
#include "spyre/Program/Program.h"
#include "spyre/Sim/SpyreSim.h"
#include "spyre/Spec/OpSpec.h"
#include "spyre/Spec/SuperDsc.h"

#include "benchmark/benchmark.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

namespace {

using namespace spyre;
using Splits = std::vector<int64_t>;

/// A batch of 0: one product of matrices.
struct Product {
  std::string name;
  int64_t m = 1, n = 1, k = 1, batch = 0;
};

/// The product, divided by \p planner; others of the graph's operations are left out.
Expected<spec::OpSpec> compiled(const Product &product, const std::string &planner,
                                const arch::DeviceDesc &device) {
  auto type = [&](int64_t rows, int64_t columns) {
    capi::TensorType of{numerics::HostType::Float16, {rows, columns}, {columns, 1}};
    if (product.batch > 0) {
      of.size.insert(of.size.begin(), product.batch);
      of.stride.insert(of.stride.begin(), rows * columns);
    }
    return of;
  };
  capi::GraphBuilder builder;
  auto input = [&](const char *name, int64_t rows, int64_t columns) {
    const capi::TensorType of = type(rows, columns);
    return builder.addInput(name, of, 0, *layout::DeviceLayout::makeDefault(of.size, of.dtype));
  };
  const auto x = input("x", product.m, product.k), w = input("w", product.k, product.n);
  const capi::TensorType result = type(product.m, product.n);
  const char *callee = product.batch > 0 ? "aten.bmm.default" : "aten.mm.default";
  builder.addOutput(builder.addCall(callee, {x, w}, {}, result, ""), result);
  capi::CompileOptions options;
  options.device = device;
  options.planner = planner;
  options.compileTo = "opspec";
  SPYRE_ASSIGN_OR_RETURN(capi::CompileResult done, capi::compileGraph(*builder.text(), options));
  SPYRE_ASSIGN_OR_RETURN(std::string text, findArtifact(done.artifacts, "bundle_0/op_spec.txt"));
  SPYRE_ASSIGN_OR_RETURN(std::vector<spec::OpSpec> specs, spec::parseOpSpecs(text));
  for (spec::OpSpec &each : specs) {
    if (spec::isMatmul(each)) {
      return std::move(each);
    }
  }
  return error<9303>("'{}' has no matrix product", product.name);
}

/// Microseconds on the simulator's clock, without the launch.
Expected<double> timed(const spec::OpSpec &op, const arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(spec::SuperDsc dsc, spec::emitSuperDsc(op, 0));
  SPYRE_ASSIGN_OR_RETURN(program::Program program, backend::lowerSuperDscs({dsc}, device));
  const std::string bytes = program::writeProgram(program);
  const char *text = "";
  spyre_sim_timer *timer = spyre_sim_timer_create(bytes.data(), bytes.size(), &text);
  spyre_sim_counters counters{};
  const bool failed = timer == nullptr ||
                      spyre_sim_timer_run(timer, device.toJson().c_str(), &counters, &text) != 0;
  spyre_sim_timer_destroy(timer);
  if (failed) {
    return error<9303>("not timed: {}", text);
  }
  const double cycles = double(counters.cycles) - device.timing.launchOverheadCycles -
                        device.timing.bundleOverheadCycles;
  return cycles / device.timing.clockGhz / 1000;
}

Splits splitsOf(const spec::OpSpec &op) {
  Splits splits;
  for (const spec::IterationDim &dim : op.iterationSpace) {
    splits.push_back(dim.cores);
  }
  return splits;
}

void setSplits(spec::OpSpec &op, const Splits &splits) {
  for (size_t d = 0; d < op.iterationSpace.size(); ++d) {
    op.iterationSpace[d].cores = splits[d];
  }
}

const arch::DeviceDesc &machine() {
  static const arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  return device;
}

std::string text(const Splits &splits) { return fmt::format("{}", fmt::join(splits, ",")); }

/// Both planners. Where the documented one has no plan, there is nothing to compare with.
void race(benchmark::State &state, const Product &product) {
  for (auto _ : state) {
    Expected<spec::OpSpec> compat = compiled(product, "compat", machine()),
                           best = compiled(product, "best", machine());
    Expected<double> us = best.ok() ? timed(*best, machine()) : Expected<double>(best.status());
    if (!us.ok()) {
      state.SkipWithError(us.status().message().c_str());
      return;
    }
    state.counters["best_us"] = *us;
    std::string label = fmt::format("best {}", text(splitsOf(*best)));
    if (Expected<double> slow = compat.ok() ? timed(*compat, machine()) : compat.status();
        slow.ok()) {
      state.counters["compat_us"] = *slow;
      state.counters["speed_up"] = *slow / *us;
    } else {
      label += fmt::format(", compat E{}", slow.status().code());
    }
    state.SetLabel(label);
  }
}

/// Two divisions of one product, and what was published of them (larger: the second is faster).
struct Pair {
  Product product;
  Splits first, second;
  double published = 1;
};

void order(benchmark::State &state, const Pair &pair) {
  for (auto _ : state) {
    Expected<spec::OpSpec> op = compiled(pair.product, "compat", machine());
    double us[2] = {};
    for (size_t i = 0; op.ok() && i < 2; ++i) {
      setSplits(*op, i == 0 ? pair.first : pair.second);
      Expected<double> time = timed(*op, machine());
      if (!time.ok()) {
        state.SkipWithError(time.status().message().c_str());
        return;
      }
      us[i] = *time;
    }
    state.counters["first_us"] = us[0];
    state.counters["second_us"] = us[1];
    state.counters["speed_up"] = us[0] / us[1];
    state.counters["published"] = pair.published;
  }
}

/// Rows of one table with different sizes: the time of each at its published splits.
struct Row {
  Product product;
  Splits splits;
  double publishedMs = 0;
};

void row(benchmark::State &state, const Row &of) {
  for (auto _ : state) {
    Expected<spec::OpSpec> op = compiled(of.product, "compat", machine());
    if (op.ok()) {
      setSplits(*op, of.splits);
    }
    Expected<double> us = op.ok() ? timed(*op, machine()) : Expected<double>(op.status());
    if (!us.ok()) {
      state.SkipWithError(us.status().message().c_str());
      return;
    }
    state.counters["us"] = *us;
    state.counters["published_us"] = of.publishedMs * 1000;
  }
}

const Pair kPairs[] = {
    {{"qo_prefill", 512, 4096, 4096}, {32, 1, 1}, {8, 4, 1}, 2.59},
    {{"kv_prefill", 512, 1024, 4096}, {32, 1, 1}, {8, 4, 1}, 1.76},
    {{"mlp_prefill", 512, 12800, 4096}, {32, 1, 1}, {8, 4, 1}, 2.07},
    {{"qo_decode4", 4, 4096, 4096}, {1, 32, 1}, {4, 8, 1}, 1.02},
    {{"kv_decode4", 4, 1024, 4096}, {2, 16, 1}, {4, 8, 1}, 1.06},
    {{"mlp_decode4", 4, 12800, 4096}, {1, 25, 1}, {4, 8, 1}, 1.20},
    {{"kv_decode", 1, 1024, 4096}, {1, 16, 2}, {1, 16, 2}, 1.00},
};
const Row kRows[] = {
    {{"m1", 1, 25600, 4096}, {1, 25, 1}, 1.762},
    {{"m2", 2, 25600, 4096}, {1, 8, 4}, 1.463},
    {{"m4", 4, 25600, 4096}, {2, 8, 2}, 1.389},
    {{"m8", 8, 25600, 4096}, {2, 8, 2}, 1.377},
    {{"m16", 16, 25600, 4096}, {4, 8, 1}, 1.365},
    {{"m1_n26624", 1, 26624, 4096}, {1, 32, 1}, 1.508},
};

//===- Calls of models ----------------------------------------------------------------------===//

std::vector<int64_t> numbersIn(const std::string &line) {
  std::vector<int64_t> numbers;
  size_t at = line.find('[');
  while (at != std::string::npos && at + 1 < line.size()) {
    numbers.push_back(std::atoll(line.c_str() + at + 1));
    at = line.find(',', at + 1);
  }
  return numbers;
}

/// What a call multiplies, as {m, n, k, batch}: linear(x [.., k], w [n, k]), matmul(x [b.., m, k],
/// y [b.., k, n]). Nothing for other calls.
std::vector<int64_t> productOf(const std::string &op,
                               const std::vector<std::vector<int64_t>> &shapes) {
  if (shapes.size() < 2 || shapes[0].empty() || shapes[1].size() < 2) {
    return {};
  }
  const std::vector<int64_t> &x = shapes[0], &y = shapes[1];
  auto upTo = [&](size_t kept) {
    int64_t product = 1;
    for (size_t d = 0; d + kept < x.size(); ++d) {
      product *= x[d];
    }
    return product;
  };
  if (op == "torch.nn.functional.linear" && y.size() == 2) {
    return {upTo(1), y[0], y[1], 0};
  }
  const bool multiplies = op == "torch.matmul" || op == "torch.bmm" || op == "torch.mm";
  if (!multiplies || x.size() < 2 || x.back() != y[y.size() - 2]) {
    return {};
  }
  if (y.size() == 2) {
    return {upTo(1), y[1], y[0], 0};
  }
  return x.size() == y.size() ? std::vector<int64_t>{x[x.size() - 2], y.back(), x.back(), upTo(2)}
                              : std::vector<int64_t>();
}

/// The products of the calls in \p file.
void addProducts(const std::filesystem::path &file, std::set<std::vector<int64_t>> &found) {
  std::ifstream stream(file);
  std::string line, op;
  std::vector<std::vector<int64_t>> shapes;
  auto close = [&] {
    if (std::vector<int64_t> product = productOf(op, shapes); !product.empty()) {
      found.insert(std::move(product));
    }
    shapes.clear();
  };
  while (std::getline(stream, line)) {
    if (const size_t at = line.find("  op: "); at != std::string::npos) {
      close();
      op = line.substr(at + 6);
    } else if (line.find(" shape: [") != std::string::npos) {
      shapes.push_back(numbersIn(line));
    }
  }
  close();
}

} // namespace

int main(int argc, char **argv) {
  std::set<std::vector<int64_t>> products;
  constexpr const char *kFlag = "--model-ops=";
  std::vector<char *> rest;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    if (!argument.starts_with(kFlag)) {
      rest.push_back(argv[i]);
      continue;
    }
    std::error_code code;
    for (const auto &entry :
         std::filesystem::directory_iterator(argument.substr(std::string(kFlag).size()), code)) {
      if (entry.path().extension() == ".yaml") {
        addProducts(entry.path(), products);
      }
    }
  }
  auto add = [](const std::string &name, auto run) {
    benchmark::RegisterBenchmark(name.c_str(), run)->Iterations(1)->Unit(benchmark::kMillisecond);
  };
  std::set<std::vector<int64_t>> raced;
  auto addRace = [&](const std::string &name, const Product &product) {
    if (raced.insert({product.m, product.n, product.k, product.batch}).second) {
      add("race/" + name, [product](benchmark::State &state) { race(state, product); });
    }
  };
  for (const Pair &pair : kPairs) {
    addRace(pair.product.name, pair.product);
    add("published/" + pair.product.name, [pair](benchmark::State &state) { order(state, pair); });
  }
  for (const Row &of : kRows) {
    addRace("issue4032_" + of.product.name, of.product);
    add("published_row/" + of.product.name, [of](benchmark::State &state) { row(state, of); });
  }
  for (const std::vector<int64_t> &of : products) {
    const std::string name =
        fmt::format("{}{}x{}x{}", of[3] > 0 ? fmt::format("{}x", of[3]) : "", of[0], of[1], of[2]);
    addRace("model_" + name, {name, of[0], of[1], of[2], of[3]});
  }
  int count = int(rest.size());
  benchmark::Initialize(&count, rest.data());
  if (benchmark::ReportUnrecognizedArguments(count, rest.data())) {
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
