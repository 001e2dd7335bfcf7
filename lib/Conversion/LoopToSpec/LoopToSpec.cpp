//===- LoopToSpec.cpp - planned loop IR to OpSpecs and the model ----------------------------===//
#include "spyre/Conversion/LoopToSpec/LoopToSpec.h"

#include "spyre/Base/Math.h"
#include "spyre/Dialect/Loop/IR/Owners.h"
#include "spyre/Dialect/Utils/Attributes.h"
#include "spyre/Spec/Bundle.h"
#include "spyre/Spec/Model.h"

#include "DeviceAccess.h"
#include "HostSteps.h"

#include <algorithm>

namespace spyre {
namespace {

using loop::BufferOp;
using loop::ComputeOp;

constexpr const char *kConstantOrder[] = {"clipMin",      "clipMax",        "eps",
                                          "softplusBeta", "softplusThresh", "scaling_factor",
                                          "exx2scale",    "useZeroMean"};

/// Place of a constant in the order of the interface.
size_t constantRank(const std::string &name) {
  auto found = std::find(std::begin(kConstantOrder), std::end(kConstantOrder), name);
  return size_t(found - std::begin(kConstantOrder));
}

/// Collects operations of one bundle and gives each call tensor its segment.
class Emitter {
  /// Far below what the readers of OpSpecs and bundles take.
  static constexpr int64_t kMaxBundleOperations = 2048;

public:
  Emitter(mlir::func::FuncOp main, const arch::DeviceDesc &device, const EmitSpecsOptions &options)
      : main(main), device(device), options(options) {}

  Expected<Artifacts> run() {
    SPYRE_RETURN_IF_ERROR(describeBuffers());
    for (mlir::Operation &op : main.getBody().front()) {
      if (auto compute = llvm::dyn_cast<ComputeOp>(op)) {
        SPYRE_RETURN_IF_ERROR(addOp(compute));
      } else if (auto host = llvm::dyn_cast<loop::HostOp>(op)) {
        closeBundle();
        model.steps.push_back(cpuStep(host));
      }
    }
    closeBundle();
    addAllocations(model);
    SPYRE_RETURN_IF_ERROR(spec::verifyModel(model));
    artifacts["model.json"] = spec::writeModel(model);
    return artifacts;
  }

private:
  Expected<spec::TensorDesc> describe(BufferOp buffer) {
    auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
    spec::TensorDesc desc;
    desc.name = buffer.getName().str();
    SPYRE_ASSIGN_OR_RETURN(desc.dtype, dialect::hostTypeOf(type.getElementType()));
    desc.size = dialect::toVector(type.getShape());
    desc.stride = dialect::toVector(buffer.getStride());
    desc.offset = buffer.getOffset().value_or(0);
    SPYRE_ASSIGN_OR_RETURN(desc.layout, loop::layoutOf(buffer));
    return desc;
  }

  Status describeBuffers() {
    model.deviceName = device.name;
    model.deviceHash = device.hash();
    std::map<int64_t, spec::TensorDesc> inputs, outputs;
    for (BufferOp buffer : main.getOps<BufferOp>()) {
      if (loop::isHostValue(buffer)) {
        model.hostValues.push_back(hostValue(buffer));
        continue;
      }
      SPYRE_ASSIGN_OR_RETURN(spec::TensorDesc desc, describe(buffer));
      if (buffer.getKind() == "temp" && !loop::isPooled(buffer)) {
        model.buffers.push_back(std::move(desc));
      } else if (buffer.getKind() == "temp") {
        if (!buffer.getPoolOffset() && !buffer.getResult().use_empty()) {
          return error<1205>("temp '{}' has no pool offset; run spyre-loop-plan-pool", desc.name);
        }
        model.poolBytes = std::max(model.poolBytes, int64_t(buffer.getPoolOffset().value_or(0)) +
                                                        desc.layout.bytes());
      } else if (buffer.getKind() == "constant") {
        model.constants.push_back({desc, buffer.getValue()->convertToDouble()});
      } else {
        auto &table = buffer.getKind() == "input" ? inputs : outputs;
        if (!table.emplace(*buffer.getIndex(), desc).second) {
          return error<1204>("two buffers are {} {}", buffer.getKind().str(), *buffer.getIndex());
        }
      }
    }
    SPYRE_RETURN_IF_ERROR(takeInOrder(inputs, "input", model.inputs));
    return takeInOrder(outputs, "output", model.outputs);
  }

