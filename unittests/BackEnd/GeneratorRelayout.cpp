//===- GeneratorRelayout.cpp - see GeneratorRelayout.h --------------------------------------===//
#include "GeneratorRelayout.h"

#include "spyre/Base/Math.h"

#include <algorithm>

namespace spyre::backend::test {

using spec::Coordinate;
using spec::IterationDim;
using spec::OpSpec;
using spec::Residency;
using spec::TensorArg;

const std::vector<std::string> &relayoutCases() {
  static const std::vector<std::string> names{"pointwise", "sum",      "sumnonstick", "topkvalue",
                                              "matmul.a",  "matmul.b", "matmul.ab"};
  return names;
}

namespace {

constexpr int64_t kLanes = 64;

class Builder {
public:
  Builder(const std::string &name, Random &random, const arch::DeviceDesc &device, int64_t scale)
      : name(name), random(random), device(device), scale(scale) {}

  RelayoutCase build() {
    if (name.starts_with("matmul")) {
      buildMatmul();
    } else {
      buildOther();
    }
    alignRanks(consumer);
    placeTensors();
    result.specs.push_back(consumer);
    return std::move(result);
  }

private:
  bool chance(uint64_t oneIn) { return random.below(oneIn) == 0; }

  const std::string &addDim(int64_t range, int64_t cores) {
    consumer.iterationSpace.push_back(
        {fmt::format("c{}", consumer.iterationSpace.size()), range, cores});
    return consumer.iterationSpace.back().symbol;
  }
  IterationDim &dim(const std::string &symbol) {
    return *std::find_if(consumer.iterationSpace.begin(), consumer.iterationSpace.end(),
                         [&](const IterationDim &d) { return d.symbol == symbol; });
  }

  /// A power of two that leaves the machine enough cores, and three now and then.
  int64_t cores() {
    int64_t number = int64_t(1) << random.below(4);
    number = chance(6) ? 3 : number;
    if (used * number > device.cores) {
      return 1;
    }
    used *= number;
    return number;
  }
  /// Elements that 1, 2, 3, 4 and 8 cores can share, so that any two divisions are possible.
  std::string elements() {
    int64_t number = cores();
    int64_t range = chance(3) ? 24 : number << random.below(3);
    return addDim(range * (scale > 1 && chance(2) ? scale : 1), number);
  }
  std::string sticks() {
    int64_t number = cores();
    int64_t count = (chance(2) ? number : 2 * number) * (scale > 1 && chance(2) ? scale : 1);
    return addDim(count * kLanes - (chance(3) ? random.between(1, 63) : 0), number);
  }

  TensorArg tensor(std::vector<std::string> symbols, const std::string &stick) {
    for (size_t i = symbols.size(); i > 1; --i) {
      std::swap(symbols[i - 1], symbols[random.below(i)]);
    }
    TensorArg arg;
    for (const std::string &symbol : symbols) {
      bool isStick = symbol == stick;
      int64_t range = dim(symbol).range;
      arg.deviceSize.push_back(isStick ? ceilDiv(range, kLanes) : range);
      arg.deviceCoordinates.push_back(isStick ? Coordinate::floorDiv(symbol, kLanes)
                                              : Coordinate::var(symbol));
    }
    arg.deviceSize.push_back(kLanes);
    arg.deviceCoordinates.push_back(stick.empty() ? Coordinate::constant(0)
                                                  : Coordinate::mod(stick, kLanes));
    return arg;
  }

  void buildOther() {
    std::vector<std::string> symbols;
    size_t rank = size_t(random.between(1, 3));
    bool isTopK = name == "topkvalue", reduces = name != "pointwise";
    for (size_t i = 0; i < rank; ++i) {
      symbols.push_back(elements());
    }
    consumer.op = name == "pointwise" ? "add" : isTopK ? name : "sum";
    consumer.isReduction = reduces;
    std::string k = isTopK ? addDim(3, 1) : "";
    std::string stick = sticks();
    std::vector<std::string> all = symbols;
    all.push_back(stick);
    if (name == "sum") {
      consumer.args = {tensor(all, stick), tensor(symbols, "")};
    } else if (reduces) {
      int64_t number = isTopK ? 1 : cores();
      std::string reduced = addDim(24, number);
      all.push_back(reduced);
      std::vector<std::string> kept = symbols;
      kept.push_back(stick);
      if (isTopK) {
        kept.push_back(k);
      }
      consumer.args = {tensor(all, stick), tensor(kept, stick)};
    } else {
      // The second operand is broadcast, or in LX as well, or both.
      std::vector<std::string> some = all;
      std::erase_if(some, [&](const std::string &s) { return s != stick && chance(3); });
      consumer.args = {tensor(all, stick), tensor(some, stick), tensor(all, stick)};
      inLx = {true, chance(2)};
    }
    inLx.resize(consumer.args.size(), false);
    inLx[0] = true;
  }

