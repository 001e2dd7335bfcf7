//===- StoredSplits.h - splits by the coefficient of their variable -------------------------===//
//
// Variables are renamed between planning and code generation, so the documents store splits by the
// coefficient a variable has in the index of the first write, or of the first read where that is
// zero. [spec: work-division 6.2]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Division/Units.h"

#include <map>

namespace spyre::solver::division {

struct StoredSplits {
  std::map<int64_t, int64_t> output, reduction;
  bool operator==(const StoredSplits &) const = default;
  bool empty() const { return output.empty() && reduction.empty(); }
};

/// One coefficient per variable in \p write and \p read.
StoredSplits encodeSplits(const Splits &splits, const std::vector<int64_t> &write,
                          const std::vector<int64_t> &read);
/// Variables without an entry, and those of extent 1, get 1.
Splits decodeSplits(const StoredSplits &stored, const std::vector<int64_t> &write,
                    const std::vector<int64_t> &read, const std::vector<int64_t> &extents);

/// Index of the first write, and of the first read that is not by index; an operation that reads
/// nothing has its write as both.
const std::vector<int64_t> &writeIndex(const Op &op);
const std::vector<int64_t> &readIndex(const Op &op);

} // namespace spyre::solver::division
