//===- LayoutProblem.cpp - what a sound problem is, and what a plan costs -------------------===//
#include "LayoutProblem.h"

#include <algorithm>
#include <bit>

namespace spyre::solver {

using Choice = LayoutProblem::Choice;
using Need = LayoutProblem::Need;
using Operation = LayoutProblem::Operation;

namespace {

constexpr int64_t kMaxCost = int64_t(1) << 56;

bool isCost(int64_t cost) { return cost >= -1 && cost <= kMaxCost; }

/// Options that exist for \p tensor.
OptionSet optionsOf(const LayoutProblem::Tensor &tensor) {
  const size_t count = tensor.copyTo.size();
  return count >= 32 ? ~OptionSet(0) : (OptionSet(1) << count) - 1;
}

Status checkTensor(const LayoutProblem::Tensor &tensor, size_t index) {
  const bool sound = !tensor.copyTo.empty() && tensor.copyTo.size() <= kMaxLayoutOptions &&
                     tensor.copyFrom.size() == tensor.copyTo.size() &&
                     (tensor.given & ~optionsOf(tensor)) == 0 &&
                     std::all_of(tensor.copyTo.begin(), tensor.copyTo.end(), isCost) &&
                     std::all_of(tensor.copyFrom.begin(), tensor.copyFrom.end(), isCost);
  return sound ? Status::success()
               : error<3201>("tensor {}: 1 to {} options with costs up to 2^56", index,
                             kMaxLayoutOptions);
}

Status checkChoice(const LayoutProblem &problem, size_t index, const Choice &choice) {
  const Operation &operation = problem.operations[index];
  if (choice.needs.size() != operation.inputs.size() || !isCost(choice.cost) || choice.cost < 0) {
    return error<3201>("operation {}: a choice has {} needs for {} inputs", index,
                       choice.needs.size(), operation.inputs.size());
  }
  for (size_t i = 0; i < choice.needs.size(); ++i) {
    const Need &need = choice.needs[i];
    const auto &tensor = problem.tensors[size_t(operation.inputs[i])];
    if (!isCost(need.privateCost) || need.readCost.size() != tensor.copyTo.size() ||
        !std::all_of(need.readCost.begin(), need.readCost.end(), isCost)) {
      return error<3201>("operation {}: input {} has not one cost per option", index, i);
    }
  }
  const int options =
      operation.result < 0 ? 0 : int(problem.tensors[size_t(operation.result)].copyTo.size());
  const bool writes = operation.result >= 0;
  if (writes ? choice.resultOption < 0 || choice.resultOption >= options
             : choice.resultOption != -1) {
    return error<3201>("operation {}: result option {} of {}", index, choice.resultOption, options);
  }
  return Status::success();
}

} // namespace

int64_t copyCost(const LayoutProblem::Tensor &tensor, OptionSet there, int option) {
  int64_t from = -1;
  for (size_t i = 0; i < tensor.copyFrom.size(); ++i) {
    const bool usable = (there >> i & 1) != 0 && tensor.copyFrom[i] >= 0;
    from = usable && (from < 0 || tensor.copyFrom[i] < from) ? tensor.copyFrom[i] : from;
  }
  const int64_t to = tensor.copyTo[size_t(option)];
  return from < 0 || to < 0 ? -1 : from + to;
}

int ownOption(const LayoutProblem::Tensor &tensor, OptionSet there) {
  const OptionSet own = tensor.given != 0 ? tensor.given : there;
  return std::has_single_bit(own) ? std::countr_zero(own) : -1;
}

Status checkProblem(const LayoutProblem &problem) {
  std::vector<bool> there;
  for (size_t i = 0; i < problem.tensors.size(); ++i) {
    SPYRE_RETURN_IF_ERROR(checkTensor(problem.tensors[i], i));
    there.push_back(problem.tensors[i].given != 0);
  }
  const int count = int(problem.tensors.size());
  for (size_t i = 0; i < problem.operations.size(); ++i) {
    const Operation &operation = problem.operations[i];
    for (int input : operation.inputs) {
      if (input < 0 || input >= count || !there[size_t(input)]) {
        return error<3201>("operation {}: reads tensor {}, which is not there", i, input);
      }
    }
    if (operation.result >= count || (operation.result >= 0 && there[size_t(operation.result)]) ||
        operation.choices.empty()) {
      return error<3201>("operation {}: writes tensor {} a second time, or has no choice", i,
                         operation.result);
    }
    if (operation.result >= 0) {
      there[size_t(operation.result)] = true;
    }
    for (const Choice &choice : operation.choices) {
      SPYRE_RETURN_IF_ERROR(checkChoice(problem, i, choice));
    }
  }
  return Status::success();
}

namespace {

/// One step of a plan against what is there; adds its cost to \p total.
Status checkStep(const LayoutProblem &problem, size_t index, const LayoutPlan::Step &step,
                 std::vector<OptionSet> &there, int64_t &total) {
  const Operation &operation = problem.operations[index];
  if (step.choice < 0 || size_t(step.choice) >= operation.choices.size() ||
      step.options.size() != operation.inputs.size()) {
    return error<3201>("step {}: choice {} or its options do not exist", index, step.choice);
  }
  for (const LayoutPlan::Step::Copy &copy : step.copies) {
    const LayoutProblem::Tensor &tensor = problem.tensors.at(size_t(copy.tensor));
    const bool exists = copy.option >= 0 && size_t(copy.option) < tensor.copyTo.size();
    const int64_t cost = exists ? copyCost(tensor, there[size_t(copy.tensor)], copy.option) : -1;
    if (cost < 0) {
      return error<3201>("step {}: tensor {} cannot be copied to option {}", index, copy.tensor,
                         copy.option);
    }
    total += cost;
    there[size_t(copy.tensor)] |= OptionSet(1) << copy.option;
  }
  const Choice &choice = operation.choices[size_t(step.choice)];
  total += choice.cost;
  for (size_t i = 0; i < operation.inputs.size(); ++i) {
    const Need &need = choice.needs[i];
    const bool isPrivate = step.options[i] < 0;
    const OptionSet bit = isPrivate ? 0 : OptionSet(1) << step.options[i];
    const OptionSet present = there[size_t(operation.inputs[i])];
    bool exists =
        isPrivate || (size_t(step.options[i]) < need.readCost.size() && (bit & present) != 0);
    const int own = ownOption(problem.tensors[size_t(operation.inputs[i])], present);
    exists = exists && (!need.inPlace || (own >= 0 && step.options[i] == own));
    const int64_t cost = !exists     ? -1
                         : isPrivate ? need.privateCost
                                     : need.readCost[size_t(step.options[i])];
    if (cost < 0) {
      return error<3201>("step {}: input {} is not there in an option that is accepted", index, i);
    }
    total += cost;
  }
  for (size_t i = 0; i < operation.inputs.size(); ++i) {
    if (choice.needs[i].inPlace) {
      there[size_t(operation.inputs[i])] = OptionSet(1) << step.options[i];
    }
  }
  if (operation.result >= 0) {
    there[size_t(operation.result)] = OptionSet(1) << choice.resultOption;
  }
  return Status::success();
}

} // namespace

Expected<int64_t> costOfPlan(const LayoutProblem &problem, const LayoutPlan &plan) {
  SPYRE_RETURN_IF_ERROR(checkProblem(problem));
  if (plan.steps.size() != problem.operations.size()) {
    return error<3201>("the plan has {} steps for {} operations", plan.steps.size(),
                       problem.operations.size());
  }
  std::vector<OptionSet> there;
  for (const LayoutProblem::Tensor &tensor : problem.tensors) {
    there.push_back(tensor.given);
  }
  int64_t total = 0;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    SPYRE_RETURN_IF_ERROR(checkStep(problem, i, plan.steps[i], there, total));
  }
  return total;
}

} // namespace spyre::solver
