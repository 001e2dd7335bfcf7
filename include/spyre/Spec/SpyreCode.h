//===- SpyreCode.h - spyrecode.json: how the runtime loads and starts a program -------------===//
//
// All numbers are decimal strings [spec: codegen-and-backend 5.2]. Device pointers are virtual
// addresses in the program segment (0x1C_0000_0000 for eight segments of 16 GiB).
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <string>
#include <vector>

namespace spyre::spec {

constexpr int64_t kProgramOffsetBase = 0x1C00000000;
constexpr int64_t kSegmentBytes = 0x400000000;

struct InitTransfer {
  std::string file;
  int64_t devicePointer = 0;
  int64_t sizeBytes = 0;
  bool operator==(const InitTransfer &) const = default;
};

struct SpyreCode {
  int64_t allocateBytes = 0;
  std::vector<InitTransfer> transfers;
  /// ComputeOnDevice steps, in order: job_bin_ptr of each.
  std::vector<int64_t> jobs;
  bool operator==(const SpyreCode &) const = default;
};

std::string writeSpyreCode(const SpyreCode &code);
/// Errors: E5201 with the JSON path. Keeps the documented texts "<Cmd> command missing '<x>'
/// property" and "Device pointer 0x.. is out of program segment bounds".
Expected<SpyreCode> readSpyreCode(const std::string &text);

} // namespace spyre::spec
