//===- Arrival.h - an input that lies in the LX of other cores ------------------------------===//
//
// A tensor in LX is divided by the operation that wrote it. An operation with another division
// finds its slice in the LX of other cores, as one piece or several:
//
//     rows over 4 cores -> columns over 4 cores: a core needs its columns from each of the 4
//     4 slices -> 2 slices: a core needs 2 whole slices
//     2 slices -> 4 slices: a core needs a part of one slice
//
// The pieces are counted like the digits of a number, one digit per dimension that is cut. In
// every round each core gets one piece from one other core, by one Exchange; tiles are brought to
// the staging area like those of tensors in DDR, and the lowerings do not see the difference.
// (docs/adr/0020)
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Spec/SuperDsc.h"

#include <string>
#include <vector>

namespace spyre::backend {

struct Kernel;
struct TensorMap;

struct Arrival {
  /// A dimension along which the slice of a core consists of several pieces.
  struct Cut {
    std::string dim;
    int64_t pieces = 1;
    /// Of one piece, as TensorMap::Dim counts them.
    int64_t steps = 1;
  };
  std::vector<Cut> cuts;
  /// By round, the piece of the first cut counting fastest, and by core: who has the piece.
  std::vector<std::vector<int64_t>> owners;
  /// By core: where its part begins in the slices of its owners.
  std::vector<int64_t> offsetBytes;

  const Cut *find(const std::string &dim) const;
};

/// \p dsc as the operation that \p tensor was written by would divide it.
spec::SuperDsc dividedLike(const spec::SuperDsc &dsc, const spec::DscTensor &tensor);

/// \p map describes the tensor in its owners' LX. Error: E5302.
Expected<Arrival> planArrival(const Kernel &kernel, const spec::DscTensor &tensor,
                              const TensorMap &map);

/// A result must not overwrite what other cores still read. Error: E5302.
Status checkArrivals(const Kernel &kernel);

} // namespace spyre::backend
