//===- PropagateLayouts.cpp - device layouts, and copies where sticks disagree --------------===//
//
// Walks the operations once. For each it chooses the stick variable of the output among the
// variables that can be one, by the number of elements that would have to be copied, and inserts a
// copy for every operand that disagrees:
//
//   * an operand with another stick variable, or with one element per stick where lanes are wanted,
//   is copied into
//     a temp over its own variables with the wanted stick;
//   * an operand that does not depend on the stick variable is copied into a temp with one element
//   per stick;
//   * an access that is not legal in the present layout reads a copy of the whole buffer with one
//   element per
//     stick, where every access is legal.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"
#include "spyre/Dialect/Loop/Transforms/Stick.h"

#include "Rewrite.h"

#include <algorithm>

namespace spyre::loop {

#define GEN_PASS_DEF_PROPAGATELAYOUTSPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

using MaybeVar = std::optional<unsigned>;

std::vector<int64_t> orderWithStick(int64_t rank, int64_t stick) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != stick) {
      order.push_back(i);
    }
  }
  order.push_back(stick); // -1: sparse
  return order;
}

class Propagation {
public:
  Propagation(mlir::func::FuncOp function, DecisionTrace *trace)
      : function(function), rewriter(function), trace(trace) {}

  Status run() {
    llvm::SmallVector<ComputeOp> ops(function.getOps<ComputeOp>());
    for (ComputeOp op : ops) {
      SPYRE_RETURN_IF_ERROR(visit(op));
    }
    for (BufferOp buffer : function.getOps<BufferOp>()) {
      if (!buffer.getLayoutAttr()) {
        rewriter.setLayout(buffer, {}); // nobody touches it: any layout will do
      }
    }
    return Status::success();
  }

private:
  Status visit(ComputeOp op) {
    for (unsigned i = 0; i + 1 < operandCount(op); ++i) {
      SPYRE_RETURN_IF_ERROR(useOf(op, i).status());
    }
    if (op.getCallee() == kMatmul) {
      return visitMatmul(op);
    }
    if (op.getCallee() == kCopy && !isBroadcast(op)) {
      return visitCopy(op);
    }
    return op.getReductions() > 0 ? visitReduction(op) : visitPointwise(op);
  }

  static Expected<StickUse> useOf(ComputeOp op, unsigned index) {
    return stickUse(accessOf(op, index));
  }

  /// Whether operand \p index can be used as it is by lanes that follow \p var.
  static bool follows(ComputeOp op, unsigned index, const StickUse &use, MaybeVar var) {
    Access access = accessOf(op, index);
    if (op.getCallee() != kMatmul) {
      return isCompatible(access, use, var);
    }
    Expected<DimRoles> roles = rolesFollowing(access, *var);
    return roles.ok() && followsExactly(access, roles->stick(), *var);
  }

  static bool isBroadcast(ComputeOp op) {
    return varsOf(accessOf(op, 0)) != varsOf(accessOf(op, operandCount(op) - 1));
  }

  /// Dimension of the output that can be cut into sticks along \p var, or nothing.
  static std::optional<int64_t> stickDimFor(const Access &access, unsigned var) {
    for (size_t d = access.dims.size(); d-- > 0;) {
      if (followsExactly(access, int64_t(d), var)) {
        return int64_t(d);
      }
    }
    return std::nullopt;
  }

  /// Elements that must be copied to make operand \p index follow \p var.
  int64_t copyCost(ComputeOp op, unsigned index, MaybeVar var) {
    Access access = accessOf(op, index);
    Expected<StickUse> use = useOf(op, index);
    if (isCompatible(access, *use, var)) {
      return 0;
    }
    int64_t elements = use->kind == StickUse::Kind::Illegal ? 64 : 1;
    for (unsigned v : varsOf(access)) {
      elements *= op.getExtents()[v];
    }
    return elements;
  }

  /// Chooses among \p candidates (best first on ties) the one with the least copying of the inputs.
  MaybeVar cheapest(ComputeOp op, const std::vector<MaybeVar> &candidates) {
    MaybeVar best;
    int64_t bestCost = -1;
    for (MaybeVar candidate : candidates) {
      int64_t cost = 0;
      for (unsigned i = 0; i + 1 < operandCount(op); ++i) {
        cost += copyCost(op, i, candidate);
      }
      if (bestCost < 0 || cost < bestCost) {
        best = candidate;
        bestCost = cost;
      }
    }
    return best;
  }

