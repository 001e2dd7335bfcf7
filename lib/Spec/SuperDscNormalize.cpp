//===- SuperDscNormalize.cpp - an OpSpec whose tensors the address rule can describe --------===//
//
// See the header for the reason and an example.
//===--------------------------------------------------------------------------------------------===//
#include "SuperDscNormalize.h"

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
  for (const char *name : {"dl16tofp32", "fp32todl16", "fp8todl16", "qfp8ch"}) {
    if (spec.op == name) {
      return OpClass::Conversion;
    }
  }
  return spec.isReduction ? OpClass::Reduction : OpClass::Pointwise;
}

static bool isConstant(const Coordinate &coordinate) {
  return coordinate.kind == Coordinate::Kind::Constant;
}

static void placeTileIndex(TensorArg &arg) {
  const Coordinate &lane = arg.deviceCoordinates.back();
  if (isConstant(lane)) {
    return;
  }
  const size_t outer = arg.deviceCoordinates.size() - 1;
  for (size_t j = 0; j < outer; ++j) {
    if (arg.deviceCoordinates[j].kind == Coordinate::Kind::Floor) {
      return;
    }
  }
  for (size_t j = outer; j-- > 0;) {
    Coordinate &coordinate = arg.deviceCoordinates[j];
    if (isConstant(coordinate)) {
      coordinate = Coordinate::floorDiv(lane.symbol, lane.divisor, coordinate.offset);
      return;
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
  for (size_t j = arg.deviceCoordinates.size() - 1; j-- > 0;) {
    if (!isConstant(arg.deviceCoordinates[j])) {
      return found;
    }
    if (!found && arg.deviceSize[j] > 1) {
      found = j;
    }
  }
  return std::nullopt;
}

static void addUnitSymbol(OpSpec &spec) {
  std::string name = "_unit";
  auto taken = [&](const IterationDim &dim) { return dim.symbol == name; };
  while (std::any_of(spec.iterationSpace.begin(), spec.iterationSpace.end(), taken)) {
    name += '_';
  }
  for (TensorArg &arg : spec.args) {
    std::optional<size_t> at = findInnerConstant(arg);
    for (size_t j = 0; !at && j + 1 < arg.deviceSize.size(); ++j) {
      if (isConstant(arg.deviceCoordinates[j]) && arg.deviceSize[j] == 1) {
        at = j;
      }
    }
    if (at) {
      Coordinate &coordinate = arg.deviceCoordinates[*at];
      coordinate = Coordinate::var(name, coordinate.offset);
    }
  }
  spec.iterationSpace.insert(spec.iterationSpace.begin(), IterationDim{name, 1, 1});
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
    placeTileIndex(arg);
  }
  bool needsUnit = false;
  for (const TensorArg &arg : spec.args) {
    needsUnit = needsUnit || findInnerConstant(arg).has_value();
  }
  // A conversion of a vector: the interface wants a dimension beside the stick.
  needsUnit =
      needsUnit || (classifyOp(spec) == OpClass::Conversion && spec.iterationSpace.size() == 1);
  if (needsUnit) {
    addUnitSymbol(spec);
  }
  return spec;
}

} // namespace spyre::spec
