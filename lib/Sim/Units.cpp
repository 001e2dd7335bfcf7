//===- Units.cpp - Load, Store, Fill and the vector unit ------------------------------------===//
//
// Points execute in order. A unit may work on many points at once only when no point reads what an
// earlier point of the same run wrote; runs where that could happen are cut into single points.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Numerics/Functions.h"

#include "Core.h"
#include "Kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace spyre::sim {

using numerics::DataFormat;
using program::Function;
using program::Opcode;

/// True when a point of the run may read bytes that another point of it wrote.
static bool mayReadOwnResult(const Access &input, const Access &output) {
  if (!input.overlaps(output)) {
    return false;
  }
  bool inPlace = input.base == output.base && input.stride == output.stride &&
                 input.width == output.width && std::abs(input.stride) >= input.width;
  return !inPlace;
}

static Run singlePoint(const Run &run, int64_t point) {
  Run single = run;
  single.count = 1;
  for (Access &access : single.operands) {
    access.base += point * access.stride;
    access.count = 1;
  }
  return single;
}

/// Calls \p body for \p run, or for each of its points when inputs and result depend on each other.
template <typename Body>
static bool inSafePieces(const Run &run, size_t inputs, Body body) {
  const Access &output = run.operands[inputs];
  bool dependent = false;
  for (size_t i = 0; i < inputs && run.count > 1; ++i) {
    dependent |= mayReadOwnResult(run.operands[i], output);
  }
  if (!dependent) {
    return body(run);
  }
  for (int64_t point = 0; point < run.count; ++point) {
    if (!body(singlePoint(run, point))) {
      return false;
    }
  }
  return true;
}

bool Core::runUnit(const Addresses &addresses) {
  const program::Instruction &source = *current->source;
  size_t inputs = source.operandCount - 1u;
  switch (source.opcode) {
  case Opcode::Load:
    return forEachRun(current->nest, addresses, [&](const Run &run) { return load(run); });
  case Opcode::Store:
    return forEachRun(current->nest, addresses, [&](const Run &run) { return store(run); });
  case Opcode::Fill:
    return forEachRun(current->nest, addresses, [&](const Run &run) { return fill(run); });
  case Opcode::Vector:
    return forEachRun(current->nest, addresses, [&](const Run &run) {
      return inSafePieces(run, inputs, [&](const Run &piece) { return vector(piece); });
    });
  case Opcode::Accumulate:
    return forEachRun(current->nest, addresses, [&](const Run &run) {
      return inSafePieces(run, inputs, [&](const Run &piece) { return accumulate(piece); });
    });
  case Opcode::Finish:
    return forEachRun(current->nest, addresses, [&](const Run &run) {
      return inSafePieces(run, inputs, [&](const Run &piece) { return finish(piece); });
    });
  case Opcode::Shuffle:
    return forEachRun(current->nest, addresses, [&](const Run &run) {
      return inSafePieces(run, inputs, [&](const Run &piece) { return shuffle(piece); });
    });
  case Opcode::Matmul:
    return matmul(addresses);
  case Opcode::Loop:
  case Opcode::EndLoop:
    break;
  }
  SPYRE_CHECK(false, "loops are control, not unit work");
}

//===- DDR ----------------------------------------------------------------------------------===//

/// Source and destination are disjoint or the same.
static void copySticks(const uint8_t *from, int64_t fromStride, uint8_t *to, int64_t toStride,
                       int64_t count) {
  if (fromStride == kStickBytes && toStride == kStickBytes) {
    std::memmove(to, from, size_t(count * kStickBytes));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    std::memmove(to + i * toStride, from + i * fromStride, kStickBytes);
  }
}

void Core::recordDdr(RangeSet &ranges, const Access &access) {
  if (!context->sanitizer) {
    return;
  }
  phaseCounters.sanitizerChecks += uint64_t(access.count);
  if (phase->source->cores == 1) {
    return;
  }
  if (std::abs(access.stride) <= kStickBytes) {
    ranges.add(uint64_t(access.lowest()), uint64_t(access.end()), current->index);
    return;
  }
  for (int64_t i = 0; i < access.count; ++i) {
    auto begin = uint64_t(access.base + i * access.stride);
    ranges.add(begin, begin + kStickBytes, current->index);
  }
}

