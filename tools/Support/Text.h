//===- Text.h - how the tools write numbers -------------------------------------------------===//
//
// Shared, so that the same number looks the same in the output of every tool.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace spyre::tools {

/// 1234567 -> "1,234,567".
inline std::string grouped(uint64_t value) {
  std::string digits = std::to_string(value);
  for (size_t i = digits.size(); i > 3; i -= 3) {
    digits.insert(i - 3, 1, ',');
  }
  return digits;
}

} // namespace spyre::tools
