//===- DimFlip.cpp - see DimFlip.h ------------------------------------------------------------===//
#include "spyre/Solver/Placement/DimFlip.h"

#include "spyre/Base/Math.h"

#include <algorithm>

namespace spyre::solver::placement {
namespace {

using spec::Coordinate;
using spec::IterationDim;
using spec::OpSpec;
using spec::TensorArg;

bool follows(const TensorArg &arg, const std::string &symbol) {
  return std::any_of(arg.deviceCoordinates.begin(), arg.deviceCoordinates.end(),
                     [&](const Coordinate &coordinate) { return coordinate.symbol == symbol; });
}

/// Whole sticks of whatever has the symbol in its sticks.
int64_t piecesOf(const OpSpec &op, const IterationDim &dim) {
  int64_t pieces = dim.range;
  for (const TensorArg &arg : op.args) {
    if (!arg.isIndex()) {
      pieces = std::min(pieces, ceilDiv(dim.range, spec::stickElements(arg, dim.symbol)));
    }
  }
  return pieces;
}

int64_t spanOf(const CoreView &view) {
  int64_t sticks = 1;
  for (const auto &[count, distance] : view.walk) {
    sticks += (count - 1) * distance;
  }
  return sticks * 128;
}

bool isUsable(const OpStep &step, int64_t spanBytes) {
  auto fits = [&](const CoreView &view) { return view.known && spanOf(view) <= spanBytes; };
  return std::all_of(step.readViews.begin(), step.readViews.end(), fits) &&
         std::all_of(step.writeViews.begin(), step.writeViews.end(), fits);
}

struct Variant {
  CoreSplits splits;
  OpStep step;
};

class Flipper {
public:
  Flipper(const SpecProgram &program, const LxOptions &options, int cores, int64_t capacityBytes,
          bool kFastCores, const FlipLimits &limits)
      : program(program), options(options), cores(cores), capacityBytes(capacityBytes),
        kFastCores(kFastCores), limits(limits), list(listOf(program, kFastCores)) {}

  Expected<FlipResult> run() {
    result.splits.resize(program.steps.size());
    collect();
    SPYRE_ASSIGN_OR_RETURN(const LxPlan first, planLx(list, options, cores, capacityBytes));
    result.bytesBefore = result.bytesAfter = first.trafficAfter;
    result.flippable = int64_t(flippable.size());
    if (flippable.empty()) {
      return std::move(result);
    }
    findWorths(first);
    choice.assign(flippable.size(), 0);
    SPYRE_RETURN_IF_ERROR(search(0, floorBytes));
    for (size_t i = 0; i < best.size(); ++i) {
      if (best[i] > 0) {
        result.splits[flippable[i]] = variants[i][best[i]].splits;
      }
    }
    return std::move(result);
  }

private:
  void collect() {
    for (size_t i = 0; i < program.steps.size(); ++i) {
      const SpecStep &step = program.steps[i];
      if (!step.op || step.inLoop) {
        continue;
      }
      std::vector<Variant> found;
      for (const CoreSplits &splits : flipVariants(*step.op)) {
        OpSpec changed = *step.op;
        for (size_t d = 0; d < splits.size(); ++d) {
          changed.iterationSpace[d].cores = splits[d];
        }
        SpecStep with = step;
        with.op = &changed;
        OpStep made = stepOf(program, with, kFastCores);
        if (found.empty() || isUsable(made, limits.spanBytes)) {
          found.push_back({splits, std::move(made)});
        }
      }
      if (found.size() > 1) {
        flippable.push_back(i);
        variants.push_back(std::move(found));
      }
    }
  }

