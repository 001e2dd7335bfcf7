//===- GeneratorBundles.cpp - see GeneratorBundles.h ----------------------------------------===//
#include "GeneratorBundles.h"

#include "spyre/Base/Math.h"

#include "GeneratorGather.h"
#include "GeneratorReductions.h"

#include <algorithm>

namespace spyre::backend::test {

using spec::Coordinate;
using spec::IterationDim;
using spec::OpSpec;
using spec::Residency;
using spec::TensorArg;

namespace {

/// Small bundles, so that there can be many; large tensors have tests of their own.
constexpr int64_t kMaxBytes = int64_t(1) << 16;
/// A launch has seven segments for data.
constexpr size_t kMaxArguments = 6;

int64_t bytesOf(const TensorArg &arg) {
  int64_t elements = 1;
  for (int64_t size : arg.deviceSize) {
    elements *= size;
  }
  return elements / numerics::elemsPerStick(arg.deviceDtype) * 128;
}

bool isSmall(const OpSpec &spec) {
  return spec.args.size() <= kMaxArguments &&
         std::all_of(spec.args.begin(), spec.args.end(),
                     [](const TensorArg &arg) { return bytesOf(arg) <= kMaxBytes; });
}

bool uses(const TensorArg &arg, const std::string &symbol) {
  return std::any_of(arg.deviceCoordinates.begin(), arg.deviceCoordinates.end(),
                     [&](const Coordinate &c) { return c.symbol == symbol; });
}

/// The whole of its buffer: what LX can hold.
bool isCompact(const OpSpec &spec, const TensorArg &arg) {
  for (size_t d = 0; d < arg.deviceSize.size(); ++d) {
    const Coordinate &coordinate = arg.deviceCoordinates[d];
    int64_t extent = 1;
    for (const IterationDim &dim : spec.iterationSpace) {
      if (dim.symbol == coordinate.symbol) {
        extent = coordinate.kind == Coordinate::Kind::Mod ? coordinate.divisor
                                                          : ceilDiv(dim.range, coordinate.divisor);
      }
    }
    bool isLane = d + 1 == arg.deviceSize.size();
    if (coordinate.offset != 0 || (!isLane && extent != arg.deviceSize[d])) {
      return false;
    }
  }
  return true;
}

class Builder {
public:
  Builder(Random &random, const arch::DeviceDesc &device) : random(random), device(device) {}

  RandomBundle build() {
    result.symbolic = chance(3);
    OpSpec first = firstOperation();
    for (TensorArg &arg : first.args) {
      place(arg);
    }
    result.specs.push_back(std::move(first));
    for (int64_t more = random.between(0, 3); more > 0; --more) {
      follow();
    }
    fillMemory();
    return std::move(result);
  }

private:
  bool chance(uint64_t oneIn) { return random.below(oneIn) == 0; }

  OpSpec firstOperation() {
    while (true) {
      OpSpec spec;
      if (chance(3)) {
        const auto &names = reductionCases();
        ReductionRequest request{
            names[random.below(names.size())],
            int64_t(1) << random.below(std::min<uint64_t>(4, uint64_t(device.cores > 4 ? 4 : 3))),
            StickEnd(random.below(4))};
        spec = randomReduction(request, random).base.spec;
      } else {
        const auto &names = generatedOps();
        spec = randomSpec(names[random.below(names.size())], random, device, false).spec;
      }
      if (isSmall(spec)) {
        return spec;
      }
    }
  }

  /// A call argument or a piece of the pool.
  void place(TensorArg &arg) {
    const bool inPool = arguments >= kMaxArguments || chance(3);
    // Indices must be numbers of rows; fillIndices knows those of arguments.
    arg.residency = inPool && !arg.isIndex() ? Residency::Pool : Residency::Hbm;
    arg.argIndex = arg.residency == Residency::Hbm ? int64_t(arguments++) : -1;
    arg.address = arg.residency == Residency::Hbm ? 0 : poolBytes;
    if (arg.residency == Residency::Pool) {
      poolBytes += roundUp(bytesOf(arg), int64_t(128)) + 128 * random.between(0, 2);
    }
  }

  const PointwiseOp *pickOp(numerics::DataFormat format) {
    const std::vector<PointwiseOp> &ops = pointwiseOps();
    for (int attempt = 0; attempt < 100; ++attempt) {
      const PointwiseOp &op = ops[random.below(ops.size())];
      if (op.has(format) && op.resultOf(format) == format && op.pairInput < 0) {
        return &op;
      }
    }
    return nullptr;
  }

