//===- OpSpec.h - one device operation, as planners hand it to code generation --------------===//
//
// The artifact for people: op name, iteration space with the core split of each symbol, and per
// tensor the device size and one coordinate per device dimension [spec: codegen-and-backend 1].
// After alignment every coordinate is one of
//
//     5            constant
//     c0 + 5       symbol, optional offset
//     floor(c1/64) + 2     tile index of the stick symbol
//     Mod(c1, 64)          lane
//     2*y + ki             a window that walks over pixels, in the input of a window op (Windows.h)
//     Mod(floor(c1/8), 8)  lane group, in the sticks of several dimensions
//     IndirectAccess('i')  the integer read from tensor 'i' at the current point
//
// The stick is the shortest run of last device dimensions whose sizes multiply to the format's
// lanes: one dimension, but for the quantised families (docs/adr/0019), whose sticks interleave
// two symbols. Example: int8, device size [.., 64, 2] with Mod(n, 64), Mod(k, 2), and outside of
// it floor(n/64) and floor(k/2).
//
// Tensors that are read as indices have a name and come first in the arguments.
// All tensors of an op have the same rank; dimensions a tensor lacks are added outermost with size
// 1 and coordinate 0. The output is the last argument. Text form and parser: see writeOpSpecs.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Numerics/Formats.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace spyre::spec {

struct Coordinate {
  enum class Kind : uint8_t { Constant, Symbol, Floor, Mod, Window, Indirect };
  Kind kind = Kind::Constant;
  /// Of the iteration space; for Indirect the name of an index tensor.
  std::string symbol;
  /// Elements of the symbol per stick for Floor; the modulus for Mod.
  int64_t divisor = 1;
  int64_t offset = 0;
  /// Mod only: the symbol is divided by this first.
  int64_t inner = 1;
  /// Window: factor * symbol + windowFactor * windowSymbol + offset.
  int64_t factor = 1;
  std::string windowSymbol = {};
  int64_t windowFactor = 1;

  bool operator==(const Coordinate &) const = default;
  static Coordinate constant(int64_t value) { return {Kind::Constant, "", 1, value, 1}; }
  static Coordinate var(std::string s, int64_t offset = 0) {
    return {Kind::Symbol, std::move(s), 1, offset, 1};
  }
  static Coordinate floorDiv(std::string s, int64_t divisor, int64_t offset = 0) {
    return {Kind::Floor, std::move(s), divisor, offset, 1};
  }
  static Coordinate mod(std::string s, int64_t divisor, int64_t inner = 1) {
    return {Kind::Mod, std::move(s), divisor, 0, inner};
  }
  /// Pixel \p s with its stride, element \p window of the window with its dilation.
  static Coordinate window(std::string s, int64_t stride, std::string window, int64_t dilation,
                           int64_t offset = 0) {
    return {Kind::Window, std::move(s), 1, offset, 1, stride, std::move(window), dilation};
  }
  static Coordinate indirect(std::string tensor) {
    return {Kind::Indirect, std::move(tensor), 1, 0};
  }
  /// Follows a symbol of the iteration space.
  bool hasSymbol() const { return kind != Kind::Constant && kind != Kind::Indirect; }
  std::string toString() const;
};

enum class Residency : uint8_t { Hbm, Pool, Lx };

struct TensorArg {
  bool isInput = true;
  /// Position in the kernel call's tensor list; -1 for pool and LX tensors.
  int64_t argIndex = -1;
  numerics::DataFormat deviceDtype = numerics::DataFormat::Sen169Fp16;
  std::vector<int64_t> deviceSize;
  std::vector<Coordinate> deviceCoordinates;
  Residency residency = Residency::Hbm;
  /// Hbm: virtual address (segment base); Pool: offset in the pool; Lx: address in the scratchpad.
  int64_t address = 0;
  std::vector<int64_t> strideMap;
  /// Index tensors only: what IndirectAccess calls it.
  std::string name;
  /// Inputs in LX that lie there by another division than the op's: symbol -> slices, the first
  /// symbol fastest over the cores; symbols that are left out have one slice. Empty: the op's own.
  std::vector<std::pair<std::string, int64_t>> lxDivision;
  /// Scratch of one tile: stays where it is in all iterations of the loops around (LoopSpec.h).
  bool perTileFixed = false;

  bool isIndex() const { return !name.empty(); }
  /// The index tensor that chooses its entries along one dimension; nullptr when none does.
  const Coordinate *indirectCoordinate() const {
    for (const Coordinate &coordinate : deviceCoordinates) {
      if (coordinate.kind == Coordinate::Kind::Indirect) {
        return &coordinate;
      }
    }
    return nullptr;
  }
  bool operator==(const TensorArg &) const = default;
};

struct IterationDim {
  std::string symbol;
  int64_t range = 1;
  int64_t cores = 1;
  /// The cores do not divide the pieces (elements, or sticks): the first ones have one more
  /// (docs/adr/0055). Written (37, 32, 'uneven').
  bool uneven = false;
  /// A split reduction whose partners have consecutive cores: its slices change fastest from core
  /// to core (docs/adr/0063). Written (4096, 8, 'fastest').
  bool fastest = false;

  bool operator==(const IterationDim &) const = default;
};

struct OpSpec {
  std::string op;
  bool isReduction = false;
  /// Output symbols first, reduction symbols last.
  std::vector<IterationDim> iterationSpace;
  /// Constants by name, in order ("scaling_factor", ...).
  std::vector<std::pair<std::string, double>> constants;
  std::vector<TensorArg> args;
  /// Symbols the loops around divide, outermost first (LoopSpec.h); their ranges are the tile's.
  std::vector<std::string> tiledSymbols;

  bool operator==(const OpSpec &) const = default;
};

bool isMatmul(const OpSpec &spec);

/// How many of the last device dimensions are the stick; 0 when their sizes do not fit the format.
size_t stickRank(const TensorArg &arg);
/// Elements of \p symbol in one stick of \p arg; 1 when it is not in the stick. \p arg must have a
/// stick.
int64_t stickElements(const TensorArg &arg, const std::string &symbol);

/// What of \p dim can be given to cores, as elements in one piece: those of a stick, the largest
/// one of any tensor that is no index, or 1.
int64_t pieceElements(const OpSpec &spec, const IterationDim &dim);

/// Text form: a Python-like list of OpSpec(...) entries [spec: codegen-and-backend 1.4].
std::string writeOpSpecs(const std::vector<OpSpec> &specs);
/// Accepts what writeOpSpecs prints and hand edits of it (blanks, line breaks, trailing commas,
/// sympify('...') around expressions). Error: E1301 with line and column; a text with loops is for
/// parseKernel (LoopSpec.h).
Expected<std::vector<OpSpec>> parseOpSpecs(const std::string &text);
/// Invariants of the aligned form. Error: E1302 naming op, argument and rule.
Status verifyOpSpec(const OpSpec &spec);

} // namespace spyre::spec
