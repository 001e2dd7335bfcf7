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
#include <numeric>

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

/// How an input is read: in an option that is there or was copied to, or, with -1, from a copy of
/// its own.
struct Served {
  int option = -1;
  bool copied = false;
};

/// Ways to serve the inputs of a choice, each a row of as many entries as there are inputs.
struct Servings {
  std::vector<int64_t> costs;
  std::vector<Served> rows;

  void clear() {
    costs.clear();
    rows.clear();
  }
};

/// A state and a choice after it. Hundreds are looked at for one that stays, so they are numbers in
/// tables of the search.
struct Candidate {
  int64_t cost;
  size_t state, choice;
  /// Where its rows begin.
  size_t served, there;
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
      candidates.clear();
      candidateServed.clear();
      candidateThere.clear();
      for (size_t s = 0; s < states.size(); ++s) {
        extend(s, problem.operations[i]);
      }
      if (candidates.empty()) {
        return error<3202>("operation {}: no copies of its inputs make it possible", i);
      }
      const std::vector<size_t> stays = dropDead(i);
      reduce(i, stays);
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

  void extend(size_t stateIndex, const Operation &operation) {
    const State &state = states[stateIndex];
    const size_t inputs = operation.inputs.size();
    const int result = operation.result < 0 ? -1 : place[size_t(operation.result)];
    for (size_t c = 0; c < operation.choices.size(); ++c) {
      const Choice &choice = operation.choices[c];
      findServings(state, operation, choice);
      for (size_t s = 0; s < servings.costs.size(); ++s) {
        const Served *row = servings.rows.data() + s * inputs;
        candidates.push_back({state.cost + choice.cost + servings.costs[s], stateIndex, c,
                              candidateServed.size(), candidateThere.size()});
        candidateServed.insert(candidateServed.end(), row, row + inputs);
        candidateThere.insert(candidateThere.end(), state.there.begin(), state.there.end());
        OptionSet *there = candidateThere.data() + candidates.back().there;
        for (size_t i = 0; i < inputs; ++i) {
          if (row[i].copied) {
            there[place[size_t(operation.inputs[i])]] |= OptionSet(1) << row[i].option;
          }
        }
        for (size_t i = 0; i < inputs; ++i) {
          if (choice.needs[i].inPlace) { // copies of it are out of date from here on
            there[place[size_t(operation.inputs[i])]] = OptionSet(1) << row[i].option;
          }
        }
        if (result >= 0) {
          there[result] = OptionSet(1) << choice.resultOption;
        }
      }
    }
  }

  /// Fills `servings`.
  void findServings(const State &state, const Operation &operation, const Choice &choice) {
    const size_t inputs = operation.inputs.size();
    servings.costs.assign(1, 0);
    servings.rows.assign(inputs, Served());
    for (size_t i = 0; i < inputs; ++i) {
      more.clear();
      for (size_t s = 0; s < servings.costs.size(); ++s) {
        serve(state, operation, s, i, choice.needs[i]);
      }
      if (more.costs.size() > kMaxServings) {
        keepCheapest(inputs);
      }
      std::swap(servings, more);
    }
  }

  /// The first kMaxServings of `more`, cheapest first.
  void keepCheapest(size_t inputs) {
    std::vector<size_t> order(more.costs.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return more.costs[a] < more.costs[b]; });
    Servings kept;
    for (size_t at = 0; at < kMaxServings; ++at) {
      const auto row = more.rows.begin() + int64_t(order[at] * inputs);
      kept.costs.push_back(more.costs[order[at]]);
      kept.rows.insert(kept.rows.end(), row, row + int64_t(inputs));
    }
    more = std::move(kept);
    dropped = true;
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

  /// What there is of input \p index with the copies that were made for the inputs before.
  OptionSet thereOf(const State &state, const Operation &operation, const Served *row,
                    size_t index) const {
    const int tensor = operation.inputs[index];
    OptionSet there = state.there[size_t(place[size_t(tensor)])];
    for (size_t i = 0; i < index; ++i) {
      if (row[i].copied && operation.inputs[i] == tensor) {
        there |= OptionSet(1) << row[i].option;
      }
    }
    return there;
  }

