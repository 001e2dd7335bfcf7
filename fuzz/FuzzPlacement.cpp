//===- FuzzPlacement.cpp - any bytes into the placement file readers ------------------------===//
//
// What is read is written back equal, and a small problem is solved with tight limits: the plan
// must satisfy the verifier.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Solver/Placement/Files.h"

#include "FuzzInput.h"

using namespace spyre;
namespace placement = spyre::solver::placement;

static void solve(const placement::Problem &problem) {
  placement::SolverOptions options;
  options.limits = {2000, 4000, 50, 64, 20'000, 0};
  for (const char *name : {"greedy", "firstfit", "exact"}) {
    auto plan = (*placement::createSolver(name, options))->plan(problem, placement::Variant::Pick);
    if (!plan.ok()) {
      fuzz::checkRefusal(plan.status(), {3046});
      continue;
    }
    SPYRE_CHECK(placement::verifyPlan(problem, plan->offsets, placement::Variant::Pick).ok(),
                "plans are right");
    SPYRE_CHECK(plan->certificate.value <= plan->certificate.bound, "bounds hold");
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string text = fuzz::inputBytes(data, size);
  const bool json = !text.empty() && text.front() == '{';
  auto problem =
      json ? placement::parseProblemJson(text) : placement::parseCsv(text, int64_t(1) << 20);
  if (!problem.ok()) {
    fuzz::checkRefusal(problem.status(), {3040, 3041, 3042, 3043, 3047, 3048, 9101, 9102, 9103});
    return 0;
  }
  if (json) {
    auto again = placement::parseProblemJson(placement::writeProblemJson(*problem));
    SPYRE_CHECK(again.ok() && *again == *problem, "round trip");
  } else {
    const std::string written = placement::writeCsv(*problem, {});
    auto again = placement::parseCsv(written, problem->capacityBytes);
    SPYRE_CHECK(again.ok() && placement::writeCsv(*again, {}) == written, "round trip");
  }
  if (problem->buffers.size() <= 24) {
    solve(*problem);
  }
  return 0;
}
