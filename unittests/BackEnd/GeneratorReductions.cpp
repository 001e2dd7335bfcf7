//===- GeneratorReductions.cpp - see GeneratorReductions.h ----------------------------------===//
#include "GeneratorReductions.h"

#include "spyre/Base/Math.h"

#include <algorithm>
#include <utility>

namespace spyre::backend::test {

using numerics::DataFormat;
using spec::Coordinate;
using spec::IterationDim;
using spec::TensorArg;

const std::vector<std::string> &reductionCases() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all{"exx2",      "exx2_zeromean", "exx2zero",
                                 "topkvalue", "topkindex",     "batchmatmul"};
    for (const char *op : {"sum", "mean", "max", "min", "absmax"}) {
      for (const char *suffix : {"", "nonstick", "sparse"}) {
        all.push_back(std::string(op) + suffix);
      }
    }
    return all;
  }();
  return names;
}

namespace {

class Builder {
public:
  Builder(const ReductionRequest &request, Random &random) : request(request), random(random) {}

  ReductionCase build() {
    const std::string &name = request.name;
    bool isMatmul = name == "batchmatmul";
    isTopK = name.starts_with("topk");
    isPair = name.starts_with("exx2");
    isSparse = name.ends_with("sparse");
    overStick = isPair || !(isMatmul || isTopK || isSparse || name.ends_with("nonstick"));
    format = !isMatmul && chance(3) ? DataFormat::IeeeFp32 : DataFormat::Sen169Fp16;
    const bool hasIntegers =
        name.starts_with("sum") || name.starts_with("max") || name.starts_with("min");
    format = hasIntegers && chance(3) ? DataFormat::IeeeInt32 : format;
    lanes = numerics::elemsPerStick(format);
    spec().op = name;
    for (const char *suffix : {"nonstick", "sparse", "zero"}) {
      if (name.ends_with(suffix)) {
        spec().op.resize(name.size() - std::string_view(suffix).size());
      }
    }
    spec().isReduction = true;
    isMatmul ? buildMatmul() : isTopK ? buildTopK() : buildReduction();
    alignRanks();
    result.base.memory = randomMemory(spec(), random);
    return std::move(result);
  }

private:
  spec::OpSpec &spec() { return result.base.spec; }
  bool chance(uint64_t oneIn) { return random.below(oneIn) == 0; }

