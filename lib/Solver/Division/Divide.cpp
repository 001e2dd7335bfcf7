//===- Divide.cpp - modes, hints, and the verdict -------------------------------------------===//
#include "spyre/Solver/Division/Divide.h"

#include "spyre/Base/Math.h"
#include "spyre/Solver/Division/Rules.h"
#include "spyre/Solver/Division/Verify.h"

#include "BestDivision.h"
#include "Hints.h"
#include "UnevenDivision.h"

#include <algorithm>
#include <charconv>

namespace spyre::solver::division {

/// The documented range of SENCORES.
static constexpr int64_t kMaxSenCores = 32;
static constexpr int kSpanFault = 3064, kTripFault = 3070;

const char *modeName(Mode mode) {
  return mode == Mode::Compat ? "compat" : (mode == Mode::CompatS1 ? "compat-s1" : "best");
}

Expected<Mode> parseMode(const std::string &name) {
  for (Mode mode : {Mode::Compat, Mode::CompatS1, Mode::Best}) {
    if (name == modeName(mode)) {
      return mode;
    }
  }
  return error<3074>("\"{}\" is no planner; choose compat, compat-s1 or best", name);
}

Status checkCores(int64_t cores, const arch::DeviceDesc &device) {
  if (cores >= 1 && cores <= device.cores) {
    return Status::success();
  }
  return error<3061>("{} cores asked for, device '{}' has {}; give 1 to {} (SENCORES)", cores,
                     device.name, device.cores, device.cores);
}

Expected<int64_t> parseCores(const std::string &text, const arch::DeviceDesc &device) {
  int64_t cores = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), cores);
  const int64_t most = std::min(kMaxSenCores, device.cores);
  if (code != std::errc() || end != text.data() + text.size() || cores < 1 || cores > most) {
    return error<3061>("\"{}\" is not a number of cores; give 1 to {} ({} has {})", text, most,
                       device.name, device.cores);
  }
  return cores;
}

namespace {

class Divider {
public:
  Divider(const Op &op, const arch::DeviceDesc &device, const Options &options,
          const CostModel &costs)
      : op(op), device(device), options(options), costs(costs) {
    outcome.op = op;
  }

  Expected<Outcome> run() {
    SPYRE_RETURN_IF_ERROR(checkOp(op));
    SPYRE_RETURN_IF_ERROR(checkCores(options.cores, device));
    if (!isDivided(op.kind)) {
      outcome.skipped = true;
      say(Decision::no("not-divided", "'{}' is neither pointwise nor a reduction", op.name));
    } else if (!options.ignoreHints && hasHints(op)) {
      SPYRE_RETURN_IF_ERROR(followHints());
    } else if (options.mode == Mode::Best) {
      SPYRE_RETURN_IF_ERROR(best());
    } else {
      SPYRE_RETURN_IF_ERROR(documented());
    }
    return std::move(outcome);
  }

private:
  void say(Decision decision) { outcome.decisions.push_back(std::move(decision)); }

  Status followHints() {
    SPYRE_ASSIGN_OR_RETURN(Splits splits, hintedSplits(op, device, options.cores));
    outcome.plan = makePlan(op, splits, documentedOrder(op, splits));
    SPYRE_RETURN_IF_ERROR(verifyPlan(op, device, options.cores, outcome.plan));
    outcome.nanoseconds = priceOf(op, splits);
    say(Decision::yes("hint", "{} as hinted", describe(op, splits)));
    return storeSplits(splits);
  }

  double priceOf(const Op &divided, const Splits &splits) const {
    Candidates one{.dims = splits.size(), .splits = {splits.begin(), splits.end()}};
    double ns = 0;
    if (!splits.empty()) {
      costs.price(divided, unitsOf(divided), one, std::span(&ns, 1));
    }
    return ns;
  }

  bool hasIndices() const {
    return writeIndex(op).size() == op.dims.size() && readIndex(op).size() == op.dims.size();
  }

  Status storeSplits(const Splits &splits) {
    if (hasIndices()) {
      outcome.stored = encodeSplits(splits, writeIndex(op), readIndex(op));
    }
    return Status::success();
  }

  //===- As documented ----------------------------------------------------------------------===//

  Expected<Splits> documentedSplits(Mode mode) {
    if (op.kind == Kind::TopK || op.kind == Kind::KeepByIndex) {
      say(Decision::no("one-core", "'{}' is not divided by the documented passes", op.name));
      return Splits(op.dims.size(), 1);
    }
    const SpanBytes how = mode == Mode::CompatS1 ? SpanBytes::HostItems : SpanBytes::Sticks;
    SPYRE_ASSIGN_OR_RETURN(SpanReduction span, reduceSpan(op, device, options.cores, how));
    for (Decision &decision : span.decisions) {
      say(std::move(decision));
    }
    if (mode == Mode::CompatS1) {
      if (auto matmul = divideMatmul(op, span.stored, options.cores)) {
        for (Decision &decision : matmul->decisions) {
          say(std::move(decision));
        }
        return std::move(matmul->splits);
      }
    }
    if (options.distribute) {
      return distributeWork(op, span.stored, options.cores);
    }
    return decodeSplits(span.stored, writeIndex(op), readIndex(op), unitsOf(op).extent);
  }

