//===- LxPlan.cpp - rules, solver and check of one scratchpad plan ----------------------------===//
#include "spyre/Solver/Placement/LxPlan.h"

#include <algorithm>

namespace spyre::solver::placement {

namespace {

constexpr int64_t kStickBytes = 128;

Status applyWishes(const LxOptions &options, Problem &problem) {
  auto find = [&](const std::string &name) {
    return std::find_if(problem.buffers.begin(), problem.buffers.end(),
                        [&](const Buffer &buffer) { return buffer.name == name; });
  };
  for (const auto &[name, address] : options.pins) {
    auto found = find(name);
    if (found == problem.buffers.end()) {
      return error<3100>("'{}' is to be at {}, but the program has no such buffer", name, address);
    }
    found->pinned = address;
  }
  for (const std::string &name : options.forbidden) {
    auto found = find(name);
    if (found == problem.buffers.end()) {
      return error<3100>("'{}' is not to stay in LX, but the program has no such buffer", name);
    }
    if (!found->forbidden) {
      found->forbidden = true;
      found->forbiddenReason = "asked-for: it is not to stay; take that wish back";
    }
  }
  SPYRE_RETURN_IF_ERROR(validate(problem));
  return checkPins(problem);
}

std::string solverNameOf(const LxOptions &options) {
  return options.ownSolver         ? std::string(options.ownSolver->name())
         : !options.solver.empty() ? options.solver
         : options.compat          ? "greedy"
                                   : "exact";
}

Expected<std::shared_ptr<const MemoryPlanSolver>> solverOf(const LxOptions &options) {
  if (options.ownSolver) {
    return options.ownSolver;
  }
  SolverOptions solverOptions;
  solverOptions.order = options.compat ? FitOrder::Lifetime : FitOrder::Score;
  SPYRE_ASSIGN_OR_RETURN(auto solver, createSolver(solverNameOf(options), solverOptions));
  return std::shared_ptr<const MemoryPlanSolver>(std::move(solver));
}

/// Whether nothing could be placed at all: most single operations.
bool hasCandidate(const Problem &problem) {
  return std::any_of(problem.buffers.begin(), problem.buffers.end(),
                     [](const Buffer &buffer) { return !buffer.forbidden && buffer.worth() > 0; });
}

} // namespace

const std::vector<std::string> &documentedLxOps() {
  // amax is max here.
  static const std::vector<std::string> names = {"max", "sum",  "exp", "sub",
                                                 "mul", "mean", "add", "rsqrt"};
  return names;
}

PlacementRules rulesOf(const LxOptions &options, int cores) {
  PlacementRules rules;
  const bool isDocumented = options.compat && options.allowedOps.empty() && !options.allOps;
  const std::vector<std::string> &allowed = isDocumented ? documentedLxOps() : options.allowedOps;
  rules.allowedOps.insert(allowed.begin(), allowed.end());
  if (!allowed.empty()) {
    rules.allowedOps.insert("clone"); // the copies themselves are ours
  }
  rules.inPlaceOps.clear();
  if (options.inPlace) {
    rules.inPlaceOps.insert(options.inPlaceOps.begin(), options.inPlaceOps.end());
  }
  rules.pointwiseInPlace = options.inPlace && options.inPlaceOps.empty();
  // The documented pass has put its copies into the list already.
  rules.inputClones = options.inputClones && !options.compat;
  rules.outputClones = options.outputClones && !options.compat;
  rules.cores = cores;
  return rules;
}

Expected<LxPlan> planLx(const OpList &list, const LxOptions &options, int cores,
                        int64_t capacityBytes) {
  if (options.passes.empty() && options.ownPasses.empty()) {
    return planList(list, options, cores, capacityBytes);
  }
  OpList changed = list;
  SPYRE_RETURN_IF_ERROR(runPassesBefore(options, capacityBytes, changed));
  return planList(changed, options, cores, capacityBytes);
}

Expected<LxPlan> planList(const OpList &list, const LxOptions &options, int cores,
                          int64_t capacityBytes) {
  LxPlan result;
  const PlacementRules rules = rulesOf(options, cores);
  SPYRE_ASSIGN_OR_RETURN(result.made, makeProblem(list, rules, capacityBytes, kStickBytes));
  SPYRE_RETURN_IF_ERROR(applyWishes(options, result.made.problem));
  SPYRE_ASSIGN_OR_RETURN(const auto solver, solverOf(options));
  result.solver = solverNameOf(options);
  const Problem &problem = result.made.problem;
  if (hasCandidate(problem)) {
    SPYRE_ASSIGN_OR_RETURN(result.plan, solver->plan(problem, Variant::Pick));
    SPYRE_RETURN_IF_ERROR(verifyOpListPlan(list, rules, result.made, result.plan.offsets)
                              .withContext(fmt::format("plan of solver '{}': ", result.solver)));
  } else {
    result.plan.offsets.resize(problem.buffers.size());
    result.plan.complete = true;
    result.plan.certificate.proof = Proof::AllPlaced;
  }
  SPYRE_RETURN_IF_ERROR(runPassesAfter(options, list, rules, result.made, result.plan));
  result.trafficBefore = memoryTraffic(list, result.made, Offsets(problem.buffers.size()));
  result.trafficAfter = memoryTraffic(list, result.made, result.plan.offsets);
  return result;
}

Status renumber(LxPlan &plan, const OpList &list, const std::vector<int64_t> &numbers,
                const LxOptions &options, int cores, int64_t capacityBytes) {
  // Ascending from 0 on: no copy was inserted.
  if (numbers.empty() || numbers.back() + 1 == int64_t(numbers.size())) {
    return Status::success();
  }
  OpList numbered = list;
  numbered.numbers = numbers;
  // Decides as before, with the new numbers in the reasons.
  SPYRE_ASSIGN_OR_RETURN(OpListProblem made, makeProblem(numbered, rulesOf(options, cores),
                                                         capacityBytes, kStickBytes));
  plan.made.decisions = std::move(made.decisions);
  Problem &problem = plan.made.problem;
  const auto numberOf = [&](int64_t tick) { return numbered.numberOf(tick); };
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    Buffer &buffer = problem.buffers[i];
    buffer.lower = numberOf(buffer.lower);
    buffer.upper = numberOf(buffer.upper - 1) + 1;
    std::transform(buffer.uses.begin(), buffer.uses.end(), buffer.uses.begin(), numberOf);
    if (made.problem.buffers[i].forbidden) {
      buffer.forbiddenReason = made.problem.buffers[i].forbiddenReason;
    }
  }
  for (Transient &transient : problem.transients) {
    transient.tick = numberOf(transient.tick);
  }
  return Status::success();
}

