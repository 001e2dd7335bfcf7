//===- AddressRuleTest.cpp - the SuperDSC describes the same addresses as the OpSpec --------===//
//
// A back end sees only the SuperDSC and the address rule of SuperDsc.h. Here both sides compute the
// address of every element at every point of every core's slice: from the OpSpec's coordinates, and
// by the rule from the emitted SuperDSC, which equals the one read back from its JSON.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"

#include "SpecGenerator.h"
#include "SpecTestUtils.h"

using namespace spyre;
using namespace spyre::spec;
using namespace spyre::spec::test;

namespace {

constexpr int kCasesPerKind = 1000;
/// The JSON round trip costs more than all the addresses; some of the cases are enough.
constexpr int kJsonEvery = 8;

/// Indices by position in the SuperDSC's list of dims.
struct CorePoint {
  int64_t core;
  std::vector<int64_t> local;  // inside the core's slice
  std::vector<int64_t> global; // value of the iteration symbol
};

class AddressChecker {
public:
  AddressChecker(const OpSpec &spec, const SuperDsc &dsc) : spec(spec), dsc(dsc) {
    // Extra dims: a unit dim in front, a virtual stick at the end (see SuperDscNormalize.h).
    const TensorArg &reference = spec.isReduction ? spec.args.front() : spec.args.back();
    const bool isVirtual =
        reference.deviceCoordinates.back().kind == Coordinate::Kind::Constant && !isMatmul(spec);
    const size_t extra = dsc.size.size() - spec.iterationSpace.size();
    front = extra - (isVirtual ? 1 : 0);
  }

  void checkAll() {
    std::vector<SourceTensor> sources;
    std::vector<RuleTensor> rules;
    for (size_t i = 0; i < spec.args.size(); ++i) {
      sources.push_back(sourceTensor(spec.args[i]));
      rules.push_back(ruleTensor(dsc.tensors[i]));
    }
    for (int64_t core = 0; core < dsc.cores; ++core) {
      CorePoint point{core, std::vector<int64_t>(dsc.size.size()), {}};
      point.global = point.local;
      walk(point, 0, [&] {
        for (size_t i = 0; i < sources.size(); ++i) {
          int64_t expected = 0;
          if (expectedAddress(point, sources[i], expected)) {
            ASSERT_EQ(addressByRule(point, rules[i]), expected)
                << "core " << core << " argument " << i;
          }
        }
      });
      if (testing::Test::HasFailure()) {
        return;
      }
    }
  }

private:
  template <typename Fn>
  void walk(CorePoint &point, size_t dim, const Fn &body) {
    if (dim == dsc.perCoreSize.size()) {
      body();
      return;
    }
    const auto &[label, count] = dsc.perCoreSize[dim];
    const int64_t first = *findDim(dsc.coreSlice[size_t(point.core)], label) * count;
    for (int64_t at = 0; at < count; ++at) {
      // Lanes inside a stick are consecutive by definition: its ends are enough.
      const bool inside = count >= 32 && at % 32 != 0 && at % 32 != 31;
      if (!inside || at == 1) {
        point.local[dim] = at;
        point.global[dim] = first + at;
        walk(point, dim + 1, body);
      }
    }
  }

  /// One device dimension of an OpSpec argument.
  struct SourceDim {
    Coordinate coordinate;
    size_t dim = 0;
    int64_t range = 1;
    int64_t strideElems = 1;
  };
  struct SourceTensor {
    bool inLx;
    int64_t address, elementBytes;
    std::vector<SourceDim> dims;
  };

  SourceTensor sourceTensor(const TensorArg &arg) const {
    SourceTensor out{
        arg.residency == Residency::Lx, arg.address, numerics::elementBytes(arg.deviceDtype), {}};
    int64_t stride = 1;
    for (size_t j = arg.deviceSize.size(); j-- > 0;) {
      SourceDim entry{arg.deviceCoordinates[j], 0, 1, stride};
      int64_t extent = 1;
      for (size_t i = 0; i < spec.iterationSpace.size(); ++i) {
        if (spec.iterationSpace[i].symbol == entry.coordinate.symbol) {
          entry.dim = i + front;
          entry.range = spec.iterationSpace[i].range;
          extent = dsc.perCoreSize[entry.dim].second;
        }
      }
      if (entry.coordinate.kind == Coordinate::Kind::Floor) {
        extent /= entry.coordinate.divisor;
      } else if (entry.coordinate.kind == Coordinate::Kind::Symbol && isRestickify()) {
        extent = std::min(extent, entry.range);
      }
      out.dims.push_back(entry);
      // A core's part of an LX tensor lies packed in its own scratchpad.
      stride *= out.inLx && j + 1 < arg.deviceSize.size() ? extent : arg.deviceSize[j];
    }
    return out;
  }

  bool isRestickify() const { return dsc.op == "ReStickifyOpHBM"; }

