//===- KindPrices.h - prices of equal operations, by division and by what is in LX ------------===//
#pragma once

#include "spyre/CostModel/KernelPricer.h"
#include "spyre/Solver/Division/Rules.h"
#include "spyre/Solver/Placement/DivideTogether.h"

#include <map>

namespace spyre::solver::placement {

/// Arguments of an operation: bit a is argument a.
using ArgumentSet = uint64_t;
/// An OpSpec has no more (spec::verify).
constexpr size_t kMostArguments = 64;
constexpr ArgumentSet setOf(size_t argument) { return ArgumentSet(1) << argument; }
constexpr bool holds(ArgumentSet arguments, size_t argument) {
  return (arguments >> argument & 1) != 0;
}

/// Remembers what it was asked. Refers to what it is made of.
class KindPrices {
public:
  KindPrices(const DivisionKind &kind, const arch::DeviceDesc &device, int64_t cores);

  /// Do the rules of the machine, the span limit and the verifier allow it?
  bool isLegal(const CoreSplits &splits);
  /// Of a sum or a product: legal divisions of the result alone, its first dims first and its last
  /// ones first.
  const std::vector<CoreSplits> &wholeResults();
  /// Time of the operation with the arguments \p inLx in LX. Indices come first among arguments.
  double price(const CoreSplits &splits, ArgumentSet inLx);

private:
  bool judge(const CoreSplits &splits) const;
  /// The kernel with these arguments in LX; nothing where the operation is none.
  const costmodel::KernelPricer *pricerOf(ArgumentSet inLx);
  double fresh(const CoreSplits &splits, ArgumentSet inLx);

  const DivisionKind *kind;
  const arch::DeviceDesc *device;
  int64_t cores;
  std::optional<costmodel::Kernel> kernel;
  std::map<CoreSplits, bool> legal;
  std::optional<std::vector<CoreSplits>> whole;
  std::map<ArgumentSet, std::optional<costmodel::KernelPricer>> pricers;
  std::map<std::pair<ArgumentSet, CoreSplits>, double> prices;
};

} // namespace spyre::solver::placement