  Status documented() {
    if (!hasIndices()) {
      return error<3060>("'{}': the documented passes store splits by index coefficients; give "
                         "\"index\" for the first input and the output",
                         op.name);
    }
    SPYRE_ASSIGN_OR_RETURN(Splits splits, documentedSplits(options.mode));
    const CoreOrder order =
        options.mode == Mode::CompatS1 ? documentedOrder(op, splits) : CoreOrder::FirstFastest;
    outcome.plan = makePlan(op, splits, order);
    outcome.nanoseconds = priceOf(op, splits);
    say(Decision::yes(outcome.plan.cores == options.cores ? "all-cores" : "fewer-cores",
                      "{} use {} of {} cores", describe(op, splits), outcome.plan.cores,
                      options.cores));
    outcome.verdict = verifyPlan(op, device, options.cores, outcome.plan);
    if (outcome.verdict.ok()) {
      outcome.verdict = checkRules(op, device, options.cores, splits);
    }
    if (const int code = outcome.verdict.code(); code == kSpanFault || code == kTripFault) {
      outcome.tiling = tileOp(op, device, options.cores, costs);
    }
    return storeSplits(splits);
  }

  //===- The cheapest -----------------------------------------------------------------------===//

  /// The documented plan; empty where there is none. What it has to say is not of interest here.
  Splits documentedCandidate() {
    if (!hasIndices()) {
      return {};
    }
    Expected<Splits> splits = documentedSplits(Mode::Compat);
    outcome.decisions.clear();
    return splits.ok() ? *splits : Splits();
  }

  Status best() {
    if (op.dims.empty()) {
      outcome.plan = makePlan(op, {}, CoreOrder::FirstFastest);
      say(Decision::yes("one-core", "'{}' has nothing to divide", op.name));
      outcome.verdict = verifyPlan(op, device, options.cores, outcome.plan);
      return outcome.verdict;
    }
    const Splits preferred = documentedCandidate();
    SPYRE_ASSIGN_OR_RETURN(std::optional<BestDivision> found,
                           cheapestDivision(op, device, options.cores, costs, preferred,
                                            options.explain, options.slack));
    if (!found) {
      Status tiled = none();
      if (options.uneven) {
        SPYRE_ASSIGN_OR_RETURN(const bool isUneven, tryUneven(tiled.ok()));
        tiled = isUneven ? Status::success() : std::move(tiled);
      }
      return tiled;
    }
    take(op, *found, preferred);
    if (options.padding && outcome.plan.cores < options.cores) {
      tryPadding();
    }
    if (options.uneven) {
      SPYRE_RETURN_IF_ERROR(tryUneven(true).status());
    }
    // A plan the verifier refuses is never handed out.
    SPYRE_RETURN_IF_ERROR(verifyPlan(outcome.op, device, options.cores, outcome.plan));
    return storeSplits(outcome.plan.splits);
  }

  /// How far from the least of all prices the found one can be.
  static std::string gapText(const BestDivision &found) {
    const double gap = 1 - found.leastNanoseconds / found.best.nanoseconds;
    return gap > 0 ? fmt::format(", none cheaper by more than {:.2f} %", 100 * gap)
                   : std::string(", none cheaper");
  }

  void take(const Op &divided, const BestDivision &found, const Splits &preferred) {
    const Splits &splits = found.best.splits;
    outcome.plan = makePlan(divided, splits, documentedOrder(divided, splits));
    outcome.nanoseconds = found.best.nanoseconds;
    outcome.leastNanoseconds = found.leastNanoseconds;
    outcome.candidatesTried = found.tried;
    outcome.candidates = found.all;
    const char *reason = found.cut          ? "search-limit"
                         : found.documented ? "documented-plan-is-cheapest"
                                            : "cheapest";
    std::string beside;
    if (options.compare && !found.documented && !preferred.empty()) {
      beside = fmt::format("; the documented plan is {}", describe(op, preferred));
      if (checkRules(op, device, options.cores, preferred).ok()) {
        beside += fmt::format(" at {:.0f} ns", priceOf(op, preferred));
      }
    }
    say(Decision::yes(reason, "{} on {} of {} cores at {:.0f} ns, of {} candidates{}{}",
                      describe(op, splits), outcome.plan.cores, options.cores,
                      found.best.nanoseconds, found.tried, gapText(found), beside));
  }

  /// Padding costs work; no more than this part of a dim.
  static constexpr int64_t kMostPadding = 4;

  /// The padded tail of a restickify is cut only where it has memory.
  bool isUncutTail(const Units &units, size_t d) const {
    return op.kind == Kind::Restickify && units.extent[d] % units.elems[d] != 0;
  }

