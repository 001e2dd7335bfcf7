//===- LayoutChoice.cpp - best way to every combination of layouts that is still seen -------===//
//
// After operation i a state is what every tensor that later operations read is there in. One that
// cannot become better than another is dropped: the other is as cheap even when it has to make the
// copies that it lacks, which it can do when they are needed. What a step did hangs on a chain of
// nodes, so that states stay a few bytes.
//===--------------------------------------------------------------------------------------------===//
#include "LayoutProblem.h"

#include <algorithm>
#include <memory>

namespace spyre::solver {

using Choice = LayoutProblem::Choice;
using Need = LayoutProblem::Need;
using Operation = LayoutProblem::Operation;
using Step = LayoutPlan::Step;

namespace {

/// Width of the beam of the documents.
constexpr size_t kDocumentedWidth = 64;
/// Ways to serve the inputs of one choice; more are not looked at, cheapest first.
constexpr size_t kMaxServings = 64;

struct Node {
  std::shared_ptr<const Node> before;
  Step step;
};

struct State {
  int64_t cost = 0;
  /// Per live tensor of the search, in its order.
  std::vector<OptionSet> there;
  std::shared_ptr<const Node> last;
};

/// One way to serve the inputs of a choice: what it adds to the state it starts from. Most add
/// nothing.
struct Serving {
  int64_t cost = 0;
  std::vector<int> options;
  std::vector<Step::Copy> copies;
};

class Search {
public:
  Search(const LayoutProblem &problem, size_t width, bool merge)
      : problem(problem), width(width), merge(merge) {
    findLastUses();
  }

  Expected<LayoutPlan> run() {
    startStates();
    for (size_t i = 0; i < problem.operations.size(); ++i) {
      enterResult(problem.operations[i].result);
      std::vector<State> next;
      for (const State &state : states) {
        extend(state, i, next);
      }
      if (next.empty()) {
        return error<3202>("operation {}: no copies of its inputs make it possible", i);
      }
      states = std::move(next);
      dropDead(i);
      reduce(i);
    }
    return planOf(states.front());
  }

private:
  void findLastUses() {
    lastUse.assign(problem.tensors.size(), -1);
    lastWrite.assign(problem.tensors.size(), -1);
    for (size_t i = 0; i < problem.operations.size(); ++i) {
      for (int input : problem.operations[i].inputs) {
        lastUse[size_t(input)] = int64_t(i);
      }
      for (const Choice &choice : problem.operations[i].choices) {
        for (size_t n = 0; n < choice.needs.size(); ++n) {
          if (choice.needs[n].inPlace) {
            lastWrite[size_t(problem.operations[i].inputs[n])] = int64_t(i);
          }
        }
      }
    }
  }

  void startStates() {
    State first;
    place.assign(problem.tensors.size(), -1);
    for (size_t t = 0; t < problem.tensors.size(); ++t) {
      if (problem.tensors[t].given != 0 && lastUse[t] >= 0) {
        place[t] = int(live.size());
        live.push_back(int(t));
        first.there.push_back(problem.tensors[t].given);
      }
    }
    states = {std::move(first)};
  }

  /// Room for the result of the next operation in all states.
  void enterResult(int result) {
    if (result < 0 || lastUse[size_t(result)] < 0) {
      return;
    }
    place[size_t(result)] = int(live.size());
    live.push_back(result);
    for (State &state : states) {
      state.there.push_back(0);
    }
  }

  void extend(const State &state, size_t index, std::vector<State> &next) {
    const Operation &operation = problem.operations[index];
    for (size_t c = 0; c < operation.choices.size(); ++c) {
      const Choice &choice = operation.choices[c];
      for (Serving &serving : servingsOf(state, operation, choice)) {
        State extended;
        extended.cost = state.cost + choice.cost + serving.cost;
        extended.there = state.there;
        for (const Step::Copy &copy : serving.copies) {
          extended.there[size_t(place[size_t(copy.tensor)])] |= OptionSet(1) << copy.option;
        }
        if (operation.result >= 0 && place[size_t(operation.result)] >= 0) {
          extended.there[size_t(place[size_t(operation.result)])] = OptionSet(1)
                                                                    << choice.resultOption;
        }
        extended.last = std::make_shared<Node>(
            Node{state.last, Step{int(c), std::move(serving.options), std::move(serving.copies)}});
        next.push_back(std::move(extended));
      }
    }
  }

  std::vector<Serving> servingsOf(const State &state, const Operation &operation,
                                  const Choice &choice) const {
    std::vector<Serving> servings(1);
    servings[0].options.reserve(operation.inputs.size());
    for (size_t i = 0; i < operation.inputs.size(); ++i) {
      std::vector<Serving> more;
      for (const Serving &serving : servings) {
        serve(state, serving, operation.inputs[i], choice.needs[i], more);
      }
      if (more.size() > kMaxServings) {
        std::stable_sort(more.begin(), more.end(),
                         [](const Serving &a, const Serving &b) { return a.cost < b.cost; });
        more.resize(kMaxServings);
        dropped = true;
      }
      servings = std::move(more);
    }
    return servings;
  }

  /// Option of what is there that is read for the least, or -1.
  static int cheapestReading(const Need &need, OptionSet there) {
    int best = -1;
    for (size_t option = 0; option < need.readCost.size(); ++option) {
      const int64_t cost = need.readCost[option];
      if ((there >> option & 1) != 0 && cost >= 0 &&
          (best < 0 || cost < need.readCost[size_t(best)])) {
        best = int(option);
      }
    }
    return best;
  }

