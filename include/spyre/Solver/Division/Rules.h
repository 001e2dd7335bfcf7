//===- Rules.h - slices a machine allows each variable --------------------------------------===//
//
// Applies the capability table of the device (Arch/DivisionRules.h) to one operation: per variable
// the numbers of slices that are left, and which rule took the others.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Solver/Division/Units.h"

namespace spyre::solver::division {

struct Domain {
  /// Ascending.
  std::vector<int64_t> splits;
  /// Name of the first rule that took something; empty: none did.
  const char *rule = "";
};

struct Domains {
  std::vector<Domain> dims;
  /// All slices are made by one core (an accumulating scatter).
  bool oneCore = false;
};

/// Divisors up to \p cores that the rules allow. Errors: E3071 (a rule leaves nothing).
Expected<Domains> domainsOf(const Op &op, const Units &units, const arch::DeviceDesc &device,
                            int64_t cores);

/// Whether the machine can do \p splits as far as the rules go. Errors: E3069 (which rule, which
/// dim), E3063 (too many reduced variables).
Status checkRules(const Op &op, const arch::DeviceDesc &device, int64_t cores,
                  const Splits &splits);

} // namespace spyre::solver::division
