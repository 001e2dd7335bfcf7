//===- SpanReduction.cpp - the documented first pass of work division -----------------------===//
//
// Finds the fewest slices that bring every tensor of an operation below the span limit, and stores
// them by coefficient: variables may be renamed before the second pass reads them.
// [spec: work-division 5, 6]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"

#include "../LoopPass.h"
#include "Divider.h"

namespace spyre::loop {

#define GEN_PASS_DECL_SPANREDUCTIONPASS
#define GEN_PASS_DEF_SPANREDUCTIONPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace division = solver::division;

namespace {

struct SpanReduction : LoopPass<impl::SpanReductionPassBase<SpanReduction>> {
  std::optional<DivisionSettings> given;

  Status runOnMain(mlir::func::FuncOp main) override {
    SPYRE_ASSIGN_OR_RETURN(const DivisionSettings settings,
                           settingsFrom(given, device, cores, spanLimitBytes, planner));
    SPYRE_RETURN_IF_ERROR(solver::division::checkCores(settings.cores, settings.device));
    for (mlir::Operation &each : main.getBody().front()) {
      if (auto op = llvm::dyn_cast<ComputeOp>(each)) {
        SPYRE_RETURN_IF_ERROR(at(op, reduce(op, settings)));
      } else if (auto host = llvm::dyn_cast<HostOp>(each)) {
        recordSkipped(host, "span-reduction", trace);
      }
    }
    return Status::success();
  }

  Status reduce(ComputeOp op, const DivisionSettings &settings) {
    SPYRE_ASSIGN_OR_RETURN(
        DivisionProblem problem,
        divisionProblemOf(op, settings.device,
                          {/*documented=*/true, settings.kFastCores, /*padding=*/false,
                           /*forAllSizes=*/true}));
    SPYRE_RETURN_IF_ERROR(division::checkOp(problem.op));
    op->removeAttr(kSpanSplits);
    if (problem.op.kind == division::Kind::TopK || op->hasAttr(kHints)) {
      return Status::success();
    }
    const auto how = settings.mode == division::Mode::CompatS1 ? division::SpanBytes::HostItems
                                                               : division::SpanBytes::Sticks;
    SPYRE_ASSIGN_OR_RETURN(division::SpanReduction found,
                           division::reduceSpan(problem.op, settings.device, settings.cores, how));
    if (trace) {
      for (const Decision &decision : found.decisions) {
        trace->record("span-reduction", subjectOf(op), decision,
                      {dialect::sourceLine(op.getLoc()), {}});
      }
    }
    if (!found.stored.empty()) {
      storeSplits(op, found.stored);
    }
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createSpanReductionPass(const DivisionSettings &settings,
                                                    DecisionTrace *trace) {
  return createDivisionPass<SpanReduction>(settings, trace);
}

std::unique_ptr<mlir::Pass> createSpanReductionPass() {
  return createLoopPass<SpanReduction>(nullptr);
}

} // namespace spyre::loop
