//===- DivideTogether.cpp - see DivideTogether.h ----------------------------------------------===//
#include "spyre/Solver/Placement/DivideTogether.h"

#include "spyre/Base/Math.h"

#include "KindPrices.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace spyre::solver::placement {
namespace {

using spec::Coordinate;
using spec::OpSpec;
using spec::TensorArg;

constexpr int64_t kStickBytes = 128;
/// What prices are off by is no reason to divide otherwise.
constexpr double kWorthIt = 0.01;

/// One way to divide an operation.
struct Choice {
  CoreSplits splits;
  OpStep step;
  /// Per argument: the number of the view among those of its tensor; -1: it cannot lie in LX so.
  std::vector<int> views;
};

struct TensorFacts {
  bool mayStay = false;
  int64_t lastUse = -1;
  /// (step, argument), ascending.
  std::vector<std::pair<size_t, size_t>> users;
  std::vector<CoreView> views;

  int number(const CoreView &view) {
    const auto found = std::find(views.begin(), views.end(), view);
    const auto index = int(found - views.begin());
    if (found == views.end()) {
      views.push_back(view);
    }
    return index;
  }
};

/// The operations with the divisions each may have.
class Choices {
public:
  Choices(const SpecProgram &program, const DivisionKinds &kinds, std::vector<KindPrices> &prices,
          bool kFastCores, const TogetherLimits &limits)
      : program(program), kinds(kinds), prices(prices), kFastCores(kFastCores), limits(limits),
        of(program.steps.size()) {}

  Status run(const LxOptions &options, int64_t capacityBytes) {
    SPYRE_RETURN_IF_ERROR(findTensors(options, capacityBytes));
    for (size_t i = 0; i < program.steps.size(); ++i) {
      if (const OpSpec *op = program.steps[i].op) {
        CoreSplits own;
        for (const spec::IterationDim &dim : op->iterationSpace) {
          own.push_back(dim.cores);
        }
        add(i, std::move(own));
      }
    }
    for (size_t i = 0; i < program.steps.size(); ++i) {
      if (kinds.kindOf[i] >= 0) {
        addWhole(i, prices[size_t(kinds.kindOf[i])].wholeResults());
      }
    }
    // The list grows while it is gone through: neighbours of neighbours come later.
    for (size_t i = 0; i < added.size(); ++i) {
      spread(added[i].first, added[i].second);
    }
    return Status::success();
  }

  int64_t coreBytes(int tensor, int view) const {
    const auto &slices = tensors[size_t(tensor)].views[size_t(view)].slices;
    const int64_t bytes = program.tensors[size_t(tensor)].bytes;
    return slices.empty() ? bytes : bytesPerCore(bytes, slices.front().second);
  }

private:
  /// What may stay if the divisions allow it: asked of the program on one core.
  Status findTensors(const LxOptions &options, int64_t capacityBytes) {
    std::vector<OpSpec> whole;
    whole.reserve(program.steps.size());
    SpecProgram onOneCore = program;
    for (SpecStep &step : onOneCore.steps) {
      if (step.op) {
        whole.push_back(*step.op);
        for (spec::IterationDim &dim : whole.back().iterationSpace) {
          dim.cores = 1;
          dim.uneven = false;
        }
        step.op = &whole.back();
      }
    }
    SPYRE_ASSIGN_OR_RETURN(const OpListProblem made,
                           makeProblem(listOf(onOneCore, kFastCores), rulesOf(options, 1),
                                       capacityBytes, kStickBytes));
    tensors.resize(program.tensors.size());
    for (size_t i = 0; i < made.webs.size(); ++i) {
      const Web &web = made.webs[i];
      TensorFacts &facts = tensors[size_t(web.tensor)];
      const bool isFree = made.decisions[i] || made.decisions[i].reason() == "too-large";
      // Copies at the border of the graph are the planner's.
      facts.mayStay =
          isFree && !web.firstUseIsRead && !program.tensors[size_t(web.tensor)].isGraphOutput;
      facts.lastUse = web.uses.back();
    }
    for (size_t i = 0; i < program.steps.size(); ++i) {
      for (size_t a = 0; program.steps[i].op && a < program.steps[i].tensors.size(); ++a) {
        tensors[size_t(program.steps[i].tensors[a])].users.push_back({i, a});
      }
    }
    return Status::success();
  }

