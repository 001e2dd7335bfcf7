//===- LxPlan.cpp - rules, solver and check of one scratchpad plan ----------------------------===//
#include "spyre/Solver/Placement/LxPlan.h"

#include "spyre/Base/Math.h"

#include <algorithm>
#include <mutex>

namespace spyre::solver::placement {

namespace {

constexpr int64_t kStickBytes = 128;
/// Part of LX that holds programs: 64 KiB of 2 MiB.
constexpr int64_t kProgramShare = 32;

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
      found->forbiddenReason = "asked-for: it is not to stay";
    }
  }
  return validate(problem);
}

/// Whether nothing could be placed at all: most single operations.
bool hasCandidate(const Problem &problem) {
  return std::any_of(problem.buffers.begin(), problem.buffers.end(),
                     [](const Buffer &buffer) { return !buffer.forbidden && buffer.worth() > 0; });
}

} // namespace

int64_t plannedLxBytes(int64_t lxBytes, int64_t stickBytes, double backEndShare) {
  const auto bytes = int64_t(double(lxBytes - lxBytes / kProgramShare) * (1 - backEndShare));
  return std::clamp<int64_t>(roundUp(bytes, stickBytes), 0, lxBytes);
}

PlacementRules rulesOf(const LxOptions &options, int cores) {
  PlacementRules rules;
  rules.allowedOps.insert(options.allowedOps.begin(), options.allowedOps.end());
  if (!options.allowedOps.empty()) {
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

namespace {

using PassRef = std::shared_ptr<const ScratchpadOptimizationPass>;

struct PassRegistry {
  std::mutex mutex;
  std::map<std::string, PassRef, std::less<>> passes;
};
PassRegistry &registry() {
  static PassRegistry instance;
  return instance;
}

Expected<PassRef> findPass(const std::string &name) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  auto found = registry().passes.find(name);
  if (found != registry().passes.end()) {
    return found->second;
  }
  std::vector<std::string> names;
  for (const auto &[known, pass] : registry().passes) {
    names.push_back(known);
  }
  return error<3103>("'{}' is no registered scratchpad pass; known are: {}", name,
                     names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

Status runPasses(const LxOptions &options, int64_t capacityBytes, OpList &list) {
  for (const std::string &name : options.passes) {
    SPYRE_ASSIGN_OR_RETURN(PassRef pass, findPass(name));
    const size_t tensors = list.tensors.size(), ops = list.ops.size();
    SPYRE_RETURN_IF_ERROR(pass->run(list, capacityBytes));
    if (list.tensors.size() != tensors || list.ops.size() != ops) {
      return error<3103>(
          "scratchpad pass '{}' made {} tensors and {} operations of {} and {}; in a "
          "compilation it may only bar tensors and reserve bytes",
          name, list.tensors.size(), list.ops.size(), tensors, ops);
    }
  }
  return Status::success();
}

} // namespace

Status registerScratchpadPass(std::shared_ptr<const ScratchpadOptimizationPass> pass) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  const std::string name(pass->name());
  return registry().passes.emplace(name, std::move(pass)).second
             ? Status::success()
             : error<3103>("a scratchpad pass '{}' is registered already", name);
}

Expected<LxPlan> planLx(const OpList &given, const LxOptions &options, int cores,
                        int64_t capacityBytes) {
  LxPlan result;
  OpList changed;
  if (!options.passes.empty()) {
    changed = given;
    SPYRE_RETURN_IF_ERROR(runPasses(options, capacityBytes, changed));
  }
  const OpList &list = options.passes.empty() ? given : changed;
  const PlacementRules rules = rulesOf(options, cores);
  SPYRE_ASSIGN_OR_RETURN(result.made, makeProblem(list, rules, capacityBytes, kStickBytes));
  SPYRE_RETURN_IF_ERROR(applyWishes(options, result.made.problem));
  result.solver = !options.solver.empty() ? options.solver : options.compat ? "greedy" : "exact";
  SPYRE_ASSIGN_OR_RETURN(auto solver, createSolver(result.solver));
  const Problem &problem = result.made.problem;
  if (hasCandidate(problem)) {
    SPYRE_ASSIGN_OR_RETURN(result.plan, solver->plan(problem, Variant::Pick));
    SPYRE_RETURN_IF_ERROR(verifyOpListPlan(list, rules, result.made, result.plan.offsets));
  } else {
    result.plan.offsets.resize(problem.buffers.size());
    result.plan.complete = true;
    result.plan.certificate.proof = Proof::AllPlaced;
  }
  result.trafficBefore = memoryTraffic(list, result.made, Offsets(problem.buffers.size()));
  result.trafficAfter = memoryTraffic(list, result.made, result.plan.offsets);
  return result;
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