  /// Adds to `more` what row \p serving of `servings` becomes with input \p index.
  void serve(const State &state, const Operation &operation, size_t serving, size_t index,
             const Need &need) {
    const size_t inputs = operation.inputs.size();
    const Served *row = servings.rows.data() + serving * inputs;
    const int64_t before = servings.costs[serving];
    auto add = [&](int64_t cost, Served served) {
      more.costs.push_back(before + cost);
      more.rows.insert(more.rows.end(), row, row + inputs);
      more.rows[more.rows.size() - inputs + index] = served;
    };
    const OptionSet there = thereOf(state, operation, row, index);
    const int reading = cheapestReading(need, there);
    const int64_t present = reading < 0 ? -1 : need.readCost[size_t(reading)];
    if (need.inPlace) {
      const int own = ownOption(problem.tensors[size_t(operation.inputs[index])], there);
      if (own >= 0 && need.readCost[size_t(own)] >= 0) {
        add(need.readCost[size_t(own)], {own, false});
      }
      return;
    }
    if (reading >= 0) {
      add(present, {reading, false});
    }
    const LayoutProblem::Tensor &source = problem.tensors[size_t(operation.inputs[index])];
    for (size_t option = 0; option < need.readCost.size(); ++option) {
      const int64_t cost = need.readCost[option];
      // A copy pays only if it is read for less than what is there.
      if (cost < 0 || (present >= 0 && cost >= present) || (there >> option & 1) != 0) {
        continue;
      }
      const int64_t copied = copyCost(source, there, int(option));
      if (copied >= 0) {
        add(copied + cost, {int(option), true});
      }
    }
    if (need.privateCost >= 0) {
      add(need.privateCost, {-1, false});
    }
  }

  /// Tensors no later operation reads do not tell states apart.
  /// \return where those that stay are in a row of `candidateThere`.
  std::vector<size_t> dropDead(size_t index) {
    std::vector<size_t> stays;
    for (size_t at = 0; at < live.size(); ++at) {
      if (lastUse[size_t(live[at])] > int64_t(index)) {
        stays.push_back(at);
      } else {
        place[size_t(live[at])] = -1;
      }
    }
    for (size_t at = 0; at < stays.size(); ++at) {
      live[at] = live[stays[at]];
      place[size_t(live[at])] = int(at);
    }
    live.resize(stays.size());
    return stays;
  }

  /// True when \p other, which costs no less, can do nothing for less than \p state can.
  bool covers(const State &state, const Candidate &other, size_t index,
              const std::vector<size_t> &stays) const {
    const OptionSet *others = candidateThere.data() + other.there;
    int64_t cost = state.cost;
    for (size_t at = 0; at < live.size() && cost <= other.cost; ++at) {
      const OptionSet there = state.there[at];
      if (there == others[stays[at]]) {
        continue; // most are
      }
      // What is yet to be written into must be as it is.
      if (lastWrite[size_t(live[at])] > int64_t(index)) {
        return false;
      }
      const OptionSet lacking = others[stays[at]] & ~there;
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

  /// The candidates become the states: cheapest first, without those that another covers; at most
  /// `width`.
  void reduce(size_t index, const std::vector<size_t> &stays) {
    std::stable_sort(candidates.begin(), candidates.end(),
                     [](const Candidate &a, const Candidate &b) { return a.cost < b.cost; });
    std::vector<State> kept;
    for (const Candidate &candidate : candidates) {
      auto isCovered = [&](const State &better) { return covers(better, candidate, index, stays); };
      if (merge && std::any_of(kept.begin(), kept.end(), isCovered)) {
        continue;
      }
      if (kept.size() == width) {
        dropped = true;
        break;
      }
      kept.push_back(stateOf(candidate, problem.operations[index], stays));
    }
    states = std::move(kept);
  }

  State stateOf(const Candidate &candidate, const Operation &operation,
                const std::vector<size_t> &stays) const {
    State state;
    state.cost = candidate.cost;
    state.there.reserve(stays.size() + 1);
    for (size_t at : stays) {
      state.there.push_back(candidateThere[candidate.there + at]);
    }
    Step step;
    step.choice = int(candidate.choice);
    step.options.reserve(operation.inputs.size());
    for (size_t i = 0; i < operation.inputs.size(); ++i) {
      const Served &served = candidateServed[candidate.served + i];
      step.options.push_back(served.option);
      if (served.copied) {
        step.copies.push_back({operation.inputs[i], served.option});
      }
    }
    state.last = std::make_shared<Node>(Node{states[candidate.state].last, std::move(step)});
    return state;
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
  std::vector<Candidate> candidates;
  /// Rows of the candidates: a Served per input, an OptionSet per live tensor.
  std::vector<Served> candidateServed;
  std::vector<OptionSet> candidateThere;
  Servings servings, more;
  bool dropped = false;
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
