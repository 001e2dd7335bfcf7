//===- Generator.cpp - see Generator.h ------------------------------------------------------===//
#include "Generator.h"

#include "spyre/Base/Math.h"

#include "GeneratorConversions.h"
#include "GeneratorGather.h"
#include "GeneratorWindows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace spyre::backend::test {

using numerics::DataFormat;
using spec::Coordinate;
using spec::IterationDim;
using spec::OpSpec;
using spec::TensorArg;

const std::vector<PointwiseOp> &pointwiseOps() {
  static const std::vector<PointwiseOp> ops{
      {"abs", 1, {}, true},
      {"neg", 1, {}, true},
      {"floor"},
      {"sqrt"},
      {"rsqrt"},
      {"exp"},
      {"fastexp"},
      {"log"},
      {"reciprocal"},
      {"sigmoid"},
      {"fastsigmoid"},
      {"tanh"},
      {"relufwd"},
      {"relu6fwd"},
      {"leakyrelufwd", 1, {{"leakyReluAlpha", -1, 1}}},
      {"gelufwd"},
      {"silu"},
      {"mish"},
      {"softplus", 1, {{"softplusBeta", 0.25, 4}, {"softplusThresh", 1, 20}}},
      {"clip", 1, {{"clipMin", -4, 1}, {"clipMax", 0, 4}}},
      {"add", 2, {}, true},
      {"biasadd", 2, {}, true},
      {"sub", 2, {}, true},
      {"revsub", 2, {}, true},
      {"mul", 2, {}, true},
      {"realdiv", 2},
      {"maximum", 2, {}, true},
      {"minimum", 2, {}, true},
      {"equal", 2, {}, true},
      {"notequal", 2, {}, true},
      {"greaterequal", 2, {}, true},
      {"greaterthan", 2, {}, true},
      {"lesserequal", 2, {}, true},
      {"lesserthan", 2, {}, true},
      {"where3", 3, {}, true},
      {"layernormscale", 1, {{"eps", 0, 4}}, false, 0},
      {"layernormnorm", 5, {}, false, 1},
      {"x_bitand", 2, {}, true, -1, true},
      {"x_bitor", 2, {}, true, -1, true},
      {"x_bitxor", 2, {}, true, -1, true},
      {"x_shiftleft", 2, {}, true, -1, true},
      {"x_shiftright", 2, {}, true, -1, true},
      {"x_floordiv", 2, {}, true, -1, true},
      {"x_truncdiv", 2, {}, true, -1, true},
      {"x_floormod", 2, {}, true, -1, true},
      {"x_truncmod", 2, {}, true, -1, true},
      {"x_int32tofp32", 1, {}, true, -1, true, DataFormat::IeeeInt32, DataFormat::IeeeFp32},
      {"x_fp32toint32", 1, {}, false, -1, false, DataFormat::IeeeFp32, DataFormat::IeeeInt32},
  };
  return ops;
}

std::vector<DataFormat> PointwiseOp::formats() const {
  if (from != DataFormat::Invalid) {
    return {from};
  }
  std::vector<DataFormat> all;
  if (!integersOnly) {
    all = {DataFormat::Sen169Fp16, DataFormat::IeeeFp32};
  }
  if (integers) {
    all.push_back(DataFormat::IeeeInt32);
  }
  return all;
}

bool PointwiseOp::has(DataFormat format) const {
  const std::vector<DataFormat> all = formats();
  return std::find(all.begin(), all.end(), format) != all.end();
}

std::vector<std::pair<std::string, double>> randomConstants(const PointwiseOp &op, Random &random) {
  std::vector<std::pair<std::string, double>> values;
  for (const PointwiseOp::Constant &constant : op.constants) {
    values.emplace_back(constant.name, double(random.uniform(constant.low, constant.high)));
  }
  return values;
}

static const PointwiseOp *findPointwise(const std::string &name) {
  for (const PointwiseOp &op : pointwiseOps()) {
    if (name == op.name) {
      return &op;
    }
  }
  return nullptr;
}