  void add(size_t step, CoreSplits splits) {
    const SpecStep &from = program.steps[step];
    Choice choice;
    OpSpec divided = *from.op;
    for (size_t d = 0; d < splits.size(); ++d) {
      divided.iterationSpace[d].cores = splits[d]; // numbered as its own division is
    }
    SpecStep with = from;
    with.op = &divided;
    choice.step = stepOf(program, with, kFastCores);
    for (size_t a = 0; a < from.tensors.size(); ++a) {
      TensorFacts &facts = tensors[size_t(from.tensors[a])];
      const bool writes = a + 1 == from.tensors.size();
      const CoreView &view = writes ? choice.step.writeViews[0] : choice.step.readViews[a];
      choice.views.push_back(facts.mayStay && mayHold(choice.step, int64_t(step), view, writes)
                                 ? facts.number(view)
                                 : -1);
    }
    choice.splits = std::move(splits);
    of[step].push_back(std::move(choice));
    added.push_back({step, of[step].size() - 1});
  }

  /// Sums and products whose results no cores share can leave them in LX.
  void addWhole(size_t step, const std::vector<CoreSplits> &found) {
    for (CoreSplits splits : found) {
      splits.resize(program.steps[step].op->iterationSpace.size(), 1);
      if (!isListed(step, splits)) {
        add(step, std::move(splits));
      }
    }
  }

  bool isListed(size_t step, const CoreSplits &splits) const {
    return std::any_of(of[step].begin(), of[step].end(),
                       [&](const Choice &one) { return one.splits == splits; });
  }

  /// Users of what the operation holds may hold it alike.
  void spread(size_t step, size_t number) {
    for (size_t a = 0; a < of[step][number].views.size(); ++a) {
      const int view = of[step][number].views[a];
      const int tensor = program.steps[step].tensors[a];
      for (size_t u = 0; view >= 0 && u < tensors[size_t(tensor)].users.size(); ++u) {
        const auto [user, argument] = tensors[size_t(tensor)].users[u];
        if (user != step) {
          meet(user, argument, tensor, view);
        }
      }
    }
  }

  void meet(size_t step, size_t argument, int tensor, int view) {
    const int kind = kinds.kindOf[step];
    if (kind < 0 || of[step].size() >= limits.choices ||
        std::any_of(
            of[step].begin(), of[step].end(),
            [&](const Choice &one) { return one.views[argument] == view; })) {
      return;
    }
    std::optional<CoreSplits> splits =
        splitsLike(*program.steps[step].op, argument, tensors[size_t(tensor)].views[size_t(view)],
                   program.tensors[size_t(tensor)].bytes);
    if (!splits || isListed(step, *splits) || !prices[size_t(kind)].isLegal(*splits)) {
      return;
    }
    add(step, *std::move(splits));
    if (of[step].back().views[argument] != view) { // other cores have the slices
      of[step].pop_back();
      added.pop_back();
    }
  }

  const SpecProgram &program;
  const DivisionKinds &kinds;
  std::vector<KindPrices> &prices;
  const bool kFastCores;
  const TogetherLimits &limits;
  std::vector<std::pair<size_t, size_t>> added;

public:
  /// Per step; none where another program runs.
  std::vector<std::vector<Choice>> of;
  std::vector<TensorFacts> tensors;
};

/// One pass over the program.
class Pass {
public:
  Pass(const SpecProgram &program, const DivisionKinds &kinds, std::vector<KindPrices> &prices,
       const Choices &choices, const LxOptions &options, const arch::DeviceDesc &device,
       int64_t capacityBytes, size_t mostStates)
      : program(program), kinds(kinds), prices(prices), choices(choices), inPlace(options.inPlace),
        bytesPerNs(device.timing.ddrBytesPerCycle * device.timing.clockGhz),
        capacityBytes(capacityBytes), mostStates(mostStates), states(1) {}

  /// With the first choices only: what the divisions cost as they are.
  void run(bool ownOnly) {
    for (size_t i = 0; i < program.steps.size(); ++i) {
      if (!choices.of[i].empty()) {
        step(i, ownOnly ? 1 : choices.of[i].size());
      }
    }
    const State &best = *std::min_element(
        states.begin(), states.end(), [](const State &a, const State &b) { return a.ns < b.ns; });
    ns = best.ns;
    taken.assign(program.steps.size(), {});
    for (int32_t at = best.trace; at >= 0; at = traces[size_t(at)].before) {
      taken[traces[size_t(at)].step] = traces[size_t(at)];
    }
  }

