//===- SpyreCode.h - spyrecode.json: how the runtime loads and starts a program -------------===//
//
// All numbers are decimal strings [spec: codegen-and-backend 5.2]. Device pointers are virtual
// addresses in the program segment (0x1C_0000_0000 for eight segments of 16 GiB).
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <optional>
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

/// Program correction: before the jobs the host writes the addresses of the call's tensors into the
/// program. In the plan it is two steps, ComputeOnHost (what to write) and DataTransfer (where to).
struct ProgramCorrection {
  /// A 64-bit little-endian number at \p offsetBytes is the address of an argument.
  struct Slot {
    int64_t offsetBytes = 0;
    /// Position in the call's tensor list, or kPoolArgument (Bundle.h).
    int64_t argument = 0;
    bool operator==(const Slot &) const = default;
  };
  int64_t sizeBytes = 0;
  int64_t devicePointer = 0;
  std::vector<Slot> slots;
  /// The metadata is another back end's: the plan can be looked at but not launched.
  bool isForeign = false;
  bool operator==(const ProgramCorrection &) const = default;
};

struct SpyreCode {
  int64_t allocateBytes = 0;
  std::vector<InitTransfer> transfers;
  /// ComputeOnDevice steps, in order: job_bin_ptr of each.
  std::vector<int64_t> jobs;
  /// The next launch of the stream reads what the last job leaves in LX.
  bool nonTerminal = false;
  std::optional<ProgramCorrection> correction;
  bool operator==(const SpyreCode &) const = default;
};

std::string writeSpyreCode(const SpyreCode &code);
/// Errors: E5201 with the JSON path. Keeps the documented texts "<Cmd> command missing '<x>'
/// property" and "Device pointer 0x.. is out of program segment bounds".
Expected<SpyreCode> readSpyreCode(const std::string &text);

} // namespace spyre::spec
