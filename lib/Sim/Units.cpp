//===- Units.cpp - dispatch, and the units that move data as it is ------------------===//
#include "Pieces.h"
#include "StreamCopy.h"
#include "Transpose.h"

#include <cstring>

namespace spyre::sim {

using program::Opcode;
using program::Unit;

bool Core::runUnit() {
  const program::Instruction &source = *current->source;
  auto runs = [this](bool (Core::*unit)(const Run &)) {
    return forEachRun(*current, current->nest, places,
                      [&](const Run &run) { return (this->*unit)(run); });
  };
  auto pieces = [this](bool (Core::*unit)(const Run &), size_t inputs) {
    return forEachRun(*current, current->nest, places, [&](const Run &run) {
      return inSafePieces(*current, run, inputs,
                          [&](const Run &piece) { return (this->*unit)(piece); });
    });
  };
  auto wholeRuns = [&](bool (Core::*unit)(const Run &)) {
    if (!mayReadOwnResult(*current, places)) {
      return runs(unit);
    }
    return forEachRun(*current, current->nest, places, [&](const Run &run) {
      return inSinglePoints(run, [&](const Run &point) { return (this->*unit)(point); });
    });
  };
  switch (source.opcode) {
  case Opcode::Load:
    return noteDdrRead(0) && runs(&Core::load);
  case Opcode::Store:
    return noteDdrWrite(1) && runs(&Core::store);
  case Opcode::Gather:
    return wholeRuns(&Core::gather);
  case Opcode::Scatter:
    return runs(&Core::scatter);
  case Opcode::Fill:
    return runs(&Core::fill);
  case Opcode::Vector:
    return pieces(&Core::vector, source.operands.size() - 1);
  case Opcode::Accumulate:
    return pieces(&Core::accumulate, 1);
  case Opcode::Finish:
    return pieces(&Core::finish, 1);
  case Opcode::Shuffle:
    return isTranspose() ? transpose() : pieces(&Core::shuffle, 1);
  case Opcode::Pick:
    return wholeRuns(&Core::pick);
  case Opcode::Convert:
    return wholeRuns(&Core::convert);
  case Opcode::TopK:
    return wholeRuns(&Core::topK);
  case Opcode::Matmul:
    return matmul();
  case Opcode::Exchange:
  case Opcode::Loop:
  case Opcode::EndLoop:
  case Opcode::Barrier:
  case Opcode::Signal:
  case Opcode::Wait:
    break;
  }
  SPYRE_CHECK(false, "control and collectives are no unit work");
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

/// The same for masks, one per stick.
static void copyMasks(const uint64_t *from, int64_t fromStride, uint64_t *to, int64_t toStride,
                      int64_t count) {
  fromStride /= kStickBytes;
  toStride /= kStickBytes;
  for (int64_t i = 0; i < count; ++i) {
    to[i * toStride] = from[i * fromStride];
  }
}

/// Masks of memory without padding are zero pages: reading is cheap, writing zeros to them is not.
static void storeMasks(const uint64_t *from, int64_t fromStride, uint64_t *to, int64_t toStride,
                       int64_t count) {
  fromStride /= kStickBytes;
  toStride /= kStickBytes;
  for (int64_t i = 0; i < count; ++i) {
    if (to[i * toStride] != from[i * fromStride]) {
      to[i * toStride] = from[i * fromStride];
    }
  }
}

/// Calls \p body with [begin, end) of the sticks that a DDR operand reaches over the whole nest, in
/// runs along the level that is contiguous in DDR, whichever that is, until it returns false.
template <typename Body>
bool Core::forEachDdrRange(size_t operand, Body body) {
  const Nest &nest = current->nest;
  const auto &strides = nest.strides[operand];
  size_t along = program::kMaxLevels - 1;
  for (size_t level = nest.firstLevel; level < program::kMaxLevels; ++level) {
    if (std::abs(strides[level]) == kStickBytes) {
      along = level;
    }
  }
  bool isRun = std::abs(strides[along]) <= kStickBytes;
  Nest outer = nest;
  outer.counts[along] = isRun ? 1 : nest.counts[along];
  Access run{0, strides[along], isRun ? nest.counts[along] : 1, kStickBytes};
  std::array<int64_t, program::kMaxLevels> index{};
  while (true) {
    run.base = places[operand].address;
    for (size_t level = 0; level < program::kMaxLevels; ++level) {
      run.base += index[level] * strides[level];
    }
    if (!body(uint64_t(run.lowest()), uint64_t(run.end()))) {
      return false;
    }
    size_t level = program::kMaxLevels;
    do {
      if (level-- == 0) {
        return true;
      }
      index[level] = index[level] + 1 < outer.counts[level] ? index[level] + 1 : 0;
    } while (index[level] == 0);
  }
}

bool Core::failRanges() {
  return fail(error<7008>("system-error: {} touches more than {} separate ranges of DDR since the "
                          "last barrier; put a barrier between them",
                          where(), RangeSet::kMostRanges));
}

/// Before a load. In a phase that overlaps, no token orders what went through DDR: a core may not
/// load what it stored since the last barrier.
bool Core::noteDdrRead(size_t operand) {
  return !context->sanitizer || forEachDdrRange(operand, [&](uint64_t begin, uint64_t end) {
    return noteReadRange(operand, begin, end);
  });
}

bool Core::noteReadRange(size_t operand, uint64_t begin, uint64_t end) {
  phaseCounters.sanitizerChecks += (end - begin) / kStickBytes;
  if (!checksOrder) {
    return true;
  }
  if (phase->source->overlap) {
    if (phaseAccesses.writes.touches(begin, end)) {
      return fail(error<7005>("missing-barrier: {} {} reads physical DDR {:#x}..{:#x}, where this "
                              "core stored since the last barrier; put a barrier between them",
                              where(), what(operand), begin, end));
    }
    phaseAccesses.recentReads.add(begin, end, order.time(Unit::Load));
  }
  return phaseAccesses.reads.add(begin, end, current->index) || failRanges();
}

bool Core::noteDdrWrite(size_t operand) {
  return forEachDdrRange(
      operand, [&](uint64_t begin, uint64_t end) { return noteWriteRange(operand, begin, end); });
}

/// Before a store. In a phase that overlaps it must know that loads of the same bytes are over.
bool Core::noteWriteRange(size_t operand, uint64_t begin, uint64_t end) {
  context->ddr->touch(begin, end - begin);
  if (!context->sanitizer) {
    return true;
  }
  phaseCounters.sanitizerChecks += (end - begin) / kStickBytes;
  if (!checksOrder) {
    return true;
  }
  if (phase->source->overlap &&
      phaseAccesses.recentReads.overlaps(begin, end, order.knownTime(Unit::Store, Unit::Load))) {
    return fail(error<7015>("missing-wait: {} {} writes physical DDR {:#x}..{:#x}: unit load reads "
                            "it and nothing orders the two; signal a token there and wait for it "
                            "here",
                            where(), what(operand), begin, end));
  }
  return phaseAccesses.writes.add(begin, end, current->index) || failRanges();
}

bool Core::load(const Run &run) {
  const Access &from = run.operands[0];
  const Access &to = run.operands[1];
  auto source = uint64_t(from.base);
  copySticks(context->ddr->at(source), from.stride, lx(to.base), to.stride, run.count);
  if (context->sanitizer) {
    copyMasks(context->ddr->padding(source), from.stride, shadowState->padding(to.base), to.stride,
              run.count);
  }
  expectNextRound(from);
  return wrote(1, places[1], to);
}

void Core::expectNextRound(const Access &from) {
  if (depth == 0 || from.stride != kStickBytes) {
    return;
  }
  // Behind the last round there may be nothing; asking for it does no harm.
  int64_t next = from.base + current->source->operands[0].loopStride[depth - 1];
  if (next != from.base &&
      context->ddr->contains(uint64_t(next), uint64_t(from.end() - from.base))) {
    prefetcher.expect(context->ddr->at(uint64_t(next)), from.count * kStickBytes);
  }
}

bool Core::store(const Run &run) {
  const Access &from = run.operands[0];
  const Access &to = run.operands[1];
  if (!checkInput(0, from)) {
    return false;
  }
  auto target = uint64_t(to.base);
  bool isRun = from.stride == kStickBytes && to.stride == kStickBytes;
  if (isRun && phase->storesPastCaches) {
    streamCopy(context->ddr->at(target), lx(from.base), uint64_t(run.count * kStickBytes));
  } else {
    copySticks(lx(from.base), from.stride, context->ddr->at(target), to.stride, run.count);
  }
  if (context->sanitizer) {
    storeMasks(shadowState->padding(from.base), from.stride, context->ddr->padding(target),
               to.stride, run.count);
  }
  return true;
}

//===- LX -----------------------------------------------------------------------------------===//

bool Core::fill(const Run &run) {
  const Access &to = run.operands[0];
  std::array<uint8_t, kStickBytes> stick;
  for (size_t i = 0; i < stick.size(); ++i) {
    stick[i] = uint8_t(current->source->constant >> (8 * (i % 4)));
  }
  for (int64_t i = 0; i < run.count; ++i) {
    std::memcpy(lx(to.base + i * to.stride), stick.data(), kStickBytes);
  }
  if (context->sanitizer) {
    shadowState->clearPadding(to);
  }
  return wrote(0, places[0], to);
}

template <typename Element>
static void moveElements(const uint8_t *from, int64_t fromStride, uint8_t *to, int64_t toStride,
                         int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * toStride, from + i * fromStride, sizeof(Element));
  }
}