bool Core::load(const Run &run) {
  const Access &from = run.operands[0];
  const Access &to = run.operands[1];
  recordDdr(phaseAccesses.reads, from);
  copySticks(context->ddr->at(uint64_t(from.base)), from.stride, memory.at(to.base), to.stride,
             run.count);
  memory.markWritten(to);
  return true;
}

bool Core::store(const Run &run) {
  const Access &from = run.operands[0];
  const Access &to = run.operands[1];
  if (!checkWritten(0, from, run.count)) {
    return false;
  }
  recordDdr(phaseAccesses.writes, to);
  copySticks(memory.at(from.base), from.stride, context->ddr->at(uint64_t(to.base)), to.stride,
             run.count);
  return true;
}

//===- Vector -------------------------------------------------------------------------------===//

bool Core::fill(const Run &run) {
  const Access &to = run.operands[0];
  std::array<uint8_t, kStickBytes> stick;
  for (size_t i = 0; i < stick.size(); ++i) {
    stick[i] = uint8_t(current->source->immediate >> (8 * (i % 4)));
  }
  for (int64_t i = 0; i < run.count; ++i) {
    std::memcpy(memory.at(to.base + i * to.stride), stick.data(), kStickBytes);
  }
  memory.markWritten(to);
  return true;
}

bool Core::vector(const Run &run) {
  size_t inputs = current->source->operandCount - 1u;
  for (size_t i = 0; i < inputs; ++i) {
    if (!checkWritten(i, run.operands[i], run.count)) {
      return false;
    }
  }
  const Access &input = run.operands[0];
  const Access &output = run.operands[inputs];
  if (current->source->function == Function::Copy && !current->source->operands[0].splat) {
    // To fp32 and back gives the same bits for every pattern of both formats.
    copySticks(memory.at(input.base), input.stride, memory.at(output.base), output.stride,
               run.count);
  } else {
    for (int64_t first = 0; first < run.count; first += kBatchSticks) {
      vectorBatch(run, first, std::min(kBatchSticks, run.count - first));
    }
  }
  memory.markWritten(output);
  return true;
}

/// Brings \p sticks sticks of one input to fp32. Points of the run are independent here.
void Core::readInput(size_t input, const Run &run, int64_t first, int64_t sticks) {
  const Access &access = run.operands[input];
  DataFormat format = current->source->format;
  bool splat = current->source->operands[input].splat;
  int64_t lanes = current->lanes;
  float *values = scratch.inputs[input];
  if (access.stride == 0 && first > 0) {
    return; // The same stick as in the first batch, which is the longest one.
  }
  if (access.stride == kStickBytes && !splat) {
    numerics::deviceToFloat(format, memory.at(access.base + first * kStickBytes), values,
                            sticks * lanes);
    return;
  }
  for (int64_t i = 0; i < sticks; ++i) {
    float *stick = values + i * lanes;
    if (access.stride == 0 && i > 0) {
      std::memcpy(stick, values, size_t(lanes) * sizeof(float));
      continue;
    }
    const uint8_t *source = memory.at(access.base + (first + i) * access.stride);
    if (splat) {
      float value = 0;
      numerics::deviceToFloat(format, source, &value, 1);
      std::fill_n(stick, lanes, value);
    } else {
      numerics::deviceToFloat(format, source, stick, lanes);
    }
  }
}

void Core::vectorBatch(const Run &run, int64_t first, int64_t sticks) {
  size_t inputs = current->source->operandCount - 1u;
  for (size_t i = 0; i < inputs; ++i) {
    readInput(i, run, first, sticks);
  }
  int64_t lanes = sticks * current->lanes;
  const float *a = scratch.inputs[0], *b = scratch.inputs[1], *c = scratch.inputs[2];
  const float *result = scratch.result;
  switch (current->source->function) {
  case Function::Add:
    addLanes(a, b, scratch.result, lanes);
    break;
  case Function::Mul:
    mulLanes(a, b, scratch.result, lanes);
    break;
  case Function::Exp:
    numerics::expF32(a, scratch.result, lanes);
    break;
  case Function::Where:
    whereLanes(a, b, c, scratch.result, lanes);
    break;
  default: // Copy of a splat: the verifier admits nothing else.
    result = a;
    break;
  }
  const Access &output = run.operands[inputs];
  DataFormat format = current->source->format;
  if (output.stride == kStickBytes) {
    numerics::floatToDevice(format, result, memory.at(output.base + first * kStickBytes), lanes);
    return;
  }
  for (int64_t i = 0; i < sticks; ++i) {
    numerics::floatToDevice(format, result + i * current->lanes,
                            memory.at(output.base + (first + i) * output.stride), current->lanes);
  }
}