const std::vector<std::string> &generatedOps() {
  static const std::vector<std::string> ops = [] {
    std::vector<std::string> names{"identity",    "ReStickifyOpHBM", "sum",        "max",
                                   "sumnonstick", "maxnonstick",     "batchmatmul"};
    for (const PointwiseOp &op : pointwiseOps()) {
      names.emplace_back(op.name);
    }
    names.insert(names.end(), windowCases().begin(), windowCases().end());
    names.insert(names.end(), conversionCases().begin(), conversionCases().end());
    // Of the same operations with indirect inputs, a random one at a time.
    names.insert(names.end(), {"gather", "gather.pointwise"});
    return names;
  }();
  return ops;
}

namespace {

class Builder {
public:
  Builder(Random &random, const arch::DeviceDesc &device, bool large)
      : random(random), device(device), large(large) {}

  RandomCase build(const std::string &op) {
    result.spec.op = op == "sumnonstick" ? "sum" : op == "maxnonstick" ? "max" : op;
    const PointwiseOp *pointwise = findPointwise(op);
    result.spec.isReduction =
        !pointwise && (op == "batchmatmul" || op.starts_with("sum") || op.starts_with("max"));
    format = op != "batchmatmul" && chance(4) ? DataFormat::IeeeFp32 : DataFormat::Sen169Fp16;
    if ((op == "identity" || op == "ReStickifyOpHBM") && chance(3)) {
      static constexpr DataFormat kOthers[] = {DataFormat::IeeeInt32, DataFormat::SenInt8,
                                               DataFormat::SenInt16, DataFormat::IeeeFp16};
      format = kOthers[random.below(4)];
    }
    if (pointwise && pointwise->integers && chance(5)) {
      format = DataFormat::IeeeInt32;
    }
    if (pointwise && !pointwise->has(format)) {
      format = pointwise->formats().front();
    }
    lanes = numerics::elemsPerStick(format);
    if (op == "batchmatmul") {
      buildMatmul();
    } else if (op == "ReStickifyOpHBM") {
      buildRestickify();
    } else if (result.spec.isReduction) {
      buildReduction(op.size() > 3);
    } else {
      buildPointwise(pointwise ? *pointwise : PointwiseOp{"identity"});
    }
    alignRanks();
    placeInSegments();
    return std::move(result);
  }

private:
  bool chance(uint64_t oneIn) { return random.below(oneIn) == 0; }
  template <size_t n>
  int64_t pick(const int64_t (&values)[n]) {
    return values[random.below(n)];
  }
  int64_t elementSize() { return pick({1, 2, 3, 4, 5, 7, 8, 16}); }
  int64_t stickDimSize() { return pick({1, 5, 31, 32, 63, 64, 65, 100, 128, 130, 192, 200}); }
  const IterationDim &dim(const std::string &symbol) const {
    return *std::find_if(result.spec.iterationSpace.begin(), result.spec.iterationSpace.end(),
                         [&](const IterationDim &d) { return d.symbol == symbol; });
  }
  std::string addDim(int64_t range) {
    std::string name = fmt::format("c{}", result.spec.iterationSpace.size());
    result.spec.iterationSpace.push_back({name, range, 1});
    return name;
  }

