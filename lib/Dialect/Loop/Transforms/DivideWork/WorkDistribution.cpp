//===- WorkDistribution.cpp - splits of every operation over the cores ----------------------===//
//
// The documented modes spend the cores that span reduction left, from what it stored; `best` takes
// the cheapest of all divisions the machine can do. Either way the plan is then judged by a
// verifier that shares nothing with the planners, and nothing that breaks a rule is handed on.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/IR/Owners.h"
#include "spyre/Dialect/Loop/Transforms/DivisionReason.h"
#include "spyre/Dialect/Loop/Transforms/Passes.h"
#include "spyre/Dialect/Utils/Attributes.h"
#include "spyre/Solver/Division/Rules.h"
#include "spyre/Solver/Division/Verify.h"

#include "../LoopPass.h"
#include "../Pieces.h"
#include "BringNear.h"
#include "CutTail.h"
#include "Divider.h"
#include "GrowOutput.h"
#include "PlanMemo.h"

#include <algorithm>
#include <cmath>

namespace spyre::loop {

#define GEN_PASS_DECL_WORKDISTRIBUTIONPASS
#define GEN_PASS_DEF_WORKDISTRIBUTIONPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace division = solver::division;

namespace {

constexpr const char *kStage = "work-distribution", *kCandidates = "candidates";
/// The clock and a real machine differ by more: two percent are no reason to go on searching.
constexpr double kSlack = 0.02;
constexpr int kSpanFault = 3064, kNoDivision = 3065, kTripFault = 3070;

/// Replaces an operation by loops over tiles, and by what is left over behind them.
void runInTiles(ComputeOp op, const division::TilingPlan &tiling, bool kFastCores,
                const std::optional<DivisionReason> &reason) {
  for (const division::TiledPart &part : tiling.parts) {
    ComputeOp piece = op;
    for (unsigned v = 0; v < part.tiles.size(); ++v) {
      const int64_t count = part.tileExtent[v] * part.tiles[v];
      if (count == piece.getExtents()[v]) {
        continue;
      }
      ComputeOp cut = cloneRange(piece, v, part.first[v], count);
      if (piece != op) {
        piece->erase();
      }
      piece = cut;
    }
    if (piece == op) {
      piece = llvm::cast<ComputeOp>(mlir::OpBuilder(op).clone(*op));
    }
    if (part.trips() > 1) {
      piece->setAttr(kTiles, mlir::DenseI64ArrayAttr::get(op.getContext(), part.tiles));
    }
    loop::divide(piece, part.plan.splits, kFastCores);
    if (reason) {
      setDivisionReason(piece, *reason);
    }
  }
  op->erase();
}

/// One operation.
class Distribution {
public:
  Distribution(ComputeOp op, const DivisionSettings &settings) : op(op), settings(settings) {}

  Expected<PlannedDivision> run() {
    if (!op->hasAttr(kSizes)) {
      return plan(false);
    }
    Expected<PlannedDivision> forAll = Distribution(op, settings).plan(true);
    if (forAll.ok() && !forAll->tiling) {
      return forAll;
    }
    SPYRE_ASSIGN_OR_RETURN(PlannedDivision own, plan(false));
    own.decisions.insert(
        own.decisions.begin(),
        Decision::no("own-size", "divided for this size alone: {}",
                     forAll.ok() ? "the largest one runs in tiles" : forAll.status().text()));
    return own;
  }

private:
  /// With \p forAllSizes the division of the largest size, which is one of all others.
  Expected<PlannedDivision> plan(bool forAllSizes) {
    const bool documented = settings.mode != division::Mode::Best;
    const bool isPadded = settings.padding && !documented && !op->hasAttr(kTiles) && !forAllSizes;
    SPYRE_ASSIGN_OR_RETURN(
        problem, divisionProblemOf(op, settings.device,
                                   {documented, settings.kFastCores, isPadded, forAllSizes}));
    SPYRE_RETURN_IF_ERROR(planDivision(documented));
    if (forAllSizes) {
      sayWhatIsForAll();
    }
    return std::move(planned);
  }

