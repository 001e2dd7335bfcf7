//===- FuzzDivision.cpp - any bytes into the division planners ------------------------------===//
#include "spyre/Solver/Division/ProblemFile.h"
#include "spyre/Solver/Division/Report.h"
#include "spyre/Solver/Division/Verify.h"

#include "FuzzInput.h"

using namespace spyre;
using namespace spyre::solver::division;

/// More dims or operations than this only make a run slow.
static constexpr size_t kMostDims = 6, kMostOps = 4;

static void divideInMode(const Op &op, const arch::DeviceDesc &device, Mode mode) {
  const DeviceRates costs(device);
  Options options;
  options.mode = mode;
  options.cores = device.cores;
  options.explain = true;
  Expected<Outcome> outcome = divide(op, device, options, costs);
  if (!outcome.ok()) {
    fuzz::checkRefusal(outcome.status(),
                       {3060, 3062, 3063, 3064, 3065, 3066, 3067, 3068, 3069, 3070, 3071, 3072});
    return;
  }
  const ReportContext context{device, options, costs.name(), 3};
  SPYRE_CHECK(!reportText(*outcome, context).empty(), "every outcome can be told");
  SPYRE_CHECK(reportJson(*outcome, context).is_object(), "every outcome can be written");
  if (!outcome->skipped && outcome->verdict.ok()) {
    SPYRE_CHECK(verifyPlan(outcome->op, device, options.cores, outcome->plan).ok(),
                "a plan that is called legal passes the verifier");
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto ops = readProblem(fuzz::inputBytes(data, size));
  if (!ops.ok()) {
    fuzz::checkRefusal(ops.status(), {3060, 3066, 3073});
    return 0;
  }
  const std::string text = writeProblem(*ops);
  auto again = readProblem(text);
  SPYRE_CHECK(again.ok() && writeProblem(*again) == text, "text round trip");
  if (ops->size() > kMostOps) {
    return 0;
  }
  arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  for (const Op &op : *ops) {
    for (Mode mode : {Mode::Compat, Mode::CompatS1, Mode::Best}) {
      if (op.dims.size() <= kMostDims) {
        divideInMode(op, device, mode);
      }
    }
  }
  return 0;
}
