//===- Support.h - machines, shapes and shorthands of the division tests --------------------===//
#pragma once

#include "spyre/Base/Random.h"
#include "spyre/Solver/Division/Build.h"
#include "spyre/Solver/Division/Divide.h"
#include "spyre/Solver/Division/Rules.h"
#include "spyre/Solver/Division/Verify.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <functional>

namespace spyre::solver::division::test {

inline arch::DeviceDesc machine(const char *name = "spyre") {
  return *arch::DeviceDesc::preset(name);
}

inline Op pointwise(std::vector<int64_t> shape, int inputs = 1, int64_t lanes = 64) {
  return makePointwise(shape, inputs, lanes);
}
inline Op reduction(std::vector<int64_t> shape, size_t axis, int64_t lanes = 64) {
  return makeReduction(shape, axis, lanes);
}
inline Op restickify(std::vector<int64_t> shape, size_t axis) {
  return makeRestickify(shape, axis);
}

struct Request {
  Mode mode = Mode::Best;
  int64_t cores = 32;
  int64_t spanLimitBytes = 0;
  bool distribute = true;
};

inline Expected<Outcome> tryDivide(const Op &op, Request request,
                                   arch::DeviceDesc device = machine()) {
  if (request.spanLimitBytes > 0) {
    device.spanLimitBytes = request.spanLimitBytes;
  }
  Options options;
  options.mode = request.mode;
  options.cores = request.cores;
  options.distribute = request.distribute;
  return divide(op, device, options, DeviceRates(device));
}

/// The outcome of a division that must not fail.
inline Outcome divided(const Op &op, Request request, const arch::DeviceDesc &device = machine()) {
  Expected<Outcome> outcome = tryDivide(op, request, device);
  EXPECT_TRUE(outcome.ok()) << outcome.status().message();
  return outcome.ok() ? *outcome : Outcome();
}

inline Splits compatSplits(const Op &op, int64_t cores = 32) {
  return divided(op, {.mode = Mode::Compat, .cores = cores}).plan.splits;
}

/// Every combination of divisors on at most \p cores cores.
inline void forEachSplit(const Op &op, int64_t cores,
                         const std::function<void(const Splits &)> &body) {
  const Units units = unitsOf(op);
  Splits splits(op.dims.size(), 1);
  std::function<void(size_t, int64_t)> extend = [&](size_t d, int64_t used) {
    if (d == splits.size()) {
      body(splits);
      return;
    }
    for (int64_t split : divisorsUpTo(units.count[d], cores / used)) {
      splits[d] = split;
      extend(d + 1, used * split);
    }
    splits[d] = 1;
  };
  extend(0, 1);
}

inline bool isLegal(const Op &op, const arch::DeviceDesc &device, int64_t cores,
                    const Splits &splits) {
  return checkRules(op, device, cores, splits).ok() &&
         verifyPlan(op, device, cores, makePlan(op, splits, CoreOrder::FirstFastest)).ok();
}

/// Operation number \p seed: pointwise, broadcast, reduction, matmul, restickify; 2 to 5 dims.
inline Op randomOp(uint64_t seed, int64_t largest) {
  Random random(seed * 0x9E3779B97F4A7C15ull + 1);
  auto extent = [&] {
    const int64_t smooth = int64_t(1) << random.below(7);
    const int64_t factors[] = {1, 3, 5, 7, 9, 12, 25, 37};
    const int64_t size = smooth * factors[random.below(8)] + (random.below(4) == 0 ? 1 : 0);
    return std::clamp<int64_t>(size, 1, largest);
  };
  const size_t rank = 2 + random.below(4);
  std::vector<int64_t> shape;
  int64_t room = int64_t(1) << 32;
  for (size_t i = 0; i < rank; ++i) {
    shape.push_back(std::clamp<int64_t>(extent(), 1, room));
    room /= shape.back();
  }
  switch (random.below(5)) {
  case 0:
    return makePointwise(shape, 2);
  case 1: {
    Op op = makePointwise(shape, 2);
    // The second operand has one row for all of the first dim.
    HostTensor host{.name = "in1"};
    for (size_t i = 0; i < rank; ++i) {
      host.dims.push_back(i == 0 ? -1 : int(i));
    }
    op.tensors[1] = *defaultTensor(op.dims, host);
    return op;
  }
  case 2:
    return makeReduction(shape, random.below(rank));
  case 3:
    return makeMatmul(random.below(2) == 0 ? 0 : extent(), extent(), extent(), extent(),
                      random.below(2) == 0);
  default:
    return makeRestickify(shape, random.below(rank));
  }
}

} // namespace spyre::solver::division::test
