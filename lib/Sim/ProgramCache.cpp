//===- ProgramCache.cpp - recognise, decode, forget -----------------------------------------===//
#include "ProgramCache.h"

#include <algorithm>
#include <cstring>

namespace spyre::sim {

/// True when the bytes differ at most in symbol values.
static bool isSame(const PlannedProgram &plan, const char *data, uint64_t bytes) {
  if (plan.bytes.size() != bytes) {
    return false;
  }
  uint64_t valuesBegin = program::symbolValueOffset(0);
  uint64_t valuesEnd = program::symbolValueOffset(plan.program.symbols.size());
  return std::memcmp(plan.bytes.data(), data, std::min(valuesBegin, bytes)) == 0 &&
         (valuesEnd >= bytes ||
          std::memcmp(plan.bytes.data() + valuesEnd, data + valuesEnd, bytes - valuesEnd) == 0);
}

static void takeSymbolValues(PlannedProgram &plan, const char *data) {
  for (size_t i = 0; i < plan.program.symbols.size(); ++i) {
    uint64_t value = 0;
    for (size_t byte = 0; byte < sizeof(value); ++byte) {
      value |= uint64_t(uint8_t(data[program::symbolValueOffset(i) + byte])) << (8 * byte);
    }
    plan.program.symbols[i].value = int64_t(value);
  }
}

static Expected<std::unique_ptr<PlannedProgram>> decode(const char *data, uint64_t bytes,
                                                        const arch::DeviceDesc &device) {
  auto plan = std::make_unique<PlannedProgram>();
  plan->bytes.assign(data, bytes);
  Expected<program::Program> program = program::readProgram(plan->bytes);
  if (!program) {
    return error<7006>("bad-program: {}", program.status().message());
  }
  // Values of symbols come with each launch and are checked there.
  for (program::Symbol &symbol : program->symbols) {
    symbol.value = program::kUnsetSymbol;
  }
  if (Status status = program::verifyProgram(*program, device); !status.ok()) {
    return error<7006>("bad-program: {}", status.message());
  }
  plan->program = *std::move(program);
  for (size_t i = 0; i < plan->program.phases.size(); ++i) {
    plan->phases.push_back(planPhase(plan->program.phases[i], i, device));
  }
  return plan;
}

Expected<PlannedProgram *> ProgramCache::find(const char *data, uint64_t bytes,
                                              const arch::DeviceDesc &device) {
  auto found = std::find_if(plans.begin(), plans.end(),
                            [&](const auto &plan) { return isSame(*plan, data, bytes); });
  if (found != plans.end()) {
    plans.splice(plans.begin(), plans, found);
  } else {
    SPYRE_ASSIGN_OR_RETURN(std::unique_ptr<PlannedProgram> plan, decode(data, bytes, device));
    cachedBytes += bytes;
    plans.push_front(std::move(plan));
    while (plans.size() > 1 && (plans.size() > kMaxPrograms || cachedBytes > kMaxBytes)) {
      cachedBytes -= plans.back()->bytes.size();
      plans.pop_back();
    }
  }
  takeSymbolValues(*plans.front(), data);
  return plans.front().get();
}

} // namespace spyre::sim
