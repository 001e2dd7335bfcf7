//===- Stick.cpp - which loop variable runs through the lanes of a stick --------------------===//
#include "spyre/Dialect/Loop/Transforms/Stick.h"

#include "spyre/Dialect/Loop/IR/Conversions.h"
#include "spyre/Dialect/Utils/Attributes.h"

#include <algorithm>

namespace spyre::loop {

int64_t elemsPerStick(BufferOp buffer) {
  auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
  Expected<numerics::HostType> hostType = dialect::hostTypeOf(type.getElementType());
  SPYRE_CHECK(hostType.ok(), "buffers are verified to have a device format");
  return numerics::elemsPerStick(numerics::deviceFormat(*hostType));
}

StickUse stickUse(const Access &access, int64_t stickDim) {
  if (stickDim < 0) {
    return {StickUse::Kind::None, 0};
  }
  if (stickDim == access.indirectDim) { // rows are chosen, not lanes
    return {StickUse::Kind::Illegal, 0};
  }
  BufferOp buffer = access.buffer;
  const LinearIndex &index = access.dims[stickDim];
  int64_t size = llvm::cast<mlir::MemRefType>(buffer.getResult().getType()).getDimSize(stickDim);
  if (size == 1) {
    return {StickUse::Kind::None, 0};
  }
  if (index.terms.empty()) {
    return {StickUse::Kind::Illegal, 0};
  }
  int64_t lanes = elemsPerStick(buffer);
  bool legal = index.terms.back().coefficient == 1 && index.offset % lanes == 0;
  for (size_t i = 0; i + 1 < index.terms.size(); ++i) {
    legal &= index.terms[i].coefficient % lanes == 0;
  }
  return {legal ? StickUse::Kind::Var : StickUse::Kind::Illegal, index.terms.back().var};
}

Expected<StickUse> stickUse(const Access &access) {
  SPYRE_ASSIGN_OR_RETURN(DimRoles roles, dimRolesOf(access.buffer));
  return stickUse(access, roles.stick());
}

bool followsExactly(const Access &access, int64_t stickDim, unsigned var) {
  if (stickDim < 0) {
    return false;
  }
  BufferOp buffer = access.buffer;
  const LinearIndex &index = access.dims[stickDim];
  bool isUnit =
      llvm::cast<mlir::MemRefType>(buffer.getResult().getType()).getDimSize(stickDim) == 1;
  return isUnit ? index.terms.size() == 1 && index.terms[0].var == var
                : stickUse(access, stickDim).isVar(var);
}

Expected<DimRoles> rolesFollowing(const Access &access, unsigned var) {
  SPYRE_ASSIGN_OR_RETURN(DimRoles roles, dimRolesOf(access.buffer));
  int64_t stick = roles.stick();
  if (stick < 0 || followsExactly(access, stick, var)) {
    return roles;
  }
  BufferOp buffer = access.buffer;
  auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
  SPYRE_ASSIGN_OR_RETURN(layout::DeviceLayout layout, layoutOf(buffer));
  SPYRE_ASSIGN_OR_RETURN(numerics::HostType hostType, dialect::hostTypeOf(type.getElementType()));
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    bool candidate = type.getDimSize(dim) == 1 && type.getDimSize(stick) == 1 &&
                     followsExactly(access, dim, var);
    if (!candidate) {
      continue;
    }
    DimRoles swapped = roles;
    std::swap(*std::find(swapped.order.begin(), swapped.order.end(), dim), swapped.order.back());
    auto same =
        layout::DeviceLayout::make(dialect::toVector(type.getShape()),
                                   dialect::toVector(buffer.getStride()), hostType, swapped.order);
    if (same.ok() && *same == layout) {
      return swapped;
    }
  }
  return roles;
}

unsigned matmulStickVar(ComputeOp op, unsigned index) {
  unsigned k = op.getExtents().size() - 1;
  return index == 0 ? k : k - 1;
}

static bool isConversion(ComputeOp op) { return findConversion(op.getCallee()).has_value(); }

bool makesPairs(ComputeOp op) { return op.getCallee().starts_with("exx2"); }

