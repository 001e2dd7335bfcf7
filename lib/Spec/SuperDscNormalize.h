//===- SuperDscNormalize.h - an OpSpec whose tensors the address rule can describe ----------===//
//
// A SuperDSC gives no strides: a dimension's stride is the product of the extents inside it,
// starting at one stick. Constant coordinates (a selected row, a strided walk) therefore must lie
// behind some dimension of the op that can carry them as a gap. Normalisation makes that true:
//
//  * the first input of layernormscale holds two values per stick, whatever its stick symbol says:
//    the symbol is reduced there [spec: codegen-and-backend 2.1 step 6];
//  * an index tensor that chooses for several tensors is repeated, so that each has its own;
//  * a stick symbol with a single stick and no tile coordinate takes the innermost constant
//    dimension as its tile index [spec: codegen-and-backend 2.1 step 3];
//  * when the innermost extent is still constant, a symbol of range 1 is put first in the iteration
//    space and takes it. Example: row 5 of [8, 192], device size [3, 8, 64]: coordinates
//    (floor(c0/64), 5, Mod(c0, 64)) become (floor(c0/64), u + 5, Mod(c0, 64)), and u has gap 7;
//  * a conversion of a vector gets such a symbol beside the stick of each tensor
//    [spec: codegen-and-backend 2.1 step 4].
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Spec/OpSpec.h"

namespace spyre::spec {

/// What decides between the branches of the twelve steps; nothing else depends on the op's name.
enum class OpClass : uint8_t { Pointwise, Reduction, Matmul, Restickify, Conversion };

OpClass classifyOp(const OpSpec &spec);

/// One index tensor per indirectly accessed tensor: what the tensors of a SuperDSC are made of, in
/// this order. \p spec must pass verifyOpSpec.
OpSpec separateIndices(OpSpec spec);

/// \p spec must pass verifyOpSpec.
OpSpec normalizeForEmission(OpSpec spec);

} // namespace spyre::spec
