//===- GeneratorGather.cpp - see GeneratorGather.h ------------------------------------------===//
#include "GeneratorGather.h"

#include "spyre/Base/Math.h"

#include <algorithm>
#include <cstring>

namespace spyre::backend::test {

using numerics::DataFormat;
using spec::Coordinate;
using spec::IterationDim;
using spec::TensorArg;

namespace {

constexpr int64_t kIndexLanes = 32;

class Builder {
public:
  Builder(Random &random, const arch::DeviceDesc &device, bool large)
      : random(random), device(device), large(large) {}

  RandomCase build(const std::string &op) {
    const auto &all = pointwiseOps();
    auto row = std::find_if(all.begin(), all.end(), [&](const auto &o) { return op == o.name; });
    PointwiseOp pointwise = row == all.end() ? PointwiseOp{"identity"} : *row;
    result.spec.op = op;
    result.spec.constants = randomConstants(pointwise, random);
    chooseFormat(pointwise);
    chooseSpace();
    chooseCores();
    addTensors(pointwise);
    alignRanks();
    result.laneOps = op == "identity" ? 0 : computedLanes();
    return std::move(result);
  }

private:
  bool chance(uint64_t oneIn) { return random.below(oneIn) == 0; }

  void chooseFormat(const PointwiseOp &op) {
    format = chance(4) ? DataFormat::IeeeFp32 : DataFormat::Sen169Fp16;
    if (result.spec.op == "identity" && chance(3)) {
      static constexpr DataFormat kOthers[] = {DataFormat::IeeeInt32, DataFormat::SenInt8,
                                               DataFormat::IeeeFp16};
      format = kOthers[random.below(3)];
    } else if (op.integers && chance(5)) {
      format = DataFormat::IeeeInt32;
    }
    if (result.spec.op != "identity" && !op.has(format)) {
      format = op.formats().front();
    }
    lanes = numerics::elemsPerStick(format);
  }

  /// Entries of the indices, one stick dimension, others; in any order.
  void chooseSpace() {
    auto &space = result.spec.iterationSpace;
    size_t rank = size_t(random.between(2, 4));
    for (size_t i = 0; i < rank; ++i) {
      space.push_back({fmt::format("c{}", i), random.between(1, 9), 1});
    }
    std::vector<std::string> names;
    for (const IterationDim &dim : space) {
      names.push_back(dim.symbol);
    }
    for (size_t i = names.size(); i > 1; --i) {
      std::swap(names[i - 1], names[random.below(i)]);
    }
    stick = chance(10) ? "" : names.back();
    static constexpr int64_t kSticks[] = {1, 40, 64, 100, 128, 192};
    if (!stick.empty()) {
      range(stick) = kSticks[random.below(6)];
      names.pop_back();
    }
    size_t count = names.size() > 1 && chance(2) ? 2 : 1;
    entries.assign(names.begin(), names.begin() + int64_t(count));
    others.assign(names.begin() + int64_t(count), names.end());
    indexStick = chance(6) ? "" : entries[random.below(count)];
    static constexpr int64_t kEntries[] = {1, 5, 20, 31, 32, 33, 60, 64, 96, 128};
    if (!indexStick.empty()) {
      range(indexStick) = large ? random.between(2000, 9000) : kEntries[random.below(10)];
    }
  }

  int64_t &range(const std::string &symbol) {
    for (IterationDim &dim : result.spec.iterationSpace) {
      if (dim.symbol == symbol) {
        return dim.range;
      }
    }
    return result.spec.iterationSpace.front().range;
  }

  void chooseCores() {
    int64_t used = 1;
    for (IterationDim &dim : result.spec.iterationSpace) {
      int64_t pieces = dim.symbol == stick ? ceilDiv(dim.range, lanes) : dim.range;
      std::vector<int64_t> divisors;
      for (int64_t d = 1; d <= pieces && d * used <= device.cores; ++d) {
        int64_t perCore = dim.range / d;
        bool fits = dim.symbol != indexStick || d == 1 || perCore <= kIndexLanes ||
                    perCore % kIndexLanes == 0;
        if (pieces % d == 0 && fits) {
          divisors.push_back(d);
        }
      }
      dim.cores = divisors[random.below(divisors.size())];
      used *= dim.cores;
    }
  }

  struct DeviceDim {
    int64_t size;
    Coordinate coordinate;
  };

  TensorArg tensor(std::vector<DeviceDim> outer, const std::string &along, int64_t perStick) {
    for (size_t i = outer.size(); i > 1; --i) {
      std::swap(outer[i - 1], outer[random.below(i)]);
    }
    TensorArg arg;
    for (const DeviceDim &dim : outer) {
      arg.deviceSize.push_back(dim.size);
      arg.deviceCoordinates.push_back(dim.coordinate);
    }
    arg.deviceSize.push_back(perStick);
    arg.deviceCoordinates.push_back(along.empty() ? Coordinate::constant(0)
                                                  : Coordinate::mod(along, perStick));
    arg.deviceDtype = perStick == lanes ? format : DataFormat::IeeeInt32;
    return arg;
  }

