//===- Transfer.cpp - walk the sticks of a plan and convert ---------------------------------===//
//
// The tensor is cut into ranges of sticks that are converted independently: on threads, and, when
// the device memory can only be reached by copies, through a buffer that stays in the cache.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Layout/Transfer.h"

#include "spyre/Base/Math.h"
#include "spyre/Base/ThreadPool.h"

#include "HostLanes.h"
#include "StickWalk.h"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace spyre::layout {

using detail::HostLanes;
using detail::StickRun;
using detail::StickWalk;
using detail::TransferPlan;

static constexpr int64_t kStickBytes = 128;
/// Sticks of one task: enough work to pay for handing it to a thread, and as one piece small enough
/// for the stack and the cache.
static constexpr int64_t kTaskSticks = 1024;
/// Stick columns of a matrix that one task takes; the rows fill it up.
static constexpr int64_t kBlockTiles = HostLanes::kMaxTiles;

namespace {

/// The failure at the lowest position, whichever thread meets it first.
class FirstFailure {
public:
  void add(int64_t position, Status status) {
    if (status.ok()) {
      return;
    }
    std::lock_guard lock(mutex);
    if (found.ok() || position < where) {
      where = position;
      found = std::move(status);
    }
  }
  Status take() { return std::move(found); }

private:
  std::mutex mutex;
  int64_t where = 0;
  Status found = Status::success();
};

/// Rows x stick columns of a matrix whose sticks are all full: the first stick on the device, and
/// its elements.
struct Block {
  int64_t stick;
  int64_t rows;
  int64_t tiles;
  StickRun run;
};

/// How the sticks are shared out. On the device the rows of one stick column follow each other; in
/// host memory the columns of one row do. Going down a tall column touches each page of host memory
/// for two cache lines and comes back when it has left the cache, so tasks take blocks of rows and
/// columns.
struct Tasks {
  Tasks(const TransferPlan &plan, const DeviceLayout &layout) : rows(layout.sticks()) {
    size_t rank = layout.deviceSize.size();
    int64_t laneStride = 0;
    if (rank < 3 || plan.laneGroup == TransferPlan::kNone || !plan.laneStride(laneStride)) {
      return;
    }
    const detail::HostGroup &group = plan.groups[plan.laneGroup];
    const detail::Row row = plan.row(layout);
    if (laneStride == 1 && group.digits.size() == 2 && group.digits[1].slot == rank - 3 &&
        group.digits[1].step == plan.elemsPerStick && row.extent > 1 && row.slot == rank - 2) {
      rows = layout.deviceSize[rank - 2];
      tiles = layout.deviceSize[rank - 3];
      outer = layout.sticks() / (rows * tiles);
      usedRows = row.extent;
      fullTiles = group.size / plan.elemsPerStick;
      blockTiles = std::min(kBlockTiles, tiles);
      blockRows = kTaskSticks / blockTiles;
    }
  }

  int64_t count() const { return outer * ceilDiv(rows, blockRows) * ceilDiv(tiles, blockTiles); }

  /// Calls onBlock(Block) where it can, else onRange(first, end) for the ranges of sticks of one
  /// task, each at most kTaskSticks long.
  template <typename OnBlock, typename OnRange>
  void run(int64_t task, const StickWalk &walk, const OnBlock &onBlock,
           const OnRange &onRange) const {
    int64_t tileBlocks = ceilDiv(tiles, blockTiles);
    int64_t firstTile = task % tileBlocks * blockTiles;
    int64_t rest = task / tileBlocks;
    int64_t firstRow = rest % ceilDiv(rows, blockRows) * blockRows;
    int64_t base = rest / ceilDiv(rows, blockRows) * tiles;
    int64_t endTile = std::min(tiles, firstTile + blockTiles);
    int64_t endRow = std::min(rows, firstRow + blockRows);
    Block block{(base + firstTile) * rows + firstRow,
                endRow - firstRow,
                std::min(endTile, fullTiles) - firstTile,
                {}};
    if (block.tiles > 1 && endRow <= usedRows && walk.locate(block.stick, block.run)) {
      onBlock(block);
      firstTile += block.tiles;
    }
    for (int64_t tile = firstTile; tile < endTile; ++tile) {
      onRange((base + tile) * rows + firstRow, (base + tile) * rows + endRow);
    }
  }

