//===- Build.h - operations from host shapes, with the default device layouts ---------------===//
//
// [spec: work-division 1.2]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Division/Problem.h"

#include <span>

namespace spyre::solver::division {

struct HostTensor {
  std::string name;
  /// The variable along each host dimension; -1: one that does not vary (size 1, or broadcast).
  std::vector<int> dims = {};
  /// Host dimensions in layout order, the last one along the sticks, -1 for a sparse layout; empty:
  /// as they are.
  std::vector<int> order = {};
  int64_t elemsPerStick = 64;
  bool output = false;
};

/// The default layout of a tensor of \p dims. Errors: E3060 (rank above 6, unknown dims).
Expected<Tensor> defaultTensor(const std::vector<Dim> &dims, const HostTensor &host);

//===- Shapes the tests and the benchmark use -----------------------------------------------===//
// Dims of extent 1 do not vary; they are left out of coordinates, not of the list of dims.

/// \p inputs inputs and one output of the same shape.
Op makePointwise(std::span<const int64_t> shape, int inputs = 1, int64_t elemsPerStick = 64);
/// Reduces host dimension \p axis; variables of the result first, the reduced one last.
Op makeReduction(std::span<const int64_t> shape, size_t axis, int64_t elemsPerStick = 64);
/// b, m, n, k; without a batch when \p b is 0. \p sharedWeight: the second operand has none.
Op makeMatmul(int64_t b, int64_t m, int64_t n, int64_t k, bool sharedWeight = false);
/// Same host shape; the sticks move from the last host dimension to \p axis.
Op makeRestickify(std::span<const int64_t> shape, size_t axis);
/// Rows of a table, chosen by a list of \p entries indices.
Op makeGather(int64_t entries, std::span<const int64_t> table);

} // namespace spyre::solver::division
