//===- OpSpecVerifier.cpp - the invariants of an aligned OpSpec -----------------------------===//
//
// Emission and the evaluator rely on what is checked here: after it, every coordinate is inside its
// tensor for every point of the iteration space, and no size overflows.
// [spec: codegen-and-backend 1.1-1.3, 3.3]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Spec/Windows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace spyre::spec {

namespace {

constexpr size_t kMaxSymbols = 8;
constexpr size_t kMaxArgs = 64;
constexpr int64_t kMaxCores = 1024;
/// Above any virtual address (128 GiB) and low enough that sums stay far from overflow.
constexpr int64_t kMaxBytes = int64_t(1) << 47;
constexpr int64_t kStickBytes = 128;
/// Of 4 bits: no operation has elements of fewer.
constexpr int64_t kMaxLanes = 256;

bool isIdentifier(const std::string &text) {
  if (text.empty() || text.size() > 64 || (text[0] >= '0' && text[0] <= '9')) {
    return false;
  }
  for (char c : text) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) {
      return false;
    }
  }
  return true;
}

class Verifier {
public:
  explicit Verifier(const OpSpec &spec) : spec(spec) {}

  Status run() {
    SPYRE_RETURN_IF_ERROR(checkHeader());
    for (size_t i = 0; i < spec.args.size(); ++i) {
      SPYRE_RETURN_IF_ERROR(checkArg(i));
    }
    SPYRE_RETURN_IF_ERROR(checkCores());
    SPYRE_RETURN_IF_ERROR(checkIndirection());
    SPYRE_RETURN_IF_ERROR(checkDivisions());
    SPYRE_RETURN_IF_ERROR(checkSymbolUse());
    for (const std::string &symbol : spec.tiledSymbols) {
      if (!findSymbol(symbol)) {
        return fault("tiled symbol '{}' is not in the iteration space", symbol.substr(0, 64));
      }
    }
    if (isWindowOp(spec.op)) {
      return findWindowSymbols(spec).status();
    }
    return spec.op == "x_cumsum" ? checkScan() : Status::success();
  }

private:
  template <typename... Args>
  Status fault(fmt::format_string<Args...> format, Args &&...args) const {
    return error<1302>("op '{}': {}", spec.op.substr(0, 64),
                       fmt::format(format, std::forward<Args>(args)...));
  }

  const IterationDim *findSymbol(const std::string &name) const {
    for (const IterationDim &dim : spec.iterationSpace) {
      if (dim.symbol == name) {
        return &dim;
      }
    }
    return nullptr;
  }

  Status checkHeader() const {
    if (!isIdentifier(spec.op)) {
      return error<1302>("the op name is empty or not an identifier; give the device op's name");
    }
    if (spec.iterationSpace.size() > kMaxSymbols) {
      return fault("{} iteration symbols, the limit is {}; merge dimensions",
                   spec.iterationSpace.size(), kMaxSymbols);
    }
    if (spec.args.size() < 2 || spec.args.size() > kMaxArgs) {
      return fault("{} arguments; an op has at least one input, one output, and at most {}",
                   spec.args.size(), kMaxArgs);
    }
    if (isMatmul(spec) && !spec.isReduction) {
      return fault("is_reduction is False; a matmul is a reduction");
    }
    for (const auto &[name, value] : spec.constants) {
      if (name.empty() || name.size() > 64 || !std::isfinite(value)) {
        return fault("constant '{}' = {}; names are 1 to 64 bytes, values finite",
                     name.substr(0, 64), value);
      }
    }
    return checkIterationSpace();
  }

  Status checkIterationSpace() const {
    std::set<std::string> seen;
    int64_t cores = 1;
    for (const IterationDim &dim : spec.iterationSpace) {
      if (!isIdentifier(dim.symbol) || !seen.insert(dim.symbol).second) {
        return fault("symbol '{}' is not an identifier or appears twice; rename it",
                     dim.symbol.substr(0, 64));
      }
      if (dim.range < 1 || dim.range > kMaxBytes) {
        return fault("symbol {} has range {}; it must be in 1..{}", dim.symbol, dim.range,
                     kMaxBytes);
      }
      if (dim.cores < 1 || dim.cores > kMaxCores || (cores *= dim.cores) > kMaxCores) {
        return fault("symbol {} is split over {} cores; the whole split must be in 1..{}",
                     dim.symbol, dim.cores, kMaxCores);
      }
    }
    return Status::success();
  }

