//===- KindPrices.cpp - see KindPrices.h ------------------------------------------------------===//
#include "KindPrices.h"

#include "spyre/Solver/Division/Verify.h"

#include <algorithm>

namespace spyre::solver::placement {

using costmodel::KernelPricer;
using costmodel::KernelTensor;

/// Symbols behind the variables are of the interface and never split.
static division::Splits ofDims(const division::Op &op, const CoreSplits &splits) {
  return {splits.begin(), splits.begin() + int64_t(std::min(op.dims.size(), splits.size()))};
}

/// A core has all of its part: nothing lies between.
static void putIntoLx(KernelTensor &tensor) {
  tensor.inLx = true;
  for (costmodel::HeldDim &held : tensor.dims) {
    held.gap = 0;
  }
}

KindPrices::KindPrices(const DivisionKind &kind, const arch::DeviceDesc &device, int64_t cores)
    : kind(&kind), device(&device), cores(cores) {
  if (kind.traits) {
    kernel = division::kernelOf(kind.op, *kind.traits);
  }
}

bool KindPrices::isLegal(const CoreSplits &splits) {
  const auto [found, isNew] = legal.try_emplace(splits, false);
  if (isNew) {
    found->second = judge(splits);
  }
  return found->second;
}

bool KindPrices::judge(const CoreSplits &all) const {
  const division::Op &op = kind->op;
  if (std::any_of(all.begin() + int64_t(std::min(op.dims.size(), all.size())), all.end(),
                  [](int64_t split) { return split != 1; })) {
    return false;
  }
  const division::Splits splits = ofDims(op, all);
  const division::Units units = division::unitsOf(op);
  for (size_t d = 0; d < splits.size(); ++d) {
    if (units.basis[d] % splits[d] != 0) {
      return false;
    }
  }
  if (division::productOf(splits) > cores ||
      !division::checkRules(op, *device, cores, splits).ok()) {
    return false;
  }
  const auto order = kind->traits && kind->traits->kFastCores
                         ? division::documentedOrder(op, splits)
                         : division::CoreOrder::FirstFastest;
  return division::verifyPlan(op, *device, cores, division::makePlan(op, splits, order)).ok();
}

const std::vector<CoreSplits> &KindPrices::wholeResults() {
  if (whole) {
    return *whole;
  }
  whole.emplace();
  const division::Op &op = kind->op;
  if (std::none_of(op.dims.begin(), op.dims.end(), [](const auto &dim) { return dim.reduced; })) {
    return *whole;
  }
  const division::Units units = division::unitsOf(op);
  for (bool lastFirst : {false, true}) {
    CoreSplits splits(op.dims.size(), 1);
    int64_t left = cores;
    for (size_t i = 0; i < splits.size(); ++i) {
      const size_t d = lastFirst ? splits.size() - 1 - i : i;
      if (!op.dims[d].reduced) {
        splits[d] = division::coreSplit(units.basis[d], left);
        left /= splits[d];
      }
    }
    if (isLegal(splits)) {
      whole->push_back(std::move(splits));
    }
  }
  return *whole;
}

const KernelPricer *KindPrices::pricerOf(ArgumentSet inLx) {
  if (!kernel) {
    return nullptr;
  }
  const auto [found, isNew] = pricers.try_emplace(inLx);
  if (isNew) {
    costmodel::Kernel with = *kernel;
    const auto indices =
        size_t(std::count_if(kind->op.tensors.begin(), kind->op.tensors.end(), [](const auto &one) {
          return one.access == division::Access::Index;
        }));
    for (size_t i = 0; i < with.inputs.size(); ++i) {
      if (holds(inLx, indices + i)) {
        putIntoLx(with.inputs[i]);
      }
    }
    if (holds(inLx, indices + with.inputs.size())) {
      putIntoLx(with.output);
    }
    Expected<KernelPricer> pricer = KernelPricer::create(std::move(with), *device);
    if (pricer.ok()) {
      found->second.emplace(std::move(*pricer));
    }
  }
  return found->second ? &*found->second : nullptr;
}

double KindPrices::price(const CoreSplits &splits, ArgumentSet inLx) {
  const auto [found, isNew] = prices.try_emplace({inLx, splits}, 0);
  if (isNew) {
    found->second = fresh(splits, inLx);
  }
  return found->second;
}

double KindPrices::fresh(const CoreSplits &all, ArgumentSet inLx) {
  const division::Splits splits = ofDims(kind->op, all);
  double ns = 0;
  if (const KernelPricer *pricer = pricerOf(inLx)) {
    std::vector<int32_t> wide(splits.begin(), splits.end());
    wide.resize(pricer->dims(), 1);
    pricer->price(wide, std::span(&ns, 1));
    return ns;
  }
  const division::Candidates one{splits.size(), {splits.begin(), splits.end()}};
  division::DeviceRates(*device).price(kind->op, division::unitsOf(kind->op), one,
                                       std::span(&ns, 1));
  return ns;
}

} // namespace spyre::solver::placement
