//===- ScratchpadPasses.cpp - passes beside planning, by name ---------------------------------===//
#include "spyre/Solver/Placement/LxPlan.h"

#include <algorithm>
#include <mutex>

namespace spyre::solver::placement {
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

/// What is new in a list, beside the list as it was.
class CopyFinder {
public:
  CopyFinder(const OpList &before, const OpList &after) : before(before), after(after) {}

  Expected<std::vector<InsertedCopy>> run() {
    size_t next = 0;
    for (size_t i = 0; i < after.ops.size(); ++i) {
      if (isNewCopy(after.ops[i])) {
        copyOf[after.ops[i].writes[0]] = copies.size();
        copies.push_back({after.ops[i].reads[0], after.ops[i].writes[0], i, {}});
      } else if (next == before.ops.size() || !isSame(next, after.ops[i])) {
        return error<3103>("a scratchpad pass changed operation {} ('{}'); in a compilation it may "
                           "bar tensors, reserve bytes and insert copies ('clone' of one tensor "
                           "to a new one)",
                           i, after.ops[i].name);
      } else {
        ++next;
      }
    }
    const size_t tensors = before.tensors.size() + copies.size();
    if (next != before.ops.size() || after.tensors.size() != tensors) {
      return error<3103>("a scratchpad pass left {} of {} operations and {} tensors where {} are "
                         "used; in a compilation it may only add copies",
                         next, before.ops.size(), after.tensors.size(), tensors);
    }
    return std::move(copies);
  }

private:
  bool isNew(int tensor) const { return size_t(tensor) >= before.tensors.size(); }

  bool isNewCopy(const OpStep &op) const {
    return op.name == "clone" && op.reads.size() == 1 && op.writes.size() == 1 &&
           isNew(op.writes[0]) && !isNew(op.reads[0]) && !copyOf.contains(op.writes[0]);
  }

  /// The same operation, apart from reads of copies of what it read.
  bool isSame(size_t index, const OpStep &now) {
    const OpStep &was = before.ops[index];
    if (was.name != now.name || was.writes != now.writes || was.reads.size() != now.reads.size()) {
      return false;
    }
    for (size_t i = 0; i < now.reads.size(); ++i) {
      if (now.reads[i] == was.reads[i]) {
        continue;
      }
      auto found = copyOf.find(now.reads[i]);
      if (found == copyOf.end() || copies[found->second].source != was.reads[i]) {
        return false;
      }
      copies[found->second].readers.emplace_back(index, i);
    }
    return true;
  }

  const OpList &before, &after;
  std::vector<InsertedCopy> copies;
  std::map<int, size_t> copyOf;
};

} // namespace

Status registerScratchpadPass(std::shared_ptr<const ScratchpadOptimizationPass> pass) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  const std::string name(pass->name());
  return registry().passes.emplace(name, std::move(pass)).second
             ? Status::success()
             : error<3103>("a scratchpad pass '{}' is registered already", name);
}

/// The registered ones, then the others.
static Expected<std::vector<PassRef>> passesOf(const LxOptions &options) {
  std::vector<PassRef> passes;
  for (const std::string &name : options.passes) {
    SPYRE_ASSIGN_OR_RETURN(PassRef pass, findPass(name));
    passes.push_back(std::move(pass));
  }
  passes.insert(passes.end(), options.ownPasses.begin(), options.ownPasses.end());
  return passes;
}

Status runPassesBefore(const LxOptions &options, int64_t capacityBytes, OpList &list) {
  SPYRE_ASSIGN_OR_RETURN(const std::vector<PassRef> passes, passesOf(options));
  for (const PassRef &pass : passes) {
    Status done = pass->run(list, capacityBytes);
    if (done = done.ok() ? validate(list) : done; !done.ok()) {
      return done.withContext(fmt::format("scratchpad pass '{}': ", pass->name()));
    }
  }
  return Status::success();
}

Status runPassesAfter(const LxOptions &options, const OpList &list, const PlacementRules &rules,
                      const OpListProblem &made, Plan &plan) {
  SPYRE_ASSIGN_OR_RETURN(const std::vector<PassRef> passes, passesOf(options));
  for (const PassRef &pass : passes) {
    const Offsets before = plan.offsets;
    Status done = pass->runAfter(list, made, plan.offsets);
    if (done.ok() && plan.offsets != before) {
      done = verifyOpListPlan(list, rules, made, plan.offsets);
      plan.certificate.value = done.ok() ? valueOf(made.problem, plan.offsets) : 0;
      // The bound is still one, but the plan is the pass's.
      plan.certificate.proof = plan.certificate.gap() == 0 ? plan.certificate.proof : Proof::None;
    }
    if (!done.ok()) {
      return done.withContext(fmt::format("after scratchpad pass '{}': ", pass->name()));
    }
  }
  return Status::success();
}

Expected<std::vector<InsertedCopy>> insertedCopies(const OpList &before, const OpList &after) {
  return CopyFinder(before, after).run();
}

} // namespace spyre::solver::placement
