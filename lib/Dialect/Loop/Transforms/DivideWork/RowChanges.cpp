//===- RowChanges.cpp - more rows, or two parts of them -------------------------------------===//
#include "../Pieces.h"
#include "../Rewrite.h"
#include "RowGroup.h"

#include <algorithm>

namespace spyre::loop {

static mlir::MemRefType typeOf(mlir::Value buffer) {
  return llvm::cast<mlir::MemRefType>(buffer.getType());
}

static std::vector<int64_t> shapeWith(mlir::Value buffer, unsigned dim, int64_t rows) {
  std::vector<int64_t> shape = dialect::toVector(typeOf(buffer).getShape());
  shape[dim] = rows;
  return shape;
}

static std::vector<int64_t> orderOf(BufferOp buffer) {
  Expected<DimRoles> roles = dimRolesOf(buffer);
  SPYRE_CHECK(roles.ok() && roles->given.empty(), "members of a group have such layouts");
  return roles->order;
}

static void setExtent(ComputeOp op, unsigned var, int64_t rows) {
  llvm::SmallVector<int64_t> extents(op.getExtents());
  extents[var] = rows;
  op.setExtents(extents);
}

/// A temp like \p buffer with other rows.
static BufferOp tempWith(Rewriter &rewriter, BufferOp buffer, unsigned dim, int64_t rows,
                         const char *suffix) {
  const std::vector<int64_t> order = orderOf(buffer);
  BufferOp temp =
      rewriter.addTemp(buffer.getName().str() + suffix, shapeWith(buffer.getResult(), dim, rows),
                       typeOf(buffer.getResult()).getElementType(), buffer.getLoc());
  rewriter.setLayout(temp, order);
  return temp;
}

static void growTo(Rewriter &rewriter, BufferOp buffer, unsigned dim, int64_t rows) {
  const std::vector<int64_t> order = orderOf(buffer),
                             shape = shapeWith(buffer.getResult(), dim, rows);
  const mlir::Type element = typeOf(buffer.getResult()).getElementType();
  buffer.getResult().setType(mlir::MemRefType::get(shape, element));
  buffer.setStride(rowMajorStrides(shape));
  rewriter.setLayout(buffer, order);
}

namespace {

/// Copies of what has no room, with the first rows once more behind the last one.
class Entries {
public:
  Entries(Rewriter &rewriter, const RowGroup &group, int64_t rows, int64_t even)
      : rewriter(rewriter), group(group), rows(rows), even(even) {}

  void add(BufferOp source, unsigned dim) {
    mlir::Operation *first = nullptr;
    for (const auto &[operation, var] : group.ops) {
      first = !first && llvm::is_contained(operation->getOperands(), source.getResult()) ? operation
                                                                                         : first;
    }
    BufferOp temp = tempWith(rewriter, source, dim, rows, "_rows");
    rewriter.why = fmt::format("rows: '{}' has {} rows, which cores cannot share; {} of them are "
                               "walked",
                               source.getName().str(), group.extent, rows);
    copy(first, source, temp, dim, {0, 0, even});
    copy(first, source, temp, dim, {even, even, group.extent - even});
    copy(first, source, temp, dim, {0, group.extent, rows - group.extent});
    for (const auto &[operation, var] : group.ops) {
      auto op = llvm::cast<ComputeOp>(operation);
      for (unsigned i = 0; i < op.getInputs().size(); ++i) {
        if (op.getInputs()[i] == source.getResult()) {
          op->setOperand(i, temp.getResult());
        }
      }
    }
  }

private:
  struct Range {
    int64_t from, to, count;
  };

  void copy(mlir::Operation *before, BufferOp source, BufferOp temp, unsigned dim, Range range) {
    if (range.count <= 0) {
      return;
    }
    mlir::OpBuilder &builder = rewriter.builder;
    const mlir::AffineMap identity = builder.getMultiDimIdentityMap(temp.getStride().size());
    const auto shifted = [&](int64_t by) {
      llvm::SmallVector<mlir::AffineExpr> results(identity.getResults());
      results[dim] = results[dim] + by;
      return mlir::AffineMap::get(identity.getNumDims(), 0, results, builder.getContext());
    };
    rewriter.addCopy(before, source, shifted(range.from), temp, shifted(range.to),
                     shapeWith(source.getResult(), dim, range.count));
  }

  Rewriter &rewriter;
  const RowGroup &group;
  const int64_t rows, even;
};

/// One operation over part of its rows; inner temps have a part of their own for it.
class Parts {
public:
  Parts(mlir::func::FuncOp main, const RowGroup &group, int64_t even)
      : rewriter(main), group(group), even(even) {
    for (const auto &[buffer, dim] : group.inner) {
      auto whole = buffer.getDefiningOp<BufferOp>();
      rests[buffer] = tempWith(rewriter, whole, dim, group.extent - even, "_rest");
    }
    for (const auto &[buffer, dim] : group.inner) {
      growTo(rewriter, buffer.getDefiningOp<BufferOp>(), dim, even);
    }
  }

  void run(ComputeOp op, unsigned var) {
    const int64_t extent = op.getExtents()[var];
    cloneRange(op, var, 0, even);
    ComputeOp rest = cloneRange(op, var, even, extent - even);
    for (unsigned i = 0; i < operandCount(op); ++i) {
      const auto found = rests.find(op->getOperand(i));
      if (found != rests.end()) { // which counts from the first of its own rows
        const auto map = llvm::cast<mlir::AffineMapAttr>(op.getMaps()[i]).getValue();
        rewriter.setOperand(rest, i, found->second, map);
      }
    }
    op->erase();
  }

private:
  Rewriter rewriter;
  const RowGroup &group;
  const int64_t even;
  llvm::DenseMap<mlir::Value, BufferOp> rests;
};

} // namespace

void padRows(mlir::func::FuncOp main, const RowGroup &group, int64_t rows, int64_t even) {
  Rewriter rewriter(main);
  Entries entries(rewriter, group, rows, even);
  for (const auto &[buffer, dim] : group.entries) {
    entries.add(buffer.getDefiningOp<BufferOp>(), dim);
  }
  for (const auto &[buffer, dim] : group.inner) {
    growTo(rewriter, buffer.getDefiningOp<BufferOp>(), dim, rows);
  }
  for (const auto &[operation, var] : group.ops) {
    setExtent(llvm::cast<ComputeOp>(operation), var, rows);
  }
  for (const auto &[operation, var] : group.exits) {
    auto op = llvm::cast<ComputeOp>(operation);
    cloneRange(op, var, 0, even);
    cloneRange(op, var, even, group.extent - even);
    op->erase();
  }
}

void cutRows(mlir::func::FuncOp main, const RowGroup &group, int64_t even) {
  Parts parts(main, group, even);
  for (const auto &[operation, var] : group.ops) {
    parts.run(llvm::cast<ComputeOp>(operation), var);
  }
}

} // namespace spyre::loop
