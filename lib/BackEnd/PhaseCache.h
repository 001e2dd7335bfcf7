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
#include <vector>

namespace spyre::backend {

class PhaseCache {
public:
  explicit PhaseCache(int64_t segmentBytes) : segmentBytes(segmentBytes) {}

  /// Number of the earlier operation that \p dsc, number \p phase, repeats, or -1; then it is
  /// remembered for those that follow.
  int32_t find(const spec::SuperDsc &dsc, int32_t phase);

  /// Name of the phase of a repeated operation.
  static std::string nameOf(const spec::SuperDsc &dsc, const program::Phase &original);

  /// Fills the phases that find() found, from finished ones. \p operations are all of the program.
  void repeat(const std::vector<spec::SuperDsc> &operations, program::Program &program) const;

private:
  struct Repetition {
    int32_t phase = 0, original = 0;
  };
  int64_t segmentBytes;
  /// Operations without number and addresses, by hash.
  std::map<uint64_t, std::vector<std::pair<spec::SuperDsc, int32_t>>> known;
  std::vector<Repetition> repetitions;
};

} // namespace spyre::backend