  int64_t outer = 1;
  int64_t tiles = 1;
  int64_t rows;
  int64_t usedRows = 0;
  int64_t fullTiles = 0;
  int64_t blockTiles = 1;
  int64_t blockRows = kTaskSticks;
};

/// A plan with everything a range of sticks needs.
struct Transfer {
  Transfer(const TransferPlan &plan, const DeviceLayout &layout, const HostTensorRef &host)
      : walk(plan, layout), lanes(plan, host), tasks(plan, layout) {}

  /// \p at points at stick \p first.
  void pack(int64_t first, int64_t end, char *at) const {
    walk.run(
        first, end,
        [&](int64_t stick, int64_t count, const StickRun &run) {
          lanes.toSticks(run, count, walk.rowHostStride(), at + (stick - first) * kStickBytes);
        },
        [&](int64_t stick, int64_t count) {
          std::memset(at + (stick - first) * kStickBytes, 0, size_t(count * kStickBytes));
        });
  }

  void unpack(int64_t first, int64_t end, const char *at) const {
    walk.run(
        first, end,
        [&](int64_t stick, int64_t count, const StickRun &run) {
          lanes.fromSticks(at + (stick - first) * kStickBytes, run, count, walk.rowHostStride());
        },
        [](int64_t, int64_t) {});
  }

  /// \p at points at the first stick; stick columns are \p pitch sticks apart.
  void packBlock(const Block &block, char *at, int64_t pitch) const {
    lanes.toTiles(block.run, block.rows, block.tiles, walk.rowHostStride(), at,
                  pitch * kStickBytes);
  }

  void unpackBlock(const Block &block, const char *at, int64_t pitch) const {
    lanes.fromTiles(at, pitch * kStickBytes, block.run, block.rows, block.tiles,
                    walk.rowHostStride());
  }

  /// Calls onBlock and onRange, together for each stick once.
  template <typename OnBlock, typename OnRange>
  void run(ThreadPool *pool, const OnBlock &onBlock, const OnRange &onRange) const {
    auto task = [&](size_t index) { tasks.run(int64_t(index), walk, onBlock, onRange); };
    size_t count = size_t(tasks.count());
    if (pool != nullptr) {
      pool->parallelFor(count, task);
      return;
    }
    for (size_t i = 0; i < count; ++i) {
      task(i);
    }
  }

  StickWalk walk;
  HostLanes lanes;
  Tasks tasks;
};

} // namespace

static Expected<TransferPlan> planFor(const HostTensorRef &host,
                                      const std::vector<int64_t> &matchStride,
                                      const DeviceLayout &layout) {
  if (numerics::deviceFormat(host.type) != layout.format) {
    return error<2009>("a {} tensor is {} on the device, the layout says {}; build the layout for "
                       "that type",
                       numerics::hostTypeName(host.type),
                       numerics::formatName(numerics::deviceFormat(host.type)),
                       numerics::formatName(layout.format));
  }
  return detail::planTransfer(layout, host.size, matchStride, host.stride);
}

static Expected<TransferPlan> planPack(const HostTensorRef &host,
                                       const std::vector<int64_t> &matchStride,
                                       const DeviceLayout &layout) {
  SPYRE_ASSIGN_OR_RETURN(TransferPlan plan, planFor(host, matchStride, layout));
  plan.spreadExpandedLane();
  return plan;
}

static Expected<TransferPlan> planUnpack(const HostTensorRef &host,
                                         const std::vector<int64_t> &matchStride,
                                         const DeviceLayout &layout) {
  SPYRE_ASSIGN_OR_RETURN(TransferPlan plan, planFor(host, matchStride, layout));
  for (size_t slot = 0; slot < plan.loopExtent.size(); ++slot) {
    if (plan.hostElems > 0 && plan.expanded[slot]) {
      plan.loopExtent[slot] = std::min<int64_t>(plan.loopExtent[slot], 1); // One copy is enough.
    }
  }
  return plan;
}