  /// The dimension of \p symbol, sometimes a slice of a larger one.
  DeviceDim dimOf(const std::string &symbol, const std::string &along, int64_t perStick,
                  bool maySlice) {
    bool isStick = symbol == along;
    int64_t extent = isStick ? ceilDiv(range(symbol), perStick) : range(symbol);
    int64_t more = maySlice && chance(5) ? random.between(1, 3) : 0;
    int64_t offset = random.between(0, more);
    return {extent + more, isStick ? Coordinate::floorDiv(symbol, perStick, offset)
                                   : Coordinate::var(symbol, offset)};
  }

  void addTensors(const PointwiseOp &op) {
    std::vector<TensorArg> values;
    size_t indices = 0, certain = random.below(op.inputs);
    for (size_t i = 0; i < op.inputs; ++i) {
      bool isIndirect = i == certain || (chance(2) && indices < 2 && op.inputs < 4);
      bool onePerStick = int(i) == op.pairInput || chance(6);
      std::string along = onePerStick ? "" : stick;
      std::vector<DeviceDim> outer;
      for (const std::string &symbol : others) {
        if (!chance(3)) {
          outer.push_back(dimOf(symbol, along, lanes, true));
        }
      }
      if (!along.empty()) {
        outer.push_back(dimOf(stick, along, lanes, true));
      }
      if (isIndirect) {
        std::string name = fmt::format("i{}", indices++);
        outer.push_back({random.between(1, 150), Coordinate::indirect(name)});
        result.spec.args.push_back(indexTensor(name));
      } else {
        for (const std::string &symbol : entries) {
          if (!chance(3)) {
            outer.push_back(dimOf(symbol, along, lanes, true));
          }
        }
      }
      values.push_back(tensor(outer, along, lanes));
    }
    std::vector<DeviceDim> outer;
    for (const IterationDim &dim : result.spec.iterationSpace) {
      outer.push_back(dimOf(dim.symbol, stick, lanes, true));
    }
    values.push_back(tensor(outer, stick, lanes));
    values.back().isInput = false;
    values.back().deviceDtype = op.resultOf(format); // as wide as the others
    std::move(values.begin(), values.end(), std::back_inserter(result.spec.args));
    for (size_t i = 0; i < result.spec.args.size(); ++i) {
      result.spec.args[i].argIndex = int64_t(i);
      result.spec.args[i].address = device.segmentBase(int64_t(i));
    }
  }

  TensorArg indexTensor(const std::string &name) {
    std::vector<DeviceDim> outer;
    for (const std::string &symbol : entries) {
      outer.push_back(dimOf(symbol, indexStick, kIndexLanes, true));
    }
    TensorArg arg = tensor(outer, indexStick, kIndexLanes);
    arg.deviceDtype = chance(2) ? DataFormat::IeeeInt32 : DataFormat::SenUint32;
    arg.name = name;
    return arg;
  }

  void alignRanks() {
    size_t rank = 2;
    for (const TensorArg &arg : result.spec.args) {
      rank = std::max(rank, arg.deviceSize.size());
    }
    for (TensorArg &arg : result.spec.args) {
      size_t missing = rank - arg.deviceSize.size();
      arg.deviceSize.insert(arg.deviceSize.begin(), missing, 1);
      arg.deviceCoordinates.insert(arg.deviceCoordinates.begin(), missing, Coordinate::constant(0));
    }
  }

  uint64_t computedLanes() const {
    uint64_t points = stick.empty() ? uint64_t(lanes) : 1;
    for (const IterationDim &dim : result.spec.iterationSpace) {
      points *= uint64_t(dim.symbol == stick ? roundUp(dim.range, lanes) : dim.range);
    }
    return points;
  }

  Random &random;
  const arch::DeviceDesc &device;
  bool large;
  DataFormat format = DataFormat::Sen169Fp16;
  int64_t lanes = 64;
  /// Of the operation and of the indices; "": one value per stick.
  std::string stick, indexStick;
  /// Symbols the indices have, and those neither they nor the stick have.
  std::vector<std::string> entries, others;
  RandomCase result;
};

} // namespace

RandomCase randomGather(const std::string &op, Random &random, const arch::DeviceDesc &device,
                        bool large) {
  return Builder(random, device, large).build(op);
}

void fillIndices(const spec::OpSpec &spec, evaluator::Memory &memory, Random &random) {
  for (const TensorArg &value : spec.args) {
    const Coordinate *indirect = value.indirectCoordinate();
    for (const TensorArg &index : spec.args) {
      if (!indirect || index.name != indirect->symbol || index.argIndex < 0) {
        continue;
      }
      size_t dim = size_t(indirect - value.deviceCoordinates.data());
      std::vector<uint8_t> &bytes = memory.arguments[size_t(index.argIndex)];
      for (size_t at = 0; at < bytes.size(); at += sizeof(uint32_t)) {
        auto row = uint32_t(random.below(uint64_t(value.deviceSize[dim])));
        std::memcpy(bytes.data() + at, &row, sizeof(row));
      }
    }
  }
}

} // namespace spyre::backend::test