  Status checkArg(size_t index) const {
    const TensorArg &arg = spec.args[index];
    const bool last = index + 1 == spec.args.size();
    if (arg.isInput == last) {
      return fault("argument {}: is_input={}; exactly the last argument is the output", index,
                   arg.isInput ? "True" : "False");
    }
    const size_t rank = spec.args.front().deviceSize.size();
    if (arg.deviceSize.empty() || arg.deviceSize.size() != rank || rank > 2 * kMaxSymbols ||
        arg.deviceCoordinates.size() != rank) {
      return fault("argument {}: {} sizes and {} coordinates; all arguments have the rank of the "
                   "first, {} (at most {})",
                   index, arg.deviceSize.size(), arg.deviceCoordinates.size(), rank,
                   2 * kMaxSymbols);
    }
    if (!arg.strideMap.empty() && arg.strideMap.size() != rank) {
      return fault("argument {}: stride_map has {} entries, the rank is {}", index,
                   arg.strideMap.size(), rank);
    }
    SPYRE_RETURN_IF_ERROR(checkMemory(index, arg));
    return checkCoordinates(index, arg);
  }

  Status checkMemory(size_t index, const TensorArg &arg) const {
    const int64_t lanes = numerics::elemsPerStick(arg.deviceDtype);
    if (lanes <= 0 || lanes > kMaxLanes) {
      return fault("argument {}: format {} is not one of 4 to 64 bits, as those of operations are",
                   index, numerics::formatName(arg.deviceDtype));
    }
    if (stickRank(arg) == 0) {
      return fault("argument {}: the last device size is {}; it must be the {} elements of a "
                   "stick, or the last sizes multiply to them",
                   index, arg.deviceSize.back(), lanes);
    }
    int64_t elements = 0;
    bool positive = true;
    for (int64_t size : arg.deviceSize) {
      positive = positive && size >= 1;
    }
    if (!positive || !checkedProduct(arg.deviceSize, elements) ||
        elements / lanes > kMaxBytes / kStickBytes) {
      return fault("argument {}: device_size [{}] is not positive or above {} bytes", index,
                   fmt::join(arg.deviceSize, ", "), kMaxBytes);
    }
    if (arg.address < 0 || arg.address > kMaxBytes || arg.address % kStickBytes != 0) {
      return fault("argument {}: address {} is not a multiple of {} in 0..{}", index, arg.address,
                   kStickBytes, kMaxBytes);
    }
    if (arg.argIndex < -1 || (arg.argIndex >= 0) != (arg.residency == Residency::Hbm)) {
      return fault("argument {}: arg_index {}; tensors of the call (hbm) have one, pool and LX "
                   "tensors have -1",
                   index, arg.argIndex);
    }
    return Status::success();
  }

  Status checkCoordinates(size_t index, const TensorArg &arg) const {
    const size_t outer = arg.deviceSize.size() - stickRank(arg);
    SPYRE_RETURN_IF_ERROR(outer + 1 == arg.deviceSize.size() ? checkLane(index, arg)
                                                             : checkLanes(index, arg, outer));
    std::set<std::string> seen;
    size_t indirect = 0;
    for (size_t j = 0; j < outer; ++j) {
      const Coordinate &coordinate = arg.deviceCoordinates[j];
      SPYRE_RETURN_IF_ERROR(checkOuterCoordinate(index, arg, j));
      if (coordinate.hasSymbol() && !seen.insert(coordinate.symbol).second) {
        return fault("argument {}: symbol {} appears in two outer coordinates", index,
                     coordinate.symbol);
      }
      if (!coordinate.windowSymbol.empty() && !seen.insert(coordinate.windowSymbol).second) {
        return fault("argument {}: symbol {} appears in two outer coordinates", index,
                     coordinate.windowSymbol);
      }
      indirect += coordinate.kind == Coordinate::Kind::Indirect;
      if (indirect > 1) {
        return fault("argument {}: two indirect coordinates; gather one dimension after the other",
                     index);
      }
    }
    for (size_t j = outer; j < arg.deviceSize.size(); ++j) {
      const std::string &symbol = arg.deviceCoordinates[j].symbol;
      const int64_t elements = stickElements(arg, symbol);
      if (!symbol.empty() && !seen.count(symbol) && findSymbol(symbol)->range > elements) {
        return fault("argument {}: no coordinate floor({}/{}), but {} covers more than one stick",
                     index, symbol, elements, symbol);
      }
    }
    return Status::success();
  }

  Status checkLane(size_t index, const TensorArg &arg) const {
    const Coordinate &lane = arg.deviceCoordinates.back();
    const int64_t lanes = arg.deviceSize.back();
    if (lane.offset != 0 || lane.inner != 1 ||
        (lane.kind == Coordinate::Kind::Mod ? lane.divisor != lanes || !findSymbol(lane.symbol)
                                            : lane.kind != Coordinate::Kind::Constant)) {
      return fault("argument {}: the last coordinate is {}; it must be Mod(symbol, {}) or 0", index,
                   lane.toString().substr(0, 160), lanes);
    }
    return Status::success();
  }

