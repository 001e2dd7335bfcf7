//===- Exact.h - Fit, Min and Pick with proof -------------------------------------------------===//
#pragma once

#include "spyre/Solver/Placement/MemoryPlanSolver.h"

namespace spyre::solver::placement {

class ExactSolver : public MemoryPlanSolver {
public:
  explicit ExactSolver(const SolverOptions &options) : options(options) {}
  std::string_view name() const override { return "exact"; }
  Expected<Plan> plan(const Problem &problem, Variant variant) const override;

private:
  Expected<Plan> fit(const Problem &problem) const;
  Expected<Plan> minimise(const Problem &problem) const;

  SolverOptions options;
};

} // namespace spyre::solver::placement
