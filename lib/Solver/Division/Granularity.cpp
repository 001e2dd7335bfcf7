//===- Granularity.cpp - given by the user, or the smallest useful divisor ------------------===//
#include "spyre/Solver/Division/Granularity.h"

namespace spyre::solver::division {

/// The framework's own lower bound of a dynamic size.
static constexpr int64_t kNoBound = 2;

Expected<int64_t> granularityOf(int64_t largest, int64_t least) {
  if (largest < 1) {
    return error<3075>("a largest size of {}; give 1 or more", largest);
  }
  if (least > kNoBound) {
    if (largest % least != 0 || largest / least > kMaxSizes) {
      return error<3075>(
          "sizes in steps of {} up to {}: the step must divide the largest size, and "
          "at most {} sizes are possible; change one of the bounds",
          least, largest, kMaxSizes);
    }
    return least;
  }
  // With at most kMaxSizes sizes the step is the largest size over a small number.
  for (int64_t sizes = kMaxSizes; sizes >= 1; --sizes) {
    if (largest % sizes == 0 && largest / sizes >= kLeastGranularity) {
      return largest / sizes;
    }
  }
  return error<3075>("no divisor of the largest size {} is {} or more; give a lower bound that "
                     "divides it, or a larger size",
                     largest, kLeastGranularity);
}

} // namespace spyre::solver::division
