//===- Matmul.cpp - the matrix unit ---------------------------------------------------------===//
//
// One point multiplies 64 k-values of a row with a block of 64 x 64 and adds to 64 accumulators.
// The block is brought to fp32 once and kept while the address of B stays the same; the plan orders
// the points so that this lasts, which is legal only when the accumulators share no byte with A or
// B.
//===--------------------------------------------------------------------------------------------===//
#include "Core.h"
#include "Kernels.h"

#include <cstring>

namespace spyre::sim {

using program::kMatmulBlock;
using program::kMaxLevels;

/// The bytes an operand reaches over a nest, as one access of a wide element.
static Access wholeReach(const PlannedInstruction &planned, size_t operand, int64_t address) {
  Access reach{address, 0, 1, planned.width[operand]};
  auto widen = [&](int64_t step) {
    reach.base += std::min<int64_t>(step, 0);
    reach.width += std::abs(step);
  };
  for (size_t i = 0; i < kMaxLevels; ++i) {
    widen(planned.nest.strides[operand][i] * (planned.nest.counts[i] - 1));
  }
  if (operand == 1) {
    widen(planned.source->parameter * (planned.source->validLanes - 1));
  }
  return reach;
}

bool Core::matmul(const Addresses &addresses) {
  Access acc = wholeReach(*current, 2, addresses[2]);
  bool independent = !acc.overlaps(wholeReach(*current, 0, addresses[0])) &&
                     !acc.overlaps(wholeReach(*current, 1, addresses[1]));
  int64_t matrixAddress = -1;
  auto runPoints = [&](const Run &run) {
    const auto &[a, b, c, unused] = run.operands;
    for (int64_t i = 0; i < run.count; ++i) {
      int64_t address = b.base + i * b.stride;
      bool loaded = independent && address == matrixAddress;
      if (!loaded && !loadMatrix(address)) {
        return false;
      }
      matrixAddress = address;
      if (!matmulPoint(a.base + i * a.stride, c.base + i * c.stride)) {
        return false;
      }
    }
    return true;
  };
  return forEachRun(independent ? current->matmulNest : current->nest, addresses, runPoints);
}

/// Brings the rows of the block at \p address that count to fp32.
bool Core::loadMatrix(int64_t address) {
  int64_t rows = current->source->validLanes;
  int64_t stride = current->source->parameter;
  if (!checkWritten(1, {address, stride, rows, kStickBytes}, rows)) {
    return false;
  }
  if (stride == kStickBytes) {
    numerics::deviceToFloat(current->source->format, memory.at(address), scratch.matrix,
                            rows * kMaxLanes);
    return true;
  }
  for (int64_t row = 0; row < rows; ++row) {
    numerics::deviceToFloat(current->source->format, memory.at(address + row * stride),
                            scratch.matrix + row * kMaxLanes, kMaxLanes);
  }
  return true;
}

bool Core::matmulPoint(int64_t a, int64_t acc) {
  int64_t accBytes = current->width[2];
  if (!checkWritten(0, {.base = a}, 1) ||
      !checkWritten(2, {.base = acc, .width = accBytes}, accBytes / kStickBytes)) {
    return false;
  }
  float *row = scratch.inputs[0];
  numerics::deviceToFloat(current->source->format, memory.at(a), row, kMatmulBlock);
  std::memcpy(scratch.accumulator, memory.at(acc), size_t(accBytes));
  matmulRows(row, scratch.matrix, scratch.accumulator, current->source->validLanes);
  std::memcpy(memory.at(acc), scratch.accumulator, size_t(accBytes));
  memory.markWritten({.base = acc, .width = accBytes});
  return true;
}

} // namespace spyre::sim
