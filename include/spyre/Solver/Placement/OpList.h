//===- OpList.h - from a list of operations to a placement problem ---------------------------===//
//
// The part of scratchpad planning that knows operations, but no IR: who lives when, who may stay
// on the core, who may take whose place, what each stay is worth. [spec: scratchpad 3-5]
//
//     max(x) -> m         m [0,2)
//     sub(x, m) -> s      s [1,3)         s may take the place of x's copy
//     exp(s) -> e         e [2,5)         e may take the place of s
//
// A tensor that is written again without being read has several lives ("webs"), which need not
// have one address.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Decision.h"
#include "spyre/Solver/Placement/Problem.h"

#include <memory>
#include <set>
#include <string_view>

namespace spyre::solver::placement {

/// Which part of a tensor each core touches in one access [spec: scratchpad 5.1].
struct CoreView {
  /// False: the split cannot be said in terms of the tensor's dimensions.
  bool known = true;
  int cores = 1;
  /// (device dim, factor), ascending; empty: every core touches the whole tensor.
  std::vector<std::pair<int, int>> slices;
  /// Number of the slice each core has; empty when there are no slices.
  std::vector<int64_t> sliceOfCore;
  /// How a slice lies in the whole tensor: (sticks, distance between them), innermost first. Empty
  /// where the slices say it.
  std::vector<std::pair<int64_t, int64_t>> walk;
  bool operator==(const CoreView &) const = default;
};

struct OpTensor {
  std::string name;
  /// On one core, and on all together.
  int64_t coreBytes = 0, totalBytes = 0;
  bool isGraphInput = false, isGraphOutput = false;
  /// Two tensors of one layout hold the same element at the same place.
  std::string layout;
  /// Why the front end bars it ("partial/offset read", ...); empty: it does not.
  std::string barred;
};

struct OpStep {
  /// "exp", "sub", ...
  std::string name;
  std::vector<int> reads, writes;
  /// One per entry of reads and writes; empty: one core, the whole tensor.
  std::vector<CoreView> readViews, writeViews;
  /// Cores hold partial sums of what it writes.
  bool splitsReduction = false;
  /// Reads each input at the index it writes.
  bool pointwise = false;
  /// One per read where only some inputs are read at the index that is written; empty: all are.
  std::vector<char> aligned;
  /// Another program runs: it may use any address.
  bool opaque = false;
  /// It writes into a tensor that is there already.
  bool mutates = false;
  /// Bytes the operation itself needs on each core.
  int64_t transientBytes = 0;
};

struct OpList {
  std::vector<OpTensor> tensors;
  std::vector<OpStep> ops;
  /// Numbers that reasons give the operations; empty: their indices.
  std::vector<int64_t> numbers;

  int64_t numberOf(int64_t op) const { return numbers.empty() ? op : numbers[size_t(op)]; }
};

/// Error: E3049 (an index that is no tensor, a graph input that is written before it is read, ...).
Status validate(const OpList &list);

/// For each tensor the operations that touch it, ascending, each once.
std::vector<std::vector<int64_t>> usesOf(const OpList &list);

/// One life of a tensor.
struct Web {
  int tensor = 0;
  std::vector<int64_t> uses;
  bool firstUseIsRead = false;

  int64_t lower() const { return uses.front(); }
  int64_t upper() const { return uses.back() + 1; }
  int64_t reads() const { return int64_t(uses.size()) - (firstUseIsRead ? 0 : 1); }
};

/// In the order the documented solvers break ties by: computed tensors in the order of operations,
/// then graph inputs. Tensors without a use have none. With \p split a write that does not read
/// begins a new life.
std::vector<Web> websOf(const OpList &list, bool split);

/// Does the access of operation \p index leave each core with a part of its own, or find it there?
Decision mayHold(const OpStep &op, int64_t index, const CoreView &view, bool writes);
/// Do all users of the tensor see the same part of it on each core? [spec: scratchpad 5.2]
Decision divisionsAgree(const OpList &list, int tensor);
/// The same among the operations \p uses, ascending.
Decision divisionsAgree(const OpList &list, int tensor, const std::vector<int64_t> &uses);

/// Bytes on one core of a tensor that \p cores share.
int64_t bytesPerCore(int64_t totalBytes, int64_t cores);

struct PlacementRules {
  /// Operations whose results may stay; empty: all.
  std::set<std::string> allowedOps;
  /// Operations that may write over an input, pointwise ones beside them if the flag is set.
  std::set<std::string> inPlaceOps;
  bool pointwiseInPlace = true;
  /// The pair must have one layout and equal sizes; else the child may be smaller.
  bool equalSizesInPlace = true;
  /// Copies at the border of the graph: of inputs that are read more than once, and of outputs that
  /// are read. The solver decides by their values.
  bool inputClones = false, outputClones = false;
  bool splitWebs = true;
  /// One core: divisions cannot disagree.
  int cores = 32;
};

/// A placement problem and where its buffers come from.
struct OpListProblem {
  Problem problem;
  /// One per buffer.
  std::vector<Web> webs;
  /// One per buffer: may it be placed, and why not.
  std::vector<Decision> decisions;
};

/// Barred webs are in the problem, too, as forbidden buffers with the reason. Errors: E3049 and
/// those of validate().
Expected<OpListProblem> makeProblem(const OpList &list, const PlacementRules &rules,
                                    int64_t capacityBytes, int64_t alignment);

/// Bytes that operations move between memory and cores when \p offsets are kept: each access of
/// each operation to what is not on the core, the copies at the border included.
int64_t memoryTraffic(const OpList &list, const OpListProblem &made, const Offsets &offsets);

/// Is the plan right for the operations as they are now? To be asked after the last change of the
/// list: every operation still finds what it reads where the plan put it, on the core that reads
/// it, and no other program runs while something lives there. Independent of makeProblem().
/// Errors: E3044, E3049.
Status verifyOpListPlan(const OpList &list, const PlacementRules &rules, const OpListProblem &made,
                        const Offsets &offsets);

/// A step beside planning [spec: scratchpad 2, the role ScratchpadOptimizationPass]. It does its
/// work before the plan is made, after, or both.
class ScratchpadOptimizationPass {
public:
  virtual ~ScratchpadOptimizationPass() = default;
  virtual std::string_view name() const = 0;
  /// Before: may change the list of operations.
  virtual Status run(OpList & /*list*/, int64_t /*capacityBytes*/) const {
    return Status::success();
  }
  /// After: may move, take away or add places. What it leaves is verified like any plan.
  virtual Status runAfter(const OpList & /*list*/, const OpListProblem & /*made*/,
                          Offsets & /*offsets*/) const {
    return Status::success();
  }
};

/// Graph inputs that the documented pass copies: read more than once, and they fit.
std::vector<int> inputsToClone(const OpList &list, int64_t capacityBytes);
/// Copies every graph input that is read more than once and fits, at the front of the list: the
/// documented pass. It does not ask whether there will be room.
std::unique_ptr<ScratchpadOptimizationPass> createCloneInputsPass();

} // namespace spyre::solver::placement