  /// Splits \p symbol over as many cores as its pieces and the machine still allow, sometimes.
  void maybeSplit(const std::string &symbol, int64_t pieces) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= pieces && d * usedCores <= device.cores; ++d) {
      if (pieces % d == 0) {
        divisors.push_back(d);
      }
    }
    int64_t cores = divisors[random.below(divisors.size())];
    usedCores *= cores;
    for (IterationDim &d : result.spec.iterationSpace) {
      if (d.symbol == symbol) {
        d.cores = cores;
      }
    }
  }

  /// A tensor that holds \p symbols (and \p stick unless empty), in a random device order. It may
  /// be a slice of a larger buffer along any symbol but \p whole, and of a buffer with one
  /// dimension more, of which it is one index.
  TensorArg tensor(std::vector<std::string> symbols, const std::string &stick,
                   const std::vector<std::string> &whole = {}) {
    TensorArg arg;
    arg.deviceDtype = format;
    if (!stick.empty()) {
      symbols.push_back(stick);
    }
    for (size_t i = symbols.size(); i > 1; --i) {
      std::swap(symbols[i - 1], symbols[random.below(i)]);
    }
    for (const std::string &symbol : symbols) {
      bool isStick = symbol == stick;
      int64_t extent = isStick ? ceilDiv(dim(symbol).range, lanes) : dim(symbol).range;
      bool mayBeSlice = std::find(whole.begin(), whole.end(), symbol) == whole.end();
      int64_t more = mayBeSlice && chance(4) ? random.between(1, 3) : 0;
      int64_t offset = random.between(0, more);
      arg.deviceSize.push_back(extent + more);
      arg.deviceCoordinates.push_back(isStick ? Coordinate::floorDiv(symbol, lanes, offset)
                                              : Coordinate::var(symbol, offset));
    }
    if (whole.empty() && chance(8)) {
      int64_t size = random.between(2, 3), at = random.between(0, int64_t(symbols.size()));
      arg.deviceSize.insert(arg.deviceSize.begin() + at, size);
      arg.deviceCoordinates.insert(arg.deviceCoordinates.begin() + at,
                                   Coordinate::constant(random.between(0, size - 1)));
    }
    arg.deviceSize.push_back(lanes);
    arg.deviceCoordinates.push_back(stick.empty() ? Coordinate::constant(0)
                                                  : Coordinate::mod(stick, lanes));
    return arg;
  }

  void addArg(TensorArg arg, bool isInput) {
    arg.isInput = isInput;
    result.spec.args.push_back(std::move(arg));
  }

  static std::vector<std::string> without(std::vector<std::string> symbols,
                                          const std::string &symbol) {
    std::erase(symbols, symbol);
    return symbols;
  }

  /// Points of the iteration space with \p stick counted in whole sticks of lanes.
  uint64_t computedLanes(const std::string &stick) const {
    uint64_t points = 1;
    for (const IterationDim &d : result.spec.iterationSpace) {
      points *= uint64_t(d.symbol == stick ? roundUp(d.range, lanes) : d.range);
    }
    // Tensors of single values are still computed stick by stick.
    return stick.empty() ? points * uint64_t(lanes) : points;
  }

  void buildPointwise(const PointwiseOp &op) {
    result.spec.constants = randomConstants(op, random);
    std::vector<std::string> symbols;
    size_t rank = size_t(random.between(1, 5));
    bool sparse = chance(8);
    for (size_t i = 0; i < rank; ++i) {
      symbols.push_back(addDim(large && i == 0 ? random.between(1500, 4000) : elementSize()));
    }
    // The stick symbol anywhere in the iteration space, not only last.
    std::string stick = sparse ? "" : symbols[random.below(rank)];
    if (!sparse) {
      int64_t size = large && rank == 1 ? random.between(90000, 140000) : stickDimSize();
      if (large && dim(stick).range > 100 && rank > 1) {
        size = dim(stick).range;
      }
      setRange(stick, size);
    }
    std::vector<std::string> others = without(symbols, stick);
    for (const std::string &symbol : symbols) {
      maybeSplit(symbol, symbol == stick ? ceilDiv(dim(symbol).range, lanes) : dim(symbol).range);
    }
    for (size_t i = 0; i < op.inputs; ++i) {
      std::vector<std::string> held;
      for (const std::string &symbol : others) {
        if (!chance(4)) {
          held.push_back(symbol);
        }
      }
      bool onePerStick = int(i) == op.pairInput || chance(4);
      addArg(tensor(held, onePerStick ? "" : stick), true);
    }
    addArg(tensor(others, stick), false);
    result.spec.args.back().deviceDtype = op.resultOf(format); // as wide as the others
    result.laneOps = result.spec.op == "identity" ? 0 : computedLanes(stick);
  }

  void buildReduction(bool nonStick) {
    std::vector<std::string> symbols;
    size_t rank = size_t(random.between(nonStick ? 2 : 1, 4));
    for (size_t i = 0; i < rank; ++i) {
      symbols.push_back(addDim(elementSize()));
    }
    std::string reduced = symbols.back();
    std::string stick = nonStick ? symbols[random.below(rank - 1)] : reduced;
    if (nonStick && chance(6)) {
      stick = ""; // One value per stick, in and out.
    }
    setRange(stick, stickDimSize());
    if (large) {
      setRange(symbols[0], random.between(1500, 2500));
    }
    std::vector<std::string> kept = without(without(symbols, stick), reduced);
    for (const std::string &symbol : symbols) {
      if (symbol != reduced) {
        maybeSplit(symbol, symbol == stick ? ceilDiv(dim(symbol).range, lanes) : dim(symbol).range);
      }
    }
    addArg(tensor(without(symbols, stick), stick), true);
    addArg(tensor(kept, nonStick ? stick : ""), false);
    result.laneOps = computedLanes(stick);
  }

  void buildRestickify() {
    std::vector<std::string> symbols;
    size_t rank = size_t(random.between(2, 4));
    for (size_t i = 0; i < rank; ++i) {
      symbols.push_back(addDim(elementSize()));
    }
    std::string from = symbols[random.below(rank)];
    std::string to = from;
    while (to == from) {
      to = symbols[random.below(rank)];
    }
    setRange(from, stickDimSize());
    setRange(to, large ? random.between(300, 600) : stickDimSize());
    for (const std::string &symbol : symbols) {
      bool isStick = symbol == from || symbol == to;
      int64_t range = dim(symbol).range;
      maybeSplit(symbol, isStick ? (range % lanes == 0 ? range / lanes : 1) : range);
    }
    // A padded dimension cannot be a slice as well.
    std::vector<std::string> padded;
    for (const std::string &symbol : {from, to}) {
      if (dim(symbol).range % lanes != 0) {
        padded.push_back(symbol);
      }
    }
    addArg(tensor(without(symbols, from), from, padded), true);
    addArg(tensor(without(symbols, to), to, padded), false);
  }

  void buildMatmul() {
    std::vector<std::string> batch;
    size_t batches = size_t(random.between(0, 2));
    for (size_t i = 0; i < batches; ++i) {
      batch.push_back(addDim(pick({1, 2, 3, 4})));
    }
    std::string m = addDim(large ? random.between(100, 300) : pick({1, 3, 8, 17, 24, 40}));
    std::string n = addDim(pick({1, 40, 64, 100, 128, 192}));
    std::string k = addDim(large ? random.between(300, 500) : pick({5, 64, 70, 128, 190}));
    for (const std::string &symbol : batch) {
      maybeSplit(symbol, dim(symbol).range);
    }
    maybeSplit(m, dim(m).range);
    maybeSplit(n, ceilDiv(dim(n).range, lanes));
    std::vector<std::string> aSymbols{m}, bSymbols{k}, cSymbols{m};
    for (const std::string &symbol : batch) {
      cSymbols.push_back(symbol);
      bool inA = !chance(5), inB = !chance(3);
      if (inA || !inB) {
        aSymbols.push_back(symbol);
      }
      if (inB) {
        bSymbols.push_back(symbol);
      }
    }
    addArg(tensor(aSymbols, k), true);
    TensorArg b = tensor(bSymbols, n);
    for (size_t i = 0; i < b.deviceCoordinates.size(); ++i) {
      if (b.deviceCoordinates[i].symbol == k) {
        b.deviceSize[i] += roundUp(dim(k).range, lanes) - dim(k).range;
      }
    }
    addArg(std::move(b), true);
    addArg(tensor(cSymbols, n), false);
    result.macs = uint64_t(dim(m).range * roundUp(dim(n).range, 64) * roundUp(dim(k).range, 64));
    for (const std::string &symbol : batch) {
      result.macs *= uint64_t(dim(symbol).range);
    }
  }

  void setRange(const std::string &symbol, int64_t range) {
    for (IterationDim &d : result.spec.iterationSpace) {
      if (d.symbol == symbol) {
        d.range = range;
      }
    }
  }

  /// Missing dimensions are added outermost with size 1 and coordinate 0.
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

  void placeInSegments() {
    for (size_t i = 0; i < result.spec.args.size(); ++i) {
      result.spec.args[i].argIndex = int64_t(i);
      result.spec.args[i].address = device.segmentBase(int64_t(i));
    }
  }

  Random &random;
  const arch::DeviceDesc &device;
  bool large;
  DataFormat format = DataFormat::Sen169Fp16;
  int64_t lanes = 64;
  int64_t usedCores = 1;
  RandomCase result;
};

