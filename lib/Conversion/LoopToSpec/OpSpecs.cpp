//===- OpSpecs.cpp - see OpSpecs.h ----------------------------------------------------------===//
#include "OpSpecs.h"

#include "spyre/Dialect/Loop/IR/Nests.h"
#include "spyre/Dialect/Loop/IR/Owners.h"

#include "DeviceAccess.h"

#include <algorithm>

namespace spyre {
namespace {

using loop::ComputeOp;

constexpr const char *kConstantOrder[] = {"clipMin",      "clipMax",        "eps",
                                          "softplusBeta", "softplusThresh", "scaling_factor",
                                          "exx2scale",    "useZeroMean"};

/// Place of a constant in the order of the interface.
size_t constantRank(const std::string &name) {
  auto found = std::find(std::begin(kConstantOrder), std::end(kConstantOrder), name);
  return size_t(found - std::begin(kConstantOrder));
}

/// Where a table is read at one place of a dimension, a symbol of range 1 stands for it: the
/// extent of its rows would otherwise reach over that dimension.
void nameFixedDims(spec::OpSpec &result) {
  spec::TensorArg &output = result.args.back();
  for (spec::TensorArg &arg : result.args) {
    for (size_t d = 0; arg.indirectCoordinate() && d + 1 < arg.deviceSize.size(); ++d) {
      spec::Coordinate &coordinate = arg.deviceCoordinates[d];
      if (coordinate.kind != spec::Coordinate::Kind::Constant || arg.deviceSize[d] == 1) {
        continue;
      }
      const std::string name = fmt::format("f{}", result.iterationSpace.size());
      coordinate = spec::Coordinate::var(name, coordinate.offset);
      result.iterationSpace.push_back({name, 1, 1});
      output.deviceSize.insert(output.deviceSize.begin(), 1);
      output.deviceCoordinates.insert(output.deviceCoordinates.begin(),
                                      spec::Coordinate::var(name));
      output.strideMap.insert(output.strideMap.begin(), 0);
    }
  }
}

std::string indexName(ComputeOp op, unsigned operand) {
  return fmt::format("i{}_{}", operand,
                     loop::operandBuffer(op, operand).getName().str().substr(0, 40));
}

/// A single index is still read along a variable: the interface wants one.
std::optional<unsigned> unitVar(ComputeOp op, unsigned operand) {
  const std::set<unsigned> vars = loop::varsOf(loop::accessOf(op, operand));
  const bool isOne = vars.size() == 1 && op.getExtents()[*vars.begin()] == 1;
  return isOne ? std::optional<unsigned>(*vars.begin()) : std::nullopt;
}

/// By name, in the order of the interface.
std::vector<std::pair<std::string, double>> constantsOf(ComputeOp op) {
  std::vector<std::pair<std::string, double>> constants;
  mlir::DictionaryAttr given = op.getConstantsAttr();
  if (!given) {
    return constants;
  }
  for (mlir::NamedAttribute entry : given) {
    constants.emplace_back(entry.getName().str(),
                           llvm::cast<mlir::FloatAttr>(entry.getValue()).getValueAsDouble());
  }
  std::stable_sort(constants.begin(), constants.end(), [](const auto &a, const auto &b) {
    return constantRank(a.first) < constantRank(b.first);
  });
  return constants;
}

/// identity or ReStickifyOpHBM; a sparse side of the latter needs the unit symbol.
Status nameCopy(ComputeOp op, spec::OpSpec &result, std::vector<UnitSymbol> &units) {
  SPYRE_ASSIGN_OR_RETURN(loop::StickUse from, loop::stickUse(loop::accessOf(op, 0)));
  SPYRE_ASSIGN_OR_RETURN(loop::StickUse to, loop::stickUse(loop::accessOf(op, 1)));
  bool restick = loop::isRestickify(loop::accessOf(op, 0), from, to);
  result.op = restick ? "ReStickifyOpHBM" : "identity";
  bool fromSparse = from.kind == loop::StickUse::Kind::None;
  bool toSparse = to.kind == loop::StickUse::Kind::None;
  if (restick && (fromSparse || toSparse)) {
    units[0] = fromSparse ? UnitSymbol::Stick : UnitSymbol::Outer;
    units[1] = toSparse ? UnitSymbol::Stick : UnitSymbol::Outer;
    result.iterationSpace.push_back({kUnitSymbol, 1, 1});
  }
  return Status::success();
}

} // namespace

std::string symbolOf(ComputeOp op, unsigned var) {
  std::string name;
  for (const loop::Level &level : loop::levelsOf(op)) {
    if (level.var == int64_t(var)) {
      name += fmt::format("{}{}", name.empty() ? "t" : "_", level.loop);
    }
  }
  return name.empty() ? llvm::cast<mlir::StringAttr>(op.getVars()[var]).str() : name;
}

Expected<MadeSpec> makeSpec(ComputeOp op) {
  MadeSpec made;
  spec::OpSpec &result = made.spec;
  std::vector<std::string> vars;
  for (unsigned v = 0; v < op.getVars().size(); ++v) {
    vars.push_back(symbolOf(op, v));
  }
  if (!op.getSplits()) {
    return error<1205>("'{}' has no splits; run spyre-loop-work-distribution",
                       op.getCallee().str());
  }
  const std::vector<int64_t> tiles = loop::tilesOf(op);
  const loop::Numbering numbering = loop::numberingOf(op, /*kFastCores=*/true);
  for (size_t v = 0; v < vars.size(); ++v) {
    result.iterationSpace.push_back({vars[v], op.getExtents()[v] / tiles[v], (*op.getSplits())[v],
                                     int(v) == numbering.uneven,
                                     numbering.fastReduction && v + 1 == vars.size()});
    if (tiles[v] > 1) {
      result.tiledSymbols.push_back(vars[v]);
    }
  }
  result.op = op.getCallee().str();
  result.isReduction = op.getReductions() > 0;
  result.constants = constantsOf(op);
  std::vector<UnitSymbol> units(loop::operandCount(op), UnitSymbol::None);
  int64_t indices = 0;
  if (op.getCallee() == loop::kCopy && op.getIndirect()) {
    result.op = "identity";
  } else if (op.getCallee() == loop::kCopy) {
    SPYRE_RETURN_IF_ERROR(nameCopy(op, result, units));
  }
  for (unsigned i = 0; i < loop::operandCount(op); ++i) {
    const std::optional<unsigned> stickVar = loop::findNamedStickVar(op, i);
    const bool isIndex = loop::isIndexInput(op, i);
    const std::optional<unsigned> chooser = loop::indexInputOf(op, i);
    SPYRE_ASSIGN_OR_RETURN(spec::TensorArg arg,
                           deviceAccess(loop::accessOf(op, i), vars, units[i],
                                        isIndex ? unitVar(op, i) : stickVar,
                                        chooser ? indexName(op, *chooser) : ""));
    arg.isInput = i + 1 < loop::operandCount(op);
    arg.perTileFixed = loop::isPerTile(loop::operandBuffer(op, i));
    arg.name = isIndex ? indexName(op, i) : "";
    // Indices come first.
    const auto at = isIndex ? indices++ : int64_t(result.args.size());
    result.args.insert(result.args.begin() + at, std::move(arg));
    made.buffers.insert(made.buffers.begin() + at, loop::operandBuffer(op, i));
  }
  nameFixedDims(result);
  equalizeRanks(result.args);
  return made;
}

} // namespace spyre