  /// A stick of several dimensions: together they must count each symbol from 0 upwards.
  Status checkLanes(size_t index, const TensorArg &arg, size_t outer) const {
    std::map<std::string, int64_t> counted;
    for (size_t j = arg.deviceSize.size(); j-- > outer;) {
      const Coordinate &lane = arg.deviceCoordinates[j];
      if (lane.kind != Coordinate::Kind::Mod || lane.offset != 0 || !findSymbol(lane.symbol)) {
        return fault("argument {}, dimension {}: {} is in a stick of several dimensions; it must "
                     "be Mod of a known symbol",
                     index, j, lane.toString().substr(0, 160));
      }
      int64_t &below = counted.emplace(lane.symbol, 1).first->second;
      if (lane.inner != below || lane.divisor != arg.deviceSize[j] || lane.divisor < 2) {
        return fault("argument {}, dimension {}: {} must be Mod of {} divided by {}, modulo the "
                     "device size {} (at least 2)",
                     index, j, lane.toString().substr(0, 160), lane.symbol, below,
                     arg.deviceSize[j]);
      }
      below *= lane.divisor;
    }
    return Status::success();
  }

  Status checkOuterCoordinate(size_t index, const TensorArg &arg, size_t j) const {
    const Coordinate &coordinate = arg.deviceCoordinates[j];
    int64_t extent = 1;
    if (coordinate.kind == Coordinate::Kind::Window) {
      SPYRE_ASSIGN_OR_RETURN(extent, windowExtent(index, arg, coordinate));
    } else if (!coordinate.windowSymbol.empty()) {
      return fault("argument {}, dimension {}: a second symbol without a window", index, j);
    } else if (coordinate.kind == Coordinate::Kind::Indirect) {
      // Which of the entries is known when the device reads the index; that one exists, now.
      extent = arg.deviceSize[j];
    } else if (coordinate.kind != Coordinate::Kind::Constant) {
      const IterationDim *dim = findSymbol(coordinate.symbol);
      const int64_t elements = stickElements(arg, coordinate.symbol);
      const bool isFloor = coordinate.kind == Coordinate::Kind::Floor;
      if (!dim || coordinate.kind == Coordinate::Kind::Mod || coordinate.inner != 1 ||
          isFloor != (elements > 1) || (isFloor && coordinate.divisor != elements)) {
        return fault("argument {}, dimension {}: {} is neither a constant, a known symbol that is "
                     "not the stick's, nor the tile index of the stick",
                     index, j, coordinate.toString().substr(0, 160));
      }
      extent = isFloor ? ceilDiv(dim->range, coordinate.divisor) : dim->range;
    } else if (!coordinate.symbol.empty()) {
      return fault("argument {}, dimension {}: a constant coordinate with a symbol", index, j);
    }
    if (coordinate.offset < 0 || extent > arg.deviceSize[j] ||
        coordinate.offset > arg.deviceSize[j] - extent) {
      return fault("argument {}, dimension {}: {} reaches outside the device size {}", index, j,
                   coordinate.toString(), arg.deviceSize[j]);
    }
    return Status::success();
  }

  /// How far a window walks. Only the input of a window op has one, and not in its stick.
  Expected<int64_t> windowExtent(size_t index, const TensorArg &arg,
                                 const Coordinate &coordinate) const {
    const IterationDim *pixel = findSymbol(coordinate.symbol);
    const IterationDim *element = findSymbol(coordinate.windowSymbol);
    const bool inStick = stickElements(arg, coordinate.symbol) > 1 ||
                         stickElements(arg, coordinate.windowSymbol) > 1;
    if (!isWindowOp(spec.op) || index != 0 || !pixel || !element || pixel == element || inStick) {
      return fault("argument {}: {} is a window; only the input of a convolution or pooling op has "
                   "one, of two known symbols that are not the stick's",
                   index, coordinate.toString().substr(0, 160));
    }
    const WindowStep step{coordinate.factor, coordinate.windowFactor};
    if (step.stride < 1 || step.dilation < 1 || step.stride > kMaxWindowStep ||
        step.dilation > kMaxWindowStep) {
      return fault("argument {}: {} has a factor outside of 1..{}", index, coordinate.toString(),
                   kMaxWindowStep);
    }
    const int64_t reach = windowReach(step, pixel->range, element->range);
    if (reach < 1) {
      return fault("argument {}: {} leaves 64 bits", index, coordinate.toString());
    }
    return reach;
  }

