//===- Division.cpp - splits of one operation over the cores, under the span limit ----------===//
#include "Division.h"

#include "spyre/Base/Math.h"

#include <algorithm>

namespace spyre::loop {

Expected<std::vector<int64_t>> piecesPerVar(ComputeOp op, llvm::ArrayRef<int64_t> extents) {
  std::vector<int64_t> pieces(extents.begin(), extents.end());
  std::fill(pieces.end() - op.getReductions(), pieces.end(), 1);
  if (isTopK(op) && pieces.size() >= kTopKVars) {
    pieces[pieces.size() - 2] = 1; // a core finds all of them
  }
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
    int64_t lanes = elemsPerStick(operandBuffer(op, i)), extent = extents[uses[i].var];
    bool padded = extent % lanes != 0;
    // Sticks of a conversion differ in lanes; the wider ones must stay whole.
    pieces[uses[i].var] =
        restick && padded ? 1 : std::min(pieces[uses[i].var], ceilDiv(extent, lanes));
  }
  return pieces;
}

/// What a core walks of the last variable where an operation names its lanes: K of a matmul is
/// whole sticks, so padded rows are read too, and a conversion has the wider stick whole, so both
/// sticks of 32 bits are touched where half of one of 16 bits is used.
static void padNamedLanes(ComputeOp op, std::vector<int64_t> &extents) {
  if (extents.empty() || !namesLanes(op)) {
    return;
  }
  for (unsigned i = 0; i < operandCount(op); ++i) {
    if (namedStickVar(op, i) == extents.size() - 1) {
      extents.back() = roundUp(extents.back(), elemsPerStick(operandBuffer(op, i)));
    }
  }
}

/// Where lanes are named, a tensor of one element is read with them as its stick, whatever its
/// layout: padding them must not count as rows.
static Expected<DimRoles> rolesIn(ComputeOp op, unsigned operand, const Access &access) {
  const std::optional<unsigned> named = findNamedStickVar(op, operand);
  return named ? rolesFollowing(access, *named) : dimRolesOf(access.buffer);
}

static Expected<Reach> reachOf(ComputeOp op, unsigned operand) {
  const Access access = accessOf(op, operand);
  SPYRE_ASSIGN_OR_RETURN(layout::DeviceLayout layout, layoutOf(access.buffer));
  SPYRE_ASSIGN_OR_RETURN(DimRoles roles, rolesIn(op, operand, access));
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
         dim < 0 ? llvm::ArrayRef<LinearIndex::Term>() : llvm::ArrayRef(access.dims[dim].terms)) {
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

int64_t Reach::spanBytes(llvm::ArrayRef<int64_t> extents,
                         const std::vector<int64_t> &splits) const {
  int64_t sticks = 1 + anyRow;
  for (const Step &step : steps) {
    int64_t perCore = ceilDiv(ceilDiv(extents[step.var], step.divisor), splits[step.var]);
    sticks += (perCore - 1) * step.sticks;
  }
  return sticks * 128;
}

Status Division::run() {
  SPYRE_ASSIGN_OR_RETURN(pieces, piecesPerVar(op, extents));
  SPYRE_RETURN_IF_ERROR(findIndexSticks());
  for (unsigned i = 0; i < operandCount(op); ++i) {
    SPYRE_ASSIGN_OR_RETURN(Reach reach, reachOf(op, i));
    reaches.push_back(reach);
  }
  const std::vector<int64_t> given = extents;
  padNamedLanes(op, extents);
  chooseBySize();
  if (!isLegal(splits)) {
    bySize = false;
    best.clear();
    std::vector<int64_t> partial;
    search(partial, 1);
    if (best.empty()) {
      return error<3003>("'{}' over extents [{}]: with every split over {} cores a core touches "
                         "more than {} bytes of "
                         "DDR for one tensor (at least {}); use more cores or smaller tensors, or "
                         "chunk_large_tensors",
                         op.getCallee().str(), fmt::join(given, ", "), cores, spanLimitBytes,
                         smallestSpan);
    }
    splits = best;
  }
  return Status::success();
}

Status Division::findIndexSticks() {
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

bool Division::canSplit(unsigned var, int64_t split) const {
  const int64_t perCore = extents[var] / split, lanes = indexLanes[var];
  return pieces[var] % split == 0 &&
         (split == 1 || lanes == 0 || perCore <= lanes || perCore % lanes == 0);
}

void Division::chooseBySize() {
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

bool Division::isLegal(const std::vector<int64_t> &candidate) {
  int64_t span = 0;
  for (const Reach &reach : reaches) {
    span = std::max(span, reach.spanBytes(extents, candidate));
  }
  smallestSpan = smallestSpan == 0 ? span : std::min(smallestSpan, span);
  return span <= spanLimitBytes;
}

void Division::search(std::vector<int64_t> &partial, int64_t used) {
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

} // namespace spyre::loop
