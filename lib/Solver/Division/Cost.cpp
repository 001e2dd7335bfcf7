//===- Cost.cpp - the device's rates applied to divisions -----------------------------------===//
#include "spyre/Solver/Division/Cost.h"

#include "spyre/Base/Math.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace spyre::solver::division {

namespace {

/// Lanes the shuffle unit moves per cycle (docs/device.md).
constexpr double kShuffleLanesPerCycle = 64;
/// Partial results are 32 bits wide, results usually 16.
constexpr double kPartialWidth = 2;
/// Two buffers each for what comes in and what goes out.
constexpr double kBuffersPerTile = 4;
constexpr double kAccumulatorBytes = 4;
/// Cores one operand can be handed to without loss, and how the time grows beyond them.
/// [spec: work-division 10.1]
constexpr double kCohort = 8, kCohortExponent = 0.75;
/// Part of the DDR rate that 1, 2, 4, ... cores together reach; in between by the logarithm.
/// [spec: work-division 23.2]
constexpr std::array<double, 6> kCoresReach = {0.11, 0.22, 0.43, 0.54, 0.54, 1.0};

double reachOf(double cores) {
  const double position = std::min(std::log2(cores), double(kCoresReach.size() - 1));
  const auto below = std::min(size_t(position), kCoresReach.size() - 2);
  const double part = position - double(below);
  return kCoresReach[below] * (1 - part) + kCoresReach[below + 1] * part;
}

/// What does not change from one candidate to the next.
class Pricing {
public:
  Pricing(const Op &op, const Units &units, const arch::DeviceDesc &device)
      : op(op), units(units), timing(device.timing), dims(op.dims.size()),
        staging(std::max<double>(double(device.lxStagingBytes()), 128.0)),
        stickBytes(double(device.stickBytes)) {
    for (int64_t n = 0; n <= device.cores; ++n) {
      const double cores = std::max<double>(double(n), 1);
      reach.push_back(reachOf(cores));
      crowding.push_back(std::pow(std::max(1.0, cores / kCohort), kCohortExponent));
    }
    uint32_t inTables = 0, inOutput = 0;
    for (size_t t = 0; t < op.tensors.size(); ++t) {
      const Tensor &tensor = op.tensors[t];
      Use use{.output = tensor.output, .lane = laneDim(tensor)};
      for (const Coordinate &coordinate : tensor.coordinates) {
        for (const Term &term : coordinate.terms) {
          use.dims |= 1u << term.dim;
        }
      }
      use.lanes = double(tensor.elemsPerStick());
      inTables |= tensor.access == Access::Table ? use.dims : 0;
      inOutput |= tensor.output ? use.dims : 0;
      uses.push_back(use);
    }
    // A row of a table is moved once per entry.
    for (size_t t = 0; t < uses.size(); ++t) {
      if (op.tensors[t].access == Access::Table) {
        uses[t].dims |= inOutput & ~inTables;
        for (const Tensor &tensor : op.tensors) {
          uses[t].dims |= tensor.access == Access::Index ? dimsOf(tensor) : 0;
        }
      }
    }
    findMatmul(inOutput);
  }

  double nanoseconds(std::span<const int32_t> splits) {
    cores = 1;
    double points = 1, partners = 1;
    for (size_t d = 0; d < dims; ++d) {
      const int64_t split = splits[d];
      const double pieces = double((units.count[d] + split - 1) / split);
      split_[d] = double(split);
      padded[d] = pieces * double(units.elems[d]);
      elements[d] = std::min(padded[d], double(units.extent[d]));
      cores *= double(split);
      points *= padded[d];
      partners *= op.dims[d].reduced ? double(split) : 1;
    }
    const double arithmetic = computeCycles(points);
    double transfer = 0, bytesPerCore = 0, outBytes = 0;
    for (size_t t = 0; t < uses.size(); ++t) {
      const double bytes = coreBytes(uses[t]);
      bytesPerCore += bytes;
      if (uses[t].output) {
        outBytes = bytes;
        transfer += bytes * cores / partners / timing.ddrBytesPerCycle;
      } else {
        transfer += loadCycles(uses[t], bytes) * rereads(t);
      }
    }
    transfer /= reach[size_t(cores)];
    const double combine = combineCycles(outBytes, partners);
    const double cycles = overlapped(transfer, arithmetic, bytesPerCore) + combine +
                          timing.barrierCycles + timing.launchOverheadCycles;
    return cycles / timing.clockGhz;
  }

private:
  struct Use {
    uint32_t dims = 0;
    double lanes = 64;
    bool output = false;
    int lane = -1;
  };

