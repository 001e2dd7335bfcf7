//===- Uneven.h - an operation with slices of two sizes as two phases -----------------------===//
//
// Along one dimension the first slices have more elements than the others (docs/adr/0055). All
// cores do what the small slices have, then the first cores alone do what is left of theirs:
//
//     37 rows over 32 cores      core    0 .. 4       5 .. 31
//     phase 1, 32 cores                  1 row each   1 row each
//     phase 2, 5 cores                   1 row each
//
// Both are operations with equal slices, on a part of the tensors: start addresses say where, gaps
// how much of the dimension is not theirs.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Status.h"
#include "spyre/Spec/SuperDsc.h"

#include <vector>

namespace spyre::backend {

/// \p operations with each uneven one replaced by its two. Errors: E5320 (one that cannot be run),
/// and those of the two as operations of their own.
Expected<std::vector<spec::SuperDsc>> expandUneven(const std::vector<spec::SuperDsc> &operations,
                                                   const arch::DeviceDesc &device);

inline bool isUneven(const spec::SuperDsc &dsc) { return !dsc.uneven.dim.empty(); }

} // namespace spyre::backend
