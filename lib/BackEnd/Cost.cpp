//===- Cost.cpp - cores that read for themselves -------------------------------------------===//
#include "Cost.h"

#include <algorithm>

namespace spyre::backend {

int64_t readersOf(const TensorMap &map) {
  std::vector<int64_t> starts = map.startAddress;
  std::sort(starts.begin(), starts.end());
  return std::max<int64_t>(std::unique(starts.begin(), starts.end()) - starts.begin(), 1);
}

} // namespace spyre::backend