  /// Variables that can be the output's stick, innermost output dimension first.
  static std::vector<MaybeVar> outputCandidates(ComputeOp op) {
    Access output = accessOf(op, operandCount(op) - 1);
    std::vector<MaybeVar> candidates;
    for (size_t d = output.dims.size(); d-- > 0;) {
      StickUse use = stickUse(output, int64_t(d));
      if (use.kind == StickUse::Kind::Var) {
        candidates.push_back(use.var);
      }
    }
    return candidates;
  }

  Status visitPointwise(ComputeOp op) {
    unsigned out = operandCount(op) - 1;
    Access output = accessOf(op, out);
    MaybeVar var;
    if (output.buffer.getLayoutAttr()) {
      SPYRE_ASSIGN_OR_RETURN(StickUse use, useOf(op, out));
      if (use.kind == StickUse::Kind::Illegal) {
        return error<2011>(
            "the output of '{}' cannot be written in its given layout; let the compiler "
            "choose it",
            op.getCallee().str());
      }
      var = use.kind == StickUse::Kind::Var ? MaybeVar(use.var) : std::nullopt;
    } else {
      std::vector<MaybeVar> candidates = outputCandidates(op);
      candidates.push_back(std::nullopt); // one element per stick: only if nothing else is as cheap
      var = cheapest(op, candidates);
      setOutputLayout(op, var);
    }
    for (unsigned i = 0; i < out; ++i) {
      makeFollow(op, i, var);
    }
    return Status::success();
  }

  void setOutputLayout(ComputeOp op, MaybeVar var) {
    Access output = accessOf(op, operandCount(op) - 1);
    int64_t rank = output.dims.size();
    if (rank == 0) {
      return rewriter.setLayout(output.buffer, {});
    }
    rewriter.setLayout(output.buffer,
                       orderWithStick(rank, var ? *stickDimFor(output, *var) : int64_t(-1)));
  }

  Status visitReduction(ComputeOp op) {
    unsigned reduced = op.getExtents().size() - 1;
    // The stick of the input is either kept, and then the output's, or reduced: one element per
    // stick is left.
    std::vector<MaybeVar> candidates = outputCandidates(op);
    candidates.push_back(reduced);
    StickUse use = *useOf(op, 0);
    if (use.kind == StickUse::Kind::None) {
      candidates.push_back(std::nullopt);
    }
    MaybeVar var = cheapest(op, candidates);
    makeFollow(op, 0, var);
    setOutputLayout(op, var && *var == reduced ? std::nullopt : var);
    return Status::success();
  }

  Status visitMatmul(ComputeOp op) {
    if (op.getExtents().size() < 3 || op.getInputs().size() != 2) {
      return error<1206>(
          "a matmul has two inputs and at least three variables (rows, columns, reduced)");
    }
    makeFollow(op, 0, matmulStickVar(op, 0));
    makeFollow(op, 1, matmulStickVar(op, 1));
    if (!stickDimFor(accessOf(op, 2), matmulStickVar(op, 2))) {
      return error<1206>("the columns of a matmul must be one dimension of its output");
    }
    setOutputLayout(op, matmulStickVar(op, 2));
    return Status::success();
  }

  /// A copy without broadcast may itself change the stick; only the legality of both sides matters.
  Status visitCopy(ComputeOp op) {
    StickUse use = *useOf(op, 0);
    if (use.kind == StickUse::Kind::Illegal) {
      readThroughRows(op, 0);
      use = *useOf(op, 0);
    }
    Access output = accessOf(op, 1);
    if (!output.buffer.getLayoutAttr()) {
      std::vector<MaybeVar> candidates = outputCandidates(op);
      MaybeVar var = candidates.empty() ? std::nullopt : candidates.front();
      setOutputLayout(op, var);
      return Status::success();
    }
    SPYRE_ASSIGN_OR_RETURN(StickUse target, useOf(op, 1));
    return target.kind == StickUse::Kind::Illegal
               ? error<2011>(
                     "a copy cannot write '{}' in its given layout; let the compiler choose it",
                     output.buffer.getName().str())
               : Status::success();
  }

