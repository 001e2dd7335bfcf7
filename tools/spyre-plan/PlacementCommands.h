//===- PlacementCommands.h - spyre-plan solve, verify, explain, draw --------------------------===//
//
// The sub-commands about placement. spyre-plan's command line declares them beside others and asks
// which was chosen.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Solver/Placement/MemoryPlanSolver.h"

#include "CLI/CLI.hpp"

#include <iosfwd>

namespace spyre::tools {

class PlacementCommands {
public:
  void declare(CLI::App &app);
  /// Was one of them on the command line?
  bool chosen() const;
  /// \p good: there is a plan, or the given one is right.
  Status run(std::ostream &out, bool &good) const;

private:
  struct Options {
    std::string input, variant, solver = "exact", order = "score", output, json, writeProblem;
    int64_t capacity = 0, alignment = 0, nodes = 0;
    uint64_t seed = 0;
    std::vector<std::string> pins, forbidden;
  };

  void declareProblem(CLI::App &command);
  void declareSolver(CLI::App &command);
  Expected<solver::placement::Problem> load() const;
  Status applyWhatIf(solver::placement::Problem &problem) const;
  Expected<solver::placement::Plan> makePlan(const solver::placement::Problem &problem,
                                             double &seconds) const;
  Status runSolve(std::ostream &out, bool &good) const;
  Status runVerify(std::ostream &out, bool &good) const;
  Status runExplain(std::ostream &out, bool &good) const;
  Status runDraw(std::ostream &out, bool &good) const;

  Options options;
  CLI::App *solve = nullptr, *verify = nullptr, *explain = nullptr, *draw = nullptr;
};

} // namespace spyre::tools
