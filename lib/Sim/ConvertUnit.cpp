//===- ConvertUnit.cpp - formats of sticks --------------------------------------------------===//
//
// One point has one stick on the side with more lanes and r on the other. Lane i of wide stick j is
// lane (i / group * r + j) * group + i % group of the narrow one. Values pass through fp32, but for
// 32- and 64-bit integers among themselves, which keep their low bits.
//===--------------------------------------------------------------------------------------------===//
#include "Core.h"

#include <cmath>
#include <cstring>
#include <vector>

namespace spyre::sim {

using numerics::DataFormat;

/// Lanes of the densest format (two bits each).
static constexpr int64_t kMostLanes = 512;
static constexpr int64_t kMostSticks = 8;

static bool isWideInteger(DataFormat format) {
  return format == DataFormat::IeeeInt32 || format == DataFormat::SenUint32 ||
         format == DataFormat::IeeeInt64;
}

static int64_t readInteger(DataFormat format, const uint8_t *stick, int64_t lane) {
  if (format == DataFormat::IeeeInt64) {
    int64_t value = 0;
    std::memcpy(&value, stick + lane * 8, sizeof(value));
    return value;
  }
  uint32_t value = 0;
  std::memcpy(&value, stick + lane * 4, sizeof(value));
  return format == DataFormat::IeeeInt32 ? int64_t(int32_t(value)) : int64_t(value);
}

static void writeInteger(DataFormat format, uint8_t *stick, int64_t lane, int64_t value) {
  std::memcpy(stick + lane * (format == DataFormat::IeeeInt64 ? 8 : 4), &value,
              format == DataFormat::IeeeInt64 ? 8 : 4);
}

namespace {

/// How lanes of both sides correspond; side 0 is the input.
struct LaneMap {
  int64_t lanes[2];
  int64_t sticks[2];
  int64_t group;

  explicit LaneMap(const program::Instruction &source)
      : lanes{numerics::elemsPerStick(source.format), numerics::elemsPerStick(source.toFormat)},
        sticks{std::max<int64_t>(lanes[1] / lanes[0], 1),
               std::max<int64_t>(lanes[0] / lanes[1], 1)},
        group(source.group) {}
  /// Number of the value that stick \p j of side \p side has in lane \p i.
  int64_t value(int side, int64_t j, int64_t i) const {
    return sticks[side] == 1 ? i : (i / group * sticks[side] + j) * group + i % group;
  }
};

} // namespace

void Core::convertPoint(const uint8_t *const *from, uint8_t *const *to) {
  const program::Instruction &source = *current->source;
  const LaneMap map(source);
  if (isWideInteger(source.format) && isWideInteger(source.toFormat)) {
    int64_t values[kMostLanes];
    for (int64_t j = 0; j < map.sticks[0]; ++j) {
      for (int64_t i = 0; i < map.lanes[0]; ++i) {
        values[map.value(0, j, i)] = readInteger(source.format, from[j], i);
      }
    }
    for (int64_t j = 0; j < map.sticks[1]; ++j) {
      for (int64_t i = 0; i < map.lanes[1]; ++i) {
        writeInteger(source.toFormat, to[j], i, values[map.value(1, j, i)]);
      }
    }
    return;
  }
  alignas(64) float values[kMostLanes], lanes[kMostLanes];
  for (int64_t j = 0; j < map.sticks[0]; ++j) {
    numerics::deviceToFloat(source.format, from[j], lanes, map.lanes[0]);
    for (int64_t i = 0; i < map.lanes[0]; ++i) {
      float value = lanes[i];
      values[map.value(0, j, i)] =
          source.function == program::Function::Truncate ? std::trunc(value) : value;
    }
  }
  for (int64_t j = 0; j < map.sticks[1]; ++j) {
    for (int64_t i = 0; i < map.lanes[1]; ++i) {
      lanes[i] = values[map.value(1, j, i)];
    }
    numerics::floatToDevice(source.toFormat, lanes, to[j], map.lanes[1]);
  }
}

/// True for lane \p i of a stick whose lanes share the 64 bits of \p mask.
static bool laneIsPadding(uint64_t mask, int64_t i, int64_t lanes) {
  int64_t firstBit = i * 64 / lanes, lastBit = ((i + 1) * 64 - 1) / lanes;
  for (int64_t bit = firstBit; bit <= lastBit; ++bit) {
    if ((mask >> bit & 1) != 0) {
      return true;
    }
  }
  return false;
}

void Core::convertPadding(const Run &run, int64_t point) {
  const program::Instruction &source = *current->source;
  const LaneMap map(source);
  bool padding[kMostLanes];
  const Access &from = run.operands[0], &to = run.operands[1];
  for (int64_t j = 0; j < map.sticks[0]; ++j) {
    uint64_t mask = shadowState->paddingAt(from.base + point * from.stride + j * source.parameter);
    for (int64_t i = 0; i < map.lanes[0]; ++i) {
      padding[map.value(0, j, i)] = laneIsPadding(mask, i, map.lanes[0]);
    }
  }
  for (int64_t j = 0; j < map.sticks[1]; ++j) {
    // Two bytes are padding when all lanes in them are.
    uint64_t mask = ~uint64_t(0);
    for (int64_t i = 0; i < map.lanes[1]; ++i) {
      if (!padding[map.value(1, j, i)]) {
        for (int64_t bit = i * 64 / map.lanes[1]; bit <= ((i + 1) * 64 - 1) / map.lanes[1]; ++bit) {
          mask &= ~(uint64_t(1) << bit);
        }
      }
    }
    *shadowState->padding(to.base + point * to.stride + j * source.parameter) = mask;
  }
}

bool Core::convert(const Run &run) {
  const program::Instruction &source = *current->source;
  const LaneMap map(source);
  const Access &from = run.operands[0], &to = run.operands[1];
  // Sides with several sticks are `parameter` apart, so they are checked stick by stick.
  auto places = [&](const Access &access, int64_t sticks, auto body) {
    for (int64_t j = 0; j < sticks; ++j) {
      Access part = access;
      part.base += j * source.parameter;
      if (!body(part)) {
        return false;
      }
    }
    return true;
  };
  if (!places(from, map.sticks[0], [&](const Access &part) { return checkInput(0, part); })) {
    return false;
  }
  const uint8_t *sources[kMostSticks];
  uint8_t *targets[kMostSticks];
  for (int64_t point = 0; point < run.count; ++point) {
    for (int64_t j = 0; j < map.sticks[0]; ++j) {
      sources[j] = lx(from.base + point * from.stride + j * source.parameter);
    }
    for (int64_t j = 0; j < map.sticks[1]; ++j) {
      targets[j] = lx(to.base + point * to.stride + j * source.parameter);
    }
    convertPoint(sources, targets);
    if (context->sanitizer) {
      convertPadding(run, point);
    }
  }
  return places(to, map.sticks[1],
                [&](const Access &part) { return wrote(1, this->places[1], part); });
}

} // namespace spyre::sim
