//===- Lx.cpp - shadow state of the scratchpad ----------------------------------------------===//
#include "Lx.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace spyre::sim {

static constexpr int kPoisonByte = 0xFF;

static int64_t stickOf(int64_t address) { return address / kStickBytes; }

/// Steps of at most a stick leave no stick out between the lowest and the highest address.
static bool isDense(const Access &access) {
  return std::abs(access.stride) <= std::max(access.width, kStickBytes);
}

Lx::Lx(HostMemory memory)
    : memory(std::move(memory)), shadow(size_t(this->memory.bytes() / kStickBytes + 1), 0) {}

Expected<Lx> Lx::create(uint64_t bytes) {
  SPYRE_ASSIGN_OR_RETURN(HostMemory memory, HostMemory::reserve(bytes));
  return Lx(std::move(memory));
}

void Lx::beginLaunch() {
  if (++epoch == 0) {
    std::fill(shadow.begin(), shadow.end(), uint8_t(0));
    epoch = 1;
  }
}

std::optional<int64_t> Lx::unwrittenStick(const Access &access) const {
  if (isDense(access)) {
    auto first = shadow.begin() + stickOf(access.lowest());
    auto last = shadow.begin() + stickOf(access.end() - 1) + 1;
    auto found = std::find_if(first, last, [this](uint8_t mark) { return mark != epoch; });
    return found == last ? std::nullopt
                         : std::optional<int64_t>((found - shadow.begin()) * kStickBytes);
  }
  for (int64_t i = 0; i < access.count; ++i) {
    int64_t address = access.base + i * access.stride;
    for (int64_t stick = stickOf(address); stick <= stickOf(address + access.width - 1); ++stick) {
      if (!isWritten(stick)) {
        return stick * kStickBytes;
      }
    }
  }
  return std::nullopt;
}

void Lx::markWritten(const Access &access) {
  if (isDense(access)) {
    int64_t first = stickOf(access.lowest());
    std::memset(&shadow[size_t(first)], epoch, size_t(stickOf(access.end() - 1) + 1 - first));
    return;
  }
  for (int64_t i = 0; i < access.count; ++i) {
    int64_t address = access.base + i * access.stride;
    std::memset(&shadow[size_t(stickOf(address))], epoch, size_t(access.width / kStickBytes));
  }
}

void Lx::markElement(int64_t stick) {
  if (!isWritten(stick)) {
    std::memset(memory.at(uint64_t(stick * kStickBytes)), kPoisonByte, kStickBytes);
    shadow[size_t(stick)] = epoch;
  }
}

void Lx::markElementsWritten(const Access &access) {
  if (isDense(access)) {
    for (int64_t stick = stickOf(access.lowest()); stick <= stickOf(access.end() - 1); ++stick) {
      markElement(stick);
    }
    return;
  }
  for (int64_t i = 0; i < access.count; ++i) {
    markElement(stickOf(access.base + i * access.stride));
  }
}

} // namespace spyre::sim