  void sayWhatIsForAll() {
    auto sizes = op->getAttrOfType<mlir::DenseI64ArrayAttr>(kSizes);
    for (size_t d = 0; d < problem.op.dims.size(); ++d) {
      const division::Dim &dim = problem.op.dims[d];
      if (dim.granularity > 0) {
        say(Decision::yes("all-sizes",
                          "slices of {} are those of {}, and divide {}: one plan for {} sizes",
                          dim.name, dim.extent, dim.granularity, dim.extent / dim.granularity));
      } else if (sizes[int64_t(2 * d)] > 0) {
        say(Decision::no("own-size", "{} is cut in sticks: divided for {} elements alone", dim.name,
                         dim.extent));
      }
    }
  }

  Status planDivision(bool documented) {
    if (op->hasAttr(kHints)) {
      // A hint is no less of a plan in the documented modes.
      Status status = cheapest();
      if (status.ok() && std::isinf(planned.nanoseconds)) {
        status = error<3069>("'{}': the back end cannot run the hinted splits {}; give others",
                             problem.op.name, division::describe(problem.op, planned.splits));
      }
      return status;
    }
    return documented ? asDocumented() : cheapest();
  }

  void say(Decision decision) { planned.decisions.push_back(std::move(decision)); }

  double priceOf(const division::Splits &splits) const {
    return loop::priceOf(problem, settings.device, splits);
  }

  Status cheapest() {
    division::Options options{.mode = settings.mode, .cores = settings.cores};
    // Rows of other tensors exist only where a result was given them.
    options.padding = problem.op.output().growable;
    // Tiles advance by physical strides, the same for all cores.
    options.uneven = settings.uneven && !op->hasAttr(kTiles);
    options.compare = options.explain = settings.explain;
    options.slack = kSlack;
    const division::KernelCosts costs(settings.device, problem.traits);
    SPYRE_ASSIGN_OR_RETURN(division::Outcome outcome,
                           division::divide(problem.op, settings.device, options, costs));
    if (outcome.tiling) {
      SPYRE_RETURN_IF_ERROR(
          takeTiles(*std::move(outcome.tiling),
                    outcome.proof ? outcome.proof->text : "the rules allow no division"));
    } else {
      SPYRE_RETURN_IF_ERROR(outcome.verdict);
    }
    takeExtents(outcome.op);
    planned.splits = outcome.plan.splits;
    planned.uneven = outcome.plan.uneven;
    planned.nanoseconds = outcome.nanoseconds;
    planned.candidates = outcome.candidatesTried;
    planned.decisions = std::move(outcome.decisions);
    if (settings.explain) {
      listCandidates(outcome.candidates);
    }
    chooseNumbering();
    return Status::success();
  }

  /// Neighbours combine their parts of a reduction where that is cheaper than the plain order. The
  /// splits are those of the plain order: results do not depend on who may be a neighbour.
  void chooseNumbering() {
    const bool mayBeFast = settings.fastReductions && settings.kFastCores && problem.traits &&
                           problem.op.kind == division::Kind::Reduction && !op->hasAttr(kHints) &&
                           !planned.tiling && planned.uneven < 0 && planned.splits.back() > 1;
    if (!mayBeFast) {
      return;
    }
    problem.traits->fastReduction = true;
    const double fast = priceOf(planned.splits);
    if (fast < planned.nanoseconds) {
      say(Decision::yes("neighbours",
                        "partners of {} have consecutive cores: {:.0f} ns instead of {:.0f}",
                        problem.op.dims.back().name, fast, planned.nanoseconds));
      planned.fastReduction = true;
      planned.nanoseconds = fast;
    }
  }

