//===- IndirectUnits.cpp - Gather, Scatter: addresses that come from data -------------------===//
//
// The index is read from LX, must be data (not padding) and in range; the address it leads to must
// stay inside the buffer of the operand.
//===--------------------------------------------------------------------------------------------===//
#include "Core.h"

#include <cstring>

namespace spyre::sim {

bool Core::readIndex(size_t operand, const Access &access, int64_t point, int64_t &index) {
  int64_t address = access.base + point * access.stride;
  if (context->sanitizer) {
    uint64_t bits = (access.width == 8 ? uint64_t(15) : uint64_t(3)) << (address % kStickBytes / 2);
    if ((shadowState->paddingAt(address) & bits) != 0) {
      return failPadding(operand, address, "an address");
    }
  }
  if (access.width == 8) {
    std::memcpy(&index, lx(address), sizeof(index));
  } else {
    int32_t narrow = 0;
    std::memcpy(&narrow, lx(address), sizeof(narrow));
    index = narrow;
  }
  if (index < 0 || index >= int64_t(current->source->constant)) {
    return failIndex(operand, address, index);
  }
  return true;
}

/// The stick at \p address moved by \p index rows.
bool Core::indirectDdr(size_t operand, int64_t address, int64_t index, int64_t &target) {
  __extension__ using Wide = __int128;
  Wide moved = address + Wide(index) * current->source->parameter;
  const Place &place = places[operand];
  if (moved < place.begin || moved + kStickBytes > place.end) {
    return fail(error<7009>("outside-allocation: {} {} index {} leads from physical DDR {:#x} "
                            "outside the buffer {:#x}..{:#x}; lower the bound of the index",
                            where(), what(operand), index, address, place.begin, place.end));
  }
  target = int64_t(moved);
  return true;
}

/// Moves the element access \p source by \p index steps.
bool Core::indirectLx(size_t operand, int64_t index, Access &source) {
  __extension__ using Wide = __int128;
  Wide moved = source.base + Wide(index) * current->source->parameter;
  const Place &place = places[operand];
  if (moved < place.begin || moved + source.width > place.end) {
    return fail(error<7009>("outside-allocation: {} {} index {} leads from LX {:#x} outside the "
                            "buffer {:#x}..{:#x}; lower the bound of the index",
                            where(), what(operand), index, source.base, place.begin, place.end));
  }
  source.base = int64_t(moved);
  return true;
}

bool Core::gather(const Run &run) {
  const auto &[from, indices, to, unused3, unused4, unused5] = run.operands;
  if (!checkInput(1, indices)) {
    return false;
  }
  for (int64_t i = 0; i < run.count; ++i) {
    int64_t index = 0, source = 0;
    if (!readIndex(1, indices, i, index) ||
        !indirectDdr(0, from.base + i * from.stride, index, source) ||
        (context->sanitizer &&
         !noteReadRange(0, uint64_t(source), uint64_t(source) + kStickBytes))) {
      return false;
    }
    int64_t target = to.base + i * to.stride;
    std::memcpy(lx(target), context->ddr->at(uint64_t(source)), kStickBytes);
    if (context->sanitizer) {
      *shadowState->padding(target) = *context->ddr->padding(uint64_t(source));
    }
  }
  return wrote(2, places[2], to);
}

bool Core::scatter(const Run &run) {
  const auto &[from, indices, to, unused3, unused4, unused5] = run.operands;
  if (!checkInput(0, from) || !checkInput(1, indices)) {
    return false;
  }
  for (int64_t i = 0; i < run.count; ++i) {
    int64_t index = 0, target = 0;
    if (!readIndex(1, indices, i, index) ||
        !indirectDdr(2, to.base + i * to.stride, index, target) ||
        !noteWriteRange(2, uint64_t(target), uint64_t(target) + kStickBytes)) {
      return false;
    }
    int64_t source = from.base + i * from.stride;
    std::memcpy(context->ddr->at(uint64_t(target)), lx(source), kStickBytes);
    if (context->sanitizer) {
      *context->ddr->padding(uint64_t(target)) = shadowState->paddingAt(source);
    }
  }
  return true;
}

} // namespace spyre::sim
