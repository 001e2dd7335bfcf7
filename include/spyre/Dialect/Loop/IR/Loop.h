//===- Loop.h - the loop dialect and the linear form of its accesses ------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Dialect/Loop/IR/LayoutCache.h"
#include "spyre/Layout/DeviceLayout.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"

#include <optional>

#include "spyre/Dialect/Loop/IR/LoopDialect.h.inc"
#define GET_OP_CLASSES
#include "spyre/Dialect/Loop/IR/LoopOps.h.inc"

namespace spyre::loop {

/// Names of loop.compute's callee that the compiler itself gives meaning to.
constexpr const char *kCopy = "copy";
constexpr const char *kMatmul = "batchmatmul";
constexpr const char *kTopKValue = "topkvalue";
constexpr const char *kTopKIndex = "topkindex";
/// Another element type of the same elements. spyre-loop-arrange-conversions makes it a conversion
/// of the device (Conversions.h), whose lanes follow its last variable.
constexpr const char *kConvert = "convert";
/// Attribute of a copy whose last stick may be written as a whole though the dimension goes on:
/// what follows in the stick is padding.
constexpr const char *kOverwritesPadding = "overwrites_padding";
/// Attribute of an operation that runs as counted loops: iterations per variable. Extents and maps
/// are those of all iterations, splits those of one.
constexpr const char *kTiles = "tiles";

/// Attribute of a reduction that also runs over padding of another variable: its lanes must not be
/// what it reduces, or sums of nothing but padding would be made.
constexpr const char *kReducesPadding = "reduces_padding";
/// Attribute of a copy: why it is there, as "key: text".
constexpr const char *kWhy = "why";
/// Attribute of a temp that stays in the cores' scratchpads: its address, the same on every core.
constexpr const char *kLxAddress = "lx_address";
/// Attribute of an output: the device layout that the caller wants. spyre-loop-propagate-layouts
/// copies the result to it where another one is cheaper to compute in.
constexpr const char *kWantedLayout = "wanted_layout";

/// One dimension of an access: offset + sum of coefficient * variable; terms by decreasing
/// coefficient.
struct LinearIndex {
  struct Term {
    unsigned var;
    int64_t coefficient;
  };
  llvm::SmallVector<Term, 2> terms;
  int64_t offset = 0;
};

/// An operand of an operation: its buffer and the linear index of each logical dimension.
struct Access {
  BufferOp buffer;
  llvm::SmallVector<LinearIndex, 4> dims;
  /// Dimension whose entries another input chooses, or -1; its index is 0.
  int64_t indirectDim = -1;
};

/// Iterations per variable (kTiles); 1 for each when the operation has no loops.
std::vector<int64_t> tilesOf(ComputeOp op);

/// Input \p input of an operation is read along dimension \p dim where input \p index says.
struct Indirection {
  unsigned input = 0;
  unsigned dim = 0;
  unsigned index = 0;
};
/// The attribute `indirect` of a verified operation.
std::vector<Indirection> indirectionsOf(ComputeOp op);
/// Whether operand \p operand holds the numbers of rows of another one.
bool isIndexInput(ComputeOp op, unsigned operand);
/// The operand that chooses the entries of operand \p operand.
std::optional<unsigned> indexInputOf(ComputeOp op, unsigned operand);

/// Linear form of an affine expression over \p numVars variables; E1201 when it is not linear with
/// non-negative coefficients.
Expected<LinearIndex> linearize(mlir::AffineExpr expression, unsigned numVars);

/// Operand \p index (inputs in order, then the output). The op must have been verified.
Access accessOf(ComputeOp op, unsigned index);
inline unsigned operandCount(ComputeOp op) { return op.getInputs().size() + 1; }
/// The buffer of operand \p index, where its access is of no interest.
inline BufferOp operandBuffer(ComputeOp op, unsigned index) {
  return op->getOperand(index).getDefiningOp<BufferOp>();
}

/// Kind of the buffers that never lie on the device.
constexpr const char *kHostKind = "host";
inline bool isHostValue(BufferOp buffer) { return buffer.getKind() == kHostKind; }
/// A temp that shares the pool with others; not one that a host step reads or writes, nor one that
/// stays in LX.
bool isPooled(BufferOp buffer);
/// Where the temp lies in every core's LX (kLxAddress); nothing for what lies in device memory.
std::optional<int64_t> lxAddressOf(BufferOp buffer);

/// Layout attribute of a buffer; E2010 when it is missing or unsound.
Expected<layout::DeviceLayout> layoutOf(BufferOp buffer);
/// Also of a layout a user wrote down dimension by dimension, with its dimensions in any order and
/// larger than needed. Errors: E2010, E2007.
Expected<DimRoles> dimRolesOf(BufferOp buffer);

/// The single function of a loop module, or null.
mlir::func::FuncOp findMain(mlir::ModuleOp module);

} // namespace spyre::loop