  void takeExtents(const division::Op &padded) {
    for (size_t d = 0; d < padded.dims.size(); ++d) {
      if (padded.dims[d].extent != problem.op.dims[d].extent) {
        planned.extents = division::unitsOf(padded).extent;
      }
    }
  }

  /// The cheapest, in front of the decision for one of them.
  void listCandidates(const std::vector<division::PricedSplits> &candidates) {
    constexpr size_t kShown = 8;
    std::string text;
    for (size_t i = 0; i < std::min(kShown, candidates.size()); ++i) {
      text += fmt::format("{}{} {:.0f} ns", i > 0 ? "; " : "",
                          division::describe(problem.op, candidates[i].splits),
                          candidates[i].nanoseconds);
    }
    if (!text.empty()) {
      planned.decisions.insert(planned.decisions.begin(),
                               Decision::no(kCandidates, "{} of {}: {}",
                                            std::min(kShown, candidates.size()), candidates.size(),
                                            text));
    }
  }

  /// An operation that runs in loops already is not cut again.
  Status takeTiles(division::TilingPlan tiling, const std::string &why) {
    if (!settings.tileLarge || op->hasAttr(kTiles)) {
      return error<3065>("'{}' over {}: {}; {}", problem.op.name, division::describe(problem.op),
                         why,
                         op->hasAttr(kTiles) ? "its tiles are too large, give it more of them"
                                             : "let it run in tiles (chunk_large_tensors)");
    }
    planned.tiling = std::move(tiling);
    return Status::success();
  }

  Expected<division::Splits> documentedSplits() {
    if (problem.op.kind == division::Kind::TopK) {
      say(Decision::no("one-core", "'{}' is not divided by the documented passes",
                       problem.op.name));
      return division::Splits(problem.op.dims.size(), 1);
    }
    SPYRE_ASSIGN_OR_RETURN(division::StoredSplits stored, storedSplitsOf(op));
    if (settings.mode == division::Mode::CompatS1) {
      if (auto matmul = division::divideMatmul(problem.op, stored, settings.cores)) {
        std::move(matmul->decisions.begin(), matmul->decisions.end(),
                  std::back_inserter(planned.decisions));
        return std::move(matmul->splits);
      }
    }
    if (!settings.distribute) {
      return division::decodeSplits(stored, division::writeIndex(problem.op),
                                    division::readIndex(problem.op),
                                    division::unitsOf(problem.op).extent);
    }
    return division::distributeWork(problem.op, stored, settings.cores);
  }

  Status asDocumented() {
    SPYRE_RETURN_IF_ERROR(division::checkOp(problem.op));
    SPYRE_ASSIGN_OR_RETURN(planned.splits, documentedSplits());
    sayComputed();
    SPYRE_RETURN_IF_ERROR(dropImpossible());
    const division::CoreOrder order = settings.kFastCores
                                          ? division::documentedOrder(problem.op, planned.splits)
                                          : division::CoreOrder::FirstFastest;
    const division::Plan plan = division::makePlan(problem.op, planned.splits, order);
    Status verdict = division::verifyPlan(problem.op, settings.device, settings.cores, plan);
    if (verdict.code() == kSpanFault || verdict.code() == kTripFault) {
      const division::KernelCosts costs(settings.device, problem.traits);
      std::optional<division::TilingPlan> tiling =
          settings.tileLarge && !op->hasAttr(kTiles)
              ? division::tileOp(problem.op, settings.device, settings.cores, costs)
              : std::nullopt;
      if (tiling) {
        planned.nanoseconds = tiling->nanoseconds;
        say(Decision::yes("tiled", "{}", verdict.text()));
        return takeTiles(*std::move(tiling), "");
      }
    }
    SPYRE_RETURN_IF_ERROR(verdict);
    planned.nanoseconds = priceOf(planned.splits);
    planned.candidates = 1;
    say(Decision::yes(plan.cores == settings.cores ? "all-cores" : "fewer-cores",
                      "{} use {} of {} cores", division::describe(problem.op, planned.splits),
                      plan.cores, settings.cores));
    return Status::success();
  }

