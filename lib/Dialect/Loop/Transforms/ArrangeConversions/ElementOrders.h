//===- ElementOrders.h - tensors as elements and as positions of a conversion ---------------===//
//
// Of 64 neighbours that a conversion of the device wrote in 32 bits, the one at position
// 32 s + 8 h + i is element 16 h + 8 s + i; of 128 in 16 bits that at position 64 s + 8 h + i. A
// tensor whose elements were written like that along one dimension is kept as a buffer of
// positions, that dimension padded to whole blocks of 64 or 128. Here are both forms of each
// tensor, made when they are asked for.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Decision.h"
#include "spyre/Dialect/Loop/Transforms/Stick.h"

#include "llvm/ADT/DenseMap.h"

#include "../Rewrite.h"

#include <map>
#include <vector>

namespace spyre::loop {

/// Elements that a conversion to or from the width of this buffer, its wide side, permutes among
/// each other: two sticks.
inline int64_t blockOf(BufferOp wide) { return 2 * elemsPerStick(wide); }
/// Positions up to here are in order whatever the order is.
constexpr int64_t kInOrder = 8;

enum class Order : uint8_t { ToStandard, ToPositions };

inline mlir::MemRefType typeOf(BufferOp buffer) {
  return llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
}

inline std::vector<int64_t> shapeOf(BufferOp buffer) {
  return dialect::toVector(typeOf(buffer).getShape());
}

/// Copies are placed before the operation that is given.
class ElementOrders {
public:
  ElementOrders(Rewriter &rewriter, DecisionTrace *trace) : rewriter(rewriter), trace(trace) {}

  /// Whether the buffer's elements were written as positions, and along which dimension.
  bool isArranged(BufferOp buffer) const { return arranged.count(buffer) != 0; }
  unsigned arrangedDim(BufferOp buffer) const { return arranged.lookup(buffer); }
  /// What is there without a copy.
  bool hasStandard(BufferOp buffer) const;
  bool hasPositions(BufferOp buffer, unsigned dim) const {
    return positions.count({buffer, dim}) != 0;
  }

  /// Elements in order; the dimension may be longer than the tensor's.
  BufferOp standardOf(BufferOp buffer, mlir::Operation *before);
  /// The same for one reading: steps that do not divide the longer dimension need the tensor's own.
  BufferOp standardFor(const Access &access, mlir::Operation *before);
  BufferOp positionsOf(BufferOp buffer, unsigned dim, mlir::Operation *before);
  /// The buffer that takes the place of \p buffer, which nobody wrote yet.
  BufferOp addPositions(BufferOp buffer, unsigned dim);
  /// The graph's caller or a host step reads the buffer itself, in order.
  static bool isReadOutside(BufferOp buffer);
  /// What leaves the graph is in order and has its own size. For other buffers nothing is done.
  void finishOutput(BufferOp buffer, mlir::Operation *before);
  /// The buffer is written: rearranged copies of it are out of date.
  void forget(BufferOp buffer);

  /// The buffer with whole blocks of its width along \p dim; what is added is zero.
  BufferOp padded(BufferOp buffer, unsigned dim, mlir::Operation *before);
  /// Both buffers have whole blocks of \p block along \p dim, and the same shape.
  void rearrange(BufferOp from, BufferOp to, unsigned dim, Order order, int64_t block,
                 mlir::Operation *before);

  mlir::AffineMap identityMap(size_t rank) {
    return rewriter.builder.getMultiDimIdentityMap(unsigned(rank));
  }

private:
  /// The digits of an index that have a variable; the others have the value that is given.
  struct Digits {
    int64_t block;
    bool loopsH = true, loopsS = true;
    int64_t h = 0, s = 0;
  };
  /// Over the other dimensions and (q, h, s, i); a digit that finds no variable is written out.
  void copyDigits(BufferOp from, BufferOp to, unsigned dim, Order order, int64_t block,
                  mlir::Operation *before);
  void copyDigits(BufferOp from, BufferOp to, unsigned dim, Order order, mlir::Operation *before,
                  const Digits &digits);

  template <typename... Args>
  void note(BufferOp buffer, const char *reason, fmt::format_string<Args...> detail,
            Args &&...args) {
    if (trace) {
      trace->record("arrange-conversions", buffer.getName().str(),
                    Decision::yes(reason, detail, std::forward<Args>(args)...));
    }
  }

  Rewriter &rewriter;
  DecisionTrace *trace;
  llvm::DenseMap<mlir::Operation *, unsigned> arranged;
  std::map<std::pair<mlir::Operation *, unsigned>, BufferOp> positions;
  llvm::DenseMap<mlir::Operation *, BufferOp> standards;
};

} // namespace spyre::loop