int64_t bytesOf(const TensorArg &arg) {
  int64_t elements = 1;
  for (int64_t size : arg.deviceSize) {
    elements *= size;
  }
  return elements / numerics::elemsPerStick(arg.deviceDtype) * 128;
}

/// Often small whole numbers, so that comparisons find equal ones.
float anyValue(Random &random) {
  if (random.below(50) == 0) {
    // Zeros for where, large numbers for saturation, now and then no number at all.
    static constexpr float kSpecial[] = {0.0f, -0.0f, 3e9f, -3e9f,
                                         std::numeric_limits<float>::quiet_NaN()};
    return kSpecial[random.below(random.below(8) == 0 ? 5 : 4)];
  }
  return random.below(4) == 0 ? float(random.between(-3, 3)) : random.uniform(-4, 4);
}

uint64_t anyBits(DataFormat format, Random &random) {
  switch (format) {
  case DataFormat::Sen169Fp16:
    return numerics::floatToDl16(anyValue(random));
  case DataFormat::IeeeFp32:
    return std::bit_cast<uint32_t>(anyValue(random));
  case DataFormat::Sen143Fp8:
    return numerics::floatToE4m3fn(anyValue(random));
  case DataFormat::IeeeInt32:
    return random.below(2) == 0 ? uint64_t(random.between(-3, 3)) : random.next();
  default:
    return random.next();
  }
}