  /// Makes operand \p index compatible with lanes that follow \p var.
  void makeFollow(ComputeOp op, unsigned index, MaybeVar var) {
    Access access = accessOf(op, index);
    StickUse use = *useOf(op, index);
    if (follows(op, index, use, var)) {
      return;
    }
    if (use.kind == StickUse::Kind::Illegal) {
      readThroughRows(op, index);
      access = accessOf(op, index);
      use = *useOf(op, index);
      if (follows(op, index, use, var)) {
        return;
      }
    }
    OwnSpace own = ownSpace(op, index, rewriter.builder, varsOf(access));
    auto type = llvm::cast<mlir::MemRefType>(access.buffer.getResult().getType());
    BufferOp temp = rewriter.addTemp(access.buffer.getName().str() + "_restick", own.extents,
                                     type.getElementType(), op.getLoc());
    int64_t stick = -1;
    for (size_t i = 0; i < own.vars.size(); ++i) {
      if (var && own.vars[i] == *var) {
        stick = int64_t(i);
      }
    }
    rewriter.setLayout(temp, own.vars.empty() ? std::vector<int64_t>{}
                                              : orderWithStick(own.vars.size(), stick));
    mlir::AffineMap identity = rewriter.builder.getMultiDimIdentityMap(own.vars.size());
    rewriter.addCopy(op, access.buffer, own.map, temp, identity, own.extents);
    rewriter.setOperand(op, index, temp, own.projection);
    note(op, temp,
         Decision::yes("stick-differs", "operand {} of {} ('{}') must follow {}", index,
                       op.getCallee().str(), BufferOp(access.buffer).getName().str(),
                       var ? varName(op, *var) : "no lanes"));
  }

  /// Redirects operand \p index to a copy of its whole buffer with one element per stick.
  void readThroughRows(ComputeOp op, unsigned index) {
    Access access = accessOf(op, index);
    auto type = llvm::cast<mlir::MemRefType>(access.buffer.getResult().getType());
    std::vector<int64_t> shape = dialect::toVector(type.getShape());
    BufferOp rows = rewriter.addTemp(access.buffer.getName().str() + "_rows", shape,
                                     type.getElementType(), op.getLoc());
    rewriter.setLayout(rows, orderWithStick(shape.size(), -1));
    mlir::AffineMap identity = rewriter.builder.getMultiDimIdentityMap(shape.size());
    rewriter.addCopy(op, access.buffer, identity, rows, identity, shape);
    rewriter.setOperand(op, index, rows,
                        llvm::cast<mlir::AffineMapAttr>(op.getMaps()[index]).getValue());
    note(op, rows,
         Decision::yes("access-inside-sticks", "operand {} of {} ('{}') starts inside sticks",
                       index, op.getCallee().str(), BufferOp(access.buffer).getName().str()));
  }

  static std::string varName(ComputeOp op, unsigned var) {
    return llvm::cast<mlir::StringAttr>(op.getVars()[var]).str();
  }

  void note(ComputeOp, BufferOp temp, const Decision &decision) {
    if (trace) {
      trace->record("propagate-layouts", temp.getName().str(), decision);
    }
  }

  mlir::func::FuncOp function;
  Rewriter rewriter;
  DecisionTrace *trace;
};

struct PropagateLayouts : impl::PropagateLayoutsPassBase<PropagateLayouts> {
  DecisionTrace *trace = nullptr;
  void runOnOperation() override {
    mlir::func::FuncOp main = findMain(getOperation());
    Status status = main ? Propagation(main, trace).run()
                         : error<1202>("a loop module holds one func.func @main() with one block");
    if (!status.ok()) {
      (void)dialect::report(getOperation(), status);
      signalPassFailure();
    }
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createPropagateLayoutsPass(DecisionTrace *trace) {
  auto pass = std::make_unique<PropagateLayouts>();
  pass->trace = trace;
  return pass;
}

} // namespace spyre::loop
