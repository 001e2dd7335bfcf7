//===- OwnerCheck.cpp - see OwnerCheck.h ----------------------------------------------------===//
#include "OwnerCheck.h"

#include "spyre/Dialect/Loop/IR/Owners.h"
#include "spyre/Dialect/Loop/Transforms/DivisionProblem.h"
#include "spyre/Solver/Division/Verify.h"

#include "mlir/Pass/Pass.h"

namespace spyre::pipelines {

namespace division = solver::division;
using loop::ComputeOp;

/// More than any machine has.
static constexpr int64_t kMostCores = 1 << 16;
static constexpr const char *kDivides = "spyre-loop-work-distribution";

void OwnerCheck::fill(Key &key, mlir::Operation *op) {
  auto compute = llvm::cast<ComputeOp>(op);
  key.clear();
  for (mlir::Attribute attribute :
       {mlir::Attribute(compute.getCalleeAttr()), mlir::Attribute(compute.getExtentsAttr()),
        mlir::Attribute(compute.getReductionsAttr()), mlir::Attribute(compute.getMapsAttr()),
        mlir::Attribute(compute.getConstantsAttr()), mlir::Attribute(compute.getIndirectAttr()),
        mlir::Attribute(compute.getSplitsAttr()), op->getDiscardableAttr(loop::kOwners),
        op->getDiscardableAttr(loop::kUneven), op->getDiscardableAttr(loop::kTiles)}) {
    key.push_back(attribute.getAsOpaquePointer());
  }
  for (mlir::Value operand : op->getOperands()) {
    auto buffer = operand.getDefiningOp<loop::BufferOp>();
    key.push_back(buffer.getLayoutAttr().getAsOpaquePointer());
    key.push_back(buffer.getStrideAttr().getAsOpaquePointer());
    key.push_back(operand.getType().getAsOpaquePointer());
  }
}

static bool hasOwners(ComputeOp op) {
  auto owners = op->getAttrOfType<mlir::AffineMapAttr>(loop::kOwners);
  return owners && op.getSplits() && owners.getValue().getNumDims() == 1 &&
         owners.getValue().getNumSymbols() == 0 &&
         owners.getValue().getNumResults() == op.getExtents().size() &&
         op.getSplits()->size() == op.getExtents().size();
}

/// Slices and cores as they are numbered by default: planOf() would find nothing wrong.
static bool isPlain(ComputeOp op) {
  if (!hasOwners(op)) {
    return false;
  }
  const llvm::ArrayRef<int64_t> splits = *op.getSplits();
  int64_t cores = 1;
  for (int64_t split : splits) {
    if (split < 1 || __builtin_mul_overflow(cores, split, &cores) || cores > kMostCores) {
      return false;
    }
  }
  auto owners = op->getAttrOfType<mlir::AffineMapAttr>(loop::kOwners);
  return loop::ownerOrder(owners.getValue(), splits).has_value();
}

/// The plan that the IR tells of.
static Expected<division::Plan> planOf(ComputeOp op) {
  auto owners = op->getAttrOfType<mlir::AffineMapAttr>(loop::kOwners);
  if (!hasOwners(op)) {
    return error<3144>(
        "'{}' has no owners for its {} variables; divide operations that a pass adds "
        "or changes, and give each slice a core",
        loop::subjectOf(op), op.getExtents().size());
  }
  division::Plan plan;
  plan.splits.assign(op.getSplits()->begin(), op.getSplits()->end());
  plan.uneven = loop::unevenVar(op);
  for (int64_t split : plan.splits) {
    if (split < 1 || __builtin_mul_overflow(plan.cores, split, &plan.cores) ||
        plan.cores > kMostCores) {
      return error<3144>("'{}' is split [{}]; give counts from 1 on, for the cores of the machine",
                         loop::subjectOf(op), fmt::join(plan.splits, ", "));
    }
  }
  for (int64_t core = 0; core < plan.cores; ++core) {
    plan.owner.push_back(loop::slicesOf(owners.getValue(), core));
    for (size_t v = 0; v < plan.splits.size(); ++v) {
      if (plan.owner.back()[v] < 0 || plan.owner.back()[v] >= plan.splits[v]) {
        return error<3144>("'{}': core {} owns slice {} of variable {}, which has {}",
                           loop::subjectOf(op), core, plan.owner.back()[v], v, plan.splits[v]);
      }
    }
  }
  return plan;
}

static Status judge(ComputeOp op, const loop::DivisionSettings &settings) {
  SPYRE_ASSIGN_OR_RETURN(const division::Plan plan, planOf(op));
  const bool documented = settings.mode != division::Mode::Best;
  SPYRE_ASSIGN_OR_RETURN(
      const loop::DivisionProblem problem,
      loop::divisionProblemOf(op, settings.device, {documented, settings.kFastCores}));
  return division::verifyPlan(problem.op, settings.device, settings.cores, plan);
}

void OwnerCheck::runAfterPass(mlir::Pass *pass, mlir::Operation *op) {
  const bool divides = pass->getArgument() == kDivides;
  isDivided = isDivided || divides;
  auto module = llvm::dyn_cast<mlir::ModuleOp>(op);
  module = module ? module : op->getParentOfType<mlir::ModuleOp>();
  mlir::func::FuncOp main = module ? loop::findMain(module) : nullptr;
  if (!isDivided || !verdict.ok() || !main) {
    return;
  }
  Key key;
  for (ComputeOp compute : main.getOps<ComputeOp>()) {
    fill(key, compute);
    if (known.contains(key)) {
      continue;
    }
    // Plans of the pass itself were judged there, before they were written down.
    Status status = !divides           ? judge(compute, settings)
                    : isPlain(compute) ? Status::success()
                                       : planOf(compute).status();
    if (!status.ok()) {
      verdict = status.withContext(fmt::format("after pass {}: ", pass->getArgument().str()));
      return;
    }
    known.insert(key);
  }
}

} // namespace spyre::pipelines