  static Status takeInOrder(std::map<int64_t, spec::TensorDesc> &table, const char *what,
                            std::vector<spec::TensorDesc> &list) {
    for (auto &[index, desc] : table) {
      if (index != int64_t(list.size())) {
        return error<1204>("{} {} is missing", what, list.size());
      }
      list.push_back(std::move(desc));
    }
    return Status::success();
  }

  int64_t firstSegment() const { return model.poolBytes > 0 ? 1 : 0; }
  /// One data segment stays free; a pool takes another. Symbols need no segment.
  size_t tensorLimit() const {
    return options.symbolicArguments ? size_t(spec::kMaxBundleArgument + 1)
                                     : size_t(device.segments - 1 - 1 - firstSegment());
  }

  /// Call tensors of \p op that the open bundle does not have yet.
  std::vector<std::string> newTensors(ComputeOp op) {
    std::vector<std::string> names;
    for (unsigned i = 0; i < loop::operandCount(op); ++i) {
      BufferOp buffer = loop::operandBuffer(op, i);
      std::string name = buffer.getName().str();
      bool known = loop::isPooled(buffer) || std::count(arguments.begin(), arguments.end(), name) ||
                   std::count(names.begin(), names.end(), name);
      if (!known) {
        names.push_back(name);
      }
    }
    return names;
  }

  Status addOp(ComputeOp op) {
    std::vector<std::string> added = newTensors(op);
    int64_t iterations = 1;
    for (int64_t count : loop::tilesOf(op)) {
      iterations *= count;
    }
    const bool isFull = (operations > 0 && operations + iterations > kMaxBundleOperations) ||
                        (!arguments.empty() && arguments.size() + added.size() > tensorLimit());
    if (isFull) {
      closeBundle();
      added = newTensors(op);
    }
    arguments.insert(arguments.end(), added.begin(), added.end());
    SPYRE_ASSIGN_OR_RETURN(spec::OpSpec opSpec, specOf(op));
    if (Status status = spec::verifyOpSpec(opSpec); !status.ok()) {
      return status.withContext("after planning: ");
    }
    operations += iterations;
    kernel.push_back(inLoops(op, std::move(opSpec)));
    return Status::success();
  }

  /// One loop per tiled variable, the first outermost.
  static spec::SpecNode inLoops(ComputeOp op, spec::OpSpec opSpec) {
    const std::vector<int64_t> tiles = loop::tilesOf(op);
    spec::SpecNode node = spec::SpecNode::of(std::move(opSpec));
    for (size_t v = tiles.size(); v-- > 0;) {
      if (tiles[v] > 1) {
        const std::string name = llvm::cast<mlir::StringAttr>(op.getVars()[v]).str();
        node = spec::SpecNode::loop(tiles[v], {name}, {std::move(node)});
      }
    }
    return node;
  }

  Expected<spec::OpSpec> specOf(ComputeOp op) {
    spec::OpSpec result;
    std::vector<std::string> vars;
    for (mlir::Attribute name : op.getVars()) {
      vars.push_back(llvm::cast<mlir::StringAttr>(name).str());
    }
    if (!op.getSplits()) {
      return error<1205>("'{}' has no splits; run spyre-loop-work-distribution",
                         op.getCallee().str());
    }
    SPYRE_RETURN_IF_ERROR(checkOwners(op));
    const std::vector<int64_t> tiles = loop::tilesOf(op);
    for (size_t v = 0; v < vars.size(); ++v) {
      result.iterationSpace.push_back(
          {vars[v], op.getExtents()[v] / tiles[v], (*op.getSplits())[v]});
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
      place(loop::operandBuffer(op, i), arg);
      arg.isInput = i + 1 < loop::operandCount(op);
      arg.name = isIndex ? indexName(op, i) : "";
      // Indices come first.
      result.args.insert(isIndex ? result.args.begin() + indices++ : result.args.end(),
                         std::move(arg));
    }
    nameFixedDims(result);
    equalizeRanks(result.args);
    return result;
  }