/// Host elements that share memory are written in order, by one thread.
static ThreadPool *poolForWriting(const HostTensorRef &host, ThreadPool *pool) {
  return detail::reachesDistinctElements(host.size, host.stride) ? pool : nullptr;
}

Status packToDevice(const HostTensorRef &host, const std::vector<int64_t> &matchStride,
                    const DeviceLayout &layout, void *device, ThreadPool *pool) {
  SPYRE_ASSIGN_OR_RETURN(TransferPlan plan, planPack(host, matchStride, layout));
  Transfer transfer(plan, layout, host);
  auto *sticks = static_cast<char *>(device);
  transfer.run(
      pool,
      [&](const Block &block) {
        transfer.packBlock(block, sticks + block.stick * kStickBytes, transfer.tasks.rows);
      },
      [&](int64_t first, int64_t end) { transfer.pack(first, end, sticks + first * kStickBytes); });
  return Status::success();
}

Status unpackFromDevice(const void *device, const DeviceLayout &layout,
                        const std::vector<int64_t> &matchStride, const HostTensorRef &host,
                        ThreadPool *pool) {
  SPYRE_ASSIGN_OR_RETURN(TransferPlan plan, planUnpack(host, matchStride, layout));
  Transfer transfer(plan, layout, host);
  const auto *sticks = static_cast<const char *>(device);
  transfer.run(
      poolForWriting(host, pool),
      [&](const Block &block) {
        transfer.unpackBlock(block, sticks + block.stick * kStickBytes, transfer.tasks.rows);
      },
      [&](int64_t first, int64_t end) {
        transfer.unpack(first, end, sticks + first * kStickBytes);
      });
  return Status::success();
}

Status packPieces(const HostTensorRef &host, const std::vector<int64_t> &matchStride,
                  const DeviceLayout &layout, const DeviceWrite &write, ThreadPool *pool) {
  SPYRE_ASSIGN_OR_RETURN(TransferPlan plan, planPack(host, matchStride, layout));
  Transfer transfer(plan, layout, host);
  FirstFailure failure;
  auto send = [&](int64_t stick, const char *piece, int64_t count) {
    failure.add(stick, write(stick * kStickBytes, piece, count * kStickBytes));
  };
  transfer.run(
      pool,
      [&](const Block &block) {
        alignas(64) char piece[kTaskSticks * kStickBytes];
        transfer.packBlock(block, piece, block.rows);
        for (int64_t tile = 0; tile < block.tiles; ++tile) {
          send(block.stick + tile * transfer.tasks.rows, piece + tile * block.rows * kStickBytes,
               block.rows);
        }
      },
      [&](int64_t first, int64_t end) {
        alignas(64) char piece[kTaskSticks * kStickBytes];
        transfer.pack(first, end, piece);
        send(first, piece, end - first);
      });
  return failure.take();
}

Status unpackPieces(const DeviceRead &read, const DeviceLayout &layout,
                    const std::vector<int64_t> &matchStride, const HostTensorRef &host,
                    ThreadPool *pool) {
  SPYRE_ASSIGN_OR_RETURN(TransferPlan plan, planUnpack(host, matchStride, layout));
  Transfer transfer(plan, layout, host);
  FirstFailure failure;
  auto fetch = [&](int64_t stick, char *piece, int64_t count) {
    Status status = read(stick * kStickBytes, piece, count * kStickBytes);
    bool fetched = status.ok();
    failure.add(stick, std::move(status));
    return fetched;
  };
  transfer.run(
      poolForWriting(host, pool),
      [&](const Block &block) {
        alignas(64) char piece[kTaskSticks * kStickBytes];
        bool fetched = true;
        for (int64_t tile = 0; tile < block.tiles; ++tile) {
          fetched = fetch(block.stick + tile * transfer.tasks.rows,
                          piece + tile * block.rows * kStickBytes, block.rows) &&
                    fetched;
        }
        if (fetched) {
          transfer.unpackBlock(block, piece, block.rows);
        }
      },
      [&](int64_t first, int64_t end) {
        alignas(64) char piece[kTaskSticks * kStickBytes];
        if (fetch(first, piece, end - first)) {
          transfer.unpack(first, end, piece);
        }
      });
  return failure.take();
}

} // namespace spyre::layout
