//===- HostLanes.h - the host side of a transfer --------------------------------------------===//
//
// Per stick: the host elements of its lanes are one run with one stride. Stride 1 converts straight
// from host memory; any other stride goes through a buffer. Where neighbouring sticks hold
// neighbouring elements (the stick runs down the columns of a row-major matrix), whole tiles are
// transposed, so that each line of host memory is used once and not once per stick.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Layout/Transfer.h"

#include "StridedCopy.h"
#include "TransferPlan.h"

namespace spyre::layout::detail {

class HostLanes {
public:
  HostLanes(const TransferPlan &plan, const HostTensorRef &host);

  /// \p count neighbouring sticks: the first holds \p run, each next one the elements \p rowStride
  /// further on. Lanes without an element become zero.
  void toSticks(StickRun run, int64_t count, int64_t rowStride, char *sticks) const;
  void fromSticks(const char *sticks, StickRun run, int64_t count, int64_t rowStride) const;

  /// A block of a matrix: \p tiles stick columns of \p rows full sticks, whose lanes lie side by
  /// side in host memory. Columns are \p pitch bytes apart.
  void toTiles(const StickRun &run, int64_t rows, int64_t tiles, int64_t rowStride, char *sticks,
               int64_t pitch) const;
  void fromTiles(const char *sticks, int64_t pitch, const StickRun &run, int64_t rows,
                 int64_t tiles, int64_t rowStride) const;
  static constexpr int64_t kMaxTiles = 8;

private:
  char *at(int64_t offset) const { return base + offset * elementBytes; }
  /// Full sticks one after the other on both sides.
  bool isContiguous(const StickRun &run, int64_t rowStride) const;
  bool isTile(const StickRun &run, int64_t count, int64_t rowStride) const;
  void toStick(const StickRun &run, char *stick) const;
  void fromStick(const char *stick, const StickRun &run) const;
  void tileToSticks(const StickRun &run, int64_t count, char *sticks) const;
  void tileFromSticks(const char *sticks, const StickRun &run, int64_t count) const;
  void clearTail(const StickRun &run, char *stick) const;
  /// Folded dimensions: each lane finds its own place.
  int64_t laneOffset(const StickRun &run, int64_t lane) const;

  const TransferPlan &plan;
  char *base;
  numerics::HostType type;
  int64_t elementBytes;
  int64_t laneStride = 0;
  bool uniform = false;
};

} // namespace spyre::layout::detail
