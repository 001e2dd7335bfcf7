//===- OpListVerify.cpp - is a plan still right for a list of operations? ---------------------===//
#include "spyre/Solver/Placement/OpList.h"

#include <algorithm>
#include <map>

namespace spyre::solver::placement {
namespace {

/// Accesses of one operation, each tensor once.
std::vector<int> touched(const OpStep &op) {
  std::vector<int> tensors = op.reads;
  tensors.insert(tensors.end(), op.writes.begin(), op.writes.end());
  std::sort(tensors.begin(), tensors.end());
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
  return tensors;
}

/// Every access to the tensor lies in one of its planned lives, and every life is as planned.
Status checkLives(const OpList &list, const OpListProblem &made) {
  std::map<int, std::vector<int64_t>> planned, actual;
  for (const Web &web : made.webs) {
    auto &uses = planned[web.tensor];
    uses.insert(uses.end(), web.uses.begin(), web.uses.end());
  }
  for (size_t i = 0; i < list.ops.size(); ++i) {
    for (int tensor : touched(list.ops[i])) {
      actual[tensor].push_back(int64_t(i));
    }
  }
  for (auto &[tensor, uses] : planned) {
    std::sort(uses.begin(), uses.end());
  }
  for (const auto &[tensor, uses] : actual) {
    if (planned[tensor] != uses) {
      return error<3044>("tensor '{}' is used by other operations than when it was planned; plan "
                         "again after the last change",
                         list.tensors[tensor].name);
    }
  }
  return Status::success();
}

/// A life that begins with a read has nothing to read unless it is a copy of a graph input.
Status checkBegin(const OpList &list, const Web &web) {
  const OpStep &first = list.ops[web.uses.front()];
  const OpTensor &tensor = list.tensors[web.tensor];
  const bool writes =
      std::find(first.writes.begin(), first.writes.end(), web.tensor) != first.writes.end();
  if (!writes && !tensor.isGraphInput) {
    return error<3044>(
        "'{}' is on the core, but operation {} ('{}') reads it before anything wrote "
        "it",
        tensor.name, web.uses.front(), first.name);
  }
  return Status::success();
}

Status checkPlaced(const OpList &list, const PlacementRules &rules, const Web &web,
                   const std::vector<int64_t> &uses) {
  const OpTensor &tensor = list.tensors[web.tensor];
  if (!tensor.barred.empty()) {
    return error<3044>("'{}' is on the core though it is barred: {}", tensor.name, tensor.barred);
  }
  for (int64_t i = web.uses.front(); i <= web.uses.back(); ++i) {
    const OpStep &op = list.ops[i];
    if (!op.opaque) {
      continue;
    }
    const std::vector<int> own = touched(op);
    return error<3044>("'{}' is on the core while operation {} ('{}') {}", tensor.name, i, op.name,
                       std::binary_search(own.begin(), own.end(), web.tensor)
                           ? "uses it, which is another program and looks in memory"
                           : "runs another program, which may use any address");
  }
  if (rules.cores > 1) {
    if (const Decision agree = divisionsAgree(list, web.tensor, uses); !agree) {
      return error<3044>("'{}' is on the core, but {}", tensor.name, agree.detail());
    }
  }
  return checkBegin(list, web);
}

} // namespace

Status verifyOpListPlan(const OpList &list, const PlacementRules &rules, const OpListProblem &made,
                        const Offsets &offsets) {
  SPYRE_RETURN_IF_ERROR(validate(list));
  if (made.webs.size() != made.problem.buffers.size()) {
    return error<3044>("the plan has {} lives for {} buffers", made.webs.size(),
                       made.problem.buffers.size());
  }
  SPYRE_RETURN_IF_ERROR(verifyPlan(made.problem, offsets, Variant::Pick));
  SPYRE_RETURN_IF_ERROR(checkLives(list, made));
  const auto uses = usesOf(list);
  for (size_t i = 0; i < made.webs.size(); ++i) {
    const Web &web = made.webs[i];
    if (!offsets[i]) {
      continue;
    }
    const OpTensor &tensor = list.tensors[web.tensor];
    if (made.problem.buffers[i].sizeBytes < tensor.coreBytes ||
        made.problem.buffers[i].lower > web.lower() ||
        made.problem.buffers[i].upper < web.upper()) {
      return error<3044>("'{}' was planned with {} bytes in [{}, {}); it has {} in [{}, {})",
                         tensor.name, made.problem.buffers[i].sizeBytes,
                         made.problem.buffers[i].lower, made.problem.buffers[i].upper,
                         tensor.coreBytes, web.lower(), web.upper());
    }
    SPYRE_RETURN_IF_ERROR(checkPlaced(list, rules, web, uses[size_t(web.tensor)]));
  }
  return Status::success();
}

} // namespace spyre::solver::placement