  struct Trace {
    int32_t before = -1;
    size_t step = 0;
    size_t choice = 0;
    double ns = 0;
  };
  /// Per step.
  std::vector<Trace> taken;
  double ns = 0;
  bool isComplete = true;

private:
  /// (tensor, view) of what is in LX, ascending.
  using Held = std::vector<std::pair<int, int>>;
  struct HeldHash {
    size_t operator()(const Held &held) const {
      uint64_t hash = 0x9e3779b97f4a7c15ull;
      for (const auto &[tensor, view] : held) {
        hash = (hash ^ (uint64_t(uint32_t(tensor)) << 32 | uint32_t(view))) * 0xff51afd7ed558ccdull;
        hash ^= hash >> 32;
      }
      return size_t(hash);
    }
  };
  struct State {
    Held held;
    int64_t loadBytes = 0;
    double ns = 0;
    int32_t trace = -1;
  };

  void step(size_t i, size_t count) {
    next.clear();
    seen.clear();
    known.assign(count, {});
    for (const State &state : states) {
      for (size_t c = 0; c < count; ++c) {
        extend(state, i, c);
      }
    }
    if (next.size() > mostStates) {
      isComplete = false;
      dropDearest();
    }
    states.swap(next);
  }

  /// What holds nothing is kept: any division can go on from there.
  void dropDearest() {
    const auto free = std::find_if(next.begin(), next.end(),
                                   [](const State &state) { return state.held.empty(); });
    State holdsNothing = *free;
    // Of equals the earlier: their order does not depend on the host.
    std::stable_sort(next.begin(), next.end(),
                     [](const State &a, const State &b) { return a.ns < b.ns; });
    next.resize(mostStates);
    if (std::none_of(next.begin(), next.end(),
                     [](const State &state) { return state.held.empty(); })) {
      next.back() = std::move(holdsNothing);
    }
  }

  static int viewIn(const Held &held, int tensor) {
    for (const auto &[one, view] : held) {
      if (one == tensor) {
        return view;
      }
    }
    return -1;
  }

  void extend(const State &state, size_t i, size_t c) {
    const Choice &choice = choices.of[i][c];
    const std::vector<int> &arguments = program.steps[i].tensors;
    ArgumentSet mask = 0;
    int64_t freed = 0; // by an operand that hands its place over
    State base = state;
    for (size_t a = 0; a + 1 < arguments.size(); ++a) {
      const int view = viewIn(state.held, arguments[a]);
      if (view < 0) {
        continue;
      }
      if (choice.views[a] != view) {
        return; // it would find another part
      }
      mask |= setOf(a);
      if (choices.tensors[size_t(arguments[a])].lastUse == int64_t(i)) {
        const int64_t bytes = choices.coreBytes(arguments[a], view);
        if (std::erase(base.held, std::pair(arguments[a], view)) > 0) {
          base.loadBytes -= bytes;
        }
        const bool handsOver = inPlace && choice.step.pointwise && choice.step.aligned[a];
        freed = handsOver ? std::max(freed, bytes) : freed;
      }
    }
    keep(base, i, c, mask);
    const int output = arguments.back(), view = choice.views.back();
    if (view < 0 || choices.tensors[size_t(output)].lastUse <= int64_t(i)) {
      return;
    }
    const int64_t bytes = choices.coreBytes(output, view);
    if (state.loadBytes + bytes - (freed == bytes ? freed : 0) > capacityBytes) {
      return;
    }
    base.loadBytes += bytes;
    const std::pair<int, int> entry(output, view);
    base.held.insert(std::lower_bound(base.held.begin(), base.held.end(), entry), entry);
    keep(base, i, c, mask | setOf(arguments.size() - 1));
  }

  void keep(State state, size_t i, size_t c, ArgumentSet mask) {
    const double price = priceOf(i, c, mask);
    state.ns += price;
    if (std::isinf(state.ns)) {
      return;
    }
    const auto [found, isNew] = seen.try_emplace(state.held, next.size());
    if (!isNew && next[found->second].ns <= state.ns) {
      return;
    }
    traces.push_back({state.trace, i, c, price});
    state.trace = int32_t(traces.size()) - 1;
    if (isNew) {
      next.push_back(std::move(state));
    } else {
      next[found->second] = std::move(state);
    }
  }

  double priceOf(size_t i, size_t c, ArgumentSet mask) {
    for (const auto &[one, price] : known[c]) {
      if (one == mask) {
        return price;
      }
    }
    const int kind = kinds.kindOf[i];
    double price =
        kind >= 0 ? prices[size_t(kind)].price(choices.of[i][c].splits, mask) : transferNs(i, mask);
    // The division that the operation has now always has a price.
    if (c == 0 && std::isinf(price)) {
      price = transferNs(i, mask);
    }
    known[c].push_back({mask, price});
    return price;
  }

