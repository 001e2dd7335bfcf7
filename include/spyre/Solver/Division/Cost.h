//===- Cost.h - what a division costs in time -----------------------------------------------===//
//
// The search asks for the price of many divisions of one operation at once; who answers is
// injected. DeviceRates is a closed form in first order: bytes over the shared DDR rate, arithmetic
// of one core, partial results over the ring, and two measured effects of the documents: few cores
// do not reach the DDR rate, and an operand that many cores share is handed out more slowly.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Solver/Division/Units.h"

#include <optional>
#include <span>

namespace spyre::solver::division {

/// Candidates of one operation: candidate i has splits[i * dims .. (i + 1) * dims).
struct Candidates {
  size_t dims = 0;
  std::vector<int32_t> splits = {};

  size_t size() const { return dims == 0 ? 0 : splits.size() / dims; }
  std::span<const int32_t> operator[](size_t i) const {
    return std::span(splits).subspan(i * dims, dims);
  }
};

/// The cheapest of some candidates.
struct CheapestCandidate {
  size_t candidate = 0;
  double nanoseconds = 0;
  /// No candidate costs less.
  double leastNanoseconds = 0;
  /// Those that had to be priced to know.
  size_t priced = 0;
};

class CostModel {
public:
  virtual ~CostModel() = default;
  /// Nanoseconds of each candidate, with the launch or without it for all. \p ns has one place per
  /// candidate. Pure: the same question has the same answer.
  virtual void price(const Op &op, const Units &units, const Candidates &candidates,
                     std::span<double> ns) const = 0;
  /// One that no other undercuts by more than the part \p slack of its price, found without pricing
  /// all; the candidate \p documented (SIZE_MAX: none) unless another is really cheaper. Nothing
  /// where the model has no such way.
  virtual std::optional<CheapestCandidate> cheapest(const Op &, const Units &, const Candidates &,
                                                    double /*slack*/, size_t /*documented*/) const {
    return std::nullopt;
  }
  virtual const char *name() const = 0;
  /// What of each price is the launch, and not the operation itself.
  virtual double launchNanoseconds() const { return 0; }
};

class DeviceRates : public CostModel {
public:
  explicit DeviceRates(const arch::DeviceDesc &device) : device(device) {}
  void price(const Op &op, const Units &units, const Candidates &candidates,
             std::span<double> ns) const override;
  double launchNanoseconds() const override {
    return device.timing.launchOverheadCycles / device.timing.clockGhz;
  }
  const char *name() const override { return "device-rates"; }

private:
  arch::DeviceDesc device;
};

} // namespace spyre::solver::division
