//===- Buffers.h - the buffers of a program under construction ------------------------------===//
//
// A buffer tells the device what belongs together, so that an access outside of it is caught:
//
//     0_add.in0          a tensor in DDR, one buffer per phase, whole over all cores
//     0_add.in0.tile     a piece of the staging area, for this phase only
//     0_add.out          a tensor in LX, one buffer for all phases that use it
//     lx.1024.512        the same when its contents come from or are for another program
//
// A SuperDSC names places, not tensors. So a tensor in LX is its place (address and bytes on every
// core), and two programs that mean the same contents call them by that place.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Program/Program.h"

#include "Geometry.h"

#include <string>
#include <vector>

namespace spyre::backend {

class BufferTable {
public:
  /// What follows belongs to the next phase, of which this is the name.
  void beginPhase(const std::string &name);

  struct Location {
    int32_t buffer = -1;
    /// Of the tensor's first byte in the buffer.
    int64_t offset = 0;
  };
  /// The buffer of a tensor of this phase; inputs before the output.
  Location tensor(const TensorMap &map);
  /// Bytes [base, base + bytes) of the staging area; \p suffix is "in0.tile" or "acc".
  int32_t staging(const std::string &suffix, int64_t base, int64_t bytes);

  /// All buffers with their lives; nothing may be added afterwards.
  std::vector<program::Buffer> finish();

private:
  struct Entry {
    program::Buffer buffer;
    /// Of a tensor in LX: number of its place, else -1.
    int32_t place = -1;
  };
  /// Where tensors in LX are. Its buffers are its lives, one after the other, so only the newest
  /// one can still be meant; programs have few places and many lives.
  struct LxPlace {
    int64_t base = 0, bytes = 0;
    std::vector<int64_t> coreOffset;
    /// End of the addresses it covers on any core.
    int64_t end = 0;
    /// By this program.
    bool written = false;
    int32_t newest = -1;

    static LxPlace of(const TensorMap &map);
    bool overlaps(const LxPlace &other) const { return base < other.end && other.base < end; }
    bool isSame(const LxPlace &other) const;
    bool holds(const LxPlace &other) const;
  };

  int32_t add(program::Buffer buffer, const std::string &suffix);
  Location residentTensor(const TensorMap &map);
  int32_t beginLife(const LxPlace &wanted, int32_t known, const TensorMap &map);
  int32_t newestUserOf(const LxPlace &wanted) const;
  bool isLastUser(const LxPlace &place) const;
  void findLivesAcrossPrograms();
  void findInPlace();
  void makeNamesUnique();

  std::string phaseName;
  int32_t phase = -1;
  std::vector<Entry> entries;
  std::vector<LxPlace> places;
};

} // namespace spyre::backend