/// Elements a fresh stick does not get are padding, and hold a NaN pattern so that they neither
/// depend on earlier launches nor pass for data.
static void beginElements(Shadow &shadow, uint8_t *lx, const Access &to, WriterKey key) {
  constexpr int kPoisonByte = 0xFF;
  auto begin = [&](int64_t stick) {
    int64_t address = stick * kStickBytes;
    if (shadow.writerOf(address) != key) {
      std::memset(lx + address, kPoisonByte, kStickBytes);
      *shadow.padding(address) = ~uint64_t(0);
      shadow.setWriter({.base = address}, key);
    }
  };
  if (to.isDense()) {
    for (int64_t stick = to.lowest() / kStickBytes; stick <= (to.end() - 1) / kStickBytes;
         ++stick) {
      begin(stick);
    }
    return;
  }
  for (int64_t i = 0; i < to.count; ++i) {
    begin((to.base + i * to.stride) / kStickBytes);
  }
}

/// Bits of the mask that the element at \p address covers.
static uint64_t elementBits(int64_t address, int64_t bytes) {
  int64_t lane = address % kStickBytes / 2;
  return (bytes == 4 ? uint64_t(3) : uint64_t(1)) << lane;
}

/// Fresh sticks of the result begin and get the padding of the elements that move there.
static void moveElementMasks(Shadow &shadow, uint8_t *lx, const Access &from, const Access &to,
                             WriterKey key) {
  bool allData = shadow.noPadding(from);
  uint64_t firstMask = shadow.paddingAt(from.base);
  beginElements(shadow, lx, to, key);
  for (int64_t i = 0; i < to.count; ++i) {
    int64_t source = from.base + i * from.stride, target = to.base + i * to.stride;
    uint64_t found = i == 0 ? firstMask : shadow.paddingAt(source);
    bool padding = !allData && (found & elementBits(source, from.width)) != 0;
    uint64_t bits = elementBits(target, to.width);
    uint64_t *mask = shadow.padding(target);
    *mask = padding ? *mask | bits : *mask & ~bits;
  }
}

