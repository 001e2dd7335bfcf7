//===- DivisionPricesTest.cpp - a chosen plan has the price of the emitted operation --------===//
//
// The planner prices loop operations, the back end's view of an emitted operation is made from its
// SuperDSC. Both must be the same kernel: else the plan that was chosen is not the one that was
// priced. [spec: work-division 25, row 16]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/BackEnd/KernelPrices.h"
#include "spyre/Base/Json.h"
#include "spyre/CAPI/Compiler.h"
#include "spyre/CostModel/KernelPricer.h"
#include "spyre/Spec/OpSpec.h"

#include "RandomGraph.h"
#include "gtest/gtest.h"

#include <cstdlib>

namespace spyre::testing {
namespace {

/// What the division of each operation was priced at, in program order.
std::vector<int64_t> plannedPrices(const std::string &decisionsJson) {
  std::vector<int64_t> prices;
  const Json decisions = *parseJson(decisionsJson);
  for (const Json &entry : decisions) {
    // Others say more of a plan that is told already; all of them have its price.
    const bool isMore = entry["reason"] == "neighbours" || entry["reason"] == "padded";
    if (entry["stage"] == "work-distribution" && entry["reason"] != "host-step" && !isMore &&
        entry["taken"] == true) {
      prices.push_back(entry["numbers"]["ns"].get<int64_t>());
    }
  }
  return prices;
}

/// Nanoseconds of each emitted operation; negative where the cost model has no such kernel.
std::vector<double> emittedPrices(const Artifacts &artifacts, const arch::DeviceDesc &device,
                                  std::vector<std::string> &names) {
  std::vector<double> prices;
  for (size_t bundle = 0;; ++bundle) {
    auto found = artifacts.find(fmt::format("bundle_{}/op_spec.txt", bundle));
    if (found == artifacts.end()) {
      return prices;
    }
    Expected<std::vector<spec::OpSpec>> specs = spec::parseOpSpecs(found->second);
    EXPECT_TRUE(specs.ok()) << specs.status().message();
    for (const spec::OpSpec &each : specs.ok() ? *specs : std::vector<spec::OpSpec>()) {
      Expected<spec::SuperDsc> dsc = spec::emitSuperDsc(each, 0);
      EXPECT_TRUE(dsc.ok()) << dsc.status().message();
      Expected<backend::PricedDsc> priced = dsc.ok() ? backend::pricedKernelOf(*dsc, device)
                                                     : Expected<backend::PricedDsc>(dsc.status());
      names.push_back(spec::writeOpSpecs({each}));
      if (!priced.ok() || each.iterationSpace.empty()) { // nothing to divide
        prices.push_back(-1);
        continue;
      }
      Expected<costmodel::KernelPricer> pricer =
          costmodel::KernelPricer::create(priced->kernel, device);
      EXPECT_TRUE(pricer.ok()) << pricer.status().message();
      double ns = 0;
      pricer->price(priced->splits, std::span(&ns, 1));
      prices.push_back(ns);
    }
  }
}

class DivisionPrices : public ::testing::TestWithParam<const char *> {};

TEST_P(DivisionPrices, AreThoseOfTheEmittedOperations) {
  const uint64_t graphs = std::getenv("SPYRE_TEST_LONG") ? 600 : 60;
  const arch::DeviceDesc device = *arch::DeviceDesc::preset(GetParam());
  uint64_t compared = 0;
  for (uint64_t seed = 0; seed < graphs && !HasFailure(); ++seed) {
    Random random(seed * 2654435761u + 17);
    const Graph graph = randomGraph(random, {.steps = 6, .maxSize = 140, .maxElements = 8000});
    for (const char *planner : {"best", "compat"}) {
      capi::CompileOptions options;
      options.device = device;
      options.compileTo = "opspec";
      options.planner = planner;
      options.lx.enabled = false; // prices are those of operands in memory
      Expected<capi::CompileResult> compiled = capi::compileGraph(graphText(graph), options);
      if (!compiled.ok()) {
        continue; // The fuzz tests say what may fail.
      }
      std::vector<std::string> names;
      const std::vector<int64_t> planned = plannedPrices(compiled->decisionsJson);
      const std::vector<double> emitted = emittedPrices(compiled->artifacts, device, names);
      ASSERT_EQ(planned.size(), emitted.size());
      for (size_t i = 0; i < planned.size(); ++i) {
        if (emitted[i] < 0) {
          continue;
        }
        EXPECT_NEAR(double(planned[i]), emitted[i], 1 + 1e-6 * emitted[i])
            << "seed " << seed << " " << planner << " " << names[i];
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, graphs * 5);
}
INSTANTIATE_TEST_SUITE_P(Devices, DivisionPrices, ::testing::Values("openspyre", "tiny"));

} // namespace
} // namespace spyre::testing