  /// SuperDSCs number cores in one of two orders; owners that are none of them would be lost.
  Status checkOwners(ComputeOp op) const {
    auto owners = op->getAttrOfType<mlir::AffineMapAttr>(loop::kOwners);
    if (!owners) {
      return Status::success();
    }
    const llvm::ArrayRef<int64_t> splits = *op.getSplits();
    if (owners.getValue() ==
        loop::ownersOf(op.getContext(), splits, loop::coreOrder(op, splits, options.kFastCores))) {
      return Status::success();
    }
    return error<3078>("'{}': owners of splits [{}] are not in the order that is emitted; number "
                       "the slices of the first variable fastest (of a matmul with {} those of the "
                       "last), or remove owners",
                       op.getCallee().str(), fmt::join(splits, ", "),
                       options.kFastCores ? "a split K" : "k-fast cores");
  }

  /// Where a table is read at one place of a dimension, a symbol of range 1 stands for it: the
  /// extent of its rows would otherwise reach over that dimension.
  static void nameFixedDims(spec::OpSpec &result) {
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

  static std::string indexName(ComputeOp op, unsigned operand) {
    return fmt::format("i{}_{}", operand,
                       loop::operandBuffer(op, operand).getName().str().substr(0, 40));
  }

  /// A single index is still read along a variable: the interface wants one.
  static std::optional<unsigned> unitVar(ComputeOp op, unsigned operand) {
    const std::set<unsigned> vars = loop::varsOf(loop::accessOf(op, operand));
    const bool isOne = vars.size() == 1 && op.getExtents()[*vars.begin()] == 1;
    return isOne ? std::optional<unsigned>(*vars.begin()) : std::nullopt;
  }

  /// By name, in the order of the interface.
  static std::vector<std::pair<std::string, double>> constantsOf(ComputeOp op) {
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

  void place(BufferOp buffer, spec::TensorArg &arg) {
    if (loop::isPooled(buffer)) {
      arg.residency = spec::Residency::Pool;
      arg.address = buffer.getPoolOffset().value_or(0);
      return;
    }
    auto it = std::find(arguments.begin(), arguments.end(), buffer.getName().str());
    arg.argIndex = it - arguments.begin();
    arg.residency = spec::Residency::Hbm;
    arg.address = device.segmentBase(arg.argIndex + firstSegment());
  }

  void closeBundle() {
    if (kernel.empty()) {
      return;
    }
    std::string directory = fmt::format("bundle_{}", bundles++);
    artifacts[directory + "/op_spec.txt"] = spec::writeKernel(kernel);
    model.steps.push_back(spec::BundleStep{directory, model.poolBytes > 0, arguments});
    kernel.clear();
    operations = 0;
    arguments.clear();
  }

  mlir::func::FuncOp main;
  const arch::DeviceDesc &device;
  const EmitSpecsOptions options;
  spec::Model model;
  Artifacts artifacts;
  spec::Kernel kernel;
  /// Of the kernel, with its loops unrolled.
  int64_t operations = 0;
  std::vector<std::string> arguments;
  int64_t bundles = 0;
};

} // namespace

Expected<Artifacts> emitSpecs(mlir::ModuleOp module, const arch::DeviceDesc &device,
                              const EmitSpecsOptions &options) {
  mlir::func::FuncOp main = loop::findMain(module);
  if (!main) {
    return error<1202>("a loop module holds one func.func @main() with one block");
  }
  return Emitter(main, device, options).run();
}

} // namespace spyre
