//===- SuperDscNormalize.cpp - an OpSpec whose tensors the address rule can describe --------===//
//
// See the header for the reason and an example.
//===--------------------------------------------------------------------------------------------===//
#include "SuperDscNormalize.h"

#include "SuperDscSticks.h"

#include <algorithm>
#include <optional>
#include <set>

namespace spyre::spec {

OpClass classifyOp(const OpSpec &spec) {
  if (isMatmul(spec)) {
    return OpClass::Matmul;
  }
  if (spec.op == "ReStickifyOpHBM") {
    return OpClass::Restickify;
  }
  if (findConversion(spec.op)) {
    return OpClass::Conversion;
  }
  return spec.isReduction ? OpClass::Reduction : OpClass::Pointwise;
}

static bool isConstant(const Coordinate &coordinate) {
  return coordinate.kind == Coordinate::Kind::Constant;
}

/// Gives the stick symbol \p symbol its tile index.
static void placeTileIndex(TensorArg &arg, size_t outer, const std::string &symbol) {
  for (size_t j = 0; j < outer; ++j) {
    if (arg.deviceCoordinates[j].symbol == symbol) {
      return;
    }
  }
  for (size_t j = outer; j-- > 0;) {
    Coordinate &coordinate = arg.deviceCoordinates[j];
    if (isConstant(coordinate)) {
      coordinate = Coordinate::floorDiv(symbol, stickElements(arg, symbol), coordinate.offset);
      return;
    }
  }
}

static void placeTileIndices(TensorArg &arg) {
  const size_t outer = arg.deviceCoordinates.size() - stickRank(arg);
  for (size_t j = arg.deviceCoordinates.size(); j-- > outer;) {
    if (!isConstant(arg.deviceCoordinates[j])) {
      placeTileIndex(arg, outer, arg.deviceCoordinates[j].symbol);
    }
  }
}

/// Every stick of the tensor stands for one point: its symbol is reduced.
static void reduceStick(TensorArg &arg) {
  for (Coordinate &coordinate : arg.deviceCoordinates) {
    if (coordinate.kind == Coordinate::Kind::Floor || coordinate.kind == Coordinate::Kind::Mod) {
      coordinate = Coordinate::constant(coordinate.offset);
    }
  }
}

/// The innermost dimension, when it is a constant slice with a symbol somewhere outside it.
static std::optional<size_t> findInnerConstant(const TensorArg &arg) {
  std::optional<size_t> found;
  for (size_t j = arg.deviceCoordinates.size() - stickRank(arg); j-- > 0;) {
    if (!isConstant(arg.deviceCoordinates[j])) {
      return found;
    }
    if (!found && arg.deviceSize[j] > 1) {
      found = j;
    }
  }
  return std::nullopt;
}

/// A new symbol of range 1, first in the iteration space.
static std::string prependUnit(OpSpec &spec) {
  std::string name = "_unit";
  auto taken = [&](const IterationDim &dim) { return dim.symbol == name; };
  while (std::any_of(spec.iterationSpace.begin(), spec.iterationSpace.end(), taken)) {
    name += '_';
  }
  spec.iterationSpace.insert(spec.iterationSpace.begin(), IterationDim{name, 1, 1});
  return name;
}

/// Step 4: a dimension of size 1 beside the stick of every tensor.
static void addVirtualDim(OpSpec &spec) {
  const std::string name = prependUnit(spec);
  for (TensorArg &arg : spec.args) {
    const auto outer = int64_t(arg.deviceSize.size() - stickRank(arg));
    arg.deviceSize.insert(arg.deviceSize.begin() + outer, 1);
    arg.deviceCoordinates.insert(arg.deviceCoordinates.begin() + outer, Coordinate::var(name));
  }
}

static void addUnitSymbol(OpSpec &spec) {
  const std::string name = prependUnit(spec);
  for (TensorArg &arg : spec.args) {
    std::optional<size_t> at = findInnerConstant(arg);
    // A table and its indices share no symbol, so they take it only where they need it.
    const bool isPlain = !arg.isIndex() && !arg.indirectCoordinate();
    for (size_t j = 0; !at && isPlain && j + stickRank(arg) < arg.deviceSize.size(); ++j) {
      if (isConstant(arg.deviceCoordinates[j]) && arg.deviceSize[j] == 1) {
        at = j;
      }
    }
    if (at) {
      Coordinate &coordinate = arg.deviceCoordinates[*at];
      coordinate = Coordinate::var(name, coordinate.offset);
    }
  }
}

OpSpec separateIndices(OpSpec spec) {
  std::set<std::string> taken;
  for (size_t i = 0; i < spec.args.size(); ++i) {
    for (size_t j = 0; j + 1 < spec.args[i].deviceCoordinates.size(); ++j) {
      Coordinate &coordinate = spec.args[i].deviceCoordinates[j];
      if (coordinate.kind != Coordinate::Kind::Indirect || taken.insert(coordinate.symbol).second) {
        continue;
      }
      const auto isIt = [&](const TensorArg &arg) { return arg.name == coordinate.symbol; };
      TensorArg copy = *std::find_if(spec.args.begin(), spec.args.end(), isIt);
      const auto isTaken = [&](const TensorArg &arg) { return arg.name == copy.name; };
      while (std::any_of(spec.args.begin(), spec.args.end(), isTaken)) {
        copy.name += '_';
      }
      coordinate.symbol = copy.name;
      taken.insert(copy.name);
      spec.args.insert(spec.args.begin(), std::move(copy));
      ++i;
      break;
    }
  }
  return spec;
}

OpSpec normalizeForEmission(OpSpec spec) {
  spec = separateIndices(std::move(spec));
  if (spec.op == "layernormscale") {
    reduceStick(*std::find_if(spec.args.begin(), spec.args.end(),
                              [](const TensorArg &arg) { return !arg.isIndex(); }));
  }
  for (TensorArg &arg : spec.args) {
    placeTileIndices(arg);
  }
  // A conversion of a vector: the interface wants a dimension beside the stick.
  if (classifyOp(spec) == OpClass::Conversion && spec.iterationSpace.size() == 1) {
    addVirtualDim(spec);
  }
  bool needsUnit = false;
  for (const TensorArg &arg : spec.args) {
    needsUnit = needsUnit || findInnerConstant(arg).has_value();
  }
  if (needsUnit) {
    addUnitSymbol(spec);
  }
  return spec;
}

} // namespace spyre::spec
