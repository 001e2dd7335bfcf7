//===- PropagateLayouts.cpp - device layouts, and copies where sticks disagree --------------===//
//
// The layouts and copies that move the fewest bytes are chosen for the whole function at once
// (LayoutModel.h, Solver/LayoutChoice.h) and written into it here: every buffer gets its layout,
// every copy is inserted before the operation that needs it first and shared by those that follow.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"

#include "../LoopPass.h"
#include "../Rewrite.h"
#include "LayoutModel.h"

#include <algorithm>
#include <map>

namespace spyre::loop {

#define GEN_PASS_DEF_PROPAGATELAYOUTSPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

class Materializer {
public:
  Materializer(mlir::func::FuncOp function, const LayoutModel &model, DecisionTrace *trace)
      : function(function), model(model), trace(trace), rewriter(function) {}

  void run(const solver::LayoutPlan &plan) {
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      setResultLayout(i, plan.steps[i]);
    }
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      apply(i, plan.steps[i]);
    }
    for (BufferOp buffer : function.getOps<BufferOp>()) {
      if (!buffer.getLayoutAttr() && !isHostValue(buffer)) {
        rewriter.setLayout(buffer, {}); // nobody touches it: any layout will do
      }
    }
    llvm::SmallVector<BufferOp> buffers(function.getOps<BufferOp>());
    for (BufferOp buffer : buffers) {
      giveWantedLayout(buffer);
    }
  }

