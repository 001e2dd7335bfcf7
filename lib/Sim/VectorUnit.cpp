//===- VectorUnit.cpp - Vector, Accumulate, Finish, TopK ------------------------------------===//
//
// Sticks are brought to fp32 (or int32, for IeeeInt32) in batches, the function runs over the
// batch, and the result is rounded back once.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Numerics/Functions.h"

#include "Padding.h"
#include "Pieces.h"
#include "VectorFunctions.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace spyre::sim {

using numerics::DataFormat;
using program::Function;
using program::Operand;

/// IeeeInt32 lanes travel through the same scratch as floats do, bit for bit.
static int32_t *asInt(float *values) { return reinterpret_cast<int32_t *>(values); }
static const int32_t *asInt(const float *values) {
  return reinterpret_cast<const int32_t *>(values);
}

static void decode(DataFormat format, const uint8_t *stick, float *values, int64_t lanes) {
  if (format == DataFormat::IeeeInt32 || format == DataFormat::IeeeFp32) {
    std::memcpy(values, stick, size_t(lanes) * sizeof(float));
  } else {
    numerics::deviceToFloat(format, stick, values, lanes);
  }
}

static void encode(DataFormat format, const float *values, uint8_t *stick, int64_t lanes) {
  if (format == DataFormat::IeeeInt32) {
    std::memcpy(stick, values, size_t(lanes) * sizeof(float));
  } else {
    numerics::floatToDevice(format, values, stick, lanes);
  }
}

//===- Vector -------------------------------------------------------------------------------===//

/// Host cache lines asked for per batch: two inputs of as many sticks.
static constexpr int64_t kLinesPerBatch = 4 * kBatchSticks;

bool Core::vector(const Run &run) {
  size_t inputs = current->source->operands.size() - 1;
  for (size_t i = 0; i < inputs; ++i) {
    if (current->operands[i].inMemory && !checkInput(i, run.operands[i])) {
      return false;
    }
  }
  if (!vectorDirect(run)) {
    fillConstants();
    for (int64_t start = 0; start < run.count; start += kBatchSticks) {
      vectorBatch(run, start, std::min(kBatchSticks, run.count - start));
      prefetcher.advance(kLinesPerBatch);
    }
  }
  if (context->sanitizer) {
    vectorPadding(run);
  }
  return wrote(inputs, places[inputs], run.operands[inputs]);
}

/// Functions of one whole stick that need no stop as fp32: copies and tables.
bool Core::vectorDirect(const Run &run) {
  const program::Instruction &source = *current->source;
  bool wholeStick = current->operands[0].inMemory && source.operands[0].splatLane < 0;
  if (source.operands.size() != 2 || !wholeStick) {
    return false;
  }
  auto forEachStick = [&](auto body) {
    const Access &from = run.operands[0], &to = run.operands[1];
    for (int64_t i = 0; i < run.count; ++i) {
      body(lx(from.base + i * from.stride), lx(to.base + i * to.stride));
      prefetcher.advance(kLinesPerBatch / kBatchSticks);
    }
  };
  if (source.function == Function::Copy) {
    // To fp32 and back gives the same bits for every pattern of the formats.
    forEachStick([](const uint8_t *from, uint8_t *to) { std::memmove(to, from, kStickBytes); });
    return true;
  }
  const numerics::Dl16Table *table =
      source.format == DataFormat::Sen169Fp16 ? tableOf(source.function) : nullptr;
  if (table != nullptr) {
    forEachStick([&](const uint8_t *from, uint8_t *to) { table->apply(from, to, kMaxLanes); });
  }
  return table != nullptr;
}

void Core::fillConstants() {
  const program::Instruction &source = *current->source;
  for (size_t i = 0; i + 1 < source.operands.size(); ++i) {
    if (source.operands[i].kind == Operand::Kind::Constant) {
      auto value = std::bit_cast<float>(uint32_t(source.operands[i].offset));
      std::fill_n(scratch->inputs[i], kBatchSticks * current->lanes, value);
    }
  }
}

/// Brings \p sticks sticks of one input to fp32. Points of the run are independent here.
void Core::readInput(size_t input, const Run &run, int64_t first, int64_t sticks) {
  const Access &access = run.operands[input];
  DataFormat format = current->source->format;
  int splat = current->source->operands[input].splatLane;
  int64_t lanes = current->lanes;
  float *values = scratch->inputs[input];
  if (!current->operands[input].inMemory || (access.stride == 0 && first > 0)) {
    return; // A constant, or the same stick as in the first batch, which is the longest one.
  }
  if (access.stride == kStickBytes && splat < 0) {
    decode(format, lx(access.base + first * kStickBytes), values, sticks * lanes);
    return;
  }
  for (int64_t i = 0; i < sticks; ++i) {
    float *stick = values + i * lanes;
    if (access.stride == 0 && i > 0) {
      std::memcpy(stick, values, size_t(lanes) * sizeof(float));
      continue;
    }
    const uint8_t *source = lx(access.base + (first + i) * access.stride);
    if (splat >= 0) {
      float value = 0;
      decode(format, source + splat * (kStickBytes / lanes), &value, 1);
      std::fill_n(stick, lanes, value);
    } else {
      decode(format, source, stick, lanes);
    }
  }
}