  /// What the documents compute is told as they compute it, with the verdict on it, where that is
  /// not what is emitted.
  void sayComputed() {
    const division::Plan plan =
        division::makePlan(problem.op, planned.splits, division::CoreOrder::FirstFastest);
    Status verdict = division::verifyPlan(problem.op, settings.device, settings.cores, plan);
    if (verdict.ok()) {
      verdict = division::checkRules(problem.op, settings.device, settings.cores, planned.splits);
    }
    if (!verdict.ok()) {
      say(Decision::no("documented-plan-is-illegal", "{} use {} of {} cores: {}",
                       division::describe(problem.op, planned.splits), plan.cores, settings.cores,
                       verdict.message()));
    }
  }

  /// The documented passes know of no rule of the machine: what it cannot do stays whole.
  Status dropImpossible() {
    const division::Units units = division::unitsOf(problem.op);
    SPYRE_ASSIGN_OR_RETURN(division::Domains domains,
                           division::domainsOf(problem.op, units, settings.device, settings.cores));
    for (size_t d = 0; d < planned.splits.size(); ++d) {
      const division::Domain &domain = domains.dims[d];
      int64_t &split = planned.splits[d];
      if (std::find(domain.splits.begin(), domain.splits.end(), split) == domain.splits.end()) {
        drop(d, domain.rule);
      }
    }
    // Sizes the back end cannot cut evenly: a last stick that is padded for one tensor only.
    for (size_t d = 0; d < planned.splits.size(); ++d) {
      division::Splits alone(planned.splits.size(), 1);
      alone[d] = planned.splits[d];
      if (alone[d] > 1 && std::isinf(priceOf(alone))) {
        drop(d, "whole sticks");
      }
    }
    return Status::success();
  }

  void drop(size_t d, const char *rule) {
    say(Decision::no("rule", "{} slices of {} are not possible on {}: {}", planned.splits[d],
                     problem.op.dims[d].name, settings.device.name, rule));
    planned.splits[d] = 1;
  }

  ComputeOp op;
  const DivisionSettings &settings;
  DivisionProblem problem;
  PlannedDivision planned;
};

struct WorkDistribution : LoopPass<impl::WorkDistributionPassBase<WorkDistribution>> {
  std::optional<DivisionSettings> given;

  Status runOnMain(mlir::func::FuncOp main) override {
    SPYRE_ASSIGN_OR_RETURN(DivisionSettings settings,
                           settingsFrom(given, device, cores, spanLimitBytes, planner));
    if (!given) {
      settings.distribute = distribute;
      settings.tileLarge = tile;
      settings.uneven = uneven;
      settings.padding = padding;
      settings.fastReductions = fastReductions;
    }
    SPYRE_RETURN_IF_ERROR(solver::division::checkCores(settings.cores, settings.device));
    PlanMemo memo;
    for (mlir::Operation &each : llvm::make_early_inc_range(main.getBody().front())) {
      if (auto op = llvm::dyn_cast<ComputeOp>(each)) {
        SPYRE_RETURN_IF_ERROR(at(op, divide(op, settings, memo)));
      } else if (auto host = llvm::dyn_cast<HostOp>(each)) {
        recordSkipped(host, kStage, trace);
      }
    }
    return Status::success();
  }

