//===- SpecGenerator.cpp - random OpSpecs that must be expressible --------------------------===//
//
// Builds each tensor from its symbols: a random order of dimensions, each possibly a slice of a
// bigger one, constant dimensions in between, then size-1 dimensions outermost up to a common rank.
//===--------------------------------------------------------------------------------------------===//
#include "SpecGenerator.h"

#include "spyre/Base/Math.h"

#include <algorithm>
#include <string>

namespace spyre::spec::test {

namespace {

class Generator {
public:
  Generator(Random &random, const GeneratorOptions &options) : random(random), options(options) {}

  OpSpec run() {
    spec.op = "add";
    if (random.below(4) == 0 && options.kind != SpecKind::Matmul) {
      format = numerics::DataFormat::IeeeFp32;
    }
    lanes = numerics::elemsPerStick(format);
    switch (options.kind) {
    case SpecKind::Pointwise:
      makePointwise();
      break;
    case SpecKind::StickReduction:
    case SpecKind::NonStickReduction:
      makeReduction();
      break;
    case SpecKind::Matmul:
      makeMatmul();
      break;
    case SpecKind::Restickify:
      makeRestickify();
      break;
    }
    finish();
    return std::move(spec);
  }

private:
  bool chance(uint64_t oneIn) { return random.below(oneIn) == 0; }

  std::string addSymbol(int64_t range, bool isStick) {
    const std::string name = "c" + std::to_string(spec.iterationSpace.size());
    const int64_t pieces = isStick ? ceilDiv(range, lanes) : range;
    int64_t cores = random.between(1, 4);
    while (pieces % cores != 0) {
      --cores;
    }
    spec.iterationSpace.push_back({name, range, cores});
    return name;
  }
  int64_t outerRange() { return random.between(1, 6); }
  int64_t stickRange() { return random.between(1, 3 * lanes + 5); }
  int64_t rangeOf(const std::string &symbol) const {
    for (const IterationDim &dim : spec.iterationSpace) {
      if (dim.symbol == symbol) {
        return dim.range;
      }
    }
    return 1;
  }

  struct DeviceDim {
    int64_t size;
    Coordinate coordinate;
  };

  /// A dimension of \p extent steps, as it is or as a part of a bigger one.
  DeviceDim place(Coordinate coordinate, int64_t extent, bool maySlice) {
    const bool slice = maySlice && options.slices && chance(3);
    const int64_t before = slice ? random.between(0, 2) : 0;
    const int64_t after = slice ? random.between(0, 2) : 0;
    coordinate.offset = before;
    return {before + extent + after, coordinate};
  }

  /// \p stick "" makes one value per stick. \p exact: no slices at all.
  TensorArg makeTensor(std::vector<std::string> symbols, const std::string &stick, bool exact) {
    TensorArg arg;
    arg.deviceDtype = format;
    std::vector<DeviceDim> dims;
    for (const std::string &symbol : symbols) {
      if (symbol != stick) {
        dims.push_back(
            place(Coordinate::var(symbol), std::max(rangeOf(symbol), padded(symbol)), !exact));
      }
    }
    const bool oneStick = !stick.empty() && rangeOf(stick) <= lanes;
    if (!stick.empty() && !(oneStick && chance(3))) {
      dims.push_back(
          place(Coordinate::floorDiv(stick, lanes), ceilDiv(rangeOf(stick), lanes), !exact));
    } else if (oneStick && chance(2)) {
      dims.push_back({1, Coordinate::constant(0)});
    }
    if (options.slices && !exact && chance(4)) {
      const int64_t size = random.between(1, 3);
      dims.push_back({size, Coordinate::constant(random.between(0, size - 1))});
    }
    for (size_t i = dims.size(); i > 1; --i) {
      std::swap(dims[i - 1], dims[random.below(i)]);
    }
    for (const DeviceDim &dim : dims) {
      arg.deviceSize.push_back(dim.size);
      arg.deviceCoordinates.push_back(dim.coordinate);
    }
    arg.deviceSize.push_back(lanes);
    arg.deviceCoordinates.push_back(stick.empty() ? Coordinate::constant(0)
                                                  : Coordinate::mod(stick, lanes));
    return arg;
  }

  /// Rows a matmul's second input owns beyond the range of K.
  int64_t padded(const std::string &symbol) const {
    return symbol == kSymbol ? roundUp(rangeOf(symbol), lanes) : 0;
  }

  std::vector<std::string> allSymbols() const {
    std::vector<std::string> names;
    for (const IterationDim &dim : spec.iterationSpace) {
      names.push_back(dim.symbol);
    }
    return names;
  }
  std::vector<std::string> someOf(std::vector<std::string> names) {
    std::erase_if(names, [&](const std::string &) { return chance(3); });
    return names;
  }