  /// Cores get whole elements, and whole sticks of a symbol that is a stick anywhere in the op.
  Status checkCores() const {
    for (const IterationDim &dim : spec.iterationSpace) {
      int64_t pieces = dim.range;
      const char *unit = "elements";
      for (const TensorArg &arg : spec.args) {
        const int64_t elements = stickElements(arg, dim.symbol);
        if (elements > 1 && !arg.isIndex()) {
          pieces = std::min(pieces, ceilDiv(dim.range, elements));
          unit = "sticks";
        }
      }
      if (dim.uneven) {
        SPYRE_RETURN_IF_ERROR(checkUneven(dim, ceilDiv(dim.range, pieceElements(spec, dim))));
      } else if (pieces % dim.cores != 0) {
        return fault("symbol {}: {} cores do not divide its {} {}", dim.symbol, dim.cores, pieces,
                     unit);
      }
      if (dim.fastest &&
          (dim.cores < 2 || !spec.isReduction || uses(spec.args.back(), dim.symbol))) {
        return fault("symbol {} is called fastest; that is a split symbol that is reduced",
                     dim.symbol);
      }
      SPYRE_RETURN_IF_ERROR(checkIndexCores(dim));
    }
    return Status::success();
  }

  /// Slices of two sizes along one symbol of the result, which must be independent of each other
  /// and lie in DDR: a core's LX has room for slices of one size (docs/adr/0055).
  Status checkUneven(const IterationDim &dim, int64_t pieces) const {
    const auto count = std::count_if(spec.iterationSpace.begin(), spec.iterationSpace.end(),
                                     [](const IterationDim &other) { return other.uneven; });
    if (count > 1 || pieces % dim.cores == 0 || pieces < dim.cores) {
      return fault("symbol {}: {} pieces over {} cores are called uneven; that is one symbol of an "
                   "op, with more pieces than cores, which do not divide them",
                   dim.symbol, pieces, dim.cores);
    }
    if (!uses(spec.args.back(), dim.symbol) || isWindowOp(spec.op)) {
      return fault("symbol {} is reduced, or of a window op; only slices that need nothing of each "
                   "other may be uneven",
                   dim.symbol);
    }
    for (const TensorArg &arg : spec.args) {
      if (arg.residency == Residency::Lx || arg.isIndex()) {
        return fault("symbol {} is divided unevenly and an argument is in LX or an index tensor; "
                     "divide it evenly",
                     dim.symbol);
      }
    }
    return Status::success();
  }

  /// A core reads whole sticks of indices, or a part of one [spec: codegen-and-backend 3.3].
  Status checkIndexCores(const IterationDim &dim) const {
    const int64_t perCore = dim.range / dim.cores;
    for (const TensorArg &arg : spec.args) {
      const Coordinate &lane = arg.deviceCoordinates.back();
      if (arg.isIndex() && lane.kind == Coordinate::Kind::Mod && lane.symbol == dim.symbol &&
          dim.cores > 1 && perCore > lane.divisor && perCore % lane.divisor != 0) {
        return fault("symbol {}: a core has {} indices of '{}', neither whole sticks of {} nor "
                     "less than one; use another number of cores",
                     dim.symbol, perCore, arg.name, lane.divisor);
      }
    }
    return Status::success();
  }

  const TensorArg *findIndex(const std::string &name) const {
    for (const TensorArg &arg : spec.args) {
      if (arg.isIndex() && arg.name == name) {
        return &arg;
      }
    }
    return nullptr;
  }

  Status checkIndirection() const {
    std::set<std::string> names;
    for (size_t i = 0; i < spec.args.size(); ++i) {
      const TensorArg &arg = spec.args[i];
      const Coordinate *indirect = arg.indirectCoordinate();
      if (!arg.isIndex()) {
        if (indirect && !arg.isInput) {
          return fault("the output has the coordinate {}; a scatter has no form in the interface",
                       indirect->toString().substr(0, 160));
        }
        if (indirect && !findIndex(indirect->symbol)) {
          return fault("argument {}: no argument has the name of {}", i,
                       indirect->toString().substr(0, 160));
        }
        continue;
      }
      if (arg.name.size() > 64 || !names.insert(arg.name).second || names.size() != i + 1 ||
          !arg.isInput) {
        return fault("argument {}: the name '{}' is longer than 64 bytes, used twice, or not of "
                     "one of the first arguments; index tensors come first",
                     i, arg.name.substr(0, 64));
      }
      const bool isWord = arg.deviceDtype == numerics::DataFormat::IeeeInt32 ||
                          arg.deviceDtype == numerics::DataFormat::SenUint32;
      if (!isWord || indirect) {
        return fault("argument {}: indices are IEEE_INT32 or SENUINT32 and not chosen by indices "
                     "themselves",
                     i);
      }
      const bool used = std::any_of(spec.args.begin(), spec.args.end(), [&](const TensorArg &a) {
        const Coordinate *other = a.indirectCoordinate();
        return other && other->symbol == arg.name;
      });
      if (!used) {
        return fault("argument {}: no argument uses IndirectAccess('{}'); remove the index tensor",
                     i, arg.name);
      }
    }
    return Status::success();
  }