void Core::vectorBatch(const Run &run, int64_t first, int64_t sticks) {
  const program::Instruction &source = *current->source;
  size_t inputs = source.operands.size() - 1;
  std::array<const float *, program::kMaxOperands - 1> values{};
  for (size_t i = 0; i < inputs; ++i) {
    readInput(i, run, first, sticks);
    values[i] = scratch->inputs[i];
  }
  int64_t lanes = sticks * current->lanes;
  float *result = scratch->result;
  if (source.format == DataFormat::IeeeInt32) {
    std::array<const int32_t *, program::kMaxOperands - 1> integers{};
    for (size_t i = 0; i < inputs; ++i) {
      integers[i] = asInt(values[i]);
    }
    applyVector(source.function, integers.data(), asInt(result), lanes);
  } else {
    applyVector(source.function, values.data(), result, lanes);
  }
  const Access &output = run.operands[inputs];
  if (output.stride == kStickBytes) {
    encode(source.format, result, lx(output.base + first * kStickBytes), lanes);
    return;
  }
  for (int64_t i = 0; i < sticks; ++i) {
    encode(source.format, result + i * current->lanes,
           lx(output.base + (first + i) * output.stride), current->lanes);
  }
}

/// A lane is padding when it is in one of the inputs.
void Core::vectorPadding(const Run &run) {
  const program::Instruction &source = *current->source;
  size_t inputs = source.operands.size() - 1;
  const Access &output = run.operands[inputs];
  bool clean = true;
  for (size_t i = 0; i < inputs && clean; ++i) {
    clean = !current->operands[i].inMemory || shadowState->noPadding(run.operands[i]);
  }
  if (clean) {
    shadowState->clearPadding(output);
    return;
  }
  for (int64_t point = 0; point < run.count; ++point) {
    uint64_t mask = 0;
    for (size_t i = 0; i < inputs; ++i) {
      if (!current->operands[i].inMemory) {
        continue;
      }
      const Access &input = run.operands[i];
      uint64_t found = shadowState->paddingAt(input.base + point * input.stride);
      int splat = source.operands[i].splatLane;
      if (splat >= 0) {
        found = (laneMask(found, current->lanes) >> splat & 1) != 0 ? ~uint64_t(0) : 0;
      }
      mask |= found;
    }
    *shadowState->padding(output.base + point * output.stride) = mask;
  }
}

//===- Accumulate ---------------------------------------------------------------------------===//

/// Input sticks in fp32 with the masked lanes replaced.
void Core::readMasked(const Access &access, int64_t first, int64_t sticks) {
  const program::Instruction &source = *current->source;
  int64_t lanes = current->lanes;
  auto masked = std::bit_cast<float>(source.constant);
  float *values = scratch->inputs[0];
  if (access.stride == kStickBytes) {
    decode(source.format, lx(access.base + first * kStickBytes), values, sticks * lanes);
  }
  for (int64_t i = 0; i < sticks; ++i) {
    float *stick = values + i * lanes;
    if (access.stride != kStickBytes) {
      decode(source.format, lx(access.base + (first + i) * access.stride), stick, lanes);
    }
    std::fill(stick + source.validLanes, stick + lanes, masked);
  }
}

bool Core::accumulate(const Run &run) {
  const program::Instruction &source = *current->source;
  const Access &input = run.operands[0];
  const Access &acc = run.operands[1];
  if (!checkInput(0, input) || !checkInput(1, acc)) {
    return false;
  }
  for (int64_t first = 0; first < run.count; first += kBatchSticks) {
    int64_t sticks = std::min(kBatchSticks, run.count - first);
    readMasked(input, first, sticks);
    // One accumulator for the whole run is combined at once, else each point has its own.
    int64_t sticksAtOnce = acc.stride == 0 ? sticks : 1;
    for (int64_t i = 0; i < sticks; i += sticksAtOnce) {
      auto *target = reinterpret_cast<float *>(lx(acc.base + (first + i) * acc.stride));
      const float *values = scratch->inputs[0] + i * current->lanes;
      if (source.format == DataFormat::IeeeInt32) {
        accumulateSticks(source.function, asInt(target), asInt(values), sticksAtOnce,
                         current->lanes);
      } else {
        accumulateSticks(source.function, target, values, sticksAtOnce, current->lanes);
      }
    }
  }
  if (context->sanitizer) {
    accumulatePadding(run);
  }
  return wrote(1, places[1], acc);
}

