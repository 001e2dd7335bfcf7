//===- Ranges.cpp - see Ranges.h ------------------------------------------------------------===//
#include "spyre/Numerics/Ranges.h"

#include "ScalarConversions.h"

#include <cmath>
#include <limits>

namespace spyre::numerics {

double largestFinite(HostType type) {
  switch (type) {
  case HostType::Float16:
    return dl16ToFloat(detail::kDl16LargestHalf);
  case HostType::Bfloat16:
    return dl16ToFloat(detail::kDl16LargestBfloat16);
  default:
    return std::numeric_limits<float>::max();
  }
}

double smallestInfinite(HostType type) {
  switch (type) {
  case HostType::Float16:
    return dl16ToFloat(detail::kDl16LargestHalf + 1);
  case HostType::Bfloat16:
    return dl16ToFloat(detail::kDl16Largest);
  default:
    return std::numeric_limits<float>::infinity();
  }
}

bool isFiniteIn(HostType type, double value) {
  const auto single = static_cast<float>(value);
  return type == HostType::Float16    ? detail::isFiniteHalf(single)
         : type == HostType::Bfloat16 ? detail::isFiniteBfloat16(single)
                                      : std::isfinite(single);
}

} // namespace spyre::numerics
