//===- VerifierBuffers.cpp - static checks of symbols and buffers ---------------------------===//
#include "Tables.h"
#include "Verifier.h"

#include <algorithm>
#include <set>

namespace spyre::program {

/// For messages; a bound outside 64 bits is shown as the nearest number inside.
static int64_t clamped(Wide value) {
  return int64_t(std::clamp<Wide>(value, INT64_MIN, INT64_MAX));
}

Status checkPlace(const arch::DeviceDesc &device, Space space, const Extent &extent) {
  if (space == Space::Lx) {
    if (extent.begin < 0 || extent.end > device.lxBytes) {
      return error<5103>("reaches LX bytes {}..{}, but LX has {}", clamped(extent.begin),
                         clamped(extent.end), device.lxBytes);
    }
    return Status::success();
  }
  Wide segment = extent.begin / device.segmentBytes;
  if (extent.begin < 0 || segment >= device.segments ||
      extent.end > (segment + 1) * device.segmentBytes) {
    return error<5103>("reaches DDR bytes {}..{}, not inside one of {} segments of {} bytes",
                       clamped(extent.begin), clamped(extent.end), device.segments,
                       device.segmentBytes);
  }
  return Status::success();
}

Wide bufferStart(const Program &program, const Buffer &buffer) {
  Wide start = buffer.base;
  if (buffer.symbol >= 0 && size_t(buffer.symbol) < program.symbols.size()) {
    int64_t value = program.symbols[size_t(buffer.symbol)].value;
    start += value == kUnsetSymbol ? 0 : value;
  }
  return start;
}

/// Names are printed raw in text and messages of the device, so they are checked first.
static Status checkName(const char *what, size_t index, const std::string &name,
                        std::set<std::string_view> &seen) {
  if (!isName(name)) {
    return error<5103>("{} {}: a name is one or more of A-Z a-z 0-9 _ . -", what, index);
  }
  if (!seen.insert(name).second) {
    return error<5103>("{} {}: the name '{}' is used twice", what, index, name);
  }
  return Status::success();
}

Status checkSymbols(const Program &program) {
  std::set<std::string_view> seen;
  for (size_t i = 0; i < program.symbols.size(); ++i) {
    SPYRE_RETURN_IF_ERROR(checkName("symbol", i, program.symbols[i].name, seen));
  }
  return Status::success();
}

/// Fields that only one of the two spaces has.
static Status checkSpace(const Program &program, const Buffer &buffer, size_t index) {
  if (buffer.space != Space::Lx && buffer.space != Space::Ddr) {
    return error<5103>("unknown space {}", uint8_t(buffer.space));
  }
  if (buffer.space == Space::Lx && buffer.symbol != -1) {
    return error<5103>("an LX buffer has no symbol; only DDR addresses are symbolic");
  }
  if (buffer.symbol < -1 || buffer.symbol >= int64_t(program.symbols.size())) {
    return error<5103>("symbol {} of {}", buffer.symbol, program.symbols.size());
  }
  if (buffer.space == Space::Ddr) {
    if (!buffer.coreOffset.empty()) {
      return error<5103>("a DDR buffer has no core offsets; use a core table");
    }
    if (buffer.liveIn || buffer.liveOut || buffer.inPlaceOf != -1) {
      return error<5103>("live-in, live-out and in-place-of are for LX buffers");
    }
  }
  if (buffer.inPlaceOf < -1 || buffer.inPlaceOf >= int64_t(index) ||
      (buffer.inPlaceOf >= 0 && program.buffers[size_t(buffer.inPlaceOf)].space != Space::Lx)) {
    return error<5103>("in place of {}, which is no earlier LX buffer", buffer.inPlaceOf);
  }
  return Status::success();
}

static Status checkBufferPlace(const Program &program, const Buffer &buffer,
                               const arch::DeviceDesc &device) {
  auto misaligned = [&](Wide number) { return number % device.stickBytes != 0; };
  Wide start = bufferStart(program, buffer);
  if (misaligned(start)) {
    return error<5103>("base {} is not a multiple of {}", clamped(start), device.stickBytes);
  }
  if (buffer.bytes < 1 || misaligned(buffer.bytes)) {
    return error<5103>("{} bytes must be a positive multiple of {}", buffer.bytes,
                       device.stickBytes);
  }
  if (int64_t(buffer.coreOffset.size()) > device.cores) {
    return error<5103>("core offsets for {} cores, but the device '{}' has {}",
                       buffer.coreOffset.size(), device.name, device.cores);
  }
  Extent extent{start, start + buffer.bytes};
  if (!buffer.coreOffset.empty()) {
    auto [low, high] = std::minmax_element(buffer.coreOffset.begin(), buffer.coreOffset.end());
    extent.begin += *low;
    extent.end += *high;
    auto found = std::find_if(buffer.coreOffset.begin(), buffer.coreOffset.end(), misaligned);
    if (found != buffer.coreOffset.end()) {
      return error<5103>("core offset {} is not a multiple of {}", *found, device.stickBytes);
    }
  }
  return checkPlace(device, buffer.space, extent);
}

static Status checkBuffer(const Program &program, size_t index, const arch::DeviceDesc &device) {
  const Buffer &buffer = program.buffers[index];
  SPYRE_RETURN_IF_ERROR(checkSpace(program, buffer, index));
  SPYRE_RETURN_IF_ERROR(checkBufferPlace(program, buffer, device));
  if (buffer.firstPhase < 0 || buffer.firstPhase > buffer.lastPhase ||
      buffer.lastPhase >= int64_t(program.phases.size())) {
    return error<5103>("phases {}..{} of {}", buffer.firstPhase, buffer.lastPhase,
                       program.phases.size());
  }
  return Status::success();
}

Status checkBuffers(const Program &program, const arch::DeviceDesc &device) {
  // One sort is much cheaper than a set; that one is only needed to say which name is the second.
  std::vector<std::string_view> names;
  names.reserve(program.buffers.size());
  for (const Buffer &buffer : program.buffers) {
    names.push_back(buffer.name);
  }
  std::sort(names.begin(), names.end());
  const bool differ = std::adjacent_find(names.begin(), names.end()) == names.end();
  std::set<std::string_view> seen;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    const std::string &name = program.buffers[i].name;
    if (!differ || !isName(name)) {
      SPYRE_RETURN_IF_ERROR(checkName("buffer", i, name, seen));
    }
    if (Status status = checkBuffer(program, i, device); !status.ok()) {
      return status.withContext(fmt::format("buffer {} '{}': ", i, name));
    }
  }
  return Status::success();
}

} // namespace spyre::program