  /// An operation on operands that were brought near is not asked again.
  Status divide(ComputeOp op, const DivisionSettings &settings, PlanMemo &memo,
                bool isNear = false) {
    const OperationKey key = operationKey(op);
    const PlannedDivision *planned = memo.find(key);
    if (!planned) {
      Expected<PlannedDivision> fresh = Distribution(op, settings).run();
      if (!fresh.ok()) {
        const bool mayCut = fresh.status().code() == kNoDivision && settings.tileLarge;
        return mayCut ? divideOtherwise(op, fresh.status(), settings, memo, isNear)
                      : fresh.status();
      }
      planned = &memo.keep(key, *std::move(fresh));
    }
    op->removeAttr(kSpanSplits);
    if (trace) {
      record(op, *planned);
    }
    if (!planned->extents.empty()) {
      grow(op, planned->extents);
    }
    std::optional<DivisionReason> reason;
    if (settings.explain) {
      reason = reasonOf(*planned);
    }
    if (planned->tiling) {
      runInTiles(op, *planned->tiling, settings.kFastCores, reason);
      return Status::success();
    }
    loop::divide(op, planned->splits,
                 {settings.kFastCores, planned->fastReduction, planned->uneven});
    if (reason) {
      setDivisionReason(op, *reason);
    }
    return Status::success();
  }

  /// The decisions of a plan in one: the last that was taken, beside the candidates.
  static DivisionReason reasonOf(const PlannedDivision &planned) {
    DivisionReason reason;
    for (const Decision &decision : planned.decisions) {
      if (decision.reason() == kCandidates) {
        reason.candidates = decision.detail();
      } else if (decision || reason.reason.empty()) {
        reason.reason = decision.reason();
        reason.detail = decision.detail();
      }
    }
    return reason;
  }

  /// What neither a division nor tiles bring below the span limit is made of other operations;
  /// \p why is the proof.
  Status divideOtherwise(ComputeOp op, const Status &why, const DivisionSettings &settings,
                         PlanMemo &memo, bool isNear) {
    if (const std::vector<ComputeOp> pieces = cutTail(op); !pieces.empty()) {
      return dividePieces(op, pieces,
                          Decision::yes("tail-apart",
                                        "the last, partial stick is copied by itself: {}",
                                        why.text()),
                          settings, memo, isNear);
    }
    if (isNear) {
      return why;
    }
    SPYRE_ASSIGN_OR_RETURN(
        const DivisionProblem problem,
        divisionProblemOf(op, settings.device, {false, settings.kFastCores, false, false}));
    const NearCopies near = bringNear(op, problem.op, settings.device, settings.cores);
    return near.pieces.empty()
               ? why
               : dividePieces(op, near.pieces,
                              Decision::yes("brought-near", "{} copied together, {} bytes: {}",
                                            near.operands, near.bytes, why.text()),
                              settings, memo, true);
  }

  /// In the place of \p op, which goes when all of them can be divided.
  Status dividePieces(ComputeOp op, const std::vector<ComputeOp> &pieces, const Decision &decision,
                      const DivisionSettings &settings, PlanMemo &memo, bool isNear) {
    const std::string subject = subjectOf(op);
    for (ComputeOp piece : pieces) {
      SPYRE_RETURN_IF_ERROR(divide(piece, settings, memo, isNear));
    }
    if (trace) {
      trace->record(kStage, subject, decision, {dialect::sourceLine(op.getLoc()), {}});
    }
    op->erase();
    return Status::success();
  }

  void record(ComputeOp op, const PlannedDivision &planned) {
    int64_t used = planned.tiling ? planned.tiling->parts.front().plan.cores : 1;
    for (int64_t split : planned.splits) {
      used *= split;
    }
    const std::string subject = subjectOf(op), location = dialect::sourceLine(op.getLoc());
    for (const Decision &decision : planned.decisions) {
      trace->record(kStage, subject, decision,
                    {location,
                     {{"cores", used},
                      {"candidates", planned.candidates},
                      {"ns", int64_t(planned.nanoseconds)}}});
    }
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createWorkDistributionPass(const DivisionSettings &settings,
                                                       DecisionTrace *trace) {
  return createDivisionPass<WorkDistribution>(settings, trace);
}

std::unique_ptr<mlir::Pass> createWorkDistributionPass() {
  return createLoopPass<WorkDistribution>(nullptr);
}

} // namespace spyre::loop