  /// False where a restickify has no memory (a padded row).
  bool expectedAddress(const CorePoint &point, const SourceTensor &tensor, int64_t &address) const {
    int64_t elements = 0;
    for (const SourceDim &entry : tensor.dims) {
      const Coordinate &c = entry.coordinate;
      int64_t value = 0;
      if (c.kind != Coordinate::Kind::Constant) {
        value = tensor.inLx ? point.local[entry.dim] : point.global[entry.dim];
      }
      if (c.kind == Coordinate::Kind::Symbol && isRestickify() &&
          point.global[entry.dim] >= entry.range) {
        return false;
      }
      value = c.kind == Coordinate::Kind::Floor ? value / c.divisor
              : c.kind == Coordinate::Kind::Mod ? value % c.divisor
                                                : value;
      elements += (value + c.offset) * entry.strideElems;
    }
    address = tensor.address + elements * tensor.elementBytes;
    return true;
  }

  /// The address rule of SuperDsc.h, as a back end would tabulate it.
  struct RuleDim {
    size_t dim;
    bool isStick;
    int64_t strideSticks;
  };
  struct RuleTensor {
    std::vector<int64_t> start;
    int64_t lanes, elementBytes;
    std::vector<RuleDim> dims;
  };

  RuleTensor ruleTensor(const DscTensor &tensor) const {
    const DscLayout *layout = nullptr;
    for (const DscLayout &candidate : dsc.layouts) {
      layout = candidate.label == tensor.layout ? &candidate : layout;
    }
    RuleTensor out{
        tensor.startAddress, layout->stickSizes[0], numerics::elementBytes(tensor.format), {}};
    int64_t stride = 1;
    for (const std::string &label : tensor.dimOrder) {
      if (*findDim(tensor.scale, label) < 0) {
        continue;
      }
      size_t dim = 0;
      while (dsc.size[dim].first != label) {
        ++dim;
      }
      const bool isStick = label == layout->stickDims[0];
      const int64_t *gap = findDim(tensor.backGap, label);
      int64_t ext = (tensor.inLx ? dsc.perCoreSize : dsc.size)[dim].second;
      ext += (gap ? *gap : 0) * (isRestickify() ? -1 : 1);
      out.dims.push_back({dim, isStick, stride});
      stride *= isStick ? ceilDiv(ext, out.lanes) : ext;
    }
    return out;
  }

  static int64_t addressByRule(const CorePoint &point, const RuleTensor &tensor) {
    int64_t address = tensor.start[size_t(point.core)];
    for (const RuleDim &entry : tensor.dims) {
      const int64_t index = point.local[entry.dim];
      if (entry.isStick) {
        address += index % tensor.lanes * tensor.elementBytes;
      }
      address += 128 * entry.strideSticks * (entry.isStick ? index / tensor.lanes : index);
    }
    return address;
  }

  const OpSpec &spec;
  const SuperDsc &dsc;
  size_t front = 0;
};

void checkKind(const GeneratorOptions &options) {
  const arch::DeviceDesc device = [] {
    arch::DeviceDesc d;
    d.cores = 1024;
    return d;
  }();
  for (int seed = 0; seed < kCasesPerKind && !testing::Test::HasFailure(); ++seed) {
    Random random(uint64_t(seed) * 7919 + uint64_t(options.kind));
    const OpSpec spec = generateSpec(random, options);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + writeOpSpecs({spec}));
    const Status valid = verifyOpSpec(spec);
    ASSERT_TRUE(valid.ok()) << valid.message();
    Expected<SuperDsc> emitted = emitSuperDsc(spec, seed);
    ASSERT_TRUE(emitted.ok()) << emitted.status().message();
    const Status consistent = verifySuperDsc(*emitted, device);
    ASSERT_TRUE(consistent.ok()) << consistent.message();
    if (seed % kJsonEvery == 0) {
      Expected<SuperDsc> reread = readSuperDsc(writeSuperDsc(*emitted));
      ASSERT_TRUE(reread.ok()) << reread.status().message();
      ASSERT_EQ(*reread, *emitted);
    }
    AddressChecker(spec, *emitted).checkAll();
    Expected<std::vector<OpSpec>> reparsed = parseOpSpecs(writeOpSpecs({spec}));
    ASSERT_TRUE(reparsed.ok()) << reparsed.status().message();
    ASSERT_EQ(*reparsed, std::vector<OpSpec>{spec});
  }
}

} // namespace

TEST(AddressRule, HoldsForPointwiseWithBroadcastPermutationAndSlices) {
  checkKind({.kind = SpecKind::Pointwise});
}

TEST(AddressRule, HoldsForStickReductions) { checkKind({.kind = SpecKind::StickReduction}); }

TEST(AddressRule, HoldsForNonStickReductions) { checkKind({.kind = SpecKind::NonStickReduction}); }

TEST(AddressRule, HoldsForMatmulWithSharedAndSplitOperands) {
  checkKind({.kind = SpecKind::Matmul});
}

TEST(AddressRule, HoldsForRestickifyAlignedAndUnaligned) {
  checkKind({.kind = SpecKind::Restickify});
}

TEST(AddressRule, HoldsForTensorsInLx) {
  for (SpecKind kind : {SpecKind::Pointwise, SpecKind::StickReduction, SpecKind::NonStickReduction,
                        SpecKind::Matmul, SpecKind::Restickify}) {
    checkKind({.kind = kind, .slices = false, .lx = true});
  }
}
