//===- MemoryText.h - bytes of the device's memory for people -------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace spyre::tools {

enum class DumpFormat : uint8_t { Bytes, Dl16, Fp16, Fp32, Int32 };

/// Bytes of one element; dumps are made of whole ones.
uint64_t elementBytes(DumpFormat format);

/// Bytes: 16 to a line with address and characters. Others: 8 values to a line.
std::string memoryText(const std::string &bytes, uint64_t address, DumpFormat format);

} // namespace spyre::tools