  void buildMatmul() {
    consumer.op = "batchmatmul";
    consumer.isReduction = true;
    std::vector<std::string> batch;
    if (chance(2)) {
      batch.push_back(elements());
    }
    std::string m = elements();
    std::string n = sticks();
    int64_t number = chance(2) ? 1 : cores();
    std::string k = addDim(number * (chance(2) ? 2 : 1) * kLanes * (chance(2) ? scale : 1), number);
    std::vector<std::string> aSymbols{m, k}, bSymbols{k, n}, cSymbols{m, n};
    for (const std::string &symbol : batch) {
      aSymbols.push_back(symbol);
      cSymbols.push_back(symbol);
      if (chance(2)) {
        bSymbols.push_back(symbol);
      }
    }
    consumer.args = {tensor(aSymbols, k), tensor(bSymbols, n), tensor(cSymbols, n)};
    inLx = {name != "matmul.b", name != "matmul.a", false};
  }

  static void alignRanks(OpSpec &spec) {
    size_t rank = 2;
    for (const TensorArg &arg : spec.args) {
      rank = std::max(rank, arg.deviceSize.size());
    }
    for (TensorArg &arg : spec.args) {
      size_t missing = rank - arg.deviceSize.size();
      arg.deviceSize.insert(arg.deviceSize.begin(), missing, 1);
      arg.deviceCoordinates.insert(arg.deviceCoordinates.begin(), missing, Coordinate::constant(0));
    }
    spec.args.back().isInput = false;
  }

  /// Slices of the producer: any number that divides the pieces and is related to \p dim.cores.
  int64_t otherSlices(const IterationDim &d, bool isStick, int64_t most) {
    int64_t pieces = isStick ? ceilDiv(d.range, kLanes) : d.range;
    std::vector<int64_t> possible;
    for (int64_t s = 1; s <= most && s <= pieces; ++s) {
      if (pieces % s == 0 && (s % d.cores == 0 || d.cores % s == 0)) {
        possible.push_back(s);
      }
    }
    return possible[random.below(possible.size())];
  }

  /// Where everything lies; adds the producers of what is in LX.
  void placeTensors() {
    int64_t next = 0, argument = 0;
    for (size_t i = 0; i < consumer.args.size(); ++i) {
      TensorArg &arg = consumer.args[i];
      largestBytes = std::max(largestBytes, bytesOf(arg));
      if (!inLx[i]) {
        setArgument(arg, argument++);
        continue;
      }
      OpSpec producer;
      producer.op = "abs";
      int64_t left = used, slice = 1;
      for (const IterationDim &d : consumer.iterationSpace) {
        bool held =
            std::any_of(arg.deviceCoordinates.begin(), arg.deviceCoordinates.end(),
                        [&](const Coordinate &c) { return c.hasSymbol() && c.symbol == d.symbol; });
        if (held) {
          producer.iterationSpace.push_back(d);
        }
      }
      for (size_t j = producer.iterationSpace.size(); j > 1; --j) {
        std::swap(producer.iterationSpace[j - 1], producer.iterationSpace[random.below(j)]);
      }
      for (IterationDim &d : producer.iterationSpace) {
        d.cores = otherSlices(d, arg.deviceCoordinates.back().symbol == d.symbol, left);
        left /= d.cores;
        arg.lxDivision.emplace_back(d.symbol, d.cores);
        slice *= d.cores;
      }
      TensorArg from = arg;
      from.lxDivision.clear();
      setArgument(from, argument++);
      arg.residency = Residency::Lx;
      arg.address = next;
      next += bytesOf(arg) / slice;
      TensorArg to = arg;
      to.lxDivision.clear();
      to.isInput = false;
      producer.args = {from, to};
      result.specs.push_back(std::move(producer));
    }
    lxBytes = next;
  }

  void setArgument(TensorArg &arg, int64_t number) {
    arg.argIndex = number;
    arg.address = device.segmentBase(number);
  }

  static int64_t bytesOf(const TensorArg &arg) {
    int64_t bytes = numerics::elementBytes(arg.deviceDtype);
    for (int64_t size : arg.deviceSize) {
      bytes *= size;
    }
    return bytes;
  }

public:
  /// LX of one core that all tensors take, and bytes of the largest tensor.
  int64_t lxBytes = 0, largestBytes = 0;

private:
  const std::string name;
  Random &random;
  const arch::DeviceDesc &device;
  const int64_t scale;
  int64_t used = 1;
  OpSpec consumer;
  std::vector<bool> inLx;
  RelayoutCase result;
};

} // namespace

RelayoutCase randomRelayout(const std::string &name, Random &random, const arch::DeviceDesc &device,
                            int64_t scale) {
  while (true) {
    Builder builder(name, random, device, scale);
    RelayoutCase drawn = builder.build();
    if (builder.lxBytes > device.lxStagingBegin() || builder.largestBytes > device.spanLimitBytes ||
        builder.largestBytes > (int64_t(1) << 17) * scale) {
      continue;
    }
    for (const OpSpec &spec : drawn.specs) {
      evaluator::Memory memory = randomMemory(spec, random);
      drawn.memory.arguments.resize(
          std::max(drawn.memory.arguments.size(), memory.arguments.size()));
      for (size_t i = 0; i < memory.arguments.size(); ++i) {
        if (!memory.arguments[i].empty()) {
          drawn.memory.arguments[i] = std::move(memory.arguments[i]);
        }
      }
    }
    return drawn;
  }
}

} // namespace spyre::backend::test