/// True when the two inner levels of a Shuffle turn the rows of 64 whole sticks into columns, and
/// inputs and results are apart: then blocks can be moved as such.
bool Core::isTranspose() const {
  constexpr size_t kRow = program::kMaxLevels - 2, kColumn = program::kMaxLevels - 1;
  const Nest &nest = current->nest;
  const auto &from = nest.strides[0], &to = nest.strides[1];
  auto walks = [](const auto &strides, int64_t row, int64_t column) {
    return strides[kRow] == row && strides[kColumn] == column;
  };
  bool rowsToColumns = walks(from, kStickBytes, 2) && walks(to, 2, kStickBytes);
  bool columnsToRows = walks(from, 2, kStickBytes) && walks(to, kStickBytes, 2);
  if (current->source->elementBytes != 2 || nest.counts[kRow] != kTransposeLanes ||
      nest.counts[kColumn] != kTransposeLanes || !(rowsToColumns || columnsToRows)) {
    return false;
  }
  for (size_t op = 0; op < 2; ++op) {
    bool inSticks = places[op].address % kStickBytes == 0;
    for (size_t level = 0; level < kRow; ++level) {
      inSticks = inSticks && nest.strides[op][level] % kStickBytes == 0;
    }
    if (!inSticks) {
      return false;
    }
  }
  auto reach = [&](size_t op) {
    const PlannedOperand &operand = current->operands[op];
    return Access{places[op].address + operand.low, 0, 1, operand.high - operand.low};
  };
  return !reach(0).overlaps(reach(1));
}

