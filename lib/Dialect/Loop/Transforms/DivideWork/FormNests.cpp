//===- FormNests.cpp - one nest of loops for what is hinted together ------------------------===//
//
// Hints leave each operation with the scopes around it as its loops. Neighbours in the same scopes
// share their loops wherever an iteration needs nothing of later ones; what does need all
// iterations of another operation begins loops of its own from the level on where it does. Then
// every loop has a number of its own. [spec: work-division 19]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"

#include "llvm/ADT/DenseMap.h"

#include "../LoopPass.h"
#include "AddUpTiles.h"
#include "Divider.h"
#include "NestRules.h"
#include "PerTile.h"

#include <set>

namespace spyre::loop {

#define GEN_PASS_DECL_FORMNESTSPASS
#define GEN_PASS_DEF_FORMNESTSPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

/// Operations of a nest when it is unrolled; a bundle takes as many.
constexpr int64_t kMostOperations = 2048;

class NestBuilder {
public:
  NestBuilder(int64_t mostTensors, DecisionTrace *trace) : mostTensors(mostTensors), trace(trace) {}

  void add(ComputeOp op) {
    const Levels scopes = soundLevels(op, levelsOf(op));
    if (scopes.empty() || goesInFront(op, scopes)) {
      setLevels(op, {});
      if (scopes.empty()) {
        close();
      }
      return;
    }
    size_t shared = members.empty() ? 0 : sharedLevels(scopes, members.back().scopes);
    shared = limitByOthers(op, scopes, shared);
    if (shared > 0 && isFull(op, scopes)) {
      shared = 0;
    }
    if (shared == 0) {
      close();
    }
    Member member{op, scopes, scopes};
    for (size_t level = 0; level < scopes.size(); ++level) {
      member.levels[level].loop = level < shared ? members.back().levels[level].loop : nextLoop++;
    }
    for (unsigned i = 0; i < operandCount(op); ++i) {
      tensors.insert(operandBuffer(op, i).getOperation());
    }
    operations += iterationsOf(scopes);
    setLevels(op, member.levels);
    members.push_back(std::move(member));
  }

  /// The next operation is in no loop of these.
  void close() {
    if (trace && members.size() > 1) {
      say(members.front().op,
          Decision::yes("one-nest", "{} operations in the loops of {}", members.size(),
                        dialect::sourceLine(members.front().op.getLoc())));
    }
    members.clear();
    tensors.clear();
    operations = 0;
  }

private:
  struct Member {
    ComputeOp op;
    /// Levels by the numbers of scopes, and of loops.
    Levels scopes, levels;
  };

  void say(ComputeOp op, Decision decision) {
    if (trace) {
      trace->record("nests", subjectOf(op), decision, {dialect::sourceLine(op.getLoc()), {}});
    }
  }

  static int64_t iterationsOf(const Levels &levels) {
    int64_t iterations = 1;
    for (const Level &level : levels) {
      iterations *= level.count;
    }
    return iterations;
  }

  /// A copy that the compiler put in, of something no loop changes, is made once.
  bool goesInFront(ComputeOp op, const Levels &scopes) {
    const bool isFixed =
        op->hasAttr(kWhy) && llvm::all_of(scopes, [](const Level &level) { return level.var < 0; });
    const bool isFree =
        llvm::all_of(members, [&](const Member &member) { return areIndependent(member.op, op); });
    if (!isFixed || !isFree) {
      return false;
    }
    if (!members.empty()) {
      op->moveBefore(members.front().op);
    }
    say(op, Decision::yes("in-front", "the same in every iteration; made once"));
    return true;
  }

  /// Of \p shared loops, those the operation may share with all that is in them.
  size_t limitByOthers(ComputeOp op, const Levels &scopes, size_t shared) {
    for (bool isDone = false; !isDone;) {
      isDone = true;
      for (const Member &member : members) {
        const size_t both = std::min(shared, sharedLevels(member.levels, members.back().levels));
        const size_t may = levelsTogether(member.op, member.levels, op, scopes, both);
        if (may < both) {
          say(op, Decision::no("loop-of-its-own",
                               "level {}: it needs more of '{}' than one iteration has", may,
                               subjectOf(member.op)));
          shared = may;
          isDone = false;
        }
      }
    }
    return shared;
  }

  /// All of a nest must go into one bundle.
  bool isFull(ComputeOp op, const Levels &scopes) {
    std::set<mlir::Operation *> all = tensors;
    for (unsigned i = 0; i < operandCount(op); ++i) {
      all.insert(operandBuffer(op, i).getOperation());
    }
    const auto called = std::count_if(all.begin(), all.end(), [](mlir::Operation *buffer) {
      return !isPooled(llvm::cast<BufferOp>(buffer));
    });
    const bool full = called > mostTensors || operations + iterationsOf(scopes) > kMostOperations;
    if (full) {
      say(op, Decision::no("bundle-full", "a bundle takes {} operations and {} tensors",
                           kMostOperations, mostTensors));
    }
    return full;
  }

  const int64_t mostTensors;
  DecisionTrace *trace;
  /// Of the outermost loop at hand.
  std::vector<Member> members;
  std::set<mlir::Operation *> tensors;
  int64_t operations = 0;
  int64_t nextLoop = 0;
};

/// Loops in which nothing is cut do the same again and again: once is enough.
void dropIdleLoops(mlir::func::FuncOp main) {
  std::set<int64_t> busy;
  for (ComputeOp op : main.getOps<ComputeOp>()) {
    for (const Level &level : levelsOf(op)) {
      if (level.var >= 0) {
        busy.insert(level.loop);
      }
    }
  }
  for (ComputeOp op : main.getOps<ComputeOp>()) {
    Levels levels = levelsOf(op), kept;
    for (const Level &level : levels) {
      if (busy.count(level.loop)) {
        kept.push_back(level);
      }
    }
    if (kept.size() < levels.size()) {
      setLevels(op, kept);
    }
  }
}

struct FormNests : LoopPass<impl::FormNestsPassBase<FormNests>> {
  std::optional<int64_t> given;

  Status runOnMain(mlir::func::FuncOp main) override {
    NestBuilder builder(given.value_or(mostTensors), trace);
    bool any = false;
    for (mlir::Operation &each : llvm::make_early_inc_range(main.getBody().front())) {
      auto op = llvm::dyn_cast<ComputeOp>(each);
      if (op && op->hasAttr(kLoops)) {
        builder.add(op);
        any = true;
      } else {
        builder.close();
      }
    }
    if (any) {
      dropIdleLoops(main);
      addUpTiles(main);
      shrinkToTiles(main, trace);
    }
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createFormNestsPass(int64_t mostTensors, DecisionTrace *trace) {
  auto pass = createLoopPass<FormNests>(trace);
  pass->given = mostTensors;
  return pass;
}

std::unique_ptr<mlir::Pass> createFormNestsPass() { return createLoopPass<FormNests>(nullptr); }

} // namespace spyre::loop
