//===- GrowOutput.cpp - see GrowOutput.h ----------------------------------------------------===//
#include "GrowOutput.h"

#include "spyre/Dialect/Utils/Attributes.h"

namespace spyre::loop {

/// Every dimension is walked by at most one variable, in single steps.
static bool isPlain(const Access &access) {
  return llvm::all_of(access.dims, [](const LinearIndex &index) {
    return index.terms.size() <= 1 && (index.terms.empty() || index.terms[0].coefficient == 1);
  });
}

static bool isCopyBetweenSticks(ComputeOp op) {
  if (op.getCallee() != kCopy || op.getIndirect()) {
    return false;
  }
  Expected<StickUse> from = stickUse(accessOf(op, 0)), to = stickUse(accessOf(op, 1));
  return !from.ok() || !to.ok() || isRestickify(accessOf(op, 0), *from, *to);
}

bool stepsOver(ComputeOp reader, mlir::Value buffer) {
  if (reader.getIndirect() || isTopK(reader) || isCopyBetweenSticks(reader)) {
    return false;
  }
  const auto width = [](BufferOp each) {
    return llvm::cast<mlir::MemRefType>(each.getResult().getType()).getElementTypeBitWidth();
  };
  for (unsigned i = 0; i < operandCount(reader); ++i) {
    BufferOp operand = operandBuffer(reader, i);
    if (width(operand) != width(buffer.getDefiningOp<BufferOp>()) ||
        (operand.getResult() == buffer && !isPlain(accessOf(reader, i)))) {
      return false;
    }
  }
  return true;
}

bool mayGrow(ComputeOp op) {
  const Access access = accessOf(op, operandCount(op) - 1);
  BufferOp buffer = access.buffer;
  const bool isWhole =
      llvm::all_of(access.dims, [](const LinearIndex &index) { return index.offset == 0; });
  // Dimensions of one element may be the stick of one reader and not of another.
  const auto shape = llvm::cast<mlir::MemRefType>(buffer.getResult().getType()).getShape();
  if (!isPooled(buffer) || !isWhole || !isPlain(access) || llvm::is_contained(shape, 1)) {
    return false;
  }
  return llvm::all_of(buffer->getUsers(), [&](mlir::Operation *user) {
    auto other = llvm::dyn_cast<ComputeOp>(user);
    return user == op.getOperation() || (other && other.getOutput() != buffer.getResult() &&
                                         stepsOver(other, buffer.getResult()));
  });
}

void grow(ComputeOp op, llvm::ArrayRef<int64_t> extents) {
  const Access access = accessOf(op, operandCount(op) - 1);
  BufferOp buffer = access.buffer;
  Expected<layout::DeviceLayout> layout = layoutOf(buffer);
  Expected<DimRoles> roles = dimRolesOf(buffer);
  SPYRE_CHECK(layout.ok() && roles.ok(), "the operation has been divided with this layout");
  const std::vector<int64_t> slots = roles->slots();
  for (size_t j = 0; j < slots.size(); ++j) {
    if (slots[j] < 0 || access.dims[size_t(slots[j])].terms.empty()) {
      continue;
    }
    const int64_t extent = extents[access.dims[size_t(slots[j])].terms[0].var];
    const int64_t lanes = slots[j] == roles->stick() ? layout->elemsPerStick() : 1;
    layout->deviceSize[j] = std::max(layout->deviceSize[j], (extent + lanes - 1) / lanes);
  }
  buffer.setLayoutAttr(dialect::layoutToAttr(op.getContext(), *layout));
  op.setExtents(extents);
}

} // namespace spyre::loop
