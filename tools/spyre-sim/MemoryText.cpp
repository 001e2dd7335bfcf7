//===- MemoryText.cpp - hex dump and lists of values ----------------------------------------===//
#include "MemoryText.h"

#include "spyre/Numerics/Formats.h"

#include "fmt/format.h"

#include <algorithm>
#include <cstring>

namespace spyre::tools {

static constexpr size_t kBytesPerLine = 16;
static constexpr size_t kValuesPerLine = 8;

uint64_t elementBytes(DumpFormat format) {
  switch (format) {
  case DumpFormat::Bytes:
    return 1;
  case DumpFormat::Dl16:
  case DumpFormat::Fp16:
    return 2;
  case DumpFormat::Fp32:
  case DumpFormat::Int32:
    return 4;
  }
  return 1;
}

static std::string hexLine(std::string_view bytes, uint64_t address) {
  std::string line = fmt::format("{:08x} ", address);
  std::string characters;
  for (size_t i = 0; i < kBytesPerLine; ++i) {
    line += i == kBytesPerLine / 2 ? " " : "";
    if (i >= bytes.size()) {
      line += "   ";
      continue;
    }
    line += fmt::format(" {:02x}", uint8_t(bytes[i]));
    characters += bytes[i] >= 0x20 && bytes[i] < 0x7f ? bytes[i] : '.';
  }
  return line + "  |" + characters + "|\n";
}

template <typename Bits>
static Bits bitsAt(const std::string &bytes, size_t offset) {
  Bits bits;
  std::memcpy(&bits, bytes.data() + offset, sizeof(bits));
  return bits;
}

static std::string valueText(const std::string &bytes, size_t offset, DumpFormat format) {
  switch (format) {
  case DumpFormat::Dl16:
    return fmt::format("{}", numerics::dl16ToFloat(bitsAt<uint16_t>(bytes, offset)));
  case DumpFormat::Fp16:
    return fmt::format("{}", numerics::halfToFloat(bitsAt<uint16_t>(bytes, offset)));
  case DumpFormat::Fp32:
    return fmt::format("{}", bitsAt<float>(bytes, offset));
  case DumpFormat::Int32:
    return fmt::format("{}", bitsAt<int32_t>(bytes, offset));
  case DumpFormat::Bytes:
    break;
  }
  return "";
}

std::string memoryText(const std::string &bytes, uint64_t address, DumpFormat format) {
  std::string text;
  if (format == DumpFormat::Bytes) {
    for (size_t i = 0; i < bytes.size(); i += kBytesPerLine) {
      text += hexLine(std::string_view(bytes).substr(i, kBytesPerLine), address + i);
    }
    return text;
  }
  size_t step = elementBytes(format), lineBytes = step * kValuesPerLine;
  for (size_t line = 0; line < bytes.size(); line += lineBytes) {
    text += fmt::format("{:08x} ", address + line);
    for (size_t i = line; i < std::min(line + lineBytes, bytes.size()); i += step) {
      text += " " + valueText(bytes, i, format);
    }
    text += "\n";
  }
  return text;
}

} // namespace spyre::tools
