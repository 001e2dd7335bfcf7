//===- PhaseCache.cpp - finds equal operations, copies phases to other buffers --------------===//
#include "PhaseCache.h"

#include "Geometry.h"

#include <algorithm>

namespace spyre::backend {

using spec::DscTensor;
using spec::SuperDsc;

static int64_t baseOf(const DscTensor &tensor) {
  return *std::min_element(tensor.startAddress.begin(), tensor.startAddress.end());
}

static bool isCacheable(const SuperDsc &dsc) {
  return std::all_of(dsc.tensors.begin(), dsc.tensors.end(), [](const DscTensor &tensor) {
    // The buffers of an indirect access do not begin where the tensors do.
    return !tensor.inLx && tensor.indirection == DscTensor::Indirection::None &&
           !tensor.startAddress.empty() && baseOf(tensor) >= 0 && baseOf(tensor) % kStickBytes == 0;
  });
}

/// Segments are numbered as they appear, and addresses count from the first tensor in the same
/// segment: which tensors share bytes decides what may overlap, and which buffer is whose.
static SuperDsc withoutAddresses(SuperDsc dsc, int64_t segmentBytes) {
  dsc.index = 0;
  struct Segment {
    int64_t number = 0, first = 0;
  };
  std::map<int64_t, Segment> segments;
  for (DscTensor &tensor : dsc.tensors) {
    const int64_t base = baseOf(tensor);
    const Segment next{int64_t(segments.size()), base};
    const Segment &segment = segments.emplace(base / segmentBytes, next).first->second;
    for (int64_t &start : tensor.startAddress) {
      start += segment.number * segmentBytes - segment.first;
    }
  }
  return dsc;
}

/// Of what differs between operations of a model (FNV-1a); equal hashes are compared in full.
static uint64_t hashOf(const SuperDsc &dsc) {
  uint64_t hash = 14695981039346656037u;
  auto mix = [&](uint64_t value) { hash = (hash ^ value) * 1099511628211u; };
  std::for_each(dsc.op.begin(), dsc.op.end(), [&](char c) { mix(uint8_t(c)); });
  mix(uint64_t(dsc.cores));
  for (const auto *sizes : {&dsc.size, &dsc.perCoreSize}) {
    for (const auto &[dim, size] : *sizes) {
      mix(uint64_t(size));
    }
  }
  mix(dsc.tensors.size());
  return hash;
}

int32_t PhaseCache::find(const SuperDsc &dsc, int32_t phase) {
  if (!isCacheable(dsc)) {
    return -1;
  }
  std::vector<Candidate> &candidates = known[hashOf(dsc)];
  std::optional<SuperDsc> wanted;
  for (Candidate &candidate : candidates) {
    if (!wanted) {
      wanted = withoutAddresses(dsc, segmentBytes);
    }
    if (!candidate.bare) {
      candidate.bare = withoutAddresses(*candidate.dsc, segmentBytes);
    }
    if (*candidate.bare == *wanted) {
      repetitions.push_back({phase, candidate.phase});
      return candidate.phase;
    }
  }
  candidates.push_back({&dsc, phase, std::move(wanted)});
  return -1;
}

std::string PhaseCache::nameOf(const SuperDsc &dsc, const program::Phase &original) {
  // "0_add" is number 0 and the operation's name.
  size_t name = original.name.find('_');
  return std::to_string(dsc.index) +
         (name == std::string::npos ? std::string() : original.name.substr(name));
}

/// A buffer of operation \p from as one of operation \p to, which is phase \p phase.
static program::Buffer movedBuffer(program::Buffer buffer, const SuperDsc &from, const SuperDsc &to,
                                   int32_t phase) {
  for (size_t i = 0; buffer.space == program::Space::Ddr && i < from.tensors.size(); ++i) {
    if (baseOf(from.tensors[i]) == buffer.base) {
      buffer.base = baseOf(to.tensors[i]);
      break;
    }
  }
  // Operations may have the same number, phases have not.
  buffer.name = fmt::format("{}.p{}", buffer.name, phase);
  buffer.firstPhase = buffer.lastPhase = phase;
  return buffer;
}

void PhaseCache::repeat(const std::vector<SuperDsc> &operations, program::Program &program) const {
  std::map<int32_t, std::vector<int32_t>> buffersOf;
  for (const Repetition &repetition : repetitions) {
    buffersOf[repetition.original];
  }
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    if (auto found = buffersOf.find(program.buffers[i].firstPhase); found != buffersOf.end()) {
      found->second.push_back(int32_t(i));
    }
  }
  for (const Repetition &repetition : repetitions) {
    const SuperDsc &from = operations[size_t(repetition.original)];
    const SuperDsc &to = operations[size_t(repetition.phase)];
    program::Phase phase = program.phases[size_t(repetition.original)];
    phase.name = nameOf(to, phase);
    std::map<int32_t, int32_t> moved;
    for (int32_t buffer : buffersOf[repetition.original]) {
      moved[buffer] = int32_t(program.buffers.size());
      program.buffers.push_back(
          movedBuffer(program.buffers[size_t(buffer)], from, to, repetition.phase));
    }
    for (program::Instruction &instruction : phase.instructions) {
      for (size_t i = 0; i < instruction.operands.size(); ++i) {
        program::Operand &operand = instruction.operands[i];
        operand.buffer = operand.buffer < 0 ? -1 : moved.at(operand.buffer);
      }
    }
    program.phases[size_t(repetition.phase)] = std::move(phase);
  }
}

} // namespace spyre::backend
