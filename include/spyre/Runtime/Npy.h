//===- Npy.h - NumPy .npy files, version 1.0 to 3.0 -----------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <string>
#include <vector>

namespace spyre::runtime {

struct NpyArray {
  /// NumPy type string without byte order: "f2", "f4", "u1", "u2", "i1", "i2", "i4", "i8", "b1".
  std::string type;
  std::vector<int64_t> shape;
  /// Row-major, little-endian.
  std::string data;
};

/// Errors: E6301 (malformed, truncated, big-endian, Fortran order is converted, unsupported type).
Expected<NpyArray> parseNpy(const std::string &bytes);
std::string writeNpy(const NpyArray &array);

} // namespace spyre::runtime
