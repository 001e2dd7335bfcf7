//===- MemorySpec.cpp - reads places and sizes ----------------------------------------------===//
#include "MemorySpec.h"

#include <charconv>
#include <optional>

namespace spyre::tools {

/// Bits of an offset in a virtual DDR address; the rest is the segment.
static constexpr unsigned kSegmentShift = 34;
/// More cannot be dumped or marked at once; also keeps products of sizes far from overflow.
static constexpr uint64_t kMostBytes = uint64_t(1) << 32;
static constexpr uint64_t kStickBytes = 128;

/// Decimal or 0x; nothing else may follow.
static std::optional<uint64_t> parseNumber(std::string_view text) {
  int base = text.starts_with("0x") || text.starts_with("0X") ? 16 : 10;
  text.remove_prefix(base == 16 ? 2 : 0);
  uint64_t value = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  bool whole = failed == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

static std::optional<uint64_t> parseAddress(std::string_view text) {
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return parseNumber(text);
  }
  std::optional<uint64_t> segment = parseNumber(text.substr(0, colon));
  std::optional<uint64_t> offset = parseNumber(text.substr(colon + 1));
  constexpr uint64_t kMostSegments = uint64_t(1) << (63 - kSegmentShift);
  if (!segment || !offset || *segment >= kMostSegments || *offset >> kSegmentShift != 0) {
    return std::nullopt;
  }
  return *segment << kSegmentShift | *offset;
}

static std::optional<Place> parsePlace(std::string_view text) {
  if (!text.starts_with("lx:")) {
    text.remove_prefix(text.starts_with("ddr:") ? 4 : 0);
    std::optional<uint64_t> address = parseAddress(text);
    return address ? std::optional(Place{.address = *address}) : std::nullopt;
  }
  text.remove_prefix(3);
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  std::optional<uint64_t> core = parseNumber(text.substr(0, colon));
  std::optional<uint64_t> address = parseNumber(text.substr(colon + 1));
  if (!core || *core > UINT32_MAX || !address) {
    return std::nullopt;
  }
  return Place{.inLx = true, .core = uint32_t(*core), .address = *address};
}

/// Splits "a:b:c" into "a:b" and the number c.
static std::optional<uint64_t> takeLastNumber(std::string_view &text) {
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  std::optional<uint64_t> number = parseNumber(text.substr(colon + 1));
  text = text.substr(0, colon);
  return number;
}

Expected<InitSpec> parseInit(const std::string &text) {
  size_t at = text.rfind('@');
  std::optional<Place> place;
  if (at != std::string::npos && at > 0) {
    place = parsePlace(std::string_view(text).substr(at + 1));
  }
  if (!place) {
    return error<7101>("--init-mem {} is not FILE@ADDR or FILE@lx:CORE:ADDR; ADDR is a number or "
                       "segment:offset",
                       text);
  }
  return InitSpec{text.substr(0, at), *place};
}

Expected<PaddingSpec> parsePadding(const std::string &text) {
  std::string_view rest = text;
  std::optional<uint64_t> validBytes = takeLastNumber(rest);
  std::optional<uint64_t> sticks = takeLastNumber(rest);
  std::optional<uint64_t> address = parseAddress(rest);
  if (!validBytes || !sticks || !address) {
    return error<7101>("--init-padding {} is not ADDR:STICKS:VALIDBYTES", text);
  }
  // The device knows padding by pairs of bytes.
  if (*validBytes > kStickBytes || *validBytes % 2 != 0 || *address % kStickBytes != 0 ||
      *sticks > kMostBytes / kStickBytes) {
    return error<7101>("--init-padding {}: the address must be a multiple of {}, the valid bytes "
                       "even and at most {}, the sticks at most {}",
                       text, kStickBytes, kStickBytes, kMostBytes / kStickBytes);
  }
  return PaddingSpec{*address, *sticks, *validBytes};
}

Expected<DumpSpec> parseDump(const std::string &text) {
  size_t at = std::min(text.find('@'), text.size());
  std::string_view rest = std::string_view(text).substr(0, at);
  std::string file = at == text.size() ? "" : text.substr(at + 1);
  bool named = rest.starts_with("ddr:") || rest.starts_with("lx:");
  std::optional<uint64_t> bytes = takeLastNumber(rest);
  std::optional<Place> place = parsePlace(rest);
  if (!named || !bytes || !place || (at != text.size() && file.empty())) {
    return error<7101>("--dump-mem {} is not ddr:ADDR:BYTES[@FILE] or lx:CORE:ADDR:BYTES[@FILE]",
                       text);
  }
  if (*bytes == 0 || *bytes > kMostBytes) {
    return error<7101>("--dump-mem {}: the bytes must be in 1..{}", text, kMostBytes);
  }
  return DumpSpec{*place, *bytes, file};
}

Expected<SymbolSpec> parseSymbol(const std::string &text) {
  size_t equals = std::min(text.find('='), text.size());
  std::string_view value = std::string_view(text).substr(std::min(equals + 1, text.size()));
  bool isNegative = value.starts_with('-');
  std::optional<uint64_t> number = parseAddress(value.substr(isNegative ? 1 : 0));
  if (equals == 0 || !number || *number > uint64_t(INT64_MAX)) {
    return error<7101>("--symbol {} is not NAME=VALUE; VALUE is a number or segment:offset", text);
  }
  return SymbolSpec{text.substr(0, equals), isNegative ? -int64_t(*number) : int64_t(*number)};
}

uint64_t ddrOffset(uint64_t virtualAddress) {
  return virtualAddress & ((uint64_t(1) << kSegmentShift) - 1);
}

std::string ddrText(uint64_t virtualAddress) {
  return fmt::format("{}:{:#x}", virtualAddress >> kSegmentShift, ddrOffset(virtualAddress));
}

} // namespace spyre::tools