//===--------------------------------------------------------------------------------------------===//
// The last check
//===--------------------------------------------------------------------------------------------===//

namespace {

struct Stay {
  int tensor = 0;
  int64_t address = 0, bytes = 0;
  std::vector<int64_t> uses;
  int64_t begin() const { return uses.front(); }
  int64_t end() const { return uses.back(); }
};

class ResidentVerifier {
public:
  ResidentVerifier(const OpList &list, int64_t capacityBytes, int cores)
      : list(list), capacityBytes(capacityBytes), cores(cores) {}

  Status run(const Residents &residents) {
    SPYRE_RETURN_IF_ERROR(validate(list));
    const auto uses = usesOf(list);
    std::vector<Stay> stays;
    for (const auto &[tensor, address] : residents) {
      stays.push_back(
          {tensor, address, list.tensors[size_t(tensor)].coreBytes, uses[size_t(tensor)]});
      if (stays.back().uses.empty()) {
        stays.pop_back();
        continue;
      }
      SPYRE_RETURN_IF_ERROR(checkOne(stays.back()));
    }
    return checkPairs(stays);
  }

private:
  Status checkOne(const Stay &stay) const {
    const OpTensor &tensor = list.tensors[size_t(stay.tensor)];
    if (!tensor.barred.empty() || tensor.isGraphInput || tensor.isGraphOutput) {
      return error<3101>("'{}' is at {} in LX, where it cannot be: {}", tensor.name, stay.address,
                         tensor.barred.empty() ? "inputs and outputs lie in memory"
                                               : tensor.barred);
    }
    if (stay.address < 0 || stay.address % kStickBytes != 0 ||
        stay.address + stay.bytes > capacityBytes) {
      return error<3101>(
          "'{}' takes {} bytes at {}, beyond the {} of the planner or not at a stick", tensor.name,
          stay.bytes, stay.address, capacityBytes);
    }
    const OpStep &first = list.ops[size_t(stay.begin())];
    if (std::count(first.writes.begin(), first.writes.end(), stay.tensor) == 0) {
      return error<3101>("operation {} ('{}') reads '{}' from LX before anything wrote it",
                         stay.begin(), first.name, tensor.name);
    }
    for (int64_t i = stay.begin(); i <= stay.end(); ++i) {
      if (list.ops[size_t(i)].opaque) {
        return error<3101>("'{}' is in LX while operation {} ('{}') runs another program, which "
                           "may use any address",
                           tensor.name, i, list.ops[size_t(i)].name);
      }
    }
    if (cores > 1) {
      if (const Decision agree = divisionsAgree(list, stay.tensor, stay.uses); !agree) {
        return error<3101>("'{}' is in LX, but {}", tensor.name, agree.detail());
      }
    }
    return Status::success();
  }

  /// One is written by the last operation that reads the other, element by element, at its place.
  bool isHandedOver(const Stay &from, const Stay &to) const {
    if (from.end() != to.begin() || from.address != to.address || from.bytes < to.bytes) {
      return false;
    }
    const OpStep &op = list.ops[size_t(to.begin())];
    for (size_t i = 0; i < op.reads.size(); ++i) {
      if (op.reads[i] == from.tensor && !op.aligned.empty() && !op.aligned[i]) {
        return false;
      }
    }
    return op.pointwise;
  }

  Status checkPairs(std::vector<Stay> &stays) const {
    std::sort(stays.begin(), stays.end(), [](const Stay &a, const Stay &b) {
      return std::pair(a.begin(), a.tensor) < std::pair(b.begin(), b.tensor);
    });
    std::vector<const Stay *> alive;
    for (const Stay &stay : stays) {
      std::erase_if(alive, [&](const Stay *other) { return other->end() < stay.begin(); });
      for (const Stay *other : alive) {
        const bool apart = other->address + other->bytes <= stay.address ||
                           stay.address + stay.bytes <= other->address;
        if (!apart && !isHandedOver(*other, stay)) {
          return error<3101>("'{}' [{}, {}) and '{}' [{}, {}) share LX at operation {} ('{}')",
                             nameOf(*other), other->address, other->address + other->bytes,
                             nameOf(stay), stay.address, stay.address + stay.bytes, stay.begin(),
                             list.ops[size_t(stay.begin())].name);
        }
      }
      alive.push_back(&stay);
    }
    return Status::success();
  }

  const std::string &nameOf(const Stay &stay) const {
    return list.tensors[size_t(stay.tensor)].name;
  }

  const OpList &list;
  const int64_t capacityBytes;
  const int cores;
};

} // namespace

Status verifyResidents(const OpList &list, const Residents &residents, int64_t capacityBytes,
                       int cores) {
  return residents.empty() ? Status::success()
                           : ResidentVerifier(list, capacityBytes, cores).run(residents);
}

} // namespace spyre::solver::placement
