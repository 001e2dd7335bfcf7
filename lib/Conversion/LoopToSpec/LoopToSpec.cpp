//===- LoopToSpec.cpp - planned loop IR to OpSpecs and the model ----------------------------===//
#include "spyre/Conversion/LoopToSpec/LoopToSpec.h"

#include "spyre/Base/Math.h"
#include "spyre/Dialect/Loop/IR/Nests.h"
#include "spyre/Dialect/Loop/IR/Owners.h"
#include "spyre/Dialect/Loop/Transforms/DivisionProblem.h"
#include "spyre/Dialect/Loop/Transforms/DivisionReason.h"
#include "spyre/Dialect/Utils/Attributes.h"
#include "spyre/Spec/Bundle.h"
#include "spyre/Spec/Model.h"

#include "HostSteps.h"
#include "LxClones.h"
#include "LxProgram.h"

#include <algorithm>
#include <map>
#include <set>

namespace spyre {
namespace {

using loop::BufferOp;
using loop::ComputeOp;

/// Collects operations of one bundle and gives each call tensor its segment.
class Emitter {
  /// The words of so many OpSpecs are what their reader takes; no layer of a model is near it.
  static constexpr int64_t kMaxBundleOperations = 8192;

public:
  Emitter(mlir::func::FuncOp main, const arch::DeviceDesc &device, const EmitSpecsOptions &options)
      : main(main), device(device), options(options) {}

