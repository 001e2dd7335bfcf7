//===- DivideWork.cpp - splits of output variables over the cores ---------------------------===//
//
// Output variables by decreasing size (stick variables counted in sticks), each the largest divisor
// that still fits the cores left. Every core gets the same amount of work and whole sticks. Where a
// core would then touch more DDR of a tensor than the machine allows, all divisor combinations are
// tried and the legal one with the most cores is taken.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"
#include "spyre/Dialect/Loop/Transforms/Stick.h"

#include "Rewrite.h"

#include <algorithm>

namespace spyre::loop {

#define GEN_PASS_DECL_DIVIDEWORKPASS
#define GEN_PASS_DEF_DIVIDEWORKPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

/// Pieces a variable can be divided into at most; 1 when it must stay whole.
Expected<std::vector<int64_t>> piecesPerVar(ComputeOp op) {
  llvm::ArrayRef<int64_t> extents = op.getExtents();
  std::vector<int64_t> pieces(extents.begin(), extents.end());
  std::fill(pieces.end() - op.getReductions(), pieces.end(), 1);
  std::vector<StickUse> uses;
  for (unsigned i = 0; i < operandCount(op); ++i) {
    SPYRE_ASSIGN_OR_RETURN(StickUse use, stickUse(accessOf(op, i)));
    uses.push_back(use);
  }
  bool restick = op.getCallee() == kCopy && !op.getIndirect() &&
                 isRestickify(accessOf(op, 0), uses[0], uses[1]);
  for (unsigned i = 0; i < operandCount(op); ++i) {
    if (uses[i].kind != StickUse::Kind::Var || pieces[uses[i].var] == 1 || isIndexInput(op, i)) {
      continue;
    }
    int64_t lanes = elemsPerStick(accessOf(op, i).buffer), extent = extents[uses[i].var];
    bool padded = extent % lanes != 0;
    // Sticks of a conversion differ in lanes; the wider ones must stay whole.
    pieces[uses[i].var] =
        restick && padded ? 1 : std::min(pieces[uses[i].var], ceilDiv(extent, lanes));
  }
  return pieces;
}

/// How far, in sticks, each variable of an operation moves through one tensor.
struct Reach {
  /// Any row of an indirect dimension may be meant, on every core.
  int64_t anyRow = 0;
  struct Step {
    unsigned var;
    int64_t sticks;  ///< per step of the variable, or per stick of lanes
    int64_t divisor; ///< lanes for the stick variable, else 1
  };
  std::vector<Step> steps;

  int64_t spanBytes(llvm::ArrayRef<int64_t> extents, const std::vector<int64_t> &splits) const {
    int64_t sticks = 1 + anyRow;
    for (const Step &step : steps) {
      int64_t perCore = ceilDiv(ceilDiv(extents[step.var], step.divisor), splits[step.var]);
      sticks += (perCore - 1) * step.sticks;
    }
    return sticks * 128;
  }
};

Expected<Reach> reachOf(const Access &access) {
  SPYRE_ASSIGN_OR_RETURN(layout::DeviceLayout layout, layoutOf(access.buffer));
  SPYRE_ASSIGN_OR_RETURN(DimRoles roles, dimRolesOf(access.buffer));
  Reach reach;
  if (roles.order.empty()) {
    return reach;
  }
  // Device dimensions: all but the first of the order, the first, then the lanes.
  const std::vector<int64_t> slots = roles.slots();
  int64_t sticks = 1;
  for (size_t j = slots.size(); j-- > 0;) {
    int64_t dim = slots[j], lanes = dim >= 0 && dim == roles.stick() ? layout.elemsPerStick() : 1;
    for (const LinearIndex::Term &term :
         dim < 0 ? std::vector<LinearIndex::Term>() : access.dims[dim].terms) {
      bool isLane = term.coefficient < lanes;
      reach.steps.push_back(
          {term.var, isLane ? sticks : term.coefficient / lanes * sticks, isLane ? lanes : 1});
    }
    if (dim >= 0 && dim == access.indirectDim) {
      reach.anyRow = (layout.deviceSize[j] - 1) * sticks;
    }
    sticks *= layout.deviceSize[j];
  }
  return reach;
}

/// Splits of one operation under the span limit.
class Division {
public:
  Division(ComputeOp op, int64_t cores, int64_t spanLimitBytes)
      : op(op), cores(cores), spanLimitBytes(spanLimitBytes) {}

  Status run() {
    SPYRE_ASSIGN_OR_RETURN(pieces, piecesPerVar(op));
    SPYRE_RETURN_IF_ERROR(findIndexSticks());
    for (unsigned i = 0; i < operandCount(op); ++i) {
      SPYRE_ASSIGN_OR_RETURN(Reach reach, reachOf(accessOf(op, i)));
      reaches.push_back(reach);
    }
    extents.assign(op.getExtents().begin(), op.getExtents().end());
    if (op.getCallee() == kMatmul) { // K runs in whole sticks: padded rows are read too
      extents.back() = roundUp(extents.back(), elemsPerStick(accessOf(op, 0).buffer));
    }
    chooseBySize();
    if (!isLegal(splits)) {
      bySize = false;
      best.clear();
      std::vector<int64_t> partial;
      search(partial, 1);
      if (best.empty()) {
        return error<3003>("'{}' over extents [{}]: with every split over {} cores a core touches "
                           "more than {} bytes of "
                           "DDR for one tensor (at least {}); use more cores or smaller tensors",
                           op.getCallee().str(), fmt::join(op.getExtents(), ", "), cores,
                           spanLimitBytes, smallestSpan);
      }
      splits = best;
    }
    return Status::success();
  }