  /// Appends an operation on the last result.
  void follow() {
    OpSpec &previous = result.specs.back();
    const PointwiseOp *op = pickOp(previous.args.back().deviceDtype);
    if (!op) {
      return;
    }
    OpSpec spec;
    spec.op = op->name;
    spec.constants = randomConstants(*op, random);
    bool isSplitSum = false;
    for (const IterationDim &dim : previous.iterationSpace) {
      if (uses(previous.args.back(), dim.symbol)) {
        spec.iterationSpace.push_back(dim);
      } else {
        isSplitSum |= dim.cores > 1;
      }
    }
    if (spec.iterationSpace.empty()) {
      return;
    }
    const TensorArg &last = previous.args.back();
    bool isLx = last.residency == Residency::Lx;
    bool sameDivision = dividesWholeSticks(spec, last);
    if (!isLx && sameDivision && !isSplitSum && isCompact(previous, last) && hasRoom(last) &&
        chance(2)) {
      moveToLx(previous.args.back());
    } else if (!isLx && (!sameDivision || chance(2))) {
      redivide(spec);
    }
    TensorArg input = previous.args.back();
    input.isInput = true;
    for (size_t i = 0; i < op->inputs; ++i) {
      spec.args.push_back(input);
      if (i > 0 && !chance(3)) {
        place(spec.args.back());
      }
    }
    TensorArg output = input;
    output.isInput = false;
    if (!chance(4)) {
      place(output);
    }
    spec.args.push_back(std::move(output));
    result.specs.push_back(std::move(spec));
  }

  /// Results may have fewer lanes per stick than what they are made of.
  static bool dividesWholeSticks(const OpSpec &spec, const TensorArg &arg) {
    return std::all_of(
        spec.iterationSpace.begin(), spec.iterationSpace.end(),
        [&](const IterationDim &dim) { return piecesOf(dim, arg) % dim.cores == 0; });
  }

  /// What of \p dim can be given to cores: elements, or sticks of \p arg.
  static int64_t piecesOf(const IterationDim &dim, const TensorArg &arg) {
    const Coordinate &lane = arg.deviceCoordinates.back();
    return lane.symbol == dim.symbol ? ceilDiv(dim.range, lane.divisor) : dim.range;
  }

  bool hasRoom(const TensorArg &arg) const {
    return lxBytes + bytesOf(arg) <= device.lxPlannerBytes;
  }

  void moveToLx(TensorArg &arg) {
    arg.residency = Residency::Lx;
    arg.argIndex = -1;
    arg.address = lxBytes;
    lxBytes += roundUp(bytesOf(arg), int64_t(128));
    result.inLx++;
  }

  /// Another division than the one that wrote the input.
  void redivide(OpSpec &spec) {
    int64_t cores = 1;
    for (IterationDim &dim : spec.iterationSpace) {
      const int64_t pieces = piecesOf(dim, result.specs.back().args.back());
      dim.cores = 1;
      int64_t wanted = random.between(1, 5);
      if (pieces % wanted == 0 && cores * wanted <= device.cores) {
        dim.cores = wanted;
        cores *= wanted;
      }
    }
  }

  /// The arguments of all operations, behind the pool when there is one.
  void fillMemory() {
    OpSpec all;
    for (OpSpec &spec : result.specs) {
      for (TensorArg &arg : spec.args) {
        if (arg.residency == Residency::Hbm) {
          arg.address = device.segmentBase(arg.argIndex + (poolBytes > 0 ? 1 : 0));
          all.args.push_back(arg);
        } else if (arg.residency == Residency::Pool) {
          pool.push_back(arg);
        }
      }
    }
    result.memory = randomMemory(all, random);
    fillIndices(result.specs.front(), result.memory, random);
    result.memory.pool.resize(size_t(poolBytes));
    for (const TensorArg &arg : pool) {
      OpSpec one;
      one.args = {arg};
      one.args[0].argIndex = 0;
      evaluator::Memory memory = randomMemory(one, random);
      std::copy(memory.arguments[0].begin(), memory.arguments[0].end(),
                result.memory.pool.begin() + arg.address);
    }
  }

  Random &random;
  const arch::DeviceDesc &device;
  RandomBundle result;
  std::vector<TensorArg> pool;
  size_t arguments = 0;
  int64_t poolBytes = 0;
  int64_t lxBytes = 0;
};

} // namespace

RandomBundle randomBundle(Random &random, const arch::DeviceDesc &device) {
  return Builder(random, device).build();
}

} // namespace spyre::backend::test
