//===- Solvers.cpp - solvers by name ----------------------------------------------------------===//
#include "spyre/Solver/Placement/MemoryPlanSolver.h"

#include "Documented.h"
#include "Exact.h"
#include "fmt/ranges.h"

#include <map>
#include <mutex>

namespace spyre::solver::placement {
namespace {

template <typename Solver>
SolverFactory make() {
  return [](const SolverOptions &options) { return std::make_unique<Solver>(options); };
}

/// \p order: what the name says; none: what the options say.
SolverFactory fit(bool tightest, std::optional<FitOrder> order = std::nullopt) {
  return [tightest, order](SolverOptions options) {
    options.order = order.value_or(options.order);
    return std::make_unique<FitSolver>(options, tightest);
  };
}

struct Registry {
  std::mutex mutex;
  std::map<std::string, SolverFactory> factories = {
      {"greedy", make<GreedySolver>()},
      {"firstfit", fit(false)},
      {"firstfit-score", fit(false, FitOrder::Score)},
      {"firstfit-lifetime", fit(false, FitOrder::Lifetime)},
      {"bestfit", fit(true)},
      {"bestfit-score", fit(true, FitOrder::Score)},
      {"bestfit-lifetime", fit(true, FitOrder::Lifetime)},
      {"simulated_annealing", make<AnnealingSolver>()},
      {"exact", make<ExactSolver>()},
      // The name it has in the existing stack's configuration.
      {"cpsat", make<ExactSolver>()},
  };
};

Registry &registry() {
  static Registry instance;
  return instance;
}

} // namespace

std::string_view nameOf(Proof proof) {
  switch (proof) {
  case Proof::AllPlaced:
    return "all-placed";
  case Proof::BoundMet:
    return "bound-met";
  case Proof::SearchExhausted:
    return "search-exhausted";
  case Proof::BudgetExhausted:
    return "budget-exhausted";
  case Proof::None:
    return "none";
  }
  return "none";
}

Status registerSolver(const std::string &name, SolverFactory factory) {
  Registry &all = registry();
  const std::lock_guard lock(all.mutex);
  if (name.empty() || !factory || !all.factories.emplace(name, std::move(factory)).second) {
    return error<3045>("a solver named '{}' cannot be added: the name is empty or taken, or there "
                       "is nothing to make it with",
                       name);
  }
  return Status::success();
}

std::vector<std::string> solverNames() {
  Registry &all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<std::string> names;
  for (const auto &[name, factory] : all.factories) {
    names.push_back(name);
  }
  return names;
}

Expected<std::unique_ptr<MemoryPlanSolver>> createSolver(const std::string &name,
                                                         const SolverOptions &options) {
  SolverFactory factory;
  {
    Registry &all = registry();
    const std::lock_guard lock(all.mutex);
    if (auto found = all.factories.find(name); found != all.factories.end()) {
      factory = found->second;
    }
  }
  if (!factory) {
    return error<3045>("no placement solver is named '{}'; known: {}", name,
                       fmt::join(solverNames(), ", "));
  }
  return factory(options);
}

} // namespace spyre::solver::placement