//===- Accumulators -------------------------------------------------------------------------===//

/// Input sticks in fp32 with the masked lanes replaced.
void Core::readMasked(const Access &access, int64_t first, int64_t sticks) {
  const program::Instruction &source = *current->source;
  int64_t lanes = current->lanes;
  auto masked = std::bit_cast<float>(source.immediate);
  float *values = scratch.inputs[0];
  if (access.stride == kStickBytes) {
    numerics::deviceToFloat(source.format, memory.at(access.base + first * kStickBytes), values,
                            sticks * lanes);
  }
  for (int64_t i = 0; i < sticks; ++i) {
    float *stick = values + i * lanes;
    if (access.stride != kStickBytes) {
      numerics::deviceToFloat(source.format, memory.at(access.base + (first + i) * access.stride),
                              stick, lanes);
    }
    std::fill(stick + source.validLanes, stick + lanes, masked);
  }
}

bool Core::accumulate(const Run &run) {
  const Access &input = run.operands[0];
  const Access &acc = run.operands[1];
  int64_t accSticks = acc.width / kStickBytes;
  if (!checkWritten(0, input, run.count) || !checkWritten(1, acc, run.count * accSticks)) {
    return false;
  }
  auto combine = current->source->function == Function::Sum ? sumSticks : maxSticks;
  auto width = size_t(acc.width);
  for (int64_t first = 0; first < run.count; first += kBatchSticks) {
    int64_t sticks = std::min(kBatchSticks, run.count - first);
    readMasked(input, first, sticks);
    // One accumulator for the whole run is combined at once, else each point has its own.
    int64_t sticksAtOnce = acc.stride == 0 ? sticks : 1;
    for (int64_t i = 0; i < sticks; i += sticksAtOnce) {
      uint8_t *place = memory.at(acc.base + (first + i) * acc.stride);
      std::memcpy(scratch.accumulator, place, width);
      combine(scratch.accumulator, scratch.inputs[0] + i * current->lanes, sticksAtOnce,
              current->lanes);
      std::memcpy(place, scratch.accumulator, width);
    }
  }
  memory.markWritten(acc);
  return true;
}

bool Core::finish(const Run &run) {
  const Access &acc = run.operands[0];
  const Access &output = run.operands[1];
  if (!checkWritten(0, acc, run.count * (acc.width / kStickBytes))) {
    return false;
  }
  int64_t lanes = current->lanes;
  Function function = current->source->function;
  for (int64_t i = 0; i < run.count; ++i) {
    float *values = scratch.accumulator;
    std::memcpy(values, memory.at(acc.base + i * acc.stride), size_t(acc.width));
    if (function != Function::Lanes) {
      float value = function == Function::TreeSum ? treeSum(values, lanes) : treeMax(values, lanes);
      std::fill_n(values, lanes, value);
    }
    numerics::floatToDevice(current->source->format, values,
                            memory.at(output.base + i * output.stride), lanes);
  }
  memory.markWritten(output);
  return true;
}

//===- Shuffle ------------------------------------------------------------------------------===//

template <typename Element>
static void moveElements(const uint8_t *from, int64_t fromStride, uint8_t *to, int64_t toStride,
                         int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * toStride, from + i * fromStride, sizeof(Element));
  }
}

bool Core::shuffle(const Run &run) {
  const Access &from = run.operands[0];
  const Access &to = run.operands[1];
  if (!checkWritten(0, from, run.count)) {
    return false;
  }
  memory.markElementsWritten(to);
  const uint8_t *source = memory.at(from.base);
  uint8_t *place = memory.at(to.base);
  switch (current->source->elementBytes) {
  case 1:
    moveElements<uint8_t>(source, from.stride, place, to.stride, run.count);
    break;
  case 2:
    moveElements<uint16_t>(source, from.stride, place, to.stride, run.count);
    break;
  default:
    moveElements<uint32_t>(source, from.stride, place, to.stride, run.count);
    break;
  }
  return true;
}

} // namespace spyre::sim
