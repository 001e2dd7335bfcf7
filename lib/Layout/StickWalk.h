//===- StickWalk.h - the sticks of a plan in address order ----------------------------------===//
//
// Any range of sticks can be walked by itself, so threads share a tensor by ranges, and a transfer
// can be done in pieces. Sticks without a host element are reported too: they are padding.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "TransferPlan.h"

#include <algorithm>

namespace spyre::layout::detail {

class StickWalk {
public:
  StickWalk(const TransferPlan &plan, const DeviceLayout &layout)
      : plan(plan), deviceSize(layout.deviceSize.begin(), layout.deviceSize.end() - 1),
        row(plan.row(layout)) {}

  int64_t rowHostStride() const { return row.hostStride; }

  /// Covers the sticks [first, end) by calls of
  ///   onRows(stick, count, run): count neighbours; the first holds run, each next one the elements
  ///     rowHostStride() further on, and
  ///   onEmpty(stick, count): count neighbours that hold no host element.
  template <typename OnRows, typename OnEmpty>
  void run(int64_t first, int64_t end, const OnRows &onRows, const OnEmpty &onEmpty) const {
    if (first >= end) {
      return;
    }
    std::vector<int64_t> at = coordinatesOf(first);
    StickRun run;
    for (int64_t stick = first; stick < end;) {
      int64_t count = std::min(skipOutside(at), end - stick);
      if (count > 0) {
        onEmpty(stick, count);
      } else {
        count = std::min(rowLeft(at), end - stick);
        if (plan.locate(at, run)) {
          onRows(stick, count, run);
        } else {
          onEmpty(stick, count);
        }
        advance(at, count);
      }
      stick += count;
    }
  }

  /// Elements of one stick; false when it holds none.
  bool locate(int64_t stick, StickRun &run) const {
    std::vector<int64_t> at = coordinatesOf(stick);
    return skipOutside(at) == 0 && plan.locate(at, run);
  }

private:
  std::vector<int64_t> coordinatesOf(int64_t stick) const {
    std::vector<int64_t> at(deviceSize.size());
    for (size_t i = at.size(); i-- > 0;) {
      at[i] = stick % deviceSize[i];
      stick /= deviceSize[i];
    }
    return at;
  }

  /// Moves \p at past the positions that no coordinate of the plan reaches; how many they are.
  int64_t skipOutside(std::vector<int64_t> &at) const {
    for (size_t i = 0; i < at.size(); ++i) {
      if (at[i] < plan.loopExtent[i]) {
        continue;
      }
      int64_t left = deviceSize[i] - at[i];
      for (size_t j = i + 1; j < at.size(); ++j) {
        left = left * deviceSize[j] - at[j];
        at[j] = 0;
      }
      at[i] = deviceSize[i];
      carry(at, i);
      return left;
    }
    return 0;
  }

  /// Sticks from \p at to the end of the row, itself included.
  int64_t rowLeft(const std::vector<int64_t> &at) const {
    return row.extent > 0 ? std::max<int64_t>(row.extent - at[row.slot], 1) : 1;
  }

  void advance(std::vector<int64_t> &at, int64_t count) const {
    if (!at.empty()) {
      size_t slot = row.extent > 0 ? row.slot : at.size() - 1;
      at[slot] += count;
      carry(at, slot);
    }
  }

  void carry(std::vector<int64_t> &at, size_t from) const {
    for (size_t i = from; i > 0 && at[i] == deviceSize[i]; --i) {
      at[i] = 0;
      ++at[i - 1];
    }
  }

  const TransferPlan &plan;
  /// Without the lanes.
  std::vector<int64_t> deviceSize;
  Row row;
};

} // namespace spyre::layout::detail
