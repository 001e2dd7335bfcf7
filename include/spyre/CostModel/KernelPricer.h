//===- KernelPricer.h - nanoseconds of a kernel for each of its divisions -------------------===//
//
// The simulator's clock in closed form, for planners. The back end's program of a kernel is a loop
// nest over tiles with a few instructions per tile; a price takes the same tiles (the functions
// that choose them are shared with the back end), the cycles of each instruction, and lets a clock
// of five units run over the first iterations of every loop until they repeat. So overlap is what
// the program's structure gives, as on the device; nothing is executed and nothing is allocated.
//
// A price is that of the kernel alone: a launch and a bundle cost what launchNanoseconds() and the
// device say, once. docs/adr/0049-prices-run-the-clock-over-a-sketch.md
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/CostModel/Kernel.h"

#include <limits>
#include <memory>
#include <span>

namespace spyre::costmodel {

/// Where a kernel's time goes. Busy cycles of one core's units, which overlap; `total` is the time.
struct Breakdown {
  double totalCycles = 0;
  /// Loads and stores, with the turning of the bus; latency apart.
  double ddrCycles = 0, ddrLatencyCycles = 0;
  /// Units that wait for their operands' way from and to LX, beyond their own work.
  double lxCycles = 0;
  double ringCycles = 0;
  /// The matrix unit: blocks that are waited for, and rows that stream.
  double ptFillCycles = 0, ptCycles = 0;
  double sfpCycles = 0;
  /// Of the operation itself: fetching instructions, the barrier behind it.
  double overheadCycles = 0;
  double ddrReadBytes = 0, ddrWriteBytes = 0, ringBytes = 0;
  /// Tiles that are worked on one after the other.
  double tiles = 1;
  /// What takes longest: "ddr", "lx", "ring", "pt fill", "pt", "sfp", "latency" or "overhead".
  const char *bound = "overhead";
};

/// The cheapest of a batch.
struct BestPrice {
  /// Its number, the first of several that cost the same; 0 when the back end refuses all.
  size_t candidate = 0;
  double nanoseconds = std::numeric_limits<double>::infinity();
  /// What no candidate undercuts, by the bounds of those that were not priced.
  double leastNanoseconds = std::numeric_limits<double>::infinity();
  /// Candidates that had to be priced to know.
  size_t priced = 0;
  /// Of the candidate that was asked for first; infinity where none was.
  double firstNanoseconds = std::numeric_limits<double>::infinity();
};

class KernelPricer {
public:
  /// Refers to \p device, which has to outlive it. Errors: E3090.
  static Expected<KernelPricer> create(Kernel kernel, const arch::DeviceDesc &device);
  static Expected<KernelPricer> create(Kernel kernel, arch::DeviceDesc &&device) = delete;
  ~KernelPricer();
  KernelPricer(KernelPricer &&) noexcept;
  KernelPricer &operator=(KernelPricer &&) noexcept;

  size_t dims() const;
  /// \p splits has dims() slices per candidate, one candidate behind the other; \p nanoseconds one
  /// place per candidate. A candidate the back end refuses (no whole sticks, no room for one step)
  /// costs infinity. Pure: the same candidate has the same price in any batch.
  void price(std::span<const int32_t> splits, std::span<double> nanoseconds) const;
  /// What each candidate costs at least: never more than its price, for a tenth of the work.
  void lowerBounds(std::span<const int32_t> splits, std::span<double> nanoseconds) const;
  /// The same by the work of the tiles: nearer, for a third of the work of a price.
  void workBounds(std::span<const int32_t> splits, std::span<double> nanoseconds) const;
  /// The minimum of price() over a batch. Prices only candidates whose lower bound is below the
  /// best so far; with \p slack (0.02: 2 %) only those that may be cheaper by more than that part.
  /// A few that are likely are priced before, \p likely of them: a good price rules out the others.
  /// The candidate \p first is priced before all others, so that its price is known.
  BestPrice priceBest(std::span<const int32_t> splits, double slack = 0, size_t likely = 0,
                      size_t first = SIZE_MAX) const;
  /// Of one candidate; its total is its price.
  Breakdown explain(std::span<const int32_t> splits) const;

private:
  struct State;
  explicit KernelPricer(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

/// What a launch of one bundle costs beside its kernels.
double launchNanoseconds(const arch::DeviceDesc &device);

} // namespace spyre::costmodel
