//===- Matmul.cpp - the matrix unit ---------------------------------------------------------===//
//
// One point multiplies the k-values of a row with a block of B and adds to 64 accumulators. The
// block is brought to fp32 once and kept while the address of B stays the same, and rows go through
// the kernel together; the plan orders the points so that this lasts, which is legal only when the
// accumulators share no byte with A or B.
//===--------------------------------------------------------------------------------------------===//
#include "Core.h"
#include "MatmulKernel.h"
#include "Padding.h"
#include "Pieces.h"

#include <cstring>

namespace spyre::sim {

using numerics::DataFormat;
using program::kMatmulBlock;

bool Core::matmul() {
  Access acc = wholeReach(current->operands[2], places[2]);
  bool independent = !acc.overlaps(wholeReach(current->operands[0], places[0])) &&
                     !acc.overlaps(wholeReach(current->operands[1], places[1]));
  int64_t matrixAddress = -1;
  auto ensureMatrix = [&](int64_t address) {
    bool loaded = independent && address == matrixAddress;
    matrixAddress = address;
    return loaded || loadMatrix(address);
  };
  auto runPoints = [&](const Run &run) {
    const Access &a = run.operands[0], &b = run.operands[1], &c = run.operands[2];
    // Rows with accumulators of their own go through the kernel together.
    bool together = independent && b.stride == 0 && std::abs(c.stride) >= c.width;
    if (together) {
      return ensureMatrix(b.base) && matmulRun(a, c);
    }
    for (int64_t i = 0; i < run.count; ++i) {
      Run point = singlePoint(run, i);
      if (!ensureMatrix(point.operands[1].base) ||
          !matmulRun(point.operands[0], point.operands[2])) {
        return false;
      }
    }
    return true;
  };
  return forEachRun(*current, independent ? current->matmulNest : current->nest, places, runPoints);
}

/// Brings the rows of the block at \p address that count to fp32.
bool Core::loadMatrix(int64_t address) {
  const program::Instruction &source = *current->source;
  int64_t sticks = current->operands[1].places, stride = source.parameter;
  Access block{address, stride, sticks, kStickBytes};
  if (!checkInput(1, block)) {
    return false;
  }
  bool narrow = current->lanes == kMaxDepth;
  matrixPadding = 0;
  alignas(64) float pairs[kMaxDepth];
  for (int64_t stick = 0; stick < sticks; ++stick) {
    const uint8_t *bits = lx(address + stride * stick);
    if (context->sanitizer) {
      // 8-bit: both bytes of a pair are the same lane, in two rows.
      matrixPadding |= shadowState->paddingAt(address + stride * stick);
    }
    if (!narrow) {
      numerics::deviceToFloat(source.format, bits, scratch->matrix + stick * kMaxLanes, kMaxLanes);
      continue;
    }
    numerics::deviceToFloat(source.format, bits, pairs, kMaxDepth);
    float *even = scratch->matrix + 2 * stick * kMaxLanes;
    for (int64_t n = 0; n < kMaxLanes; ++n) {
      even[n] = pairs[2 * n];
      even[kMaxLanes + n] = pairs[2 * n + 1];
    }
  }
  return true;
}

bool Core::matmulRun(const Access &a, const Access &acc) {
  if (!checkInput(0, a) || !checkInput(2, acc) || (context->sanitizer && !matmulPadding(a, acc))) {
    return false;
  }
  if (current->source->format == DataFormat::SenInt8) {
    multiplyInt8(a, acc);
  } else {
    multiplyFloat(a, acc);
  }
  return wrote(2, places[2], acc);
}

void Core::multiplyFloat(const Access &a, const Access &acc) {
  const program::Instruction &source = *current->source;
  int64_t depth = current->lanes;
  for (int64_t first = 0; first < a.count; first += kBatchRows) {
    int64_t rows = std::min(kBatchRows, a.count - first);
    for (int64_t row = 0; row < rows; ++row) {
      numerics::deviceToFloat(source.format, lx(a.base + (first + row) * a.stride),
                              scratch->rows + row * depth, source.validLanes);
    }
    matmulRows(scratch->rows, depth, scratch->matrix,
               reinterpret_cast<float *>(lx(acc.base + first * acc.stride)),
               acc.stride / int64_t(sizeof(float)), rows, source.validLanes);
  }
}

/// Products of 8-bit integers are exact and their sums wrap in 32 bits.
void Core::multiplyInt8(const Access &a, const Access &acc) {
  int64_t depth = current->source->validLanes;
  for (int64_t row = 0; row < a.count; ++row) {
    const auto *factors = reinterpret_cast<const int8_t *>(lx(a.base + row * a.stride));
    auto *sums = reinterpret_cast<uint32_t *>(lx(acc.base + row * acc.stride));
    for (int64_t k = 0; k < depth; ++k) {
      const float *line = scratch->matrix + k * kMaxLanes;
      for (int64_t n = 0; n < kMatmulBlock; ++n) {
        sums[n] += uint32_t(int32_t(factors[k]) * int32_t(line[n]));
      }
    }
  }
}

/// Padding among the k-values is an error; padding of B's lanes stays padding in the result.
bool Core::matmulPadding(const Access &a, const Access &acc) {
  if (!shadowState->noPadding(a)) {
    int64_t bits = current->lanes == kMaxDepth ? (current->source->validLanes + 1) / 2
                                               : current->source->validLanes;
    for (int64_t i = 0; i < a.count; ++i) {
      int64_t address = a.base + i * a.stride;
      if ((shadowState->paddingAt(address) & lowBits(bits)) != 0) {
        return failPadding(0, address, "the matrix unit");
      }
    }
  }
  for (int64_t i = 0; matrixPadding != 0 && i < acc.count; ++i) {
    int64_t address = acc.base + i * acc.stride;
    setAccumulatorMask(*shadowState, address, kMatmulBlock,
                       accumulatorMask(*shadowState, address, kMatmulBlock) | matrixPadding);
  }
  return true;
}

} // namespace spyre::sim