private:
  void setResultLayout(size_t index, const solver::LayoutPlan::Step &step) {
    const auto &operation = model.problem.operations[index];
    if (operation.result < 0) {
      return;
    }
    BufferOp buffer = model.buffers[size_t(operation.result)];
    const int option = operation.choices[size_t(step.choice)].resultOption;
    optionsOf[{operation.result, option}] = buffer;
    if (!buffer.getLayoutAttr()) {
      setStick(buffer, stickDimOf(buffer, option));
    }
  }

  void setStick(BufferOp buffer, int64_t stick) {
    auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
    rewriter.setLayout(buffer, orderWithStick(type.getRank(), stick));
  }

  void apply(size_t index, const solver::LayoutPlan::Step &step) {
    ComputeOp op = model.operations[index];
    for (const auto &copy : step.copies) {
      (void)whole(copy.tensor, copy.option, op);
    }
    for (unsigned i = 0; i + 1 < operandCount(op); ++i) {
      const int tensor = model.problem.operations[index].inputs[i];
      if (step.options[i] < 0) {
        copyPrivately(op, i, tensor, model.lanes[index][size_t(step.choice)]);
        continue;
      }
      auto found = optionsOf.find({tensor, step.options[i]});
      if (found != optionsOf.end() && found->second != model.buffers[size_t(tensor)]) {
        rewriter.setOperand(op, i, found->second,
                            llvm::cast<mlir::AffineMapAttr>(op.getMaps()[i]).getValue());
      }
    }
    for (size_t i = 0; i < step.options.size(); ++i) {
      const auto &operation = model.problem.operations[index];
      if (operation.choices[size_t(step.choice)].needs[i].inPlace) {
        forgetCopies(operation.inputs[i]);
      }
    }
  }

  /// An output that is computed in another layout than its caller wants is copied at the end.
  void giveWantedLayout(BufferOp computed) {
    const mlir::Attribute wanted = computed->removeAttr(kWantedLayout);
    if (!wanted || wanted == computed.getLayoutAttr()) {
      return;
    }
    auto type = llvm::cast<mlir::MemRefType>(computed.getResult().getType());
    const std::vector<int64_t> shape = dialect::toVector(type.getShape());
    const std::string name = computed.getName().str();
    mlir::Operation *end = function.getBody().front().getTerminator();
    BufferOp output =
        rewriter.addTemp(name + "_computed", shape, type.getElementType(), computed.getLoc());
    computed.setName(output.getName());
    computed.setKind("temp");
    output.setName(name);
    output.setKind("output");
    output.setIndexAttr(computed.getIndexAttr());
    computed.removeIndexAttr();
    output.setStrideAttr(computed.getStrideAttr());
    output.setLayoutAttr(llvm::cast<mlir::DictionaryAttr>(wanted));
    const mlir::AffineMap identity =
        rewriter.builder.getMultiDimIdentityMap(unsigned(shape.size()));
    rewriter.why = fmt::format("layout-wanted: '{}' is computed {}, and wanted {}", name,
                               stickText(stickOf(computed)), stickText(stickOf(output)));
    rewriter.addCopy(end, computed, identity, output, identity, shape);
    note(output, "layout-wanted", "the result is copied to the layout of its caller: {} elements",
         type.getNumElements());
  }

  /// Copies of a tensor that was written into hold its old contents.
  void forgetCopies(int tensor) {
    BufferOp own = model.buffers[size_t(tensor)];
    std::erase_if(optionsOf, [&](const auto &entry) {
      return entry.first.first == tensor && entry.second != own;
    });
    denseCopies.erase(own);
  }

  /// The tensor in another option; made before \p op when it is not there.
  BufferOp whole(int tensor, int option, ComputeOp op) {
    auto found = optionsOf.find({tensor, option});
    if (found != optionsOf.end()) {
      return found->second;
    }
    BufferOp source = denseOf(model.buffers[size_t(tensor)], op);
    auto type = llvm::cast<mlir::MemRefType>(source.getResult().getType());
    std::vector<int64_t> shape = dialect::toVector(type.getShape());
    BufferOp copy = rewriter.addTemp(source.getName().str() + "_restick", shape,
                                     type.getElementType(), op.getLoc());
    setStick(copy, stickDimOf(source, option));
    mlir::AffineMap identity = rewriter.builder.getMultiDimIdentityMap(unsigned(shape.size()));
    rewriter.why = "stick-differs: " + conflictText(op, source, stickDimOf(source, option));
    rewriter.addCopy(op, source, identity, copy, identity, shape);
    note(copy, "stick-differs", "'{}' is needed {} by {}: {} elements are copied",
         source.getName().str(), stickText(stickDimOf(source, option)), op.getCallee().str(),
         bytesOf(source, stickOf(source)) / (128 / elemsPerStick(source)));
    return optionsOf[{tensor, option}] = copy;
  }

  /// A layout a user gave may have room behind its entries, over which sticks cannot change: the
  /// tensor in the same sticks without it.
  BufferOp denseOf(BufferOp source, ComputeOp op) {
    Expected<DimRoles> roles = dimRolesOf(source);
    Expected<layout::DeviceLayout> layout = layoutOf(source);
    auto type = llvm::cast<mlir::MemRefType>(source.getResult().getType());
    bool hasRoom = false;
    for (size_t j = 0; roles.ok() && layout.ok() && j < roles->given.size(); ++j) {
      const int64_t dim = roles->given[j];
      hasRoom = hasRoom || (dim >= 0 && dim != roles->stick() &&
                            layout->deviceSize[j] > type.getDimSize(unsigned(dim)));
    }
    if (!hasRoom) {
      return source;
    }
    BufferOp &dense = denseCopies[source];
    if (!dense) {
      std::vector<int64_t> shape = dialect::toVector(type.getShape());
      dense = rewriter.addTemp(source.getName().str() + "_dense", shape, type.getElementType(),
                               op.getLoc());
      setStick(dense, roles->stick());
      mlir::AffineMap identity = rewriter.builder.getMultiDimIdentityMap(unsigned(shape.size()));
      rewriter.why = fmt::format("layout-has-room: '{}' was given with room behind its entries, "
                                 "over which sticks cannot change",
                                 source.getName().str());
      rewriter.addCopy(op, source, identity, dense, identity, shape);
    }
    return dense;
  }

  /// Who wrote a buffer, and who is about to read it in other sticks.
  std::string conflictText(ComputeOp reader, BufferOp source, int64_t wanted) {
    return fmt::format("'{}', {}, lies {}; {} reads it {}", source.getName().str(),
                       originText(source), stickText(stickOf(source)), operationText(reader),
                       stickText(wanted));
  }

  static std::string operationText(ComputeOp op) {
    auto output = op.getOutput().getDefiningOp<BufferOp>();
    return fmt::format("{} -> '{}'", op.getCallee().str(), output.getName().str());
  }

  static std::string originText(BufferOp buffer) {
    if (buffer.getIndex() && buffer.getKind() == "input") {
      return fmt::format("input {}", *buffer.getIndex());
    }
    // Rewriting and printing change the order of uses, not that of operations.
    llvm::SmallVector<mlir::Operation *> users(buffer.getResult().getUsers());
    llvm::sort(users, [](mlir::Operation *a, mlir::Operation *b) { return a->isBeforeInBlock(b); });
    for (mlir::Operation *user : users) {
      auto op = llvm::dyn_cast<ComputeOp>(user);
      if (op && op.getOutput() == buffer.getResult()) {
        return "written by " + op.getCallee().str();
      }
      auto host = llvm::dyn_cast<HostOp>(user);
      if (host && llvm::is_contained(host.getOutputs(), buffer.getResult())) {
        return "from the CPU step " + host.getCallee().str();
      }
    }
    return "a constant";
  }

  static std::string stickText(int64_t stick) {
    return stick < 0 ? std::string("with one element per stick")
                     : fmt::format("in sticks along dimension {}", stick);
  }

  static int64_t stickOf(BufferOp buffer) {
    Expected<DimRoles> roles = dimRolesOf(buffer);
    return roles.ok() ? roles->stick() : -1;
  }

  /// What operand \p index reads, copied into a buffer over its own variables.
  void copyPrivately(ComputeOp op, unsigned index, int tensor, Lanes choice) {
    const Lanes lanes = lanesOf(op, index, choice);
    BufferOp source = denseOf(legalSource(op, index, tensor), op);
    OwnSpace own = ownSpace(op, index, rewriter.builder, varsOf(accessOf(op, index)));
    auto positionOf = [&](Lanes var) {
      auto found = var ? std::find(own.vars.begin(), own.vars.end(), *var) : own.vars.end();
      return found == own.vars.end() ? int64_t(-1) : found - own.vars.begin();
    };
    mlir::AffineMap identity = rewriter.builder.getMultiDimIdentityMap(unsigned(own.vars.size()));
    auto copyTo = [&](BufferOp from, mlir::AffineMap map, int64_t stick) {
      auto type = llvm::cast<mlir::MemRefType>(from.getResult().getType());
      BufferOp temp = rewriter.addTemp(from.getName().str() + "_restick", own.extents,
                                       type.getElementType(), op.getLoc());
      setStick(temp, stick);
      rewriter.addCopy(op, from, map, temp, identity, own.extents);
      return temp;
    };
    rewriter.why = fmt::format(
        "stick-differs: '{}', {}, lies {}; {} reads {} of it and needs {}", source.getName().str(),
        originText(source), stickText(stickOf(source)), operationText(op),
        coversAll(accessOf(op, index), op) ? "all" : "a part",
        lanes ? "sticks along " + varName(op, *lanes) : std::string("one element per stick"));
    // The lanes the source has; a slice is taken along them before they change.
    const Access access = accessOf(op, index);
    const StickUse use = stickUse(access, stickOf(source));
    const Lanes present = use.kind == StickUse::Kind::Var ? Lanes(use.var) : std::nullopt;
    BufferOp temp = source;
    mlir::AffineMap map = own.map;
    if (positionOf(present) != positionOf(lanes) && !coversAll(access, op)) {
      temp = copyTo(temp, map, positionOf(present));
      map = identity;
    }
    temp = copyTo(temp, map, positionOf(lanes));
    rewriter.setOperand(op, index, temp, own.projection);
    note(temp, "stick-differs", "operand {} of {} ('{}') must follow {}", index,
         op.getCallee().str(), source.getName().str(), lanes ? varName(op, *lanes) : "no lanes");
  }

  /// True when the access reads all of its buffer: then a restickify can do it.
  static bool coversAll(const Access &access, ComputeOp op) {
    BufferOp buffer = access.buffer;
    auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
    int64_t elements = 1;
    for (unsigned var : varsOf(access)) {
      elements *= op.getExtents()[var];
    }
    return elements == type.getNumElements();
  }

  /// A buffer with the operand's elements from which it can be read; the cheapest one.
  BufferOp legalSource(ComputeOp op, unsigned index, int tensor) {
    const auto &costs = model.problem.tensors[size_t(tensor)].copyTo;
    int best = -1;
    for (size_t option = 0; option < costs.size(); ++option) {
      BufferOp buffer = model.buffers[size_t(tensor)];
      if (!isLegal(op, index, stickDimOf(buffer, int(option)))) {
        continue;
      }
      if (isThere(tensor, int(option))) {
        auto found = optionsOf.find({tensor, int(option)});
        return found != optionsOf.end() ? found->second : buffer;
      }
      best = best < 0 || costs[option] < costs[size_t(best)] ? int(option) : best;
    }
    SPYRE_CHECK(best >= 0, "one element per stick is always legal");
    return whole(tensor, best, op);
  }

  bool isThere(int tensor, int option) const {
    return optionsOf.count({tensor, option}) != 0 ||
           (model.problem.tensors[size_t(tensor)].given >> option & 1) != 0;
  }

  static std::string varName(ComputeOp op, unsigned var) {
    return llvm::cast<mlir::StringAttr>(op.getVars()[var]).str();
  }

  template <typename... Args>
  void note(BufferOp buffer, const char *reason, fmt::format_string<Args...> detail,
            Args &&...args) {
    if (trace) {
      trace->record("propagate-layouts", buffer.getName().str(),
                    Decision::yes(reason, detail, std::forward<Args>(args)...));
    }
  }

  mlir::func::FuncOp function;
  const LayoutModel &model;
  DecisionTrace *trace;
  Rewriter rewriter;
  /// Buffers that hold a tensor in an option; inputs are not listed in their own.
  std::map<std::pair<int, int>, BufferOp> optionsOf;
  llvm::DenseMap<mlir::Operation *, BufferOp> denseCopies;
};

/// What comes from the host is laid out by default.
void setHostLayouts(mlir::func::FuncOp main) {
  Rewriter rewriter(main);
  for (HostOp op : main.getOps<HostOp>()) {
    for (mlir::Value output : op.getOutputs()) {
      auto buffer = output.getDefiningOp<BufferOp>();
      if (!isHostValue(buffer) && !buffer.getLayoutAttr()) {
        rewriter.setLayout(buffer, {});
      }
    }
  }
}

struct PropagateLayouts : LoopPass<impl::PropagateLayoutsPassBase<PropagateLayouts>> {
  solver::LayoutSearch search;

  Status runOnMain(mlir::func::FuncOp main) override {
    setHostLayouts(main);
    SPYRE_ASSIGN_OR_RETURN(LayoutModel model, buildLayoutModel(main));
    SPYRE_ASSIGN_OR_RETURN(solver::LayoutPlan plan, solver::chooseLayouts(model.problem, search));
    Materializer(main, model, trace).run(plan);
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createPropagateLayoutsPass(DecisionTrace *trace, bool wholeGraph) {
  auto pass = createLoopPass<PropagateLayouts>(trace);
  if (!wholeGraph) {
    pass->search = {1, false};
  }
  return pass;
}

} // namespace spyre::loop
