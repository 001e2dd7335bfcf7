//===- LimitVars.cpp - operations with more variables than the interface has names ----------===//
//
// An operation of the device has names for eight dimensions, a matmul for seven; an operation whose
// tensors all hold one element per stick needs one of them for the stick, and a tensor of which an
// inner entry is selected needs one for the selection. Where views with many pieces meet there may
// be more variables. Then the operation runs once per value of its smallest variables.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"
#include "spyre/Dialect/Loop/Transforms/Stick.h"

#include "LoopPass.h"
#include "Pieces.h"
#include "Rewrite.h"

#include <algorithm>

namespace spyre::loop {

#define GEN_PASS_DEF_LIMITVARSPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

constexpr int64_t kNames = 8, kMatmulNames = 7, kSparseNames = 6;
/// Copies of one operation; beyond it the error of the emission stands.
constexpr int64_t kMaxCopies = 4096;

/// An entry that is selected, or steps that leave entries out: a dimension without a variable.
bool selects(const Access &access) {
  BufferOp buffer = access.buffer;
  auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
  for (int64_t d = 0; d < type.getRank(); ++d) {
    const LinearIndex &index = access.dims[size_t(d)];
    if (type.getDimSize(d) > 1 && (index.terms.empty() || index.terms.back().coefficient > 1)) {
      return true;
    }
  }
  return false;
}

struct Names {
  int64_t needed = 0, allowed = kNames;
  std::set<unsigned> lanes; ///< variables that run through sticks
};

Expected<Names> namesOf(ComputeOp op) {
  Names names;
  names.needed = int64_t(op.getExtents().size());
  unsigned withLanes = 0;
  bool isSelected = false;
  for (unsigned i = 0; i < operandCount(op); ++i) {
    SPYRE_ASSIGN_OR_RETURN(StickUse use, stickUse(accessOf(op, i)));
    isSelected = isSelected || selects(accessOf(op, i));
    if (use.kind == StickUse::Kind::Var) {
      names.lanes.insert(use.var);
      ++withLanes;
    }
  }
  if (op.getCallee() == kMatmul) {
    names.allowed = kMatmulNames;
    names.lanes.insert({unsigned(names.needed) - 1, unsigned(names.needed) - 2});
  } else if (isTopK(op) && names.needed >= kTopKVars) {
    // Neither the lanes nor the number of results can be taken one by one.
    names.lanes.insert({unsigned(names.needed) - 3, unsigned(names.needed) - 2});
  } else if (withLanes == 0) {
    names.allowed = kSparseNames;
  }
  names.needed += isSelected ? 1 : 0;
  // A copy between sticks of one element and of many has a symbol for the single elements.
  names.needed += op.getCallee() == kCopy && withLanes == 1 ? 1 : 0;
  return names;
}

/// The output variable with the fewest values that runs through no stick.
std::optional<unsigned> smallestVar(ComputeOp op, const Names &names) {
  std::optional<unsigned> best;
  const auto outputs = unsigned(op.getExtents().size() - op.getReductions());
  for (unsigned v = 0; v < outputs; ++v) {
    if (!names.lanes.count(v) && (!best || op.getExtents()[v] < op.getExtents()[*best])) {
      best = v;
    }
  }
  return best;
}

Expected<bool> isOverLimit(ComputeOp op) {
  if (int64_t(op.getExtents().size()) < kSparseNames) {
    return false;
  }
  SPYRE_ASSIGN_OR_RETURN(Names names, namesOf(op));
  return names.needed > names.allowed;
}

Status limit(ComputeOp op, DecisionTrace *trace) {
  SPYRE_ASSIGN_OR_RETURN(bool isOver, isOverLimit(op));
  if (!isOver) {
    return Status::success();
  }
  const std::string subject =
      op.getCallee().str() + " -> " + operandBuffer(op, operandCount(op) - 1).getName().str();
  const size_t before = op.getExtents().size();
  std::vector<ComputeOp> parts{op};
  while (true) {
    SPYRE_ASSIGN_OR_RETURN(bool isStillOver, isOverLimit(parts.front()));
    SPYRE_ASSIGN_OR_RETURN(Names names, namesOf(parts.front()));
    std::optional<unsigned> var = smallestVar(parts.front(), names);
    if (!isStillOver || !var ||
        int64_t(parts.size()) * parts.front().getExtents()[*var] > kMaxCopies) {
      break;
    }
    std::vector<ComputeOp> cut;
    for (ComputeOp part : parts) {
      for (int64_t value = 0; value < part.getExtents()[*var]; ++value) {
        cut.push_back(cloneWithout(part, *var, value));
      }
      part->erase();
    }
    parts = std::move(cut);
  }
  if (trace) {
    trace->record("limit-vars", subject,
                  Decision::yes("too-many-variables", "{} variables; {} operations of {} each",
                                before, parts.size(), parts.front().getExtents().size()));
  }
  return Status::success();
}

struct LimitVars : LoopPass<impl::LimitVarsPassBase<LimitVars>> {
  Status runOnMain(mlir::func::FuncOp main) override {
    for (ComputeOp op : llvm::make_early_inc_range(main.getOps<ComputeOp>())) {
      SPYRE_RETURN_IF_ERROR(limit(op, trace));
    }
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createLimitVarsPass(DecisionTrace *trace) {
  return createLoopPass<LimitVars>(trace);
}

} // namespace spyre::loop