void fillValues(const TensorArg &arg, std::vector<uint8_t> &bytes, Random &random) {
  // Any byte holds two of 4 bits.
  int64_t width = std::max<int64_t>(numerics::elementBytes(arg.deviceDtype), 1);
  for (size_t at = 0; at < bytes.size(); at += size_t(width)) {
    uint64_t bits = anyBits(arg.deviceDtype, random);
    std::memcpy(bytes.data() + at, &bits, size_t(width));
  }
}

} // namespace

evaluator::Memory randomMemory(const OpSpec &spec, Random &random) {
  evaluator::Memory memory;
  for (const TensorArg &arg : spec.args) {
    if (arg.argIndex < 0) {
      continue;
    }
    size_t index = size_t(arg.argIndex);
    memory.arguments.resize(std::max(memory.arguments.size(), index + 1));
    memory.arguments[index].resize(size_t(bytesOf(arg)));
    fillValues(arg, memory.arguments[index], random);
  }
  fillIndices(spec, memory, random);
  return memory;
}

/// Large cases may be large; the others stay quick, and inside the span of the smallest machine.
static bool fits(const OpSpec &spec, bool large) {
  constexpr int64_t kMaxBytes = int64_t(1) << 20, kMaxLargeBytes = int64_t(1) << 23;
  return std::all_of(spec.args.begin(), spec.args.end(), [&](const TensorArg &arg) {
    return bytesOf(arg) <= (large ? kMaxLargeBytes : kMaxBytes);
  });
}

RandomCase randomSpec(const std::string &op, Random &random, const arch::DeviceDesc &device,
                      bool large) {
  while (true) {
    const auto &others = pointwiseOps();
    RandomCase drawn =
        isWindowCase(op)       ? randomWindow(op, random, device, large)
        : isConversionCase(op) ? randomConversion(op, random, device, large)
        : op == "gather"       ? randomGather("identity", random, device, large)
        : op == "gather.pointwise"
            ? randomGather(others[random.below(others.size())].name, random, device, large)
            : Builder(random, device, large).build(op);
    if (fits(drawn.spec, large)) {
      return drawn;
    }
  }
}

RandomCase randomCase(const std::string &op, Random &random, const arch::DeviceDesc &device,
                      bool large) {
  RandomCase drawn = randomSpec(op, random, device, large);
  drawn.memory = randomMemory(drawn.spec, random);
  return drawn;
}

} // namespace spyre::backend::test
