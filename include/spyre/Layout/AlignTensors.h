//===- AlignTensors.h - one iteration space in which no tensor divides a variable -----------===//
//
// Tensors of an operation read one variable in different pieces: x [50, 10, 200] flattened reads
// p%10 and p//10 where y reads p. The variable is cut where any tensor cuts it, every tensor gets a
// dimension per piece, and only the stick dimension keeps its pair of quotient and remainder. Our
// own front end never makes such coordinates (ADR 0011); this serves tools that do.
// [spec: front-end 4.3, 4.4]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <cstdint>
#include <vector>

namespace spyre::layout {

/// num * (variable % mod) // den + offset in a dimension of dimSize; num or den is 1. Without a
/// variable (-1) the offset alone, or, when opaque, what the caller keeps under that number.
struct AlignTerm {
  int64_t num = 1, den = 1;
  int64_t variable = -1;
  int64_t mod = 1;
  int64_t dimSize = 1;
  int64_t offset = 0;
  int64_t opaque = -1;

  bool operator==(const AlignTerm &) const = default;
};

/// Coordinate of one dimension: a sum of terms (dimSize and offset of each unused) and an offset.
struct AlignCoordinate {
  std::vector<AlignTerm> terms;
  int64_t offset = 0;
  int64_t opaque = -1;
};

struct AlignTensor {
  std::vector<int64_t> deviceSize; ///< the last dimension is the stick
  std::vector<AlignCoordinate> coordinates;
};

struct AlignVariable {
  int64_t range = 1;
  int64_t split = 1; ///< cores it is divided over
};

/// One dimension of a result: (variable // divisor) % modulus + offset; a divisor or modulus of 0
/// is none. Variables from the number of given ones on are new.
struct AlignedDim {
  int64_t size = 1;
  int64_t variable = -1;
  int64_t divisor = 0, modulus = 0;
  int64_t offset = 0;
  int64_t opaque = -1;
};

struct Alignment {
  /// The given variables, then the new ones.
  std::vector<AlignVariable> variables;
  std::vector<std::vector<AlignedDim>> tensors; ///< all of one rank
};

/// One term per dimension, coarse before fine where a dimension had several; what a constant fixes
/// in a dimension of several elements is an element of a new variable with range 1, numbered from
/// \p firstNew on. The last term is the stick. Error: E2023 (a sum whose parts overlap, an offset
/// that does not fit, ranks that differ).
Expected<std::vector<AlignTerm>> normalizeCoordinates(const AlignTensor &tensor, int64_t firstNew);

/// Error: E2023.
Expected<Alignment> alignTensors(const std::vector<AlignVariable> &variables,
                                 const std::vector<AlignTensor> &tensors);

} // namespace spyre::layout