  int64_t divisorOf(int64_t number) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= number; ++d) {
      if (number % d == 0) {
        divisors.push_back(d);
      }
    }
    return divisors[random.below(divisors.size())];
  }

  std::string addDim(int64_t range, int64_t cores) {
    std::string name = fmt::format("c{}", spec().iterationSpace.size());
    spec().iterationSpace.push_back({name, range, cores});
    return name;
  }
  std::string addElements(int64_t cores) { return addDim(cores * pieces(), cores); }
  /// Of a core.
  int64_t pieces() {
    int64_t most = std::exchange(mostPieces, 3);
    return random.between(most / 3, most);
  }
  std::string addSticks(int64_t cores) {
    int64_t sticks = cores * (request.end == StickEnd::Shortest ? 1 : pieces());
    int64_t missing = request.end == StickEnd::Unaligned ? random.between(1, lanes - 1)
                      : request.end == StickEnd::OneLane ? (chance(2) ? 1 : lanes - 1)
                                                         : 0;
    return addDim(sticks * lanes - missing, cores);
  }

  const IterationDim &dim(const std::string &symbol) {
    auto &space = spec().iterationSpace;
    return *std::find_if(space.begin(), space.end(),
                         [&](const IterationDim &d) { return d.symbol == symbol; });
  }
  uint64_t sticksOf(const std::string &symbol, int64_t width) {
    return uint64_t(ceilDiv(dim(symbol).range, width));
  }

  /// In a random device order, sometimes a slice of a larger buffer.
  void addTensor(std::vector<std::string> symbols, const std::string &stick, DataFormat kind,
                 const std::string &padded = "") {
    TensorArg arg;
    arg.deviceDtype = kind;
    int64_t width = numerics::elemsPerStick(kind);
    if (!stick.empty()) {
      symbols.push_back(stick);
    }
    for (size_t i = symbols.size(); i > 1; --i) {
      std::swap(symbols[i - 1], symbols[random.below(i)]);
    }
    for (const std::string &symbol : symbols) {
      bool isStick = symbol == stick;
      // A stick dimension is padded to whole sticks of the widest format.
      int64_t whole =
          isStick || symbol == padded ? roundUp(dim(symbol).range, lanes) : dim(symbol).range;
      int64_t more = chance(4) ? random.between(1, 3) : 0;
      int64_t offset = random.between(0, more);
      arg.deviceSize.push_back((isStick ? whole / width : whole) + more);
      arg.deviceCoordinates.push_back(isStick ? Coordinate::floorDiv(symbol, width, offset)
                                              : Coordinate::var(symbol, offset));
    }
    arg.deviceSize.push_back(width);
    arg.deviceCoordinates.push_back(stick.empty() ? Coordinate::constant(0)
                                                  : Coordinate::mod(stick, width));
    arg.argIndex = int64_t(spec().args.size());
    arg.address = arg.argIndex << 34;
    spec().args.push_back(std::move(arg));
  }

  /// Kept dimensions that are no stick; the first takes \p cores.
  std::vector<std::string> addKept(size_t count, int64_t cores, uint64_t &points) {
    std::vector<std::string> kept;
    for (size_t i = 0; i < count; ++i) {
      kept.push_back(addElements(i == 0 ? cores : 1));
      points *= uint64_t(dim(kept.back()).range);
    }
    return kept;
  }

  void buildReduction() {
    // The stick of a reduction beside it may take the kept cores, too.
    size_t kept = size_t(random.between(0, overStick || isSparse ? 4 : 3));
    bool keepsStick = !overStick && !isSparse;
    result.slices = kept == 0 && !keepsStick ? request.cores : divisorOf(request.cores);
    int64_t keptCores = request.cores / result.slices;
    int64_t stickCores = keepsStick && (kept == 0 || chance(2)) ? keptCores : 1;
    uint64_t sticks = 1;
    std::vector<std::string> symbols = addKept(kept, keptCores / stickCores, sticks);
    std::string stick = keepsStick ? addSticks(stickCores) : "";
    sticks *= stick.empty() ? 1 : sticksOf(stick, lanes);
    mostPieces = kept < 2 && chance(3) ? 60 : 3;
    std::string reduced = overStick ? addSticks(result.slices) : addElements(result.slices);
    std::vector<std::string> inputSymbols = symbols;
    if (!overStick) {
      inputSymbols.push_back(reduced);
    }
    addTensor(inputSymbols, overStick ? reduced : stick, format);
    addTensor(symbols, stick, format);
    uint64_t values = request.name == "exx2" ? 2 : 1;
    uint64_t steps = overStick ? sticksOf(reduced, lanes) : uint64_t(dim(reduced).range);
    result.base.laneOps = values * sticks * steps * uint64_t(lanes);
    result.ringBytes = values * sticks * uint64_t(lanes) * 4 * uint64_t(result.slices - 1);
    result.storedBytes = sticks * 128;
    addConstants(dim(reduced).range);
  }

  void addConstants(int64_t count) {
    if (spec().op == "mean") {
      spec().constants = {{"scaling_factor", 1.0 / double(count)}};
    } else if (isPair) {
      spec().constants = {{"exx2scale", 1.0 / double(count)},
                          {"useZeroMean", request.name == "exx2zero" ? 1.0 : 0.0}};
    }
  }

  void buildTopK() {
    uint64_t sticks = 1;
    size_t kept = size_t(random.between(0, 2));
    int64_t stickCores = kept == 0 || chance(2) ? request.cores : 1;
    std::string k = addDim(random.between(1, 6), 1);
    std::vector<std::string> symbols = addKept(kept, request.cores / stickCores, sticks);
    std::string stick = addSticks(stickCores);
    sticks *= sticksOf(stick, lanes);
    std::string reduced = addDim(dim(k).range + random.between(0, 20), 1);
    std::vector<std::string> inputSymbols = symbols, outputSymbols = symbols;
    inputSymbols.push_back(reduced);
    outputSymbols.push_back(k);
    DataFormat kind = spec().op == "topkindex" ? DataFormat::IeeeInt32 : format;
    addTensor(inputSymbols, stick, format);
    addTensor(outputSymbols, stick, kind);
    result.base.laneOps = sticks * uint64_t(dim(reduced).range * lanes);
    result.storedBytes =
        sticks * uint64_t(dim(k).range * lanes / numerics::elemsPerStick(kind) * 128);
  }

  void buildMatmul() {
    uint64_t points = 1;
    result.slices = divisorOf(request.cores);
    int64_t rest = request.cores / result.slices;
    int64_t nCores = chance(2) ? rest : 1;
    std::vector<std::string> batch = addKept(size_t(random.between(0, 3)), 1, points);
    std::string m = addElements(rest / nCores);
    std::string n = addDim(nCores * 64 - random.between(0, 1) * 24, nCores);
    mostPieces = batch.empty() && result.slices < 8 && chance(3) ? 30 : 3;
    std::string k = addSticks(result.slices);
    std::vector<std::string> aSymbols = batch, bSymbols{k}, cSymbols = batch;
    for (const std::string &symbol : batch) {
      if (chance(2)) {
        bSymbols.push_back(symbol);
      }
    }
    aSymbols.push_back(m);
    cSymbols.push_back(m);
    addTensor(aSymbols, k, format);
    addTensor(bSymbols, n, format, k);
    addTensor(cSymbols, n, format);
    uint64_t sticks = points * uint64_t(dim(m).range) * sticksOf(n, 64);
    result.base.macs = sticks * sticksOf(k, 64) * 64 * 64;
    result.ringBytes = sticks * 256 * uint64_t(result.slices - 1);
    result.storedBytes = sticks * 128;
  }

  void alignRanks() {
    size_t rank = 2;
    for (const TensorArg &arg : spec().args) {
      rank = std::max(rank, arg.deviceSize.size());
    }
    for (TensorArg &arg : spec().args) {
      size_t missing = rank - arg.deviceSize.size();
      arg.deviceSize.insert(arg.deviceSize.begin(), missing, 1);
      arg.deviceCoordinates.insert(arg.deviceCoordinates.begin(), missing, Coordinate::constant(0));
    }
    spec().args.back().isInput = false;
  }

  const ReductionRequest &request;
  Random &random;
  bool isTopK = false, isPair = false, isSparse = false, overStick = false;
  /// Of the next dimension.
  int64_t mostPieces = 3;
  DataFormat format = DataFormat::Sen169Fp16;
  int64_t lanes = 64;
  ReductionCase result;
};

} // namespace

ReductionCase randomReduction(const ReductionRequest &request, Random &random) {
  // The span limit of the smallest machine. Reductions of more cores than it has may be larger.
  constexpr size_t kMaxBytes = size_t(1) << 20;
  while (true) {
    ReductionCase drawn = Builder(request, random).build();
    const auto &arguments = drawn.base.memory.arguments;
    bool fits = std::all_of(arguments.begin(), arguments.end(), [&](const auto &bytes) {
      return bytes.size() <= kMaxBytes * (request.cores > 4 ? 8 : 1);
    });
    if (fits) {
      return drawn;
    }
  }
}

} // namespace spyre::backend::test
