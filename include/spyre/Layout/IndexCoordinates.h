//===- IndexCoordinates.h - a linear index over loop variables as one coordinate per dimension ===//
//
// A loop reads element 4096 * p0 + p1 of a tensor; which coordinate is that in each dimension? The
// answer is an expression per dimension, and it serves host tensors (size, stride) and device
// layouts (deviceSize, strideMap) alike:
//
//     size [2, 256, 4096], p0 < 512, p1 < 4096:  [p0//256, p0%256, p1]
//     device [256, 64, 2, 64] / [4096, 64, 1048576, 1]:  [p0%256, p1//64, p0//256, p1%64]
//
// Each variable is written in the digits of the strides; the terms of different variables are added
// without a carry. A coordinate can therefore leave its dimension, as p3%64+8 in a stick of 64:
// such an access is not aligned to sticks, and the caller refuses it or moves the tensor first.
// [spec: device-and-layouts 3.11]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace spyre::layout {

/// coefficient * variable, or coefficient * (variable % modulus).
struct IndexTerm {
  size_t variable = 0;
  int64_t coefficient = 1;
  /// 0: none.
  int64_t modulus = 0;
};

struct LinearIndex {
  std::vector<IndexTerm> terms;
  int64_t offset = 0;
};

/// A variable counts from 0 to range - 1. A range of 0 is unknown (an index that is loaded): it is
/// then the size of the dimension whose stride is the variable's coefficient.
struct LoopVariable {
  std::string name;
  int64_t range = 0;
};

/// v = variable, taken modulo variableModulus unless that is 0; scale * v, modulo each of moduli in
/// turn; the quotient by divisor, rounded down.
struct CoordinateTerm {
  size_t variable = 0;
  int64_t variableModulus = 0;
  int64_t scale = 1;
  std::vector<int64_t> moduli;
  int64_t divisor = 1;

  bool operator==(const CoordinateTerm &) const = default;
};

/// The sum of the terms and the constant.
struct CoordinateExpr {
  std::vector<CoordinateTerm> terms;
  int64_t constant = 0;

  bool operator==(const CoordinateExpr &) const = default;
  int64_t evaluate(const std::vector<int64_t> &values) const;
  /// "2p1+p3//64+3"; operators of one term apply from left to right.
  std::string toString(const std::vector<LoopVariable> &variables) const;
};

/// One expression per dimension, with sum of coordinate * stride = index for all values of the
/// variables. Dimensions of size 1 and strides of 0 or less get 0; among equal strides the first
/// dimension counts. Errors: E2021 (unsound numbers, or an index between the elements of the
/// tensor), E2022 (the range of a variable cannot be known).
Expected<std::vector<CoordinateExpr>>
computeCoordinates(const std::vector<int64_t> &size, const std::vector<int64_t> &stride,
                   const LinearIndex &index, const std::vector<LoopVariable> &variables);

} // namespace spyre::layout