bool holdsPairs(BufferOp buffer) {
  return llvm::any_of(buffer->getUsers(), [&](mlir::Operation *user) {
    auto op = llvm::dyn_cast<ComputeOp>(user);
    return op && op.getOutput() == buffer.getResult() && makesPairs(op);
  });
}

bool isTopK(ComputeOp op) { return op.getCallee() == kTopKValue || op.getCallee() == kTopKIndex; }

bool namesLanes(ComputeOp op) {
  return op.getCallee() == kMatmul || isTopK(op) || isConversion(op);
}

unsigned namedStickVar(ComputeOp op, unsigned index) {
  if (isTopK(op)) {
    return op.getExtents().size() - kTopKVars;
  }
  return isConversion(op) ? op.getExtents().size() - 1 : matmulStickVar(op, index);
}

std::optional<unsigned> findNamedStickVar(ComputeOp op, unsigned index) {
  const size_t least = op.getCallee() == kMatmul || isTopK(op) ? 3 : 1;
  if (!namesLanes(op) || op.getExtents().size() < least) {
    return std::nullopt;
  }
  return namedStickVar(op, index);
}

std::set<unsigned> varsOf(const Access &access) {
  std::set<unsigned> vars;
  for (const LinearIndex &index : access.dims) {
    for (const LinearIndex::Term &term : index.terms) {
      vars.insert(term.var);
    }
  }
  return vars;
}

bool isCompatible(const Access &access, const StickUse &use, std::optional<unsigned> var) {
  switch (use.kind) {
  case StickUse::Kind::Illegal:
    return false;
  case StickUse::Kind::Var:
    return var && use.var == *var;
  case StickUse::Kind::None:
    return !var || !varsOf(access).count(*var);
  }
  return false;
}

bool isRestickify(const Access &from, const StickUse &fromUse, const StickUse &toUse) {
  if (fromUse.kind == StickUse::Kind::Var) {
    return !(toUse.kind == StickUse::Kind::Var && toUse.var == fromUse.var);
  }
  return toUse.kind == StickUse::Kind::Var && varsOf(from).count(toUse.var);
}

/// True when \p var walks all of what there is of it in the buffer.
static bool coversWhole(const Access &access, unsigned var, int64_t extent) {
  BufferOp buffer = access.buffer;
  auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
  for (size_t d = 0; d < access.dims.size(); ++d) {
    int64_t outer = type.getDimSize(unsigned(d));
    for (const LinearIndex::Term &term : access.dims[d].terms) {
      if (term.var == var) {
        return outer == term.coefficient * extent;
      }
      outer = term.coefficient;
    }
  }
  return true;
}

/// True when entries are left out along some dimension: one of several, or every so many. In memory
/// they lie between those of a neighbour.
static bool leavesEntriesOut(const Access &access) {
  BufferOp buffer = access.buffer;
  auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
  for (size_t d = 0; d < access.dims.size(); ++d) {
    llvm::ArrayRef<LinearIndex::Term> terms = access.dims[d].terms;
    if (terms.empty() ? type.getDimSize(unsigned(d)) > 1 : terms.back().coefficient > 1) {
      return true;
    }
  }
  return false;
}

bool isOneCopy(const CopySide &from, const CopySide &to, llvm::ArrayRef<int64_t> extents) {
  const StickUse fromUse = stickUse(from.access, from.stickDim);
  const StickUse toUse = stickUse(to.access, to.stickDim);
  if (fromUse.kind == StickUse::Kind::Illegal || toUse.kind == StickUse::Kind::Illegal) {
    return false;
  }
  if (!isRestickify(from.access, fromUse, toUse)) {
    return true;
  }
  auto allows = [&](const Access &access, const StickUse &own, const StickUse &other) {
    const bool padded = other.kind == StickUse::Kind::Var && !own.isVar(other.var) &&
                        extents[other.var] % elemsPerStick(access.buffer) != 0;
    return !padded ||
           (coversWhole(access, other.var, extents[other.var]) && !leavesEntriesOut(access));
  };
  return allows(from.access, fromUse, toUse) && allows(to.access, toUse, fromUse);
}

} // namespace spyre::loop