bool Core::transpose() {
  Nest blocks = current->nest;
  blocks.counts[program::kMaxLevels - 2] = blocks.counts[program::kMaxLevels - 1] = 1;
  return forEachRun(*current, blocks, places, [&](const Run &run) {
    Access from{run.operands[0].base, kStickBytes, kTransposeLanes, kStickBytes};
    Access to{run.operands[1].base, kStickBytes, kTransposeLanes, kStickBytes};
    if (!checkInput(0, from)) {
      return false;
    }
    transposeSticks(lx(from.base), lx(to.base));
    if (context->sanitizer) {
      transposeBits(shadowState->padding(from.base), shadowState->padding(to.base));
    }
    return wrote(1, places[1], to);
  });
}

bool Core::shuffle(const Run &run) {
  const Access &from = run.operands[0];
  const Access &to = run.operands[1];
  bool renames = context->sanitizer && places[0].key != places[1].key;
  if (renames && run.count > 1 && wholeSticks(from).overlaps(wholeSticks(to))) {
    return inSinglePoints(run, [&](const Run &point) { return shuffle(point); });
  }
  if (!checkInput(0, from)) {
    return false;
  }
  uint32_t single = 0;
  const uint8_t *source = lx(from.base);
  uint8_t *target = lx(to.base);
  if (run.count == 1) {
    // The stick of the result may be that of the input, under the name of another buffer.
    std::memcpy(&single, source, size_t(from.width));
    source = reinterpret_cast<const uint8_t *>(&single);
  }
  if (context->sanitizer) {
    moveElementMasks(*shadowState, lx(0), from, to, places[1].key);
  }
  switch (current->source->elementBytes) {
  case 1:
    moveElements<uint8_t>(source, from.stride, target, to.stride, run.count);
    break;
  case 2:
    moveElements<uint16_t>(source, from.stride, target, to.stride, run.count);
    break;
  default:
    moveElements<uint32_t>(source, from.stride, target, to.stride, run.count);
    break;
  }
  return wrote(1, places[1], to);
}

bool Core::pick(const Run &run) {
  const auto &[from, indices, to, unused3, unused4, unused5] = run.operands;
  if (!checkInput(1, indices)) {
    return false;
  }
  for (int64_t i = 0; i < run.count; ++i) {
    int64_t index = 0;
    if (!readIndex(1, indices, i, index)) {
      return false;
    }
    Access source{from.base + i * from.stride, 0, 1, from.width};
    Access target{to.base + i * to.stride, 0, 1, to.width};
    if (!indirectLx(0, index, source) || !checkInput(0, source)) {
      return false;
    }
    uint32_t element = 0;
    std::memcpy(&element, lx(source.base), size_t(target.width));
    if (context->sanitizer) {
      moveElementMasks(*shadowState, lx(0), source, target, places[2].key);
    }
    std::memcpy(lx(target.base), &element, size_t(target.width));
  }
  return wrote(2, places[2], to);
}

} // namespace spyre::sim