  Expected<Artifacts> run() {
    SPYRE_RETURN_IF_ERROR(describeBuffers());
    SPYRE_ASSIGN_OR_RETURN(program, lxProgramOf(main));
    SPYRE_RETURN_IF_ERROR(verifyLx(program, options.lxCapacityBytes, options.kFastCores));
    findLastUses();
    for (mlir::Operation *op : program.operations) {
      if (auto compute = llvm::dyn_cast<ComputeOp>(op)) {
        SPYRE_RETURN_IF_ERROR(addOp(compute));
      } else if (auto host = llvm::dyn_cast<loop::HostOp>(op)) {
        closeBundle();
        model.steps.push_back(cpuStep(host));
      }
      ++position;
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
      if (loop::lxAddressOf(buffer)) {
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
  size_t tensorLimit() const {
    return size_t(bundleTensors(device, options.symbolicArguments, firstSegment() > 0));
  }

  /// Call tensors of \p ops that the open bundle does not have yet.
  std::vector<std::string> newTensors(llvm::ArrayRef<ComputeOp> ops) {
    std::vector<std::string> names;
    for (ComputeOp op : ops) {
      for (unsigned i = 0; i < loop::operandCount(op); ++i) {
        BufferOp buffer = loop::operandBuffer(op, i);
        std::string name = buffer.getName().str();
        bool known = loop::isPooled(buffer) || loop::lxAddressOf(buffer) ||
                     std::count(arguments.begin(), arguments.end(), name) ||
                     std::count(names.begin(), names.end(), name);
        if (!known) {
          names.push_back(name);
        }
      }
    }
    return names;
  }

  /// The operation, or all of the nest that begins with it.
  llvm::SmallVector<ComputeOp> runFrom(ComputeOp op) {
    llvm::SmallVector<ComputeOp> run{op};
    const loop::Levels levels = loop::levelsOf(op);
    for (size_t next = size_t(position) + 1; !levels.empty() && next < program.operations.size();
         ++next) {
      auto other = llvm::dyn_cast<ComputeOp>(program.operations[next]);
      if (!other || loop::sharedLevels(levels, loop::levelsOf(other)) == 0) {
        break;
      }
      run.push_back(other);
    }
    return run;
  }

  static int64_t iterationsOf(ComputeOp op) {
    int64_t iterations = 1;
    for (int64_t count : loop::tilesOf(op)) {
      iterations *= count;
    }
    for (const loop::Level &level : loop::levelsOf(op)) {
      iterations *= level.var < 0 ? level.count : 1;
    }
    return iterations;
  }

  /// Makes room for all that must be in one bundle with \p op.
  Status openBundle(ComputeOp op) {
    const llvm::SmallVector<ComputeOp> run = runFrom(op);
    std::vector<std::string> added = newTensors(run);
    int64_t iterations = 0;
    for (ComputeOp each : run) {
      iterations += iterationsOf(each);
    }
    const bool isFull = (operations > 0 && operations + iterations > kMaxBundleOperations) ||
                        (!arguments.empty() && arguments.size() + added.size() > tensorLimit());
    if (isFull) {
      noteLimit();
      closeBundle();
      added = newTensors(run);
    }
    if (run.size() > 1 && arguments.size() + added.size() > tensorLimit()) {
      return error<3141>("the {} operations of one loop use {} tensors, a bundle takes {}; use "
                         "symbolic addresses, or fewer operations in the loop",
                         run.size(), arguments.size() + added.size(), tensorLimit());
    }
    arguments.insert(arguments.end(), added.begin(), added.end());
    operations += iterations;
    return Status::success();
  }

  Status addOp(ComputeOp op) {
    const loop::Levels levels = loop::levelsOf(op);
    const bool isInside = loop::sharedLevels(levels, path) > 0;
    if (!isInside) {
      SPYRE_RETURN_IF_ERROR(openBundle(op));
    }
    SPYRE_RETURN_IF_ERROR(checkOwners(op));
    spec::OpSpec opSpec = takeSpec();
    if (Status status = spec::verifyOpSpec(opSpec); !status.ok()) {
      return status.withContext("after planning: ");
    }
    if (options.explain && options.trace) {
      recordDivision(op);
    }
    return insert(op, levels, inOwnLoops(op, std::move(opSpec)));
  }

  /// The division that runs, with its reason and the step's number.
  void recordDivision(ComputeOp op) const {
    std::string text;
    int64_t cores = 1;
    for (size_t v = 0; v < op.getSplits()->size(); ++v) {
      const int64_t split = (*op.getSplits())[v];
      cores *= split;
      text += split > 1 ? fmt::format("{}{} {}", text.empty() ? "" : ", ",
                                      symbolOf(op, unsigned(v)), split)
                        : "";
    }
    const std::string place =
        fmt::format("{} on {} of {} cores", text.empty() ? "whole" : text, cores, options.cores);
    loop::DivisionReason reason{"as-given", "the division came with the IR", ""};
    if (isLxClone(op)) {
      reason = {"as-beside", "the copy has the division of the operation beside it", ""};
    } else if (const auto found = loop::divisionReasonOf(op)) {
      reason = *found;
    }
    const Evidence evidence{"", {{"step", position}, {"cores", cores}}};
    options.trace->record("work-per-core", loop::subjectOf(op),
                          Decision::yes(reason.reason, "{}; {}", place, reason.detail), evidence);
    if (!reason.candidates.empty()) {
      options.trace->record("work-per-core", loop::subjectOf(op),
                            Decision::no("candidates", "{}", reason.candidates), evidence);
    }
  }

  /// Puts \p node into the loops around its operation: those that are open as far as they are the
  /// same, then new ones.
  Status insert(ComputeOp op, const loop::Levels &levels, spec::SpecNode node) {
    const size_t shared = loop::sharedLevels(levels, path);
    spec::Kernel *body = &kernel;
    for (size_t level = 0; level < levels.size(); ++level) {
      if (level >= shared) {
        if (!begun.insert(levels[level].loop).second) {
          return error<3141>("'{}': loop {} goes on behind operations that are not in it; keep its "
                             "operations together",
                             op.getCallee().str(), levels[level].loop);
        }
        body->push_back(spec::SpecNode::loop(levels[level].count, {}, {}));
      }
      spec::SpecNode &loop = body->back();
      if (loop.count != levels[level].count) {
        return error<3141>("'{}': loop {} counts to {} for it and to {} for others; give all of "
                           "them the same count",
                           op.getCallee().str(), levels[level].loop, levels[level].count,
                           loop.count);
      }
      if (levels[level].var >= 0) {
        const std::string name = symbolOf(op, unsigned(levels[level].var));
        if (!std::count(loop.tiledSymbols.begin(), loop.tiledSymbols.end(), name)) {
          loop.tiledSymbols.push_back(name);
        }
      }
      body = &loop.body;
    }
    body->push_back(std::move(node));
    path = levels;
    return Status::success();
  }

  /// With symbolic addresses only CPU steps end bundles; where that cannot be, it is said.
  void noteLimit() const {
    if (options.symbolicArguments && options.trace) {
      options.trace->record(
          "bundles", fmt::format("bundle_{}", bundles),
          Decision::no(
              "bundle-limit",
              "it ends after {} operations with {} tensors, though no CPU step follows: at "
              "most {} and {} are read; fewer operations between CPU steps would do",
              operations, arguments.size(), kMaxBundleOperations, tensorLimit()));
    }
  }

  /// One loop per variable that runs in more tiles than the loops around make, the first outermost.
  static spec::SpecNode inOwnLoops(ComputeOp op, spec::OpSpec opSpec) {
    std::vector<int64_t> tiles = loop::tilesOf(op);
    for (const loop::Level &level : loop::levelsOf(op)) {
      if (level.var >= 0) {
        tiles[size_t(level.var)] /= level.count;
      }
    }
    spec::SpecNode node = spec::SpecNode::of(std::move(opSpec));
    for (size_t v = tiles.size(); v-- > 0;) {
      if (tiles[v] > 1) {
        node = spec::SpecNode::loop(tiles[v], {symbolOf(op, unsigned(v))}, {std::move(node)});
      }
    }
    return node;
  }

  /// SuperDSCs number cores in a few orders; owners that are none of them would be lost.
  Status checkOwners(ComputeOp op) const {
    auto owners = op->getAttrOfType<mlir::AffineMapAttr>(loop::kOwners);
    if (!owners) {
      return Status::success();
    }
    const llvm::ArrayRef<int64_t> splits = *op.getSplits();
    const loop::Numbering numbering = loop::numberingOf(op, options.kFastCores);
    if (owners.getValue() ==
        loop::ownersOf(op.getContext(), splits, loop::coreOrder(op, splits, numbering))) {
      return Status::success();
    }
    return error<3078>("'{}': owners of splits [{}] are not in an order that is emitted; number "
                       "the slices of the first variable fastest (of a matmul with {}, or of a "
                       "split reduction, those of the last), or remove owners",
                       op.getCallee().str(), fmt::join(splits, ", "),
                       options.kFastCores ? "a split K" : "k-fast cores");
  }

  /// The next of the operations, with its tensors' places.
  spec::OpSpec takeSpec() {
    MadeSpec &made = program.specs[nextSpec++];
    for (size_t i = 0; i < made.spec.args.size(); ++i) {
      place(made.buffers[i], made.spec.args[i]);
    }
    return std::move(made.spec);
  }

  /// The last operation that uses anything in LX which one up to that place uses: a bundle that
  /// ends before it must leave LX alone.
  void findLastUses() {
    for (size_t i = 0; i < program.program.steps.size(); ++i) {
      for (int tensor : program.program.steps[i].tensors) {
        if (program.residents.contains(tensor)) {
          first.try_emplace(tensor, int64_t(i));
          last[tensor] = int64_t(i);
        }
      }
    }
    int64_t open = -1;
    for (const auto &step : program.program.steps) {
      for (int tensor : step.tensors) {
        auto found = last.find(tensor);
        open = found == last.end() ? open : std::max(open, found->second);
      }
      lastUse.push_back(open);
    }
  }

  /// A copy has the name of what it is a copy of.
  std::string plannedName(int tensor) const {
    for (const auto &step : program.program.steps) {
      if (step.name == "clone" && step.tensors.size() == 2 &&
          std::count(step.tensors.begin(), step.tensors.end(), tensor) == 1) {
        const int other = step.tensors[0] == tensor ? step.tensors[1] : step.tensors[0];
        return program.program.tensors[size_t(other)].name;
      }
    }
    return program.program.tensors[size_t(tensor)].name;
  }

  /// The bundle ends in front of operation \p position.
  void noteAcross() const {
    for (const auto &[tensor, end] : last) {
      if (first.at(tensor) < position && end >= position) {
        options.acrossBundles->push_back(plannedName(tensor));
      }
    }
  }

  void place(BufferOp buffer, spec::TensorArg &arg) {
    if (const std::optional<int64_t> lx = loop::lxAddressOf(buffer)) {
      arg.residency = spec::Residency::Lx;
      arg.address = *lx;
      return;
    }
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
    const bool leavesData = position > 0 && lastUse[size_t(position - 1)] >= position;
    if (leavesData && options.acrossBundles) {
      noteAcross();
    }
    model.steps.push_back(spec::BundleStep{directory, model.poolBytes > 0, arguments, leavesData});
    kernel.clear();
    path.clear();
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
  /// Loops that are open, and all that ever were.
  loop::Levels path;
  std::set<int64_t> begun;
  LxProgram program;
  size_t nextSpec = 0;
  /// Of the operation at hand.
  int64_t position = 0;
  std::vector<int64_t> lastUse;
  /// Of what is in LX.
  std::map<int, int64_t> first, last;
};

} // namespace

int64_t bundleTensors(const arch::DeviceDesc &device, bool symbolicArguments, bool hasPool) {
  return symbolicArguments ? int64_t(spec::kMaxBundleArgument) + 1
                           : int64_t(device.segments) - 1 - 1 - (hasPool ? 1 : 0);
}

Expected<Artifacts> emitSpecs(mlir::ModuleOp module, const arch::DeviceDesc &device,
                              const EmitSpecsOptions &options) {
  mlir::func::FuncOp main = loop::findMain(module);
  if (!main) {
    return error<1202>("a loop module holds one func.func @main() with one block");
  }
  return Emitter(main, device, options).run();
}

} // namespace spyre