  /// Time to move the tensors of an operation that is not priced.
  double transferNs(size_t i, ArgumentSet mask) const {
    double bytes = 0;
    for (size_t a = 0; a < program.steps[i].tensors.size(); ++a) {
      bytes +=
          holds(mask, a) ? 0 : double(program.tensors[size_t(program.steps[i].tensors[a])].bytes);
    }
    return bytes / bytesPerNs;
  }

  const SpecProgram &program;
  const DivisionKinds &kinds;
  std::vector<KindPrices> &prices;
  const Choices &choices;
  const bool inPlace;
  const double bytesPerNs;
  const int64_t capacityBytes;
  const size_t mostStates;
  std::vector<State> states, next;
  std::unordered_map<Held, size_t, HeldHash> seen;
  /// Prices of the step at hand, by choice: (arguments in LX, price).
  std::vector<std::vector<std::pair<ArgumentSet, double>>> known;
  std::vector<Trace> traces;
};

/// Parts of a tensor that cores have apart, as [from, to) in distances of sticks, inner first: what
/// lies between the steps of a view's walk.
std::vector<std::pair<int64_t, int64_t>> cutsOf(const CoreView &view, int64_t sticks) {
  std::vector<std::pair<int64_t, int64_t>> cuts;
  int64_t reached = 1;
  for (const auto &[count, distance] : view.walk) {
    if (reached < distance) {
      cuts.push_back({reached, distance});
    }
    reached = count * distance;
  }
  if (reached < sticks) {
    cuts.push_back({reached, sticks});
  }
  return cuts;
}

} // namespace

std::optional<CoreSplits> splitsLike(const OpSpec &op, size_t index, const CoreView &view,
                                     int64_t tensorBytes) {
  CoreSplits splits(op.iterationSpace.size(), 1);
  const TensorArg &arg = op.args[index];
  const auto cuts = cutsOf(view, tensorBytes / kStickBytes);
  int64_t stride = 1, slices = 1;
  for (size_t j = arg.deviceSize.size() - spec::stickRank(arg); j-- > 0;) {
    const int64_t size = arg.deviceSize[j], end = stride * size;
    for (const auto &[from, to] : cuts) {
      const int64_t low = std::max(from, stride), high = std::min(to, end);
      if (low >= high) {
        continue;
      }
      const auto dim =
          std::find_if(op.iterationSpace.begin(), op.iterationSpace.end(), [&](const auto &one) {
            return one.symbol == arg.deviceCoordinates[j].symbol;
          });
      if (high % low != 0 || dim == op.iterationSpace.end()) {
        return std::nullopt;
      }
      splits[size_t(dim - op.iterationSpace.begin())] *= high / low;
      slices *= high / low;
    }
    stride = end;
  }
  const int64_t wanted = view.slices.empty() ? 1 : view.slices.front().second;
  return slices == wanted ? std::optional<CoreSplits>(std::move(splits)) : std::nullopt;
}

Expected<TogetherResult> divideTogether(const SpecProgram &program, const DivisionKinds &kinds,
                                        const arch::DeviceDesc &device, const LxOptions &options,
                                        int cores, int64_t capacityBytes, bool kFastCores,
                                        const TogetherLimits &limits) {
  for (const SpecStep &step : program.steps) {
    if (step.op && step.tensors.size() > kMostArguments) {
      return error<1302>("'{}' has {} arguments; an op has at most {}", step.op->op,
                         step.tensors.size(), kMostArguments);
    }
  }
  std::vector<KindPrices> prices;
  prices.reserve(kinds.kinds.size());
  for (const DivisionKind &kind : kinds.kinds) {
    prices.emplace_back(kind, device, cores);
  }
  Choices choices(program, kinds, prices, kFastCores, limits);
  SPYRE_RETURN_IF_ERROR(choices.run(options, capacityBytes));
  Pass before(program, kinds, prices, choices, options, device, capacityBytes, limits.states);
  before.run(true);
  Pass together(program, kinds, prices, choices, options, device, capacityBytes, limits.states);
  together.run(false);
  TogetherResult result;
  result.nsBefore = result.nsAfter = before.ns;
  result.isComplete = together.isComplete;
  if (together.ns >= before.ns * (1 - kWorthIt)) {
    return result;
  }
  result.nsAfter = together.ns;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (together.taken[i].choice > 0) {
      result.changes.push_back({i, choices.of[i][together.taken[i].choice].splits,
                                before.taken[i].ns, together.taken[i].ns});
    }
  }
  return result;
}

} // namespace spyre::solver::placement
