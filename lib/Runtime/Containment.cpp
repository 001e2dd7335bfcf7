//===- Containment.cpp - which buffers a failed launch leaves unusable ----------------------===//
#include "Containment.h"

#include "spyre/Base/Log.h"
#include "spyre/Program/Program.h"

#include <algorithm>

namespace spyre::runtime {

namespace {

/// A phase of a launch: number of its job, number in the job.
using PhaseNumber = std::pair<size_t, size_t>;

/// Use that a launch makes of one of its buffers.
struct Effect {
  bool isRead = false;
  std::optional<PhaseNumber> firstWrite;
};

/// The effects on all buffers of a launch.
class Effects {
public:
  explicit Effects(const ProgramBinding &binding)
      : binding(binding), effects(binding.buffers.size()) {
    if (!findAll()) {
      // Nothing is known of the program: it may do anything to what is bound.
      std::fill(effects.begin(), effects.end(), Effect{true, PhaseNumber{0, 0}});
    }
  }
  const Effect &operator[](size_t buffer) const { return effects[buffer]; }

private:
  bool findAll() {
    std::string bytes(binding.program->bytes(), '\0');
    Device &device = binding.program->device();
    if (!device.copySticksToHost(binding.program, 0, bytes.data(), bytes.size(), nullptr).ok()) {
      return false;
    }
    if (binding.correction) {
      bytes.replace(binding.correctionOffset, binding.correction->size(), *binding.correction);
    }
    for (size_t job = 0; job < binding.jobs.size(); ++job) {
      const Expected<program::Program> program =
          program::readProgram(bytes.substr(binding.jobs[job].offset, binding.jobs[job].bytes));
      if (!program.ok()) {
        return false;
      }
      addJob(job, *program);
    }
    return true;
  }

  void addJob(size_t job, const program::Program &program) {
    std::vector<std::vector<size_t>> bound;
    for (const program::Buffer &buffer : program.buffers) {
      bound.push_back(boundTo(program, buffer));
    }
    for (size_t phase = 0; phase < program.phases.size(); ++phase) {
      for (const program::Instruction &instruction : program.phases[phase].instructions) {
        const program::OperandRoles roles = program::operandRoles(instruction);
        for (size_t i = 0; i < std::min(roles.count, instruction.operands.size()); ++i) {
          if (roles.role[i] == program::Role::DdrStick) {
            add(bound[size_t(instruction.operands[i].buffer)], {job, phase},
                i == program::resultOperand(instruction));
          }
        }
      }
    }
  }

  void add(const std::vector<size_t> &buffers, PhaseNumber phase, bool isWritten) {
    for (size_t buffer : buffers) {
      Effect &effect = effects[buffer];
      effect.isRead |= !isWritten;
      if (isWritten && !effect.firstWrite) {
        effect.firstWrite = phase;
      }
    }
  }

  /// Numbers of the bound buffers in which \p buffer of the program lies, on any core.
  std::vector<size_t> boundTo(const program::Program &program,
                              const program::Buffer &buffer) const {
    std::vector<size_t> found;
    if (buffer.space != program::Space::Ddr) {
      return found;
    }
    int64_t start = buffer.base;
    if (buffer.symbol >= 0) {
      const int64_t value = program.symbols[size_t(buffer.symbol)].value;
      start += value == program::kUnsetSymbol ? 0 : value;
    }
    const std::vector<int64_t> none = {0};
    for (int64_t offset : buffer.coreOffset.empty() ? none : buffer.coreOffset) {
      const std::optional<size_t> at = bufferAt(start + offset);
      if (at && std::find(found.begin(), found.end(), *at) == found.end()) {
        found.push_back(*at);
      }
    }
    return found;
  }

  std::optional<size_t> bufferAt(int64_t address) const {
    const int64_t segmentBytes = binding.program->device().desc().segmentBytes;
    if (address < 0 || size_t(address / segmentBytes) >= binding.segments.size()) {
      return std::nullopt;
    }
    const uint64_t physical = binding.segments[size_t(address / segmentBytes)].physicalBase +
                              uint64_t(address % segmentBytes);
    for (size_t i = 0; i < binding.buffers.size(); ++i) {
      const BufferRef &buffer = binding.buffers[i];
      if (buffer && physical >= buffer->physicalAddress() &&
          physical < buffer->physicalAddress() + buffer->bytes()) {
        return i;
      }
    }
    return std::nullopt;
  }