  /// What each tensor would save if it stayed, and which choice decides last about it.
  void findWorths(const LxPlan &first) {
    worth.assign(list.tensors.size(), 0);
    // Divisions apart, everything that may stay does: no plan moves less.
    for (size_t i = 0; i < first.made.webs.size(); ++i) {
      // Other splits change both of these.
      const Decision &decision = first.made.decisions[i];
      const bool isBarred =
          !decision && decision.reason() != "core-div-mismatch" && decision.reason() != "too-large";
      worth[size_t(first.made.webs[i].tensor)] +=
          isBarred ? 0 : first.made.problem.buffers[i].worth();
    }
    floorBytes = first.trafficBefore;
    for (int64_t bytes : worth) {
      floorBytes -= bytes;
    }
    decides.resize(flippable.size());
    const auto uses = usesOf(list);
    for (size_t tensor = 0; tensor < uses.size(); ++tensor) {
      size_t last = flippable.size();
      for (size_t i = 0; i < flippable.size(); ++i) {
        const bool isUser =
            std::binary_search(uses[tensor].begin(), uses[tensor].end(), int64_t(flippable[i]));
        last = isUser ? i : last;
      }
      if (last < flippable.size() && worth[tensor] > 0) {
        decides[last].push_back(int(tensor));
      }
    }
    allUses = uses;
  }

  /// \p lostBytes: no plan below this node moves less.
  Status search(size_t depth, int64_t lostBytes) {
    if (lostBytes >= result.bytesAfter && !best.empty()) {
      return Status::success();
    }
    if (depth == flippable.size()) {
      return leaf();
    }
    for (size_t v = 0; v < variants[depth].size(); ++v) {
      ++result.nodes;
      if (flippable.size() > kCompleteFlips &&
          (result.leaves >= limits.leaves || result.nodes > limits.nodes)) {
        result.isComplete = false;
        return Status::success();
      }
      choice[depth] = v;
      list.ops[flippable[depth]] = variants[depth][v].step;
      int64_t lost = lostBytes;
      for (int tensor : decides[depth]) {
        if (!divisionsAgree(list, tensor, allUses[size_t(tensor)])) {
          lost += worth[size_t(tensor)];
        }
      }
      SPYRE_RETURN_IF_ERROR(search(depth + 1, lost));
    }
    choice[depth] = 0;
    list.ops[flippable[depth]] = variants[depth][0].step;
    return Status::success();
  }

  Status leaf() {
    ++result.leaves;
    OpList now = list;
    setCoreBytes(now);
    SPYRE_ASSIGN_OR_RETURN(const LxPlan plan, planLx(now, options, cores, capacityBytes));
    if (best.empty() || plan.trafficAfter < result.bytesAfter) {
      best = choice;
      result.bytesAfter = plan.trafficAfter;
    }
    return Status::success();
  }

  const SpecProgram &program;
  const LxOptions &options;
  const int cores;
  const int64_t capacityBytes;
  const bool kFastCores;
  const FlipLimits limits;
  /// With the choice at hand.
  OpList list;
  std::vector<size_t> flippable;
  std::vector<std::vector<Variant>> variants;
  std::vector<int64_t> worth;
  std::vector<std::vector<int>> decides;
  std::vector<std::vector<int64_t>> allUses;
  int64_t floorBytes = 0;
  std::vector<size_t> choice, best;
  FlipResult result;
};

} // namespace

std::vector<CoreSplits> flipVariants(const OpSpec &op) {
  CoreSplits own;
  std::vector<size_t> outputs, split;
  for (size_t d = 0; d < op.iterationSpace.size(); ++d) {
    const IterationDim &dim = op.iterationSpace[d];
    own.push_back(dim.cores);
    if (follows(op.args.back(), dim.symbol)) {
      outputs.push_back(d);
    }
    if (dim.cores > 1) {
      split.push_back(d);
    }
  }
  std::vector<CoreSplits> variants = {own};
  if (split.size() != 1 || op.iterationSpace[split[0]].uneven ||
      std::count(outputs.begin(), outputs.end(), split[0]) == 0) {
    return variants;
  }
  const int64_t factor = own[split[0]];
  for (size_t d : outputs) {
    if (d != split[0] && piecesOf(op, op.iterationSpace[d]) % factor == 0 &&
        variants.size() < kMaxFlipVariants) {
      CoreSplits moved = own;
      moved[split[0]] = 1;
      moved[d] = factor;
      variants.push_back(std::move(moved));
    }
  }
  return variants;
}

Expected<FlipResult> flipDims(const SpecProgram &program, const LxOptions &options, int cores,
                              int64_t capacityBytes, bool kFastCores, const FlipLimits &limits) {
  return Flipper(program, options, cores, capacityBytes, kFastCores, limits).run();
}

} // namespace spyre::solver::placement