  void makePointwise() {
    const int64_t rank = random.between(0, 4);
    const int64_t stickAt = random.between(0, 4);
    std::string stick;
    for (int64_t i = 0; i < rank; ++i) {
      const bool isStick = i == stickAt;
      const std::string name = addSymbol(isStick ? stickRange() : outerRange(), isStick);
      stick = isStick ? name : stick;
    }
    const char *names[] = {"exp", "add", "where3"};
    const size_t inputs = 1 + random.below(3);
    spec.op = names[inputs - 1];
    for (size_t i = 0; i < inputs; ++i) {
      std::vector<std::string> own = someOf(allSymbols());
      const bool dense = std::find(own.begin(), own.end(), stick) != own.end();
      std::erase(own, dense ? "" : stick);
      spec.args.push_back(makeTensor(own, dense ? stick : "", false));
    }
    spec.args.push_back(makeTensor(allSymbols(), stick, false));
  }

  void makeReduction() {
    const bool stickReduction = options.kind == SpecKind::StickReduction;
    const int64_t kept = random.between(0, 2);
    std::vector<std::string> outputSymbols;
    std::string stick;
    for (int64_t i = 0; i < kept; ++i) {
      outputSymbols.push_back(addSymbol(outerRange(), false));
    }
    if (!stickReduction && !chance(5)) {
      stick = addSymbol(stickRange(), true);
      outputSymbols.push_back(stick);
    }
    const std::string outputStick = stick;
    if (stickReduction) {
      stick = addSymbol(stickRange(), true);
    } else {
      addSymbol(outerRange(), false);
    }
    spec.op = chance(2) ? "sum" : "max";
    spec.isReduction = true;
    spec.args.push_back(makeTensor(allSymbols(), stick, false));
    spec.args.push_back(makeTensor(outputSymbols, outputStick, false));
  }

  void makeMatmul() {
    spec.op = "batchmatmul";
    spec.isReduction = true;
    std::vector<std::string> batch;
    for (int64_t i = random.between(0, 2); i > 0; --i) {
      batch.push_back(addSymbol(random.between(1, 3), false));
    }
    const std::string m = addSymbol(outerRange(), false);
    const std::string n = addSymbol(stickRange(), true);
    const std::string k = addSymbol(stickRange(), true);
    auto with = [](std::vector<std::string> names, const std::string &a, const std::string &b) {
      names.push_back(a);
      names.push_back(b);
      return names;
    };
    spec.args.push_back(makeTensor(with(someOf(batch), m, k), k, false));
    kSymbol = k;
    spec.args.push_back(makeTensor(with(someOf(batch), n, k), n, false));
    kSymbol.clear();
    spec.args.push_back(makeTensor(with(batch, m, n), n, false));
  }

  void makeRestickify() {
    spec.op = "ReStickifyOpHBM";
    const bool aligned = chance(2);
    auto range = [&] { return aligned ? lanes * random.between(1, 3) : stickRange(); };
    if (chance(2)) {
      addSymbol(outerRange(), false);
    }
    const std::string a = addSymbol(chance(6) ? 1 : range(), true);
    const std::string b = addSymbol(range(), true);
    spec.args.push_back(makeTensor(allSymbols(), a, !aligned));
    spec.args.push_back(makeTensor(allSymbols(), b, !aligned));
    if (rangeOf(a) == 1 && aligned) { // A slice of an unaligned dimension has no form.
      spec.args.clear();
      spec.args.push_back(makeTensor(allSymbols(), a, true));
      spec.args.push_back(makeTensor(allSymbols(), b, true));
    }
  }

  bool isSlice(const TensorArg &arg) const {
    for (size_t j = 0; j + 1 < arg.deviceSize.size(); ++j) {
      const Coordinate &coordinate = arg.deviceCoordinates[j];
      int64_t extent = 1;
      if (coordinate.kind == Coordinate::Kind::Symbol) {
        extent = rangeOf(coordinate.symbol);
      } else if (coordinate.kind == Coordinate::Kind::Floor) {
        extent = ceilDiv(rangeOf(coordinate.symbol), lanes);
      }
      if (coordinate.offset != 0 || arg.deviceSize[j] != extent) {
        return true;
      }
    }
    return false;
  }

  void finish() {
    size_t rank = 0;
    for (const TensorArg &arg : spec.args) {
      rank = std::max(rank, arg.deviceSize.size());
    }
    for (size_t i = 0; i < spec.args.size(); ++i) {
      TensorArg &arg = spec.args[i];
      const size_t missing = rank - arg.deviceSize.size();
      arg.deviceSize.insert(arg.deviceSize.begin(), missing, 1);
      arg.deviceCoordinates.insert(arg.deviceCoordinates.begin(), missing, Coordinate::constant(0));
      arg.isInput = i + 1 < spec.args.size();
      arg.argIndex = int64_t(i);
      arg.address = int64_t(i) << 34;
      if (options.lx && chance(2) && !isSlice(arg)) {
        arg.residency = Residency::Lx;
      } else if (chance(4)) {
        arg.residency = Residency::Pool;
      }
      if (arg.residency != Residency::Hbm) {
        arg.argIndex = -1;
        arg.address = int64_t(random.below(100)) * 128;
      }
    }
  }

  Random &random;
  const GeneratorOptions &options;
  OpSpec spec;
  numerics::DataFormat format = numerics::DataFormat::Sen169Fp16;
  int64_t lanes = 64;
  std::string kSymbol;
};

} // namespace

OpSpec generateSpec(Random &random, const GeneratorOptions &options) {
  return Generator(random, options).run();
}

} // namespace spyre::spec::test
