//===- ProgramImage.h - one bundle's programs, in device memory -----------------------------===//
//
// Carries out the preparation plan of a spyrecode.json: one allocation for the program segment,
// then the binaries copied to where the plan says. What is left to do per launch is the program
// correction, if there is one, and a list of jobs.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Artifacts.h"
#include "spyre/Runtime/Device.h"
#include "spyre/Spec/SpyreCode.h"

#include <functional>

namespace spyre::runtime {

/// A program inside the image, relative to its start.
struct Job {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct ProgramImage {
  BufferRef buffer;
  std::vector<Job> jobs;
  /// The last job leaves something in LX for the next launch.
  bool nonTerminal = false;
  /// What must be written into the image before the jobs; its pointer is inside the image.
  std::optional<spec::ProgramCorrection> correction;
};

/// Writes the addresses of a call's arguments into the image: \p addressOf gives the virtual
/// address of an argument.
Status correctProgram(const ProgramImage &image,
                      const std::function<int64_t(int64_t argument)> &addressOf);

/// Loads "<directory>/spyreCodeDir/spyrecode.json" and its binaries. Errors: E5201, E6202, E6204,
/// and the allocator's.
Expected<ProgramImage> loadProgramImage(Device &device, const Artifacts &artifacts,
                                        const std::string &directory);

} // namespace spyre::runtime
