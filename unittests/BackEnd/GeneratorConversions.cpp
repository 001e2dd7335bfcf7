//===- GeneratorConversions.cpp - see GeneratorConversions.h --------------------------------===//
#include "GeneratorConversions.h"

#include "spyre/Base/Math.h"

#include <algorithm>
#include <map>

namespace spyre::backend::test {

using numerics::DataFormat;
using spec::Coordinate;
using spec::IterationDim;
using spec::TensorArg;

const std::vector<std::string> &conversionCases() {
  static const std::vector<std::string> names{
      "dl16tofp32",      "fp32todl16",   "fp8todl16",     "qfp8ch",
      "qfp8mb",          "qfp8wt",       "csqint8ch",     "csqint8mb",
      "csqint8wt",       "csqint4",      "csqint4wt",     "batchmatmulfp8",
      "batchmatmulint8", "x_int8todl16", "x_int16tofp32", "x_fp32toint16"};
  return names;
}

bool isConversionCase(const std::string &op) {
  const auto &names = conversionCases();
  return std::find(names.begin(), names.end(), op) != names.end();
}

namespace {

/// The stick of a tensor, inner to outer: symbol and elements.
using Stick = std::vector<std::pair<std::string, int64_t>>;

class Builder {
public:
  Builder(Random &random, const arch::DeviceDesc &device, bool large)
      : random(random), device(device), large(large) {}

  RandomCase build(const std::string &op) {
    spec().op = op;
    op.starts_with("batchmatmul") ? buildMatmul(op) : buildConversion(op);
    alignRanks();
    return std::move(result);
  }

private:
  spec::OpSpec &spec() { return result.spec; }
  bool chance(uint64_t oneIn) { return random.below(oneIn) == 0; }
  template <size_t n>
  int64_t pick(const int64_t (&values)[n]) {
    return values[random.below(n)];
  }
  IterationDim &dim(const std::string &symbol) {
    auto &space = spec().iterationSpace;
    return *std::find_if(space.begin(), space.end(),
                         [&](const IterationDim &d) { return d.symbol == symbol; });
  }
  /// A dimension that is padded to whole multiples of \p unit in all tensors.
  std::string addDim(int64_t range, int64_t unit = 1) {
    std::string name = fmt::format("c{}", spec().iterationSpace.size());
    spec().iterationSpace.push_back({name, range, 1});
    padding[name] = unit;
    return name;
  }
  int64_t padded(const std::string &symbol) { return roundUp(dim(symbol).range, padding[symbol]); }

  void splitDims() {
    int64_t used = 1;
    for (IterationDim &d : spec().iterationSpace) {
      int64_t pieces = padded(d.symbol) / padding[d.symbol];
      std::vector<int64_t> divisors;
      for (int64_t n = 1; n <= pieces && n * used <= device.cores; ++n) {
        if (pieces % n == 0) {
          divisors.push_back(n);
        }
      }
      d.cores = divisors[random.below(divisors.size())];
      used *= d.cores;
    }
  }

  /// In a random device order, sometimes a slice of a larger buffer.
  void addTensor(std::vector<std::string> symbols, const Stick &stick, DataFormat format) {
    TensorArg arg;
    arg.deviceDtype = format;
    std::map<std::string, int64_t> elements;
    for (const auto &[symbol, count] : stick) {
      if (elements.emplace(symbol, 1).second) {
        symbols.push_back(symbol);
      }
      elements[symbol] *= count;
    }
    for (size_t i = symbols.size(); i > 1; --i) {
      std::swap(symbols[i - 1], symbols[random.below(i)]);
    }
    for (const std::string &symbol : symbols) {
      bool isStick = elements.count(symbol) > 0;
      int64_t extent = padded(symbol) / (isStick ? elements[symbol] : 1);
      int64_t more = chance(4) ? random.between(1, 3) : 0;
      int64_t offset = random.between(0, more);
      if (isStick && extent + more == 1 && chance(4)) {
        continue; // A single stick needs no tile index.
      }
      arg.deviceSize.push_back(extent + more);
      arg.deviceCoordinates.push_back(isStick
                                          ? Coordinate::floorDiv(symbol, elements[symbol], offset)
                                          : Coordinate::var(symbol, offset));
    }
    std::map<std::string, int64_t> inner;
    std::vector<Coordinate> lanes;
    for (const auto &[symbol, count] : stick) {
      int64_t &below = inner.emplace(symbol, 1).first->second;
      lanes.insert(lanes.begin(), Coordinate::mod(symbol, count, below));
      below *= count;
    }
    for (const Coordinate &lane : lanes) {
      arg.deviceSize.push_back(lane.divisor);
      arg.deviceCoordinates.push_back(lane);
    }
    spec().args.push_back(std::move(arg));
  }

