//===- Faults.cpp - checks against the shadow and the words for what they find --------------===//
//
// Each fault begins with its category and names core, phase, instruction, operand, address and
// buffer, then says what to do. Categories and codes are listed in Machine.h.
//===--------------------------------------------------------------------------------------------===//
#include "Core.h"

namespace spyre::sim {

using program::Unit;

/// The bound of an index is part of the instruction and is looked at before the index is used.
/// Every other fault is a contradiction inside the program, about which nothing can be promised.
bool isContained(const Status &fault) {
  constexpr int kIndexOutOfRange = 7017;
  return fault.code() == kIndexOutOfRange;
}

bool Core::fail(Status status) {
  faultStatus = std::move(status);
  return false;
}

std::string Core::where() const {
  const program::Instruction &source = *current->source;
  std::string name = program::opcodeName(source.opcode);
  if (source.function != program::Function::None) {
    name += fmt::format(".{}", program::functionName(source.function));
  }
  return fmt::format("core {} phase {} instruction {} ({})", coreIndex, phase->name, current->index,
                     name);
}

/// "operand 2 (buffer y.tile)"
std::string Core::what(size_t operand) const {
  const BufferPlace &buffer = context->buffers[size_t(current->source->operands[operand].buffer)];
  return fmt::format("operand {} (buffer {})", operand, buffer.source->name);
}

/// The buffer of this launch behind \p key, or NULL.
const char *Core::ownerName(WriterKey key) const {
  for (const BufferPlace &buffer : context->buffers) {
    if (buffer.tag == uint32_t(key >> 32)) {
      return buffer.source->name.c_str();
    }
  }
  return nullptr;
}

bool Core::checkLife(size_t operand, int64_t address) {
  const program::Buffer &buffer =
      *context->buffers[size_t(current->source->operands[operand].buffer)].source;
  auto now = int32_t(phase->index);
  if (now >= buffer.firstPhase && now <= buffer.lastPhase) {
    return true;
  }
  return fail(error<7014>("end-of-life: {} {} uses address {:#x} in phase {}, but the buffer lives "
                          "in phases {}..{}; another buffer may be there",
                          where(), what(operand), address, now, buffer.firstPhase,
                          buffer.lastPhase));
}

bool Core::isLiveIn(size_t operand) const {
  return context->buffers[size_t(current->source->operands[operand].buffer)].source->liveIn;
}

/// Before an operand in the LX of \p owner is read.
bool Core::checkRead(Core &owner, size_t operand, const Place &place, const Access &access) {
  if (!context->sanitizer) {
    return true;
  }
  phaseCounters.sanitizerChecks +=
      uint64_t(access.count * ((access.width + kStickBytes - 1) / kStickBytes));
  auto finding = owner.shadowState->checkWriter(access, place.key);
  if (finding && finding->found == kHostWritten && isLiveIn(operand)) {
    owner.shadowState->adoptHostData(access, place.key);
    finding = owner.shadowState->checkWriter(access, place.key);
  }
  if (finding) {
    return report(owner, operand, place, *finding);
  }
  if (checksOrder && phase->source->overlap) {
    finding = owner.shadowState->checkRead(access, current->unit, owner.order);
    if (finding) {
      return report(owner, operand, place, *finding);
    }
  }
  return true;
}

/// After an operand in the core's own LX was written; padding is the unit's own business.
bool Core::wrote(size_t operand, const Place &place, const Access &access) {
  if (!context->sanitizer) {
    return true;
  }
  if (checksOrder && phase->source->overlap) {
    if (auto finding = shadowState->checkWrite(access, current->unit, order)) {
      return report(*this, operand, place, *finding);
    }
  }
  shadowState->setWriter(access, place.key);
  return true;
}

static const char *verb(bool wrote) { return wrote ? "writes" : "reads"; }

bool Core::report(Core &owner, size_t operand, const Place &place, const Finding &finding) {
  std::string head = fmt::format("{} {} at LX {:#x}", where(), what(operand), finding.address);
  if (owner.coreIndex != coreIndex) {
    head += fmt::format(" of core {}", owner.coreIndex);
  }
  if (finding.kind == Finding::Kind::Unordered) {
    return fail(error<7015>("missing-wait: {}: unit {} {} it and nothing orders the two; signal a "
                            "token there and wait for it here",
                            head, program::unitName(finding.unit), verb(finding.otherWrote)));
  }
  auto foundTag = uint32_t(finding.found >> 32);
  if (foundTag == uint32_t(place.key >> 32)) {
    return fail(
        error<7011>("other-core-data: {}: the stick holds slice {} of the tensor, this core "
                    "expects slice {}; move it over the ring or divide both operations "
                    "alike",
                    head, uint32_t(finding.found), uint32_t(place.key)));
  }
  if (const char *name = ownerName(finding.found)) {
    return fail(error<7010>("foreign-read: {}: the stick holds data of buffer {}; two live buffers "
                            "share an address or the data was never put here",
                            head, name));
  }
  if (isLiveIn(operand)) {
    return fail(error<7013>("wiped-read: {}: the buffer is live-in, but {}; a plan may not rely on "
                            "LX across launches here",
                            head,
                            finding.found == kWiped ? "LX was wiped since it was written"
                                                    : "no earlier launch left its data there"));
  }
  return fail(error<7003>("uninitialized-read: {}: this launch never wrote it; load or fill it "
                          "first",
                          head));
}

bool Core::failPadding(size_t operand, int64_t address, const char *reached) {
  return fail(error<7012>("padding-read: {} {} at LX {:#x}: lanes that hold no data reach {}; mask "
                          "them with the number of valid lanes",
                          where(), what(operand), address, reached));
}

bool Core::failIndex(size_t operand, int64_t address, int64_t index) {
  return fail(error<7017>("index-out-of-range: {} {} at LX {:#x} holds the index {}, which must be "
                          "in 0..{}",
                          where(), what(operand), address, index,
                          int64_t(current->source->constant) - 1));
}

} // namespace spyre::sim
