//===- ProgramImage.cpp - carry out a preparation plan --------------------------------------===//
#include "ProgramImage.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <set>

namespace spyre::runtime {

namespace {

/// Begin -> end of the bytes the transfers fill; intervals that touch are joined.
using FilledRanges = std::map<uint64_t, uint64_t>;

/// Offset in the one allocation of the plan; readSpyreCode has checked that it is inside.
uint64_t segmentOffset(int64_t pointer) { return uint64_t(pointer - spec::kProgramOffsetBase); }

void addRange(FilledRanges &ranges, uint64_t begin, uint64_t end) {
  auto next = ranges.upper_bound(begin);
  if (next != ranges.begin() && std::prev(next)->second >= begin) {
    --next;
    begin = next->first;
  }
  while (next != ranges.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ranges.erase(next);
  }
  ranges.emplace(begin, end);
}

Status transfer(const spec::InitTransfer &step, const Artifacts &code, const BufferRef &buffer,
                FilledRanges &filled) {
  auto file = code.find(step.file);
  if (file == code.end()) {
    return error<6202>(
        "the program binary '{}' is missing; build the bundle again or copy its whole "
        "directory",
        step.file);
  }
  const std::string &bytes = file->second;
  if (bytes.size() != uint64_t(step.sizeBytes)) {
    return error<6202>("the program binary '{}' has {} bytes but the plan transfers {}; build the "
                       "bundle again",
                       step.file, bytes.size(), step.sizeBytes);
  }
  const uint64_t offset = segmentOffset(step.devicePointer);
  SPYRE_RETURN_IF_ERROR(buffer->device().copyToDevice(buffer, offset, bytes.data(), bytes.size()));
  if (!bytes.empty()) {
    addRange(filled, offset, offset + bytes.size());
  }
  return Status::success();
}

/// A job ends where the next one begins or where the bytes the transfers filled end: the plan names
/// no sizes, and what follows a program must be padding.
Expected<std::vector<Job>> makeJobs(const std::vector<int64_t> &pointers,
                                    const FilledRanges &filled) {
  std::vector<uint64_t> offsets;
  for (int64_t pointer : pointers) {
    offsets.push_back(segmentOffset(pointer));
  }
  const std::set<uint64_t> starts(offsets.begin(), offsets.end());
  std::vector<Job> jobs;
  for (uint64_t offset : offsets) {
    auto range = filled.upper_bound(offset);
    if (range == filled.begin() || std::prev(range)->second <= offset) {
      return error<6204>(
          "a job starts at offset {} of the program segment, where no transfer puts a "
          "program; build the bundle again",
          offset);
    }
    uint64_t end = std::prev(range)->second;
    if (auto next = starts.upper_bound(offset); next != starts.end()) {
      end = std::min(end, *next);
    }
    jobs.push_back({offset, end - offset});
  }
  if (jobs.empty()) {
    return error<6204>("the execution plan starts no job on the device; build the bundle again");
  }
  return jobs;
}

Expected<ProgramImage> prepare(Device &device, const Artifacts &code) {
  auto plan = code.find("spyrecode.json");
  if (plan == code.end()) {
    return error<6202>("spyrecode.json not found; run the back end on the bundle first");
  }
  SPYRE_ASSIGN_OR_RETURN(spec::SpyreCode spyreCode, spec::readSpyreCode(plan->second));
  ProgramImage image;
  SPYRE_ASSIGN_OR_RETURN(image.buffer,
                         device.allocate(uint64_t(spyreCode.allocateBytes), MemoryKind::Program));
  FilledRanges filled;
  for (const spec::InitTransfer &step : spyreCode.transfers) {
    SPYRE_RETURN_IF_ERROR(transfer(step, code, image.buffer, filled));
  }
  SPYRE_ASSIGN_OR_RETURN(image.jobs, makeJobs(spyreCode.jobs, filled));
  image.nonTerminal = spyreCode.nonTerminal;
  image.correction = std::move(spyreCode.correction);
  return image;
}

} // namespace

Status correctProgram(const ProgramImage &image,
                      const std::function<int64_t(int64_t argument)> &addressOf) {
  if (!image.correction) {
    return Status::success();
  }
  const spec::ProgramCorrection &correction = *image.correction;
  std::string bytes(size_t(correction.sizeBytes), '\0');
  for (const spec::ProgramCorrection::Slot &slot : correction.slots) {
    int64_t address = addressOf(slot.argument);
    std::memcpy(bytes.data() + slot.offsetBytes, &address, sizeof(address));
  }
  return image.buffer->device().copyToDevice(image.buffer, segmentOffset(correction.devicePointer),
                                             bytes.data(), bytes.size());
}

Expected<ProgramImage> loadProgramImage(Device &device, const Artifacts &artifacts,
                                        const std::string &directory) {
  const std::string prefix = (directory.empty() ? "" : directory + "/") + "spyreCodeDir/";
  Expected<ProgramImage> image = prepare(device, subArtifacts(artifacts, prefix));
  if (!image.ok()) {
    return image.status().withContext(prefix + ": ");
  }
  return image;
}

} // namespace spyre::runtime
