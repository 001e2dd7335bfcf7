//===- Hints.cpp - hints are taken as they are, or refused ----------------------------------===//
#include "Hints.h"

#include "spyre/Solver/Division/Rules.h"

#include <algorithm>

namespace spyre::solver::division {

bool hasHints(const Op &op) {
  return std::any_of(op.dims.begin(), op.dims.end(), [](const Dim &dim) { return dim.hint != 0; });
}

/// Every dim that is reduced and hinted with more than one slice.
static Status checkReductions(const Op &op, const Units &units, int64_t most) {
  std::vector<std::string> names;
  for (size_t d = 0; d < op.dims.size(); ++d) {
    if (op.dims[d].hint > 1 && !units.output[d]) {
      names.push_back(op.dims[d].name);
    }
  }
  if (int64_t(names.size()) <= most) {
    return Status::success();
  }
  return error<3063>("'{}': hints split {} reduction dimensions ({}), at most {} can be; drop one "
                     "of the hints",
                     op.name, names.size(), fmt::join(names, ", "), most);
}

Expected<Splits> hintedSplits(const Op &op, const arch::DeviceDesc &device, int64_t cores) {
  const Units units = unitsOf(op);
  Splits splits(op.dims.size(), 1);
  int64_t product = 1;
  for (size_t d = 0; d < op.dims.size(); ++d) {
    const int64_t hint = op.dims[d].hint;
    if (hint < 0 || hint > kMaxCount) {
      return error<3066>("'{}': the hint {} for {} must be positive, up to {}", op.name, hint,
                         op.dims[d].name, kMaxCount);
    }
    splits[d] = std::max<int64_t>(hint, 1);
    if (__builtin_mul_overflow(product, splits[d], &product)) {
      product = INT64_MAX;
    }
  }
  SPYRE_RETURN_IF_ERROR(checkReductions(op, units, device.division.splitReductions));
  if (product > cores) {
    return error<3068>("'{}': the hints {} need {} cores, which exceeds SENCORES={}; lower one of "
                       "them",
                       op.name, describe(op, splits), product, cores);
  }
  for (size_t d = 0; d < op.dims.size(); ++d) {
    if (units.basis[d] % splits[d] != 0) {
      return error<3067>(
          "'{}': {} ({} elements, {} pieces) is not evenly divisible by the hint {}; "
          "give one of {{{}}}",
          op.name, op.dims[d].name, units.extent[d], units.basis[d], splits[d],
          fmt::join(divisorsUpTo(units.basis[d], cores), ", "));
    }
  }
  SPYRE_RETURN_IF_ERROR(checkRules(op, device, cores, splits));
  return splits;
}

} // namespace spyre::solver::division
