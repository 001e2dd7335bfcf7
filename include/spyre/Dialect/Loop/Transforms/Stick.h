//===- Stick.h - which loop variable runs through the lanes of a stick ----------------------===//
//
// A unit works on whole sticks, so all tensors of an operation must agree on the one variable that
// runs through their lanes. An access is legal when its stick dimension is indexed by that variable
// alone, or by that variable plus others that step by whole sticks:
//
//     x [4096] read as [32, 128]:  index 128*d0 + d1 -> stick variable d1 (128 is a multiple of 64)
//     x [512] read as [16, 32]:    index 32*d0 + d1  -> not a stick access (d0 starts inside
//     sticks)
//
// A tensor without stick variable has one element per stick (sparse, or a stick dimension of size
// 1); it is spread over all lanes when read.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Dialect/Loop/IR/Loop.h"

#include <optional>
#include <set>

namespace spyre::loop {

struct StickUse {
  enum class Kind { None, Var, Illegal };
  Kind kind = Kind::None;
  unsigned var = 0;

  bool isVar(unsigned v) const { return kind == Kind::Var && var == v; }
  bool operator==(const StickUse &) const = default;
};

/// Elements per stick of a buffer's element type.
int64_t elemsPerStick(BufferOp buffer);

/// What the lanes of \p access would follow if \p stickDim (or -1: sparse) were cut into sticks.
StickUse stickUse(const Access &access, int64_t stickDim);
/// The same with the buffer's own layout. Errors: E2010, E2007.
Expected<StickUse> stickUse(const Access &access);

/// True when lanes cut from \p stickDim follow \p var, also when its extent is 1: a matmul names
/// its lanes.
bool followsExactly(const Access &access, int64_t stickDim, unsigned var);

/// Dimension roles of the buffer, read so that \p var is the stick if the layout allows it:
/// dimensions of size 1 leave no trace in a layout, so a [1, 1] tensor may be read with either as
/// its stick. Errors: E2010, E2007.
Expected<DimRoles> rolesFollowing(const Access &access, unsigned var);

/// The variable whose lanes operand \p index of a matmul must follow: k, n, n.
unsigned matmulStickVar(ComputeOp op, unsigned index);

/// Whether the operation finds the largest elements, or where they are. Its last three variables
/// are the lanes, the number of results and what is searched; only the output has the second, only
/// the input the third.
bool isTopK(ComputeOp op);
constexpr unsigned kTopKVars = 3;

/// Whether the result has two values per stick, and whether a buffer holds such pairs: no copy of
/// elements moves them.
bool makesPairs(ComputeOp op);
bool holdsPairs(BufferOp buffer);

/// Whether the operation names the lanes of its operands by the place of a variable: a matmul, a
/// topk, and the conversions, whose lanes follow the last one.
bool namesLanes(ComputeOp op);
/// The variable whose lanes operand \p index of such an operation must follow.
unsigned namedStickVar(ComputeOp op, unsigned index);
/// The same for any operation: nothing if it names none, or has too few variables to name one.
std::optional<unsigned> findNamedStickVar(ComputeOp op, unsigned index);

/// Variables an access depends on.
std::set<unsigned> varsOf(const Access &access);

/// True when the tensor can take part in an operation whose lanes follow \p var (nothing: no lanes
/// vary).
bool isCompatible(const Access &access, const StickUse &use, std::optional<unsigned> var);

/// How a copy runs: element by element in place of lanes (identity) or with a change of stick.
bool isRestickify(const Access &from, const StickUse &fromUse, const StickUse &toUse);

/// One side of a copy.
struct CopySide {
  Access access;
  int64_t stickDim = -1;
};
/// Whether one operation can do the copy. An identity always can; a restickify pads the variables
/// that are lanes on either side to whole sticks, and where such a variable is no lane its
/// dimension must end where the variable does: it cannot be a slice, nor have entries between its
/// own that are left out.
bool isOneCopy(const CopySide &from, const CopySide &to, llvm::ArrayRef<int64_t> extents);

} // namespace spyre::loop