  void buildConversion(const std::string &op) {
    DataFormat from = op == "fp32todl16" || op == "x_fp32toint16" ? DataFormat::IeeeFp32
                      : op == "fp8todl16"                         ? DataFormat::Sen143Fp8
                      : op == "x_int8todl16"                      ? DataFormat::SenInt8
                      : op == "x_int16tofp32"                     ? DataFormat::SenInt16
                                                                  : DataFormat::Sen169Fp16;
    DataFormat to = op == "dl16tofp32" || op == "x_int16tofp32" ? DataFormat::IeeeFp32
                    : op == "x_fp32toint16"                     ? DataFormat::SenInt16
                    : op.starts_with("qfp8")                    ? DataFormat::Sen143Fp8
                    : op.starts_with("csqint8")                 ? DataFormat::SenInt8
                    : op.starts_with("csqint4")                 ? DataFormat::SenInt4
                                                                : DataFormat::Sen169Fp16;
    int64_t fromLanes = numerics::elemsPerStick(from), toLanes = numerics::elemsPerStick(to);
    bool isMb = op.ends_with("mb") || op == "csqint4", isWt = op.ends_with("wt");
    bool scales = op.starts_with("csq");
    int64_t rows = isWt ? toLanes / 64 : 2;
    size_t rank = size_t(random.between(isMb || isWt ? 2 : 1, 4));
    size_t stickAt = random.below(rank), partnerAt = stickAt;
    while ((isMb || isWt) && partnerAt == stickAt) {
      partnerAt = random.below(rank);
    }
    std::string stick, partner;
    std::vector<std::string> others;
    for (size_t i = 0; i < rank; ++i) {
      if (i == stickAt) {
        int64_t range = large ? random.between(3000, 9000)
                              : pick({1, 5, 31, 64, 65, 100, 128, 130, 192, 200, 256, 300});
        stick = addDim(range, isMb ? toLanes / 2 : isWt ? fromLanes : std::max(fromLanes, toLanes));
      } else if (i == partnerAt) {
        partner = addDim(large ? random.between(20, 60) : pick({1, 2, 3, 4, 5, 8}), rows);
      } else {
        others.push_back(addDim(pick({1, 2, 3, 4, 5, 7, 8})));
      }
    }
    splitDims();
    std::vector<std::string> held;
    for (const std::string &symbol : others) {
      // How often a shared input is scaled depends on the tiles; the others have nothing to count.
      if (scales || !chance(4)) {
        held.push_back(symbol);
      }
    }
    if (!partner.empty()) {
      held.push_back(partner);
    }
    addTensor(held, {{stick, fromLanes}}, from);
    addTensor(others,
              isMb   ? Stick{{stick, 8}, {partner, rows}, {stick, toLanes / 16}}
              : isWt ? Stick{{partner, rows}, {stick, 64}}
                     : Stick{{stick, toLanes}},
              to);
    if (scales) {
      spec().constants = {{"scaleact", double(random.uniform(-50, 50))},
                          {"shiftact", double(random.uniform(-20, 20))}};
      result.laneOps = 1;
      for (const std::string &symbol : held) {
        result.laneOps *= uint64_t(padded(symbol));
      }
      result.laneOps *= uint64_t(padded(stick));
    }
  }

  void buildMatmul(const std::string &op) {
    spec().isReduction = true;
    DataFormat format = op == "batchmatmulfp8" ? DataFormat::Sen143Fp8 : DataFormat::SenInt8;
    std::vector<std::string> batch;
    size_t batches = size_t(random.between(0, 2));
    for (size_t i = 0; i < batches; ++i) {
      batch.push_back(addDim(pick({1, 2, 3})));
    }
    std::string m = addDim(large ? random.between(50, 150) : pick({1, 3, 8, 17, 24}));
    std::string n = addDim(pick({1, 40, 64, 100, 128, 192}), 64);
    std::string k = addDim(large ? random.between(300, 1100)
                                 : pick({1, 5, 64, 127, 128, 129, 190, 256, 300, 511}),
                           128);
    splitDims();
    std::vector<std::string> aSymbols{m}, bSymbols, cSymbols{m};
    result.macs = uint64_t(dim(m).range * padded(n) * padded(k));
    for (const std::string &symbol : batch) {
      cSymbols.push_back(symbol);
      bool inA = !chance(5), inB = !chance(3);
      if (inA || !inB) {
        aSymbols.push_back(symbol);
      }
      if (inB) {
        bSymbols.push_back(symbol);
      }
      result.macs *= uint64_t(dim(symbol).range);
    }
    addTensor(aSymbols, {{k, 128}}, format);
    addTensor(bSymbols, {{k, 2}, {n, 64}}, format);
    addTensor(cSymbols, {{n, 64}}, DataFormat::Sen169Fp16);
  }

  /// Missing dimensions are added outermost with size 1 and coordinate 0.
  void alignRanks() {
    size_t rank = 2;
    for (const TensorArg &arg : spec().args) {
      rank = std::max(rank, arg.deviceSize.size());
    }
    for (size_t i = 0; i < spec().args.size(); ++i) {
      TensorArg &arg = spec().args[i];
      size_t missing = rank - arg.deviceSize.size();
      arg.deviceSize.insert(arg.deviceSize.begin(), missing, 1);
      arg.deviceCoordinates.insert(arg.deviceCoordinates.begin(), missing, Coordinate::constant(0));
      arg.argIndex = int64_t(i);
      arg.address = device.segmentBase(int64_t(i));
    }
    spec().args.back().isInput = false;
  }

  Random &random;
  const arch::DeviceDesc &device;
  bool large;
  /// By symbol.
  std::map<std::string, int64_t> padding;
  RandomCase result;
};

} // namespace

RandomCase randomConversion(const std::string &op, Random &random, const arch::DeviceDesc &device,
                            bool large) {
  return Builder(random, device, large).build(op);
}

} // namespace spyre::backend::test
