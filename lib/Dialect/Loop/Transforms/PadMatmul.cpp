//===- PadMatmul.cpp - whole sticks of rows along K for the second matmul operand -----------===//
//
// The iteration over K runs in whole sticks. Lanes of x past K are masked by the unit, but the rows
// of y past K are really read, so y must own them and they must be zero [spec: front-end 7.1].
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"
#include "spyre/Dialect/Loop/Transforms/Stick.h"

#include "LoopPass.h"
#include "Rewrite.h"

namespace spyre::loop {

#define GEN_PASS_DEF_PADMATMULPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

/// True when the dimension of y that k walks already owns whole sticks of rows.
bool hasWholeSticks(const Access &y, unsigned k, int64_t lanes) {
  BufferOp buffer = y.buffer;
  auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
  for (size_t d = 0; d < y.dims.size(); ++d) {
    for (const LinearIndex::Term &term : y.dims[d].terms) {
      if (term.var == k) {
        return type.getDimSize(d) % lanes == 0 && term.coefficient == 1 &&
               y.dims[d].terms.size() == 1;
      }
    }
  }
  return false;
}

/// Two inputs, three variables, the second operand's lanes along the columns.
bool isSound(ComputeOp op) {
  if (op.getExtents().size() < 3 || op.getInputs().size() != 2) {
    return false;
  }
  Access y = accessOf(op, 1);
  Expected<DimRoles> roles = rolesFollowing(y, matmulStickVar(op, 1));
  return roles.ok() && followsExactly(y, roles->stick(), matmulStickVar(op, 1)) &&
         varsOf(y).count(matmulStickVar(op, 0));
}

/// What was padded for earlier matmuls, by the buffer it was read from.
class PaddedOperands {
public:
  struct Entry {
    mlir::AffineMap map;
    std::vector<int64_t> extents;
    /// Which of the extents is that of the lanes.
    size_t columns;
    mlir::Operation *reader;
    BufferOp padded;
  };
  /// The buffer that holds the same elements, or null; what was written since is not in it.
  BufferOp find(BufferOp source, const Entry &wanted) {
    for (const Entry &entry : entries[source]) {
      auto isNewer = [&](mlir::Operation *user) {
        auto writer = llvm::dyn_cast<ComputeOp>(user);
        return !writer ||
               (writer.getOutput() == source.getResult() && entry.reader->isBeforeInBlock(writer));
      };
      if (entry.map == wanted.map && entry.extents == wanted.extents &&
          entry.columns == wanted.columns && llvm::none_of(source->getUsers(), isNewer)) {
        return entry.padded;
      }
    }
    return nullptr;
  }
  void add(BufferOp source, Entry entry) { entries[source].push_back(std::move(entry)); }

private:
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Entry, 1>> entries;
};

void pad(ComputeOp op, Rewriter &rewriter, PaddedOperands &known, DecisionTrace *trace) {
  unsigned k = op.getExtents().size() - 1, n = k - 1;
  int64_t size = op.getExtents()[k];
  Access y = accessOf(op, 1);
  int64_t lanes = elemsPerStick(y.buffer);
  if (size % lanes == 0 || hasWholeSticks(y, k, lanes)) {
    return;
  }
  OwnSpace own = ownSpace(op, 1, rewriter.builder, varsOf(y));
  const auto columns = size_t(llvm::find(own.vars, n) - own.vars.begin());
  PaddedOperands::Entry entry{own.map, own.extents, columns, op, nullptr};
  if (BufferOp again = known.find(y.buffer, entry)) {
    rewriter.setOperand(op, 1, again, own.projection);
    if (trace) {
      trace->record("pad-matmul", again.getName().str(),
                    Decision::yes("padded-before", "'{}' is read again", again.getName().str()));
    }
    return;
  }
  auto type = llvm::cast<mlir::MemRefType>(y.buffer.getResult().getType());
  std::vector<int64_t> shape = own.extents, order;
  size_t kDim = own.vars.size() - 1; // k is the last variable
  shape[kDim] = roundUp(size, lanes);
  BufferOp padded = rewriter.addTemp(y.buffer.getName().str() + "_padded", shape,
                                     type.getElementType(), op.getLoc());
  for (size_t i = 0; i < own.vars.size(); ++i) {
    if (own.vars[i] != n) {
      order.push_back(int64_t(i));
    }
  }
  for (size_t i = 0; i < own.vars.size(); ++i) {
    if (own.vars[i] == n) {
      order.push_back(int64_t(i));
    }
  }
  rewriter.setLayout(padded, order);

  mlir::OpBuilder &builder = rewriter.builder;
  unsigned rank = own.vars.size();
  mlir::AffineMap identity = builder.getMultiDimIdentityMap(rank);
  llvm::SmallVector<mlir::AffineExpr> shifted(identity.getResults());
  shifted[kDim] = shifted[kDim] + size;
  std::vector<int64_t> tail = own.extents;
  tail[kDim] = shape[kDim] - size;
  rewriter.why = fmt::format("k-not-whole-sticks: {} rows of '{}' are padded with zeros to {}, "
                             "whole sticks of the reduced dimension",
                             size, y.buffer.getName().str(), shape[kDim]);
  BufferOp zero = rewriter.addConstant(0.0, type.getElementType(), op.getLoc());
  rewriter.addCopy(op, zero, mlir::AffineMap::get(rank, 0, builder.getContext()), padded,
                   mlir::AffineMap::get(rank, 0, shifted, builder.getContext()), tail);
  rewriter.addCopy(op, y.buffer, own.map, padded, identity, own.extents);
  rewriter.setOperand(op, 1, padded, own.projection);
  entry.padded = padded;
  known.add(y.buffer, std::move(entry));
  if (trace) {
    trace->record(
        "pad-matmul", padded.getName().str(),
        Decision::yes("k-not-whole-sticks", "K = {} is padded to {} rows", size, shape[kDim]));
  }
}

struct PadMatmul : LoopPass<impl::PadMatmulPassBase<PadMatmul>> {
  Status runOnMain(mlir::func::FuncOp main) override {
    Rewriter rewriter(main);
    PaddedOperands known;
    llvm::SmallVector<ComputeOp> ops(main.getOps<ComputeOp>());
    for (ComputeOp op : ops) {
      if (op.getCallee() != kMatmul) {
        continue;
      }
      if (!isSound(op)) {
        return at(op, error<2012>("the second operand of a matmul must have its stick along the "
                                  "output's columns; run spyre-loop-propagate-layouts"));
      }
      pad(op, rewriter, known, trace);
    }
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createPadMatmulPass(DecisionTrace *trace) {
  return createLoopPass<PadMatmul>(trace);
}

} // namespace spyre::loop