  std::vector<int64_t> pieces, splits;
  bool bySize = true;

private:
  /// A core has whole sticks of indices, or less than one.
  Status findIndexSticks() {
    indexLanes.assign(pieces.size(), 0);
    for (const Indirection &indirection : indirectionsOf(op)) {
      const Access access = accessOf(op, indirection.index);
      SPYRE_ASSIGN_OR_RETURN(StickUse use, stickUse(access));
      if (use.kind == StickUse::Kind::Var) {
        indexLanes[use.var] = elemsPerStick(access.buffer);
      }
    }
    return Status::success();
  }

  bool canSplit(unsigned var, int64_t split) const {
    const int64_t perCore = op.getExtents()[var] / split, lanes = indexLanes[var];
    return pieces[var] % split == 0 &&
           (split == 1 || lanes == 0 || perCore <= lanes || perCore % lanes == 0);
  }

  void chooseBySize() {
    std::vector<unsigned> order(pieces.size());
    for (unsigned v = 0; v < order.size(); ++v) {
      order[v] = v;
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](unsigned a, unsigned b) { return pieces[a] > pieces[b]; });
    splits.assign(pieces.size(), 1);
    int64_t left = cores;
    for (unsigned v : order) {
      for (int64_t split = std::min(pieces[v], left); splits[v] == 1 && split > 1; --split) {
        splits[v] = canSplit(v, split) ? split : 1;
      }
      left /= splits[v];
    }
  }

  bool isLegal(const std::vector<int64_t> &candidate) {
    int64_t span = 0;
    for (const Reach &reach : reaches) {
      span = std::max(span, reach.spanBytes(extents, candidate));
    }
    smallestSpan = smallestSpan == 0 ? span : std::min(smallestSpan, span);
    return span <= spanLimitBytes;
  }

  /// All combinations of divisors, first variable slowest; keeps the first one with the most cores.
  void search(std::vector<int64_t> &partial, int64_t used) {
    if (partial.size() == pieces.size()) {
      if (used > bestCores && isLegal(partial)) {
        best = partial;
        bestCores = used;
      }
      return;
    }
    int64_t count = pieces[partial.size()];
    for (int64_t split = 1; used * split <= cores && split <= count; ++split) {
      if (canSplit(unsigned(partial.size()), split)) {
        partial.push_back(split);
        search(partial, used * split);
        partial.pop_back();
      }
    }
  }

  mutable ComputeOp op;
  int64_t cores, spanLimitBytes;
  std::vector<Reach> reaches;
  std::vector<int64_t> extents, best;
  /// Per variable: indices in a stick of them, 0 where it is none of theirs.
  std::vector<int64_t> indexLanes;
  int64_t bestCores = 0, smallestSpan = 0;
};

Status divide(ComputeOp op, int64_t cores, int64_t spanLimitBytes, DecisionTrace *trace) {
  Division division(op, cores, spanLimitBytes);
  SPYRE_RETURN_IF_ERROR(division.run());
  op.setSplits(division.splits);
  if (!trace) {
    return Status::success();
  }
  int64_t used = 1;
  for (int64_t split : division.splits) {
    used *= split;
  }
  std::string subject = op.getCallee().str() + " -> " +
                        BufferOp(accessOf(op, operandCount(op) - 1).buffer).getName().str();
  const char *reason = !division.bySize ? "span-limit"
                       : used == cores  ? "all-cores"
                                        : "fewer-cores";
  trace->record("divide-work", subject,
                Decision::yes(reason, "splits [{}] use {} of {} cores; divisible pieces are [{}]",
                              fmt::join(division.splits, ", "), used, cores,
                              fmt::join(division.pieces, ", ")));
  return Status::success();
}

struct DivideWork : impl::DivideWorkPassBase<DivideWork> {
  DivideWork(int64_t coreCount, int64_t spanBytes, DecisionTrace *trace) : trace(trace) {
    cores = coreCount;
    spanLimitBytes = spanBytes;
  }
  DivideWork(const DivideWork &other) : DivideWorkPassBase(other), trace(other.trace) {}
  DecisionTrace *trace;
  void runOnOperation() override {
    mlir::func::FuncOp main = findMain(getOperation());
    Status status = main ? Status::success()
                         : error<1202>("a loop module holds one func.func @main() with one block");
    if (cores < 1) {
      status = error<3002>("cores = {}; give at least 1", cores.getValue());
    }
    if (status.ok()) {
      for (ComputeOp op : main.getOps<ComputeOp>()) {
        status = divide(op, cores, spanLimitBytes, trace);
        if (!status.ok()) {
          break;
        }
      }
    }
    if (!status.ok()) {
      (void)dialect::report(getOperation(), status);
      return signalPassFailure();
    }
    for (HostOp op : main.getOps<HostOp>()) {
      if (trace) {
        trace->record("divide-work", op.getCallee().str(),
                      Decision::no("host-step", "runs on the CPU: {}", op.getReason().str()));
      }
    }
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createDivideWorkPass(int64_t cores, int64_t spanLimitBytes,
                                                 DecisionTrace *trace) {
  return std::make_unique<DivideWork>(cores, spanLimitBytes, trace);
}

} // namespace spyre::loop