  static uint32_t dimsOf(const Tensor &tensor) {
    uint32_t found = 0;
    for (const Coordinate &coordinate : tensor.coordinates) {
      for (const Term &term : coordinate.terms) {
        found |= 1u << term.dim;
      }
    }
    return found;
  }

  /// Rows and columns of the result: those only one operand has.
  void findMatmul(uint32_t inOutput) {
    if (op.kind != Kind::Matmul || uses.size() < 3) {
      return;
    }
    rows = uses[0].dims & inOutput & ~uses[1].dims;
    columns = uses[1].dims & inOutput & ~uses[0].dims;
  }

  double computeCycles(double points) const {
    switch (op.kind) {
    case Kind::Matmul:
    case Kind::Conv:
      return points / timing.ptMacsPerCycle;
    case Kind::Restickify:
      return points / kShuffleLanesPerCycle;
    default:
      return points * op.operations / timing.sfpLanesPerCycle;
    }
  }

  double coreBytes(const Use &use) const {
    double sticks = 1;
    for (size_t d = 0; d < dims; ++d) {
      if ((use.dims >> d & 1) != 0) {
        sticks *= use.lane == int(d) ? std::ceil(padded[d] / use.lanes) : elements[d];
      }
    }
    return sticks * stickBytes;
  }

  /// Cores with different parts read DDR, the others get theirs over the ring.
  double loadCycles(const Use &use, double bytes) const {
    double readers = 1;
    for (size_t d = 0; d < dims; ++d) {
      readers *= (use.dims >> d & 1) != 0 ? split_[d] : 1;
    }
    const double ddr = bytes * readers / timing.ddrBytesPerCycle;
    if (readers >= cores) {
      return ddr;
    }
    const double busy = std::max(ddr, bytes / timing.ringBytesPerCycle);
    return busy * crowding[size_t(cores / readers)];
  }

  /// How often an operand of a matmul is read because the accumulators of a core's whole result do
  /// not fit LX.
  double rereads(size_t t) const {
    if (rows == 0 && columns == 0) {
      return 1;
    }
    double height = 1, width = 1;
    for (size_t d = 0; d < dims; ++d) {
      height *= (rows >> d & 1) != 0 ? elements[d] : 1;
      width *= (columns >> d & 1) != 0 ? padded[d] : 1;
    }
    const double room = staging / 2 / kAccumulatorBytes;
    double tileHeight = height, tileWidth = width;
    while (tileHeight * tileWidth > room && (tileHeight > 1 || tileWidth > 64)) {
      if (tileHeight >= tileWidth) {
        tileHeight = std::ceil(tileHeight / 2);
      } else {
        tileWidth = std::ceil(tileWidth / 2);
      }
    }
    return t == 0 ? std::ceil(width / tileWidth) : (t == 1 ? std::ceil(height / tileHeight) : 1);
  }

  double combineCycles(double outBytes, double partners) const {
    if (partners <= 1) {
      return 0;
    }
    const double bytes = outBytes * kPartialWidth;
    return (partners - 1) *
           (bytes / timing.ringBytesPerCycle + bytes / kAccumulatorBytes / timing.sfpLanesPerCycle);
  }

  /// The next tile is loaded while this one is worked on.
  double overlapped(double transfer, double arithmetic, double bytesPerCore) const {
    const double tiles = std::max(1.0, std::ceil(bytesPerCore * kBuffersPerTile / staging / 2));
    const double load = transfer / tiles, work = arithmetic / tiles;
    const double oneByOne = load + timing.ddrLatencyCycles + work;
    const double period = std::max({load, work, oneByOne / 2});
    return oneByOne + (tiles - 1) * period;
  }

  const Op &op;
  const Units &units;
  const arch::Timing &timing;
  size_t dims;
  double staging, stickBytes;
  std::vector<Use> uses;
  uint32_t rows = 0, columns = 0;
  double cores = 1;
  /// By the number of cores; worked out once.
  std::vector<double> reach, crowding;
  std::array<double, kMaxDims> split_{}, padded{}, elements{};
};

} // namespace

void DeviceRates::price(const Op &op, const Units &units, const Candidates &candidates,
                        std::span<double> ns) const {
  Pricing pricing(op, units, device);
  for (size_t i = 0; i < candidates.size(); ++i) {
    ns[i] = pricing.nanoseconds(candidates[i]);
  }
}

} // namespace spyre::solver::division
