//===- NumberCores.cpp - partners of split reductions become neighbours ---------------------===//
//
// Who has which slice may be chosen freely only where nothing of the operation is in LX: what stays
// there must be owned alike by all that use it. So it is chosen when that is known, by price; the
// splits stay, and so do the results. (docs/adr/0063)
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/IR/Owners.h"
#include "spyre/Dialect/Loop/Transforms/Passes.h"

#include "../LoopPass.h"
#include "Divider.h"

namespace spyre::loop {

#define GEN_PASS_DECL_NUMBERCORESPASS
#define GEN_PASS_DEF_NUMBERCORESPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace division = solver::division;

namespace {

bool usesLx(ComputeOp op) {
  for (unsigned i = 0; i < operandCount(op); ++i) {
    if (operandBuffer(op, i)->hasAttr(kLxAddress)) {
      return true;
    }
  }
  return false;
}

struct NumberCores : LoopPass<impl::NumberCoresPassBase<NumberCores>> {
  std::optional<DivisionSettings> given;

  Status runOnMain(mlir::func::FuncOp main) override {
    SPYRE_ASSIGN_OR_RETURN(const DivisionSettings settings,
                           settingsFrom(given, device, cores, spanLimitBytes, planner));
    if (settings.mode != division::Mode::Best || !settings.kFastCores) {
      return Status::success();
    }
    for (ComputeOp op : main.getOps<ComputeOp>()) {
      if (mayChoose(op)) {
        SPYRE_RETURN_IF_ERROR(at(op, choose(op, settings)));
      }
    }
    return Status::success();
  }

  static bool mayChoose(ComputeOp op) {
    return op.getReductions() > 0 && op.getSplits() && op.getSplits()->back() > 1 &&
           op.getCallee() != kMatmul && !op->hasAttr(kHints) && !op->hasAttr(kTiles) &&
           !op->hasAttr(kUneven) && !usesLx(op);
  }

  Status choose(ComputeOp op, const DivisionSettings &settings) {
    SPYRE_ASSIGN_OR_RETURN(
        DivisionProblem problem,
        divisionProblemOf(op, settings.device, {/*documented=*/false, settings.kFastCores}));
    if (!problem.traits || problem.op.kind != division::Kind::Reduction) {
      return Status::success();
    }
    const std::vector<int64_t> splits(op.getSplits()->begin(), op.getSplits()->end());
    const double plain = priceOf(problem, settings.device, splits);
    problem.traits->fastReduction = true;
    const double fast = priceOf(problem, settings.device, splits);
    if (fast >= plain) {
      return Status::success();
    }
    loop::divide(op, splits, Numbering{settings.kFastCores, /*fastReduction=*/true});
    if (trace) {
      trace->record("number-cores", subjectOf(op),
                    Decision::yes("neighbours",
                                  "partners of {} have consecutive cores: {:.0f} ns instead of "
                                  "{:.0f}; nothing of it is in LX",
                                  problem.op.dims.back().name, fast, plain),
                    {dialect::sourceLine(op.getLoc()), {}});
    }
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createNumberCoresPass(const DivisionSettings &settings,
                                                  DecisionTrace *trace) {
  return createDivisionPass<NumberCores>(settings, trace);
}

std::unique_ptr<mlir::Pass> createNumberCoresPass() { return createLoopPass<NumberCores>(nullptr); }

} // namespace spyre::loop
