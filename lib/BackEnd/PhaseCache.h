//===- PhaseCache.h - operations that differ in their addresses only are lowered once -------===//
//
// Layers of a model repeat: the same operation on tensors at other places. A phase names buffers,
// and only the buffers have addresses, so the phase of such an operation is that of the first one
// with other buffers. This holds for operations whose tensors are all in DDR: tensors in LX live
// across phases.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Program/Program.h"
#include "spyre/Spec/SuperDsc.h"

#include <map>
#include <optional>
#include <vector>

namespace spyre::backend {

class PhaseCache {
public:
  explicit PhaseCache(int64_t segmentBytes) : segmentBytes(segmentBytes) {}

  /// Number of the earlier operation that \p dsc, number \p phase, repeats, or -1; then it is
  /// remembered for those that follow and must outlive the cache.
  int32_t find(const spec::SuperDsc &dsc, int32_t phase);

  /// Name of the phase of a repeated operation.
  static std::string nameOf(const spec::SuperDsc &dsc, const program::Phase &original);

  /// Fills the phases that find() found, from finished ones. \p operations are all of the program.
  void repeat(const std::vector<spec::SuperDsc> &operations, program::Program &program) const;

private:
  struct Repetition {
    int32_t phase = 0, original = 0;
  };
  struct Candidate {
    const spec::SuperDsc *dsc = nullptr;
    int32_t phase = 0;
    /// Without number and addresses; made when a second operation has the same hash.
    std::optional<spec::SuperDsc> bare;
  };
  int64_t segmentBytes;
  /// By hash.
  std::map<uint64_t, std::vector<Candidate>> known;
  std::vector<Repetition> repetitions;
};

} // namespace spyre::backend
