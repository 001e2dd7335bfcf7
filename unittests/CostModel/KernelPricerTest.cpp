//===- KernelPricerTest.cpp - what a price promises -----------------------------------------===//
#include "spyre/CostModel/KernelPricer.h"

#include "gtest/gtest.h"

#include <cmath>

namespace spyre::costmodel {
namespace {

const arch::DeviceDesc &device() {
  static const arch::DeviceDesc desc = *arch::DeviceDesc::preset("openspyre");
  return desc;
}

KernelTensor tensor(std::vector<HeldDim> dims) {
  KernelTensor result;
  result.dims = std::move(dims);
  return result;
}

/// [rows, columns], sticks along the columns, stick columns outermost.
Kernel addOf(int64_t rows, int64_t columns) {
  Kernel kernel;
  kernel.dims = {rows, columns};
  kernel.inputs = {tensor({{0}, {1, 64}}), tensor({{0}, {1, 64}})};
  kernel.output = tensor({{0}, {1, 64}});
  kernel.stickDim = kernel.inputStickDim = 1;
  return kernel;
}

/// Dims m, n, k.
Kernel matmulOf(int64_t m, int64_t n, int64_t k) {
  Kernel kernel;
  kernel.kernelClass = KernelClass::Matmul;
  kernel.dims = {m, n, k};
  kernel.inputs = {tensor({{0}, {2, 64}}), tensor({{2}, {1, 64}})};
  kernel.output = tensor({{0}, {1, 64}});
  kernel.stickDim = 1;
  kernel.inputStickDim = kernel.reducedDim = 2;
  return kernel;
}

double priceOf(const Kernel &kernel, std::vector<int32_t> splits) {
  Expected<KernelPricer> pricer = KernelPricer::create(kernel, device());
  EXPECT_TRUE(pricer.ok()) << pricer.status().message();
  double price = 0;
  pricer->price(splits, std::span(&price, 1));
  return price;
}

TEST(KernelPricer, APriceIsTheSameInAnyBatchAndInItsExplanation) {
  Expected<KernelPricer> pricer = KernelPricer::create(matmulOf(512, 4096, 1024), device());
  ASSERT_TRUE(pricer.ok());
  std::vector<int32_t> splits{1, 1, 1, 32, 1, 1, 4, 8, 1, 1, 32, 1, 2, 4, 4, 1, 1, 16};
  std::vector<double> together(splits.size() / 3);
  pricer->price(splits, together);
  for (size_t i = 0; i < together.size(); ++i) {
    std::span<const int32_t> one = std::span(splits).subspan(3 * i, 3);
    double alone = 0;
    pricer->price(one, std::span(&alone, 1));
    EXPECT_EQ(alone, together[i]);
    EXPECT_EQ(pricer->explain(one).totalCycles / device().timing.clockGhz, alone);
    EXPECT_GT(alone, 0);
  }
}

TEST(KernelPricer, RefusedDivisionsCostInfinity) {
  EXPECT_TRUE(std::isinf(priceOf(addOf(96, 192), {5, 1})));
  EXPECT_TRUE(std::isinf(priceOf(addOf(96, 192), {1, 2})));
  EXPECT_TRUE(std::isinf(priceOf(addOf(96, 192), {96, 1})));
  EXPECT_TRUE(std::isinf(priceOf(addOf(96, 192), {0, 1})));
  EXPECT_TRUE(std::isfinite(priceOf(addOf(96, 192), {32, 1})));
}

// Cores read whole sticks of 32 numbers, or share one.
TEST(KernelPricer, SticksOfIndicesAreNotCut) {
  Kernel gather;
  gather.dims = {96, 192};
  gather.inputs = {tensor({{1, 64}})};
  gather.inputs[0].indices = 0;
  gather.indices = {tensor({{0, 32}})};
  gather.output = tensor({{0}, {1, 64}});
  gather.stickDim = gather.inputStickDim = 1;
  EXPECT_TRUE(std::isinf(priceOf(gather, {2, 1})));
  for (int32_t cores : {1, 3, 4, 6, 32}) {
    EXPECT_TRUE(std::isfinite(priceOf(gather, {cores, 1}))) << cores;
  }
}

// The cheapest, found without pricing the hopeless.
TEST(KernelPricer, TheBestOfABatchIsItsFirstMinimum) {
  Expected<KernelPricer> pricer = KernelPricer::create(matmulOf(512, 4096, 1024), device());
  ASSERT_TRUE(pricer.ok());
  std::vector<int32_t> splits;
  for (int32_t m : {1, 2, 4, 8, 16, 32}) {
    for (int32_t n : {1, 2, 4, 8, 16, 32}) {
      // Each twice: the second of two that cost the same is never chosen.
      splits.insert(splits.end(), {m, n, 1, m, n, 1});
    }
  }
  std::vector<double> prices(splits.size() / 3);
  pricer->price(splits, prices);
  auto least = size_t(std::min_element(prices.begin(), prices.end()) - prices.begin());
  BestPrice best = pricer->priceBest(splits);
  EXPECT_EQ(best.candidate, least);
  EXPECT_EQ(best.nanoseconds, prices[least]);
  EXPECT_LT(best.priced, prices.size() / 2);
  EXPECT_EQ(best.leastNanoseconds, best.nanoseconds);
  // Likely ones are priced first; the answer is the same.
  for (size_t likely : {size_t(1), size_t(4), prices.size()}) {
    const BestPrice same = pricer->priceBest(splits, 0, likely);
    EXPECT_EQ(same.candidate, least);
    EXPECT_EQ(same.nanoseconds, prices[least]);
  }
  BestPrice near = pricer->priceBest(splits, 0.05);
  EXPECT_LE(near.priced, best.priced);
  EXPECT_LE(near.nanoseconds * 0.95, best.nanoseconds);
  EXPECT_EQ(prices[near.candidate], near.nanoseconds);
  EXPECT_LE(near.leastNanoseconds, prices[least]);
  EXPECT_GE(near.leastNanoseconds, near.nanoseconds * 0.95);
  // Asking for one first tells its price and changes nothing of the answer.
  for (size_t first : {size_t(0), prices.size() - 1, prices.size(), least}) {
    const BestPrice same = pricer->priceBest(splits, 0, 0, first);
    EXPECT_EQ(same.candidate, least);
    EXPECT_EQ(same.firstNanoseconds, first < prices.size() ? prices[first] : HUGE_VAL);
    EXPECT_LE(pricer->priceBest(splits, 0.02, 4, first).nanoseconds, same.firstNanoseconds);
  }
}

TEST(KernelPricer, NoBestWhereAllAreRefused) {
  Expected<KernelPricer> pricer = KernelPricer::create(addOf(96, 192), device());
  for (const std::vector<int32_t> &splits :
       {std::vector<int32_t>{}, std::vector<int32_t>{5, 1, 0, 1, -3, 1, 96, 1}}) {
    BestPrice best = pricer->priceBest(splits);
    EXPECT_TRUE(std::isinf(best.nanoseconds));
    EXPECT_EQ(best.candidate, 0u);
    EXPECT_EQ(best.priced, 0u);
  }
}

TEST(KernelPricer, NothingIsRoundedToZeroAndMoreWorkCostsMore) {
  double one = priceOf(addOf(1, 64), {1, 1}), two = priceOf(addOf(2, 64), {1, 1});
  EXPECT_GT(one, 0);
  EXPECT_GT(two, one);
  EXPECT_LT(priceOf(addOf(4096, 4096), {32, 1}), priceOf(addOf(4096, 4096), {4, 1}));
}

// Operands in LX are not loaded; a shared operand is read once for all cores.
TEST(KernelPricer, CountsWhatMoves) {
  Kernel kernel = addOf(4096, 4096);
  Expected<KernelPricer> pricer = KernelPricer::create(kernel, device());
  std::vector<int32_t> splits{32, 1};
  Breakdown parts = pricer->explain(splits);
  const double bytes = 4096.0 * 4096 * 2;
  EXPECT_DOUBLE_EQ(parts.ddrReadBytes, 2 * bytes);
  EXPECT_DOUBLE_EQ(parts.ddrWriteBytes, bytes);
  EXPECT_STREQ(parts.bound, "ddr");
  kernel.inputs[1].dims = {{1, 64}};
  Breakdown shared = KernelPricer::create(kernel, device())->explain(splits);
  EXPECT_DOUBLE_EQ(shared.ddrReadBytes, bytes + 4096 * 2);
  kernel = addOf(512, 512);
  for (KernelTensor *in : {&kernel.inputs[0], &kernel.inputs[1], &kernel.output}) {
    in->inLx = true;
  }
  Breakdown local = KernelPricer::create(kernel, device())->explain(splits);
  EXPECT_EQ(local.ddrReadBytes + local.ddrWriteBytes, 0);
}

TEST(KernelPricer, SplitReductionsUseTheRing) {
  Kernel kernel = matmulOf(64, 512, 4096);
  Expected<KernelPricer> pricer = KernelPricer::create(kernel, device());
  EXPECT_EQ(pricer->explain(std::vector<int32_t>{1, 8, 1}).ringCycles, 0);
  Breakdown split = pricer->explain(std::vector<int32_t>{1, 8, 4});
  EXPECT_GT(split.ringCycles, 0);
  // Partners one hop apart share no link.
  kernel.coreOrder = {2, 0, 1};
  Breakdown near = KernelPricer::create(kernel, device())->explain(std::vector<int32_t>{1, 8, 4});
  EXPECT_LT(near.ringCycles, split.ringCycles);
}

TEST(KernelPricer, RefusesWhatContradictsItself) {
  auto refused = [](const Kernel &kernel) {
    Expected<KernelPricer> pricer = KernelPricer::create(kernel, device());
    return !pricer.ok() && pricer.status().code() == 3090;
  };
  Kernel kernel = addOf(96, 192);
  kernel.dims[0] = 0;
  EXPECT_TRUE(refused(kernel));
  kernel = addOf(96, 192);
  kernel.inputs[0].dims[0].dim = 7;
  EXPECT_TRUE(refused(kernel));
  kernel = addOf(96, 192);
  kernel.inputs[0].dims[1].dim = 0;
  EXPECT_TRUE(refused(kernel));
  kernel = addOf(96, 192);
  kernel.coreOrder = {0, 0};
  EXPECT_TRUE(refused(kernel));
  kernel = matmulOf(64, 64, 64);
  kernel.inputs.pop_back();
  EXPECT_TRUE(refused(kernel));
  kernel = addOf(int64_t(1) << 40, int64_t(1) << 40);
  EXPECT_TRUE(refused(kernel));
  EXPECT_TRUE(refused(Kernel()));
}

} // namespace
} // namespace spyre::costmodel