/// Masked lanes are constants; padding among the others stays padding in the accumulator.
void Core::accumulatePadding(const Run &run) {
  const Access &input = run.operands[0];
  const Access &acc = run.operands[1];
  if (shadowState->noPadding(input)) {
    return;
  }
  uint64_t unmasked = lowBits(current->source->validLanes);
  for (int64_t i = 0; i < run.count; ++i) {
    uint64_t stick = shadowState->paddingAt(input.base + i * input.stride);
    uint64_t added = laneMask(stick, current->lanes) & unmasked;
    if (added != 0) {
      int64_t address = acc.base + i * acc.stride;
      setAccumulatorMask(*shadowState, address, current->lanes,
                         accumulatorMask(*shadowState, address, current->lanes) | added);
    }
  }
}

//===- Finish -------------------------------------------------------------------------------===//

template <typename Value>
static void finishLanes(Function function, Value *values, int64_t lanes) {
  if (function != Function::Lanes) {
    std::fill_n(values, lanes, treeOf(function, values, lanes));
  }
}

bool Core::finish(const Run &run) {
  const program::Instruction &source = *current->source;
  const Access &acc = run.operands[0];
  const Access &output = run.operands[1];
  if (!checkInput(0, acc) || (context->sanitizer && !finishPadding(run))) {
    return false;
  }
  int64_t lanes = current->lanes;
  auto scale = std::bit_cast<float>(source.constant);
  float *values = scratch->result;
  for (int64_t i = 0; i < run.count; ++i) {
    std::memcpy(values, lx(acc.base + i * acc.stride), size_t(acc.width));
    if (source.format == DataFormat::IeeeInt32) {
      finishLanes(source.function, asInt(values), lanes);
    } else {
      finishLanes(source.function, values, lanes);
      if (source.constant != program::kScaleOne) {
        for (int64_t lane = 0; lane < lanes; ++lane) {
          values[lane] = numerics::mulF32(values[lane], scale);
        }
      }
    }
    encode(source.format, values, lx(output.base + i * output.stride), lanes);
  }
  return wrote(1, places[1], output);
}

bool Core::finishPadding(const Run &run) {
  const Access &acc = run.operands[0];
  const Access &output = run.operands[1];
  if (shadowState->noPadding(acc)) {
    shadowState->clearPadding(output);
    return true;
  }
  for (int64_t i = 0; i < run.count; ++i) {
    int64_t address = acc.base + i * acc.stride;
    uint64_t mask = accumulatorMask(*shadowState, address, current->lanes);
    if (mask != 0 && current->source->function != Function::Lanes) {
      return failPadding(0, address, "a reduction over lanes");
    }
    *shadowState->padding(output.base + i * output.stride) = stickMask(mask, current->lanes);
  }
  return true;
}

//===- TopK ---------------------------------------------------------------------------------===//

/// NaN is larger than every number, and equal to itself.
static bool isLarger(float a, float b) { return a > b || (std::isnan(a) && !std::isnan(b)); }

/// Puts \p value into the descending list of one lane; equal values keep their order. A place whose
/// number is below 0 is empty.
static void insertLane(float *values, int32_t *numbers, int64_t k, int64_t lanes, float value,
                       int32_t number) {
  int64_t place = k;
  while (place > 0 &&
         (numbers[(place - 1) * lanes] < 0 || isLarger(value, values[(place - 1) * lanes]))) {
    --place;
    if (place + 1 < k) {
      values[(place + 1) * lanes] = values[place * lanes];
      numbers[(place + 1) * lanes] = numbers[place * lanes];
    }
  }
  if (place < k) {
    values[place * lanes] = value;
    numbers[place * lanes] = number;
  }
}

bool Core::topK(const Run &run) {
  const auto &[input, state, number, unused3, unused4, unused5] = run.operands;
  if (!checkInput(0, input) || !checkInput(1, state)) {
    return false;
  }
  int64_t k = current->source->parameter, lanes = current->lanes;
  float *stick = scratch->inputs[0];
  for (int64_t i = 0; i < run.count; ++i) {
    int64_t address = state.base + i * state.stride;
    int64_t inputAddress = input.base + i * input.stride;
    decode(current->source->format, lx(inputAddress), stick, lanes);
    auto *values = reinterpret_cast<float *>(lx(address));
    auto *numbers = reinterpret_cast<int32_t *>(values + k * lanes);
    for (int64_t lane = 0; lane < lanes; ++lane) {
      insertLane(values + lane, numbers + lane, k, lanes, stick[lane],
                 int32_t(number.base + i * number.stride));
    }
    uint64_t padding =
        context->sanitizer ? laneMask(shadowState->paddingAt(inputAddress), lanes) : 0;
    int64_t listBytes = lanes * int64_t(sizeof(float));
    for (int64_t list = 0; padding != 0 && list < 2 * k; ++list) {
      int64_t place = address + list * listBytes;
      setAccumulatorMask(*shadowState, place, lanes,
                         accumulatorMask(*shadowState, place, lanes) | padding);
    }
  }
  return wrote(1, places[1], state);
}

} // namespace spyre::sim
