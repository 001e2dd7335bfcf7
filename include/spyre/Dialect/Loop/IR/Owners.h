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

/// Variables in the order in which their slices change from core to core, fastest first: as they
/// are, or the last one of a matmul first where it is split and \p kFastCores, so that the cores
/// that share a result are neighbours. [spec: work-division 16.2]
std::vector<unsigned> coreOrder(ComputeOp op, llvm::ArrayRef<int64_t> splits, bool kFastCores);

/// The map for slices that change in \p order.
mlir::AffineMap ownersOf(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> splits,
                         llvm::ArrayRef<unsigned> order);

/// Gives an operation splits and the owners that belong to them.
void divide(ComputeOp op, llvm::ArrayRef<int64_t> splits, bool kFastCores = true);

/// The order of `owners`; nothing when the map is none of slices that change one after the other.
std::optional<std::vector<unsigned>> ownerOrder(mlir::AffineMap owners,
                                                llvm::ArrayRef<int64_t> splits);
/// Slice of each variable that \p core has.
std::vector<int64_t> slicesOf(mlir::AffineMap owners, int64_t core);

/// Every combination of slices has one core, and every core of the product of the splits has one.
mlir::LogicalResult verifyOwners(ComputeOp op);

} // namespace spyre::loop
