//===- UserFunctions.cpp - see UserFunctions.h ----------------------------------------------===//
#include "UserFunctions.h"

#include "spyre/Dialect/Loop/IR/Owners.h"
#include "spyre/Dialect/Loop/Transforms/AskedSplits.h"
#include "spyre/Dialect/Loop/Transforms/DivisionProblem.h"
#include "spyre/Dialect/Loop/Transforms/DivisionReason.h"
#include "spyre/Dialect/Utils/Attributes.h"
#include "spyre/Solver/Division/Rules.h"
#include "spyre/Solver/Division/Verify.h"

#include "mlir/Pass/PassManager.h"

#include <algorithm>
#include <cmath>

namespace spyre::pipelines {

namespace {

namespace division = solver::division;
using loop::BufferOp;
using loop::ComputeOp;

OperandView viewOf(BufferOp buffer) {
  OperandView view;
  view.name = buffer.getName().str();
  view.kind = buffer.getKind().str();
  auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
  llvm::raw_string_ostream(view.type) << type.getElementType();
  view.size = dialect::toVector(type.getShape());
  if (buffer.getLayout()) {
    const Expected<layout::DeviceLayout> layout = loop::layoutOf(buffer);
    view.layout = layout.ok() ? layout->toString() : "";
  }
  view.lxAddress = loop::lxAddressOf(buffer);
  return view;
}

OperationView viewOf(ComputeOp op, int64_t step) {
  OperationView view;
  view.step = step;
  view.name = op.getCallee().str();
  view.location = dialect::sourceLine(op.getLoc());
  for (mlir::Attribute var : op.getVars()) {
    view.vars.push_back(llvm::cast<mlir::StringAttr>(var).str());
  }
  view.extents = dialect::toVector(op.getExtents());
  view.reductions = int64_t(op.getReductions());
  for (unsigned i = 0; i < loop::operandCount(op); ++i) {
    view.operands.push_back(viewOf(loop::operandBuffer(op, i)));
  }
  if (op.getSplits()) {
    view.division = dialect::toVector(*op.getSplits());
  }
  return view;
}

class UserFunctionPass
    : public mlir::PassWrapper<UserFunctionPass, mlir::OperationPass<mlir::ModuleOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(UserFunctionPass)
  UserFunctionPass(OperationFunction function, loop::DivisionSettings settings)
      : function(std::move(function)), settings(std::move(settings)) {}

  llvm::StringRef getArgument() const override { return "spyre-user-function"; }
  llvm::StringRef getDescription() const override {
    return "Lets a function of the user's ask for divisions.";
  }

private:
  void runOnOperation() override {
    mlir::func::FuncOp main = loop::findMain(getOperation());
    const Status status =
        main ? run(main) : error<1202>("a loop module holds one func.func @main() with one block");
    if (!status.ok()) {
      (void)dialect::report(getOperation(), status);
      signalPassFailure();
    }
  }

  Status run(mlir::func::FuncOp main) {
    std::vector<ComputeOp> operations;
    std::vector<OperationView> views;
    int64_t step = 0;
    for (mlir::Operation &each : main.getBody().front()) {
      if (auto op = llvm::dyn_cast<ComputeOp>(each)) {
        operations.push_back(op);
        views.push_back(viewOf(op, step));
      }
      step += llvm::isa<ComputeOp, loop::HostOp>(each) ? 1 : 0;
    }
    SPYRE_RETURN_IF_ERROR(function(views));
    SPYRE_CHECK(views.size() == operations.size(), "the function keeps the list");
    for (size_t i = 0; i < views.size(); ++i) {
      if (views[i].asked) {
        SPYRE_RETURN_IF_ERROR(apply(operations[i], *views[i].asked)
                                  .withContext(fmt::format("step {}, {}: ", views[i].step,
                                                           loop::subjectOf(operations[i]))));
      }
    }
    return Status::success();
  }

  Status apply(ComputeOp op, const std::vector<int64_t> &asked) const {
    const bool isDivided = bool(op.getSplits());
    const int64_t least = isDivided ? 1 : 0;
    if (asked.size() != op.getExtents().size() ||
        std::any_of(asked.begin(), asked.end(), [&](int64_t split) { return split < least; })) {
      return error<1503>("splits [{}] are asked for {} variables; give one from {} on for each",
                         fmt::join(asked, ", "), op.getExtents().size(), least);
    }
    if (!isDivided) {
      loop::askForSplits(op, asked);
      return Status::success();
    }
    SPYRE_RETURN_IF_ERROR(judge(op, asked));
    loop::divide(op, asked, loop::Numbering{settings.kFastCores});
    // Passes behind this one keep what was asked for.
    op->setAttr(loop::kHints, mlir::DenseI64ArrayAttr::get(op.getContext(), asked));
    loop::changeDivisionReason(op, Decision::yes("asked-for", "a pass of the user's divided it"));
    return Status::success();
  }

  Status judge(ComputeOp op, const std::vector<int64_t> &splits) const {
    const bool documented = settings.mode != division::Mode::Best;
    SPYRE_ASSIGN_OR_RETURN(
        const loop::DivisionProblem problem,
        loop::divisionProblemOf(op, settings.device, {documented, settings.kFastCores}));
    SPYRE_RETURN_IF_ERROR(
        division::checkRules(problem.op, settings.device, settings.cores, splits));
    const division::Plan plan =
        division::makePlan(problem.op, splits, division::documentedOrder(problem.op, splits));
    SPYRE_RETURN_IF_ERROR(division::verifyPlan(problem.op, settings.device, settings.cores, plan));
    const division::Candidates one{splits.size(), {splits.begin(), splits.end()}};
    double ns = 0;
    division::KernelCosts(settings.device, problem.traits)
        .price(problem.op, division::unitsOf(problem.op), one, std::span(&ns, 1));
    return std::isfinite(ns) ? Status::success()
                             : error<3069>("'{}': the back end cannot run the splits {}; give "
                                           "others",
                                           problem.op.name, division::describe(problem.op, splits));
  }

  OperationFunction function;
  loop::DivisionSettings settings;
};

} // namespace

void addUserFunctions(mlir::OpPassManager &manager, PassPoint point, const UserPasses &passes,
                      const loop::DivisionSettings &settings) {
  auto found = passes.functions.find(point);
  if (found == passes.functions.end()) {
    return;
  }
  for (const OperationFunction &function : found->second) {
    manager.addPass(std::make_unique<UserFunctionPass>(function, settings));
  }
}

} // namespace spyre::pipelines