  /// What there is of \p tensor with the copies that were made for the inputs before.
  OptionSet thereOf(const State &state, const Serving &serving, int tensor) const {
    OptionSet there = state.there[size_t(place[size_t(tensor)])];
    for (const Step::Copy &copy : serving.copies) {
      there |= copy.tensor == tensor ? OptionSet(1) << copy.option : OptionSet(0);
    }
    return there;
  }

  void serve(const State &state, const Serving &serving, int tensor, const Need &need,
             std::vector<Serving> &more) const {
    const OptionSet there = thereOf(state, serving, tensor);
    const LayoutProblem::Tensor &source = problem.tensors[size_t(tensor)];
    if (need.inPlace) {
      writeInto(serving, there, need, more);
      return;
    }
    const int reading = cheapestReading(need, there);
    const int64_t present = reading < 0 ? -1 : need.readCost[size_t(reading)];
    if (reading >= 0) {
      more.push_back(serving);
      more.back().cost += present;
      more.back().options.push_back(reading);
    }
    for (size_t option = 0; option < need.readCost.size(); ++option) {
      const int64_t cost = need.readCost[option];
      // A copy pays only if it is read for less than what is there.
      if (cost < 0 || (present >= 0 && cost >= present) || (there >> option & 1) != 0) {
        continue;
      }
      const int64_t copied = copyCost(source, there, int(option));
      if (copied >= 0) {
        more.push_back(serving);
        more.back().cost += copied + cost;
        more.back().options.push_back(int(option));
        more.back().copies.push_back({tensor, int(option)});
      }
    }
    if (need.privateCost >= 0) {
      more.push_back(serving);
      more.back().cost += need.privateCost;
      more.back().options.push_back(-1);
    }
  }

  static void writeInto(const Serving &serving, OptionSet there, const Need &need,
                        std::vector<Serving> &more) {
    const int reading = cheapestReading(need, there);
    if (reading >= 0 && there == OptionSet(1) << reading) {
      more.push_back(serving);
      more.back().cost += need.readCost[size_t(reading)];
      more.back().options.push_back(reading);
    }
  }

  /// Tensors no later operation reads do not tell states apart.
  void dropDead(size_t index) {
    for (size_t at = live.size(); at-- > 0;) {
      if (lastUse[size_t(live[at])] <= int64_t(index)) {
        place[size_t(live[at])] = -1;
        live.erase(live.begin() + int64_t(at));
        for (State &state : states) {
          state.there.erase(state.there.begin() + int64_t(at));
        }
      }
    }
    for (size_t at = 0; at < live.size(); ++at) {
      place[size_t(live[at])] = int(at);
    }
  }

  /// True when \p other, which costs no less, can do nothing for less than \p state can.
  bool covers(const State &state, const State &other, size_t index) const {
    int64_t cost = state.cost;
    for (size_t at = 0; at < live.size() && cost <= other.cost; ++at) {
      const OptionSet there = state.there[at];
      if (there == other.there[at]) {
        continue; // most are
      }
      // What is yet to be written into must be as it is.
      if (lastWrite[size_t(live[at])] > int64_t(index)) {
        return false;
      }
      const OptionSet lacking = other.there[at] & ~there;
      for (int option = 0; lacking >> option != 0; ++option) {
        if ((lacking >> option & 1) != 0) {
          const int64_t copy = copyCost(problem.tensors[size_t(live[at])], there, option);
          if (copy < 0) {
            return false;
          }
          cost += copy;
        }
      }
    }
    return cost <= other.cost;
  }

  /// Cheapest first, without those that another covers; at most `width`.
  void reduce(size_t index) {
    std::stable_sort(states.begin(), states.end(),
                     [](const State &a, const State &b) { return a.cost < b.cost; });
    if (merge) {
      std::vector<State> kept;
      for (State &state : states) {
        auto isCovered = [&](const State &better) { return covers(better, state, index); };
        if (kept.size() <= width && std::none_of(kept.begin(), kept.end(), isCovered)) {
          kept.push_back(std::move(state));
        }
      }
      states = std::move(kept);
    }
    if (states.size() > width) {
      states.resize(width);
      dropped = true;
    }
  }

  LayoutPlan planOf(const State &state) const {
    LayoutPlan plan;
    plan.cost = state.cost;
    plan.exact = merge && !dropped;
    for (const Node *node = state.last.get(); node; node = node->before.get()) {
      plan.steps.push_back(node->step);
    }
    std::reverse(plan.steps.begin(), plan.steps.end());
    return plan;
  }

  const LayoutProblem &problem;
  const size_t width;
  const bool merge;
  std::vector<int64_t> lastUse, lastWrite;
  /// Tensors that are told apart, and where each of them is in State::there, or -1.
  std::vector<int> live, place;
  std::vector<State> states;
  mutable bool dropped = false;
};

} // namespace

Expected<LayoutPlan> chooseLayouts(const LayoutProblem &problem, const LayoutSearch &search) {
  SPYRE_RETURN_IF_ERROR(checkProblem(problem));
  SPYRE_ASSIGN_OR_RETURN(LayoutPlan plan,
                         Search(problem, std::max<size_t>(search.width, 1), true).run());
  if (!plan.exact && search.tryDocumentedBeam) {
    Expected<LayoutPlan> beam = Search(problem, kDocumentedWidth, false).run();
    if (beam.ok() && beam->cost < plan.cost) {
      return beam;
    }
  }
  return plan;
}

} // namespace spyre::solver
