//===- PriceBound.h - what a division costs at least ----------------------------------------===//
//
// A roofline of one candidate in a few dozen multiplications, without a sketch: every tensor
// crosses DDR at least once at the best rate its readers have, every unit does at least its work,
// the first data arrives and the last leaves after the latency. Kernels that fit the staging area
// in one tile are a chain, and it is their sum. Never above the price (CostModelAgreementTests), so
// that whoever looks for the cheapest division prices only those that can be it.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Candidate.h"

#include <algorithm>

namespace spyre::costmodel {

class PriceBound {
public:
  explicit PriceBound(const PricedKernel &priced);

  /// Cycles without the operation's overhead; infinite where the slices are not whole.
  double cycles(const int32_t *splits) const { return boundOf(splits).least; }

  struct Bound {
    double least;
    /// A guess between the bound and the sum of what may overlap: orders candidates whose bounds
    /// are equal because all keep the same unit busy.
    double likely;
  };
  Bound boundOf(const int32_t *splits) const;
  /// A bound that is nearer and takes longer, for kernels that have one: of matmuls, what the best
  /// tiles cost that LX has room for. \p enough: when it is known to be more, any number beyond is
  /// an answer.
  bool hasNearer() const { return hasTiles && hasOneRow; }
  double nearerCycles(const int32_t *splits, double enough) const;

private:
  /// Elements of a core along some dims, in steps.
  struct Steps {
    struct Factor {
      uint8_t dim;
      double perElement, less;
    };
    size_t count = 0;
    std::array<Factor, kMaxKernelDims> factor;

    void add(size_t dim, double elementsPerStep, double less = 0) {
      factor[count++] = {uint8_t(dim), 1 / elementsPerStep, less};
    }
    double of(const std::array<double, kMaxKernelDims> &perCore) const {
      double steps = 1;
      for (size_t i = 0; i < count; ++i) {
        steps *= (perCore[factor[i].dim] - factor[i].less) * factor[i].perElement;
      }
      return steps;
    }
  };
  /// The longest range of DDR that one transfer of a core's part can walk without a gap.
  struct Range {
    struct Level {
      uint8_t dim;
      double perStick, strideBytes, mostSteps;
    };
    /// Inner to outer; only what one transfer may walk.
    size_t count = 0;
    std::array<Level, kMaxKernelDims> level;
    bool isKnown = false;

    double bytes(const std::array<double, kMaxKernelDims> &perCore) const;
  };
  struct Transfer {
    Steps sticks;
    Range range;
    unsigned moves = 0;
    /// Some of it may be loaded by fewer cores than take part.
    bool byFewer = false;
  };
  struct Slices {
    std::array<double, kMaxKernelDims> perCore;
    double cores = 1, reduced = 1;
    /// Dims with more than one, as bits.
    unsigned split = 0;
  };

  void addTransfers(const PricedKernel &priced);
  void addTurns(const PricedKernel &priced);
  void addVectorWork(const PricedKernel &priced);
  void addProducts(const PricedKernel &priced);
  void addWindow(const PricedKernel &priced);
  void addStaging(const PricedKernel &priced);
  /// Of the output's dims as the unit counts them.
  Steps resultSteps(const PricedKernel &priced) const;
  double perPoint(double work, double lxBytes) const;

  static Range rangeOf(const PricedKernel &priced, size_t t);
  bool setSlices(const int32_t *splits, Slices &slices) const;
  /// Requests of at most a range take the memory their time, whatever they move.
  double requestsPerByte(const Range &range, const Slices &slices) const;
  double chipPerByte(double reads, double requests) const {
    return reads * std::max((1 + (reads - 1) * streamLoss) * perDdrByte, requests);
  }
  struct Moved {
    double cycles, bytes;
    /// Nothing but the chip's border makes it wait.
    bool isChip;
  };
  /// At least; the bytes are what crosses DDR for one core.
  Moved loaded(const Transfer &transfer, const int32_t *splits, const Slices &slices) const;
  double turnCycles(const Slices &slices, double readBytes, bool isChip) const;
  double storeCycles(const Slices &slices, bool turns) const;
  double ringCycles(const int32_t *splits, const Slices &slices) const;
  double factorCycles(double a, double b, const Slices &slices) const;
  struct Product;
  double tileCycles(const Product &product, double tileRows, double enough) const;

  size_t dims = 0;
  int reducedDim = -1;
  bool splitsMask = false;
  std::array<double, kMaxKernelDims> size;
  std::array<uint8_t, kMaxKernelDims> coreOrder;
  /// Dims that only whole sticks of may be given to a core.
  Steps whole;
  double streamLoss = 0, perDdrByte = 0, perPortByte = 0, perCoreByte = 0, perRingByte = 0;
  double perRequest = 0;
  double coresPerPort = 1, deviceCores = 1, turnPerByte = 0, hopCycles = 0, latency = 0;
  double lxBytesPerCycle = 1;
  size_t loads = 0;
  std::array<Transfer, kMaxKernelTensors> load;
  bool hasLoad = false, hasStore = false;
  /// All loads are among those above.
  bool knowsLoads = true;
  Steps store;
  Range storeRange;
  /// The load that every store follows with as many bytes; -1: none.
  int turnsBehind = -1;
  /// Of the vector unit after the first load: work per point, and once per result.
  Steps work, results;
  double workCycles = 0, resultCycles = 0;
  /// Of the matrix unit.
  bool multiplies = false;
  Steps blocks, rows;
  double rowCycles = 0, fillCycles = 0;
  /// Of a matmul: sticks of results and of k, where both factors move along all rows, and the
  /// staging bytes that its tiles have.
  bool hasTiles = false, hasOneRow = false;
  Steps columns, depth;
  double matmulRoom = 0;
  /// Accumulators that travel when the reduced dim is split.
  double ringBytesPerResult = 0, exchanges = 1;
  /// What one tile of everything takes, where it is known; 0: it is not.
  double stagingRoom = 0, inputStaging = 0, resultStaging = 0;
};

} // namespace spyre::costmodel