  void tryPadding() {
    const Units units = unitsOf(op);
    for (size_t d = 0; d < op.dims.size(); ++d) {
      int64_t last = 0;
      for (int64_t split = 2; split <= options.cores; ++split) {
        const int64_t count = roundUp(units.count[d], split);
        if (count == last || (count == units.count[d] && !isUncutTail(units, d)) ||
            count - units.count[d] > units.count[d] / kMostPadding) {
          continue;
        }
        last = count;
        std::optional<Op> padded = paddedOp(op, units, d, count);
        if (!padded) {
          continue;
        }
        Expected<std::optional<BestDivision>> found =
            cheapestDivision(*padded, device, options.cores, costs, {}, false, options.slack);
        if (!found.ok() || !found->has_value() ||
            (*found)->best.nanoseconds >= outcome.nanoseconds) {
          continue;
        }
        takePadded(*padded, **found, d);
      }
    }
  }

  /// Prices closer than this are equal, and equal slices are kept then.
  static constexpr double kEqualPrice = 1e-9;

  /// Takes an uneven division that is cheaper than the plan or the tiles found so far, or any where
  /// there are none.
  Expected<bool> tryUneven(bool hasPlan) {
    SPYRE_ASSIGN_OR_RETURN(std::optional<UnevenDivision> uneven,
                           cheapestUneven(op, device, options.cores, costs));
    // Equal slices that are cheaper by as much as the slack may exist.
    const double margin = std::max(options.slack, kEqualPrice);
    if (!uneven || (hasPlan && uneven->nanoseconds >= outcome.nanoseconds * (1 - margin))) {
      say(Decision::no("even", "no uneven division is cheaper"));
      return false;
    }
    const Splits &splits = uneven->plan.splits;
    const Dim &dim = op.dims[size_t(uneven->plan.uneven)];
    say(Decision::yes("uneven", "{} on {} cores, slices of {} differ by a unit, at {:.0f} ns{}",
                      describe(op, splits), uneven->plan.cores, dim.name, uneven->nanoseconds,
                      hasPlan ? fmt::format(" instead of {:.0f}", outcome.nanoseconds)
                              : std::string("; nothing else is possible")));
    outcome.op = op;
    outcome.tiling.reset();
    outcome.proof.reset();
    outcome.verdict = Status::success();
    outcome.plan = uneven->plan;
    outcome.nanoseconds = uneven->nanoseconds;
    outcome.leastNanoseconds =
        hasPlan ? std::min(outcome.leastNanoseconds, uneven->nanoseconds) : uneven->nanoseconds;
    outcome.candidatesTried += uneven->tried;
    return true;
  }

  void takePadded(const Op &padded, const BestDivision &found, size_t d) {
    outcome.op = padded;
    const Splits &splits = found.best.splits;
    outcome.plan = makePlan(padded, splits, documentedOrder(padded, splits));
    say(Decision::yes("padded",
                      "{} padded from {} to {}: {} on {} cores at {:.0f} ns instead of "
                      "{:.0f}, of {} candidates{}",
                      op.dims[d].name, op.dims[d].extent, padded.dims[d].extent,
                      describe(op, splits), outcome.plan.cores, found.best.nanoseconds,
                      outcome.nanoseconds, found.tried, gapText(found)));
    outcome.nanoseconds = found.best.nanoseconds;
    outcome.leastNanoseconds = found.leastNanoseconds;
  }

  /// The operation with padded tails that have memory, where some can be given it.
  std::optional<Op> withWholeSticks() const {
    const Units units = unitsOf(op);
    std::optional<Op> whole;
    for (size_t d = 0; options.padding && d < op.dims.size(); ++d) {
      if (isUncutTail(units, d)) {
        if (auto padded = paddedOp(whole ? *whole : op, units, d, units.count[d])) {
          whole = std::move(padded);
        }
      }
    }
    return whole;
  }

  Status none() {
    outcome.proof = proveNoDivision(op, device, options.cores);
    const std::string why =
        outcome.proof ? outcome.proof->text
                      : std::string("the rules of the machine allow no division within the limits");
    outcome.tiling = tileOp(op, device, options.cores, costs);
    if (!outcome.tiling) {
      if (std::optional<Op> padded = withWholeSticks()) {
        SPYRE_ASSIGN_OR_RETURN(outcome, divide(*padded, device, options, costs));
        return Status::success();
      }
      return error<3065>("'{}' over {}: {}, and no tiling of its result helps; use smaller tensors "
                         "or reduce in steps",
                         op.name, describe(op), why);
    }
    outcome.nanoseconds = outcome.tiling->nanoseconds;
    outcome.verdict = error<3065>("'{}' over {}: {}; it runs in tiles", op.name, describe(op), why);
    say(Decision::no("no-even-division", "{}", why));
    int64_t trips = 0;
    for (const TiledPart &part : outcome.tiling->parts) {
      trips += part.trips();
    }
    say(Decision::yes("tiled", "{} tiles of [{}] or less, at {:.0f} ns", trips,
                      fmt::join(outcome.tiling->parts.front().tileExtent, ", "),
                      outcome.tiling->nanoseconds));
    return Status::success();
  }

  const Op &op;
  const arch::DeviceDesc &device;
  const Options &options;
  const CostModel &costs;
  Outcome outcome;
};

} // namespace

Expected<Outcome> divide(const Op &op, const arch::DeviceDesc &device, const Options &options,
                         const CostModel &costs) {
  return Divider(op, device, options, costs).run();
}

} // namespace spyre::solver::division
