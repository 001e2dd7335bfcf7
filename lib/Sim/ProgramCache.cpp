//===- ProgramCache.cpp - recognise, decode, forget -----------------------------------------===//
#include "ProgramCache.h"

#include "spyre/Program/Facts.h"

#include <algorithm>
#include <array>
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

/// Hash of all bytes but symbol values. Four sums run beside each other, so that it takes no longer
/// than reading the bytes.
static uint64_t hashOf(const char *data, uint64_t bytes) {
  constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;
  constexpr size_t kSums = 4;
  std::array<uint64_t, kSums> sums{bytes, 1, 2, 3};
  const uint64_t valuesBegin = std::min(program::symbolValueOffset(0), bytes);
  const uint64_t valuesEnd =
      std::min(program::symbolValueOffset(program::symbolCount({data, bytes})), bytes);
  auto add = [&](const char *from, uint64_t count) {
    std::array<uint64_t, kSums> words{};
    for (; count >= sizeof(words); from += sizeof(words), count -= sizeof(words)) {
      std::memcpy(words.data(), from, sizeof(words));
      for (size_t i = 0; i < kSums; ++i) {
        sums[i] = (sums[i] ^ words[i]) * kFactor;
        sums[i] ^= sums[i] >> 32;
      }
    }
    words = {};
    std::memcpy(words.data(), from, count);
    for (size_t i = 0; i < kSums; ++i) {
      sums[i] = (sums[i] ^ words[i]) * kFactor;
    }
  };
  add(data, valuesBegin);
  add(data + valuesEnd, bytes - valuesEnd);
  uint64_t hash = 0;
  for (uint64_t sum : sums) {
    hash = (hash ^ sum ^ (sum >> 32)) * kFactor;
  }
  return hash;
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
  SPYRE_RETURN_IF_ERROR(program::checkWork(*program));
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

/// The end of the list when there is none.
ProgramCache::Entries::iterator ProgramCache::lookUp(uint64_t hash, const char *data,
                                                     uint64_t bytes) {
  const auto [first, last] = byHash.equal_range(hash);
  const auto found = std::find_if(
      first, last, [&](const auto &each) { return isSame(*each.second->plan, data, bytes); });
  return found == last ? plans.end() : found->second;
}

ProgramCache::Entries::iterator ProgramCache::add(uint64_t hash,
                                                  std::unique_ptr<PlannedProgram> plan) {
  ++decoded;
  cachedBytes += plan->bytes.size();
  plans.push_front({hash, std::move(plan)});
  byHash.emplace(hash, plans.begin());
  while (plans.size() > 1 && cachedBytes > kMaxBytes) {
    forgetOldest();
  }
  return plans.begin();
}

void ProgramCache::forgetOldest() {
  const auto oldest = std::prev(plans.end());
  const auto [first, last] = byHash.equal_range(oldest->hash);
  byHash.erase(std::find_if(first, last, [&](const auto &each) { return each.second == oldest; }));
  std::erase_if(byPlace, [&](const auto &each) { return each.second == oldest; });
  cachedBytes -= oldest->plan->bytes.size();
  plans.pop_back();
}

Expected<PlannedProgram *> ProgramCache::find(const char *data, uint64_t bytes,
                                              const arch::DeviceDesc &device) {
  const auto place = byPlace.find(data);
  Entries::iterator found = plans.end();
  if (place != byPlace.end() && isSame(*place->second->plan, data, bytes)) {
    found = place->second;
  } else {
    const uint64_t hash = hashOf(data, bytes);
    found = lookUp(hash, data, bytes);
    if (found == plans.end()) {
      SPYRE_ASSIGN_OR_RETURN(std::unique_ptr<PlannedProgram> plan, decode(data, bytes, device));
      found = add(hash, std::move(plan));
    }
    byPlace.insert_or_assign(data, found);
  }
  plans.splice(plans.begin(), plans, found);
  takeSymbolValues(*found->plan, data);
  return found->plan.get();
}

} // namespace spyre::sim