  /// The division by which a tensor lies in LX covers it with whole sticks, and its slices are
  /// parts of those of the op, or the other way round.
  Status checkDivisions() const {
    int64_t cores = 1;
    for (const IterationDim &dim : spec.iterationSpace) {
      cores *= dim.cores;
    }
    for (size_t i = 0; i < spec.args.size(); ++i) {
      const TensorArg &arg = spec.args[i];
      if (!arg.lxDivision.empty() && (arg.residency != Residency::Lx || !arg.isInput)) {
        return fault("argument {}: lx_division, but it is no input in LX", i);
      }
      std::set<std::string> seen;
      int64_t owners = 1;
      for (const auto &[symbol, slices] : arg.lxDivision) {
        const IterationDim *dim = findSymbol(symbol);
        if (!dim || !seen.insert(symbol).second || !uses(arg, symbol)) {
          return fault("argument {}: lx_division names '{}' twice, or the tensor does not have it",
                       i, symbol.substr(0, 64));
        }
        const Coordinate &lane = arg.deviceCoordinates.back();
        const bool isStick = lane.kind == Coordinate::Kind::Mod && lane.symbol == symbol;
        const int64_t pieces = isStick ? ceilDiv(dim->range, lane.divisor) : dim->range;
        if (slices < 1 || slices > kMaxCores || pieces % slices != 0 ||
            (slices % dim->cores != 0 && dim->cores % slices != 0)) {
          return fault("argument {}: {} slices of {} in LX, {} in the op; they must divide its {} "
                       "{}, and one number the other",
                       i, slices, symbol, dim->cores, pieces, isStick ? "sticks" : "elements");
        }
        if ((owners *= slices) > cores) {
          return fault("argument {}: its slices lie in {} cores, the op uses {}; use as many", i,
                       owners, cores);
        }
      }
    }
    return Status::success();
  }

  /// The last symbol is the one summed along (docs/adr/0022). A core needs all of it, in order.
  Status checkScan() const {
    if (spec.args.size() != 2 || spec.iterationSpace.empty() || spec.isReduction) {
      return fault("it has one input, a symbol to sum along, and is no reduction");
    }
    const IterationDim &scanned = spec.iterationSpace.back();
    for (const TensorArg &arg : spec.args) {
      const Coordinate &lane = arg.deviceCoordinates.back();
      if (lane.kind == Coordinate::Kind::Mod && lane.symbol == scanned.symbol) {
        return fault("it sums along {}, the last symbol, which is a stick; restickify first",
                     scanned.symbol);
      }
    }
    if (scanned.cores != 1) {
      return fault("it sums along {}, the last symbol, which is split over {} cores; split another "
                   "one",
                   scanned.symbol, scanned.cores);
    }
    return Status::success();
  }

  static bool uses(const TensorArg &arg, const std::string &symbol) {
    for (const Coordinate &coordinate : arg.deviceCoordinates) {
      if ((coordinate.hasSymbol() && coordinate.symbol == symbol) ||
          (coordinate.kind == Coordinate::Kind::Window && coordinate.windowSymbol == symbol)) {
        return true;
      }
    }
    return false;
  }

  Status checkSymbolUse() const {
    for (const IterationDim &dim : spec.iterationSpace) {
      if (dim.range == 1 || uses(spec.args.back(), dim.symbol)) {
        continue;
      }
      if (!spec.isReduction) {
        return fault("symbol {} is not in the output's coordinates; only a reduction may drop one",
                     dim.symbol);
      }
      bool used = false;
      for (const TensorArg &arg : spec.args) {
        used = used || uses(arg, dim.symbol);
      }
      if (!used) {
        return fault("symbol {} is in no coordinate; remove it", dim.symbol);
      }
    }
    return Status::success();
  }

  const OpSpec &spec;
};

} // namespace

Status verifyOpSpec(const OpSpec &spec) { return Verifier(spec).run(); }

} // namespace spyre::spec