  const ProgramBinding &binding;
  std::vector<Effect> effects;
};

/// The fault in what the launch would read; null when it can run.
FaultRef faultInOperands(const ProgramBinding &binding) {
  const bool isClean = std::none_of(binding.buffers.begin(), binding.buffers.end(),
                                    [](const BufferRef &b) { return b && b->isPoisoned(); });
  if (isClean) {
    return nullptr;
  }
  const Effects effects(binding);
  for (size_t i = 0; i < binding.buffers.size(); ++i) {
    if (binding.buffers[i] && effects[i].isRead) {
      if (FaultRef fault = binding.buffers[i]->fault()) {
        return fault;
      }
    }
  }
  return nullptr;
}

/// Poisons what the launch writes. \p reached: the phase it failed in; nothing: it did not begin.
void poisonResults(const ProgramBinding &binding, const FaultRef &fault,
                   std::optional<PhaseNumber> reached) {
  const Effects effects(binding);
  for (size_t i = 0; i < binding.buffers.size(); ++i) {
    const std::optional<PhaseNumber> &firstWrite = effects[i].firstWrite;
    if (binding.buffers[i] && firstWrite) {
      binding.buffers[i]->poison(fault, reached && *firstWrite <= *reached);
    }
  }
}

FaultRef containedFault(const Device &device, const Status &status) {
  const OperationContext *operation = currentOperation(device);
  const std::string who =
      operation ? operation->operation.describe(operation->stream) : std::string("a launch");
  auto fault = std::make_shared<ContainedFault>(
      Status(status.code(),
             fmt::format("{} failed: {}; its results cannot be read until they are written anew, "
                         "all other data is intact and the device works on",
                         who, status.text())));
  log(LogLevel::Error, "runtime", "{}", fault->status().message());
  return fault;
}

} // namespace

Status failWith(const Device &device, const FaultRef &fault) {
  if (OperationContext *operation = currentOperation(device)) {
    operation->fault = fault;
    return fault->status();
  }
  return fault->report();
}

Status runContained(const ProgramBinding &binding, FaultRef *runFault,
                    const std::function<uint32_t(const ProgramJob &)> &flags) {
  Device &device = binding.program->device();
  FaultRef fault = runFault && *runFault ? *runFault : faultInOperands(binding);
  if (fault) {
    poisonResults(binding, fault, std::nullopt);
  } else if (binding.correction) {
    SPYRE_RETURN_IF_ERROR(device.copyToDevice(binding.program, binding.correctionOffset,
                                              binding.correction->data(),
                                              binding.correction->size()));
  }
  for (size_t job = 0; job < binding.jobs.size() && !fault; ++job) {
    const ProgramJob &each = binding.jobs[job];
    std::optional<uint32_t> phase;
    const Status launched = device.launchBound(binding.program, each.offset, each.bytes,
                                               binding.segments, flags(each), &phase);
    if (!launched.ok() && !phase) {
      return launched;
    }
    if (!launched.ok()) {
      fault = containedFault(device, launched);
      poisonResults(binding, fault, PhaseNumber{job, *phase});
    }
  }
  if (fault) {
    if (runFault) {
      *runFault = fault;
    }
    return failWith(device, fault);
  }
  for (const BufferRef &buffer : binding.buffers) {
    if (buffer) {
      buffer->noteData();
    }
  }
  return Status::success();
}

void poisonUnwritten(const std::vector<BufferRef> &buffers, const Status &reason) {
  const auto fault = std::make_shared<ContainedFault>(reason);
  // Whoever dropped it knows: contents from before may be read.
  (void)fault->report();
  for (const BufferRef &buffer : buffers) {
    if (buffer) {
      buffer->poison(fault, /*isDamaged=*/false);
    }
  }
}

} // namespace spyre::runtime
