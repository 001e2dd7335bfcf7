//===- Owners.h - which core has which slice of a divided operation -------------------------===//
//
// Splits say in how many slices each variable is cut; `owners` says who has them: an affine map
// from the number of a core to its slice of every variable.
//
//     splits [2, 4]    owners (core) -> (core mod 2, core floordiv 2)
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Dialect/Loop/IR/Loop.h"

namespace spyre::loop {

constexpr const char *kOwners = "owners";
/// The number of the variable whose first slices have one piece more than the others
/// (docs/adr/0055); absent: all slices are equal.
constexpr const char *kUneven = "uneven";
/// That number, or -1.
int unevenVar(ComputeOp op);

/// In which order slices are given to cores.
struct Numbering {
  /// Cores that share a result of a matmul are neighbours: its last variable changes fastest where
  /// it is split. [spec: work-division 16.2]
  bool kFastCores = true;
  /// The same for another reduction (docs/adr/0063).
  bool fastReduction = false;
  /// The variable with slices of two sizes changes slowest: cores with more work are the first.
  int uneven = -1;
};

/// Variables in the order in which their slices change from core to core, fastest first.
std::vector<unsigned> coreOrder(ComputeOp op, llvm::ArrayRef<int64_t> splits,
                                const Numbering &numbering);

/// The map for slices that change in \p order.
mlir::AffineMap ownersOf(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> splits,
                         llvm::ArrayRef<unsigned> order);

/// Gives an operation splits and the owners that belong to them.
void divide(ComputeOp op, llvm::ArrayRef<int64_t> splits, const Numbering &numbering);
inline void divide(ComputeOp op, llvm::ArrayRef<int64_t> splits, bool kFastCores = true) {
  divide(op, splits, Numbering{kFastCores});
}
/// How the slices of a divided operation are numbered, of the two ways that can be emitted.
Numbering numberingOf(ComputeOp op, bool kFastCores);

/// The order of `owners`; nothing when the map is none of slices that change one after the other.
std::optional<std::vector<unsigned>> ownerOrder(mlir::AffineMap owners,
                                                llvm::ArrayRef<int64_t> splits);
/// Slice of each variable that \p core has.
std::vector<int64_t> slicesOf(mlir::AffineMap owners, int64_t core);

/// Every combination of slices has one core, and every core of the product of the splits has one.
/// Uneven slices are those of a split variable of the result.
mlir::LogicalResult verifyOwners(ComputeOp op);

} // namespace spyre::loop
