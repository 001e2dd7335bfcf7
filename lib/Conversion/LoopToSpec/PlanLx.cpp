//===- PlanLx.cpp - which intermediates stay in the scratchpads, and where -------------------===//
//
// The pass asks the planner (Solver/Placement) about the operations as they are divided, writes the
// addresses on the buffers and inserts the copies that pay. What it did is checked once more when
// OpSpecs are made: passes of users may come in between.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Conversion/LoopToSpec/LoopToSpec.h"
#include "spyre/Dialect/Loop/IR/Owners.h"
#include "spyre/Dialect/Loop/Transforms/DivisionProblem.h"
#include "spyre/Dialect/Loop/Transforms/DivisionReason.h"
#include "spyre/Dialect/Utils/Attributes.h"
#include "spyre/Solver/Placement/DimFlip.h"
#include "spyre/Solver/Placement/DivideTogether.h"
#include "spyre/Solver/Placement/Explain.h"
#include "spyre/Solver/Placement/Files.h"

#include "mlir/IR/Builders.h"

#include "LxClones.h"
#include "LxProgram.h"

#include <algorithm>
#include <map>

namespace spyre {
namespace {

using loop::BufferOp;
using loop::ComputeOp;
namespace placement = solver::placement;

constexpr const char *kTogether = "divide-together";

class Planner {
public:
  Planner(mlir::func::FuncOp main, const PlanLxOptions &options)
      : main(main), options(options), trace(options.trace) {}

  Status run() {
    // One operation leaves nothing for another: most eager calls.
    auto computes = main.getOps<ComputeOp>();
    if (computes.empty() || std::next(computes.begin()) == computes.end()) {
      return Status::success();
    }
    if (options.lx.coOptimize && options.cores > 1) {
      SPYRE_RETURN_IF_ERROR(moveSplits());
    }
    if (options.lx.compat && options.lx.inputClones) {
      SPYRE_RETURN_IF_ERROR(cloneInFront());
    }
    SPYRE_ASSIGN_OR_RETURN(program, lxProgramOf(main));
    if (options.device && options.lx.divideTogether && !options.lx.compat && options.cores > 1) {
      SPYRE_RETURN_IF_ERROR(divideTogether());
    }
    SPYRE_ASSIGN_OR_RETURN(const placement::OpList list, listAfterPasses());
    SPYRE_ASSIGN_OR_RETURN(
        plan, placement::planList(list, options.lx, int(options.cores), options.capacityBytes));
    commit();
    if (trace || options.problem) {
      SPYRE_RETURN_IF_ERROR(numberAsEmitted(list));
    }
    if (options.problem) {
      *options.problem = placement::writeProblemJson(plan.made.problem);
    }
    record();
    return Status::success();
  }

  Expected<double> predict() {
    SPYRE_ASSIGN_OR_RETURN(program, lxProgramOf(main));
    SPYRE_ASSIGN_OR_RETURN(const placement::DivisionKinds kinds, kindsOf());
    SPYRE_ASSIGN_OR_RETURN(const placement::TogetherResult result, together(kinds));
    return result.nsAfter;
  }

private:
  /// The documented co-optimiser: other splits where more then stays.
  Status moveSplits() {
    SPYRE_ASSIGN_OR_RETURN(LxProgram before, lxProgramOf(main));
    placement::FlipLimits limits;
    limits.spanBytes = options.spanLimitBytes;
    SPYRE_ASSIGN_OR_RETURN(const placement::FlipResult flipped,
                           placement::flipDims(before.program, options.lx, int(options.cores),
                                               options.capacityBytes, options.kFastCores, limits));
    for (size_t i = 0; i < flipped.splits.size(); ++i) {
      if (flipped.splits[i].empty()) {
        continue;
      }
      auto op = llvm::cast<ComputeOp>(before.operations[i]);
      // Symbols behind the variables are of the interface and never split.
      const auto end = flipped.splits[i].begin() + int64_t(op.getExtents().size());
      loop::divide(op, std::vector<int64_t>(flipped.splits[i].begin(), end), options.kFastCores);
      loop::changeDivisionReason(
          op, Decision::yes("split-moved", "so that more bytes stay in the scratchpads"));
    }
    if (trace) {
      const char *reason = flipped.isComplete ? "all-combinations" : "limit-reached";
      trace->record(
          "move-splits", "all",
          Decision::yes(reason,
                        "{} operations could be divided otherwise; {} plans made, {} bytes "
                        "to and from memory instead of {}",
                        flipped.flippable, flipped.leaves, flipped.bytesAfter,
                        flipped.bytesBefore));
    }
    return Status::success();
  }

  /// Equal operations have equal numbers. What runs in tiles, in slices of two sizes, as
  /// a user asked or for sizes that change keeps its division.
  Expected<placement::DivisionKinds> kindsOf() {
    placement::DivisionKinds kinds;
    std::map<loop::OperationKey, int> known;
    for (mlir::Operation *operation : program.operations) {
      auto op = llvm::dyn_cast<ComputeOp>(operation);
      if (!op || op->hasAttr(loop::kTiles) || op->hasAttr(loop::kHints) ||
          op->hasAttr(loop::kUneven) || op->hasAttr(loop::kSizes)) {
        kinds.kindOf.push_back(-1);
        continue;
      }
      const auto [found, isNew] =
          known.try_emplace(loop::operationKey(op), int(kinds.kinds.size()));
      if (isNew) {
        SPYRE_ASSIGN_OR_RETURN(
            loop::DivisionProblem problem,
            loop::divisionProblemOf(op, *options.device, {false, options.kFastCores}));
        kinds.kinds.push_back({std::move(problem.op), std::move(problem.traits)});
      }
      kinds.kindOf.push_back(found->second);
    }
    return kinds;
  }

  Expected<placement::TogetherResult> together(const placement::DivisionKinds &kinds) const {
    return placement::divideTogether(program.program, kinds, *options.device, options.lx,
                                     int(options.cores), options.capacityBytes, options.kFastCores);
  }

  /// Other splits where what neighbours share then stays, and that is cheaper.
  Status divideTogether() {
    SPYRE_ASSIGN_OR_RETURN(const placement::DivisionKinds kinds, kindsOf());
    SPYRE_ASSIGN_OR_RETURN(const placement::TogetherResult result, together(kinds));
    if (result.changes.empty()) {
      return Status::success();
    }
    for (const placement::TogetherResult::Change &change : result.changes) {
      auto op = llvm::cast<ComputeOp>(program.operations[change.step]);
      const solver::division::Op &problem = kinds.kinds[size_t(kinds.kindOf[change.step])].op;
      const std::vector<int64_t> before(op.getSplits()->begin(), op.getSplits()->end());
      const auto end = change.splits.begin() + int64_t(before.size());
      const std::vector<int64_t> splits(change.splits.begin(), end);
      // The choice was made for cores numbered as they are.
      loop::divide(op, splits, loop::numberingOf(op, options.kFastCores));
      const Decision decision = Decision::yes(
          "with-neighbours", "{} instead of {}: {:.0f} ns instead of {:.0f}, with what stays in LX",
          solver::division::describe(problem, splits), solver::division::describe(problem, before),
          change.nsAfter, change.nsBefore);
      loop::changeDivisionReason(op, decision);
      if (trace) {
        trace->record(kTogether, loop::subjectOf(op), decision);
      }
    }
    if (trace) {
      const char *reason = result.isComplete ? "all-combinations" : "limit-reached";
      trace->record(
          kTogether, "all",
          Decision::yes(reason, "{} of {} operations; {:.0f} ns instead of {:.0f}",
                        result.changes.size(), program.operations.size(), result.nsAfter,
                        result.nsBefore),
          {"", {{"ns_before", int64_t(result.nsBefore)}, {"ns_after", int64_t(result.nsAfter)}}});
    }
    SPYRE_ASSIGN_OR_RETURN(program, lxProgramOf(main));
    return Status::success();
  }

  /// The documented pass: whatever is read more than once and fits is copied first of all.
  Status cloneInFront() {
    SPYRE_ASSIGN_OR_RETURN(LxProgram before, lxProgramOf(main));
    const placement::OpList list = placement::listOf(before.program, options.kFastCores);
    const std::vector<int> chosen = placement::inputsToClone(list, options.capacityBytes);
    for (int tensor : chosen) {
      const auto uses = placement::usesOf(list)[size_t(tensor)];
      const bool agree = options.cores == 1 || bool(placement::divisionsAgree(list, tensor, uses));
      const bool mayRun = std::none_of(uses.begin(), uses.end(),
                                       [&](int64_t use) { return list.ops[size_t(use)].opaque; });
      if (agree && mayRun) {
        cloneInput(main, before.buffers[size_t(tensor)], before.operations.front());
      }
    }
    return Status::success();
  }

  /// The operations as users' passes leave them; copies they ask for are made.
  Expected<placement::OpList> listAfterPasses() {
    const placement::OpList list = placement::listOf(program.program, options.kFastCores);
    if (options.lx.passes.empty() && options.lx.ownPasses.empty()) {
      return list;
    }
    placement::OpList asked = list;
    SPYRE_RETURN_IF_ERROR(placement::runPassesBefore(options.lx, options.capacityBytes, asked));
    SPYRE_ASSIGN_OR_RETURN(const std::vector<placement::InsertedCopy> copies,
                           placement::insertedCopies(list, asked));
    for (size_t i = 0; i < copies.size(); ++i) {
      SPYRE_RETURN_IF_ERROR(makeCopy(copies[i], copies[i].position - i, list));
    }
    SPYRE_ASSIGN_OR_RETURN(program, lxProgramOf(main));
    placement::OpList made = placement::listOf(program.program, options.kFastCores);
    takeWishes(asked, made);
    return made;
  }

  /// \p position: of the operation in front of which it runs, among those that were there.
  Status makeCopy(const placement::InsertedCopy &copy, size_t position,
                  const placement::OpList &list) {
    std::vector<LxRead> readers;
    for (const auto &[op, read] : copy.readers) {
      if (list.ops[op].opaque || op < position) {
        return error<3103>("a copy of '{}' cannot be read by operation {} ('{}'), which {}",
                           list.tensors[size_t(copy.source)].name, op, list.ops[op].name,
                           op < position ? "runs before it" : "is another program");
      }
      readers.push_back({llvm::cast<ComputeOp>(program.operations[op]), unsigned(read)});
    }
    if (readers.empty()) {
      return error<3103>("a copy of '{}' is read by no operation; give it a reader or leave it out",
                         list.tensors[size_t(copy.source)].name);
    }
    cloneForReaders(main, program.buffers[size_t(copy.source)], program.operations[position],
                    readers);
    return Status::success();
  }

  /// What passes said about tensors and operations of \p asked, which \p made has in other places.
  static void takeWishes(const placement::OpList &asked, placement::OpList &made) {
    for (size_t i = 0; i < made.ops.size(); ++i) {
      made.ops[i].transientBytes = asked.ops[i].transientBytes;
      auto take = [&](const std::vector<int> &from, const std::vector<int> &to) {
        for (size_t k = 0; k < to.size(); ++k) {
          const std::string &barred = asked.tensors[size_t(from[k])].barred;
          if (!barred.empty()) {
            made.tensors[size_t(to[k])].barred = barred;
          }
        }
      };
      take(asked.ops[i].reads, made.ops[i].reads);
      take(asked.ops[i].writes, made.ops[i].writes);
    }
  }

  void commit() {
    for (size_t i = 0; i < plan.made.webs.size(); ++i) {
      if (!plan.plan.offsets[i]) {
        continue;
      }
      const placement::Web &web = plan.made.webs[i];
      BufferOp buffer = program.buffers[size_t(web.tensor)];
      if (web.firstUseIsRead) {
        buffer = cloneInput(main, buffer, program.operations[size_t(web.uses.front())]);
      } else if (buffer.getKind() == "output") {
        buffer = cloneOutput(main, buffer);
      }
      mlir::OpBuilder builder(buffer);
      buffer->setAttr(loop::kLxAddress, builder.getI64IntegerAttr(*plan.plan.offsets[i]));
    }
  }

  /// Gives operations the numbers they have among the copies that commit() made, so that decisions
  /// and the problem speak of the steps that run.
  Status numberAsEmitted(const placement::OpList &list) {
    std::map<mlir::Operation *, int64_t> steps;
    for (mlir::Operation &op : main.getBody().front()) {
      if (llvm::isa<ComputeOp, loop::HostOp>(op)) {
        const auto next = int64_t(steps.size());
        steps[&op] = next;
      }
    }
    std::vector<int64_t> numbers;
    for (mlir::Operation *op : program.operations) {
      numbers.push_back(steps.at(op));
    }
    return placement::renumber(plan, list, numbers, options.lx, int(options.cores),
                               options.capacityBytes);
  }

  void record() {
    if (!trace) {
      return;
    }
    const placement::Certificate &certificate = plan.plan.certificate;
    trace->record("plan-lx", "all",
                  Decision::yes("total",
                                "{} bytes to and from memory instead of {}; solver {}, {} of {} "
                                "bytes saved at most (gap {}, {})",
                                plan.trafficAfter, plan.trafficBefore, plan.solver,
                                certificate.value, certificate.bound, certificate.gap(),
                                placement::nameOf(certificate.proof)),
                  {"",
                   {{"bytes_before", plan.trafficBefore},
                    {"bytes_after", plan.trafficAfter},
                    {"bound", certificate.bound},
                    {"gap", certificate.gap()},
                    {"high_water", placement::heightOf(plan.made.problem, plan.plan.offsets)},
                    {"capacity", options.capacityBytes}}});
    recordBuffers();
  }

  void recordBuffers() {
    placement::SearchLimits few;
    few.packNodes = 200;
    few.totalNodes = 2'000;
    const placement::Problem &problem = plan.made.problem;
    std::vector<placement::Explanation> explanations;
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      const placement::Buffer &buffer = problem.buffers[i];
      const Decision &decision = plan.made.decisions[i];
      if (!decision) {
        trace->record("plan-lx", buffer.name, decision);
        continue;
      }
      if (plan.plan.offsets[i]) {
        trace->record("plan-lx", buffer.name, placed(i), numbersOf(i));
        continue;
      }
      if (explanations.empty()) {
        explanations = placement::explainPlan(problem, plan.plan, few);
      }
      trace->record("plan-lx", buffer.name,
                    Decision::no(explanations[i].reason, "{}", explanations[i].text), numbersOf(i));
    }
  }

  Decision placed(size_t i) const {
    const placement::Buffer &buffer = plan.made.problem.buffers[i];
    const placement::Web &web = plan.made.webs[i];
    const char *reason = web.firstUseIsRead ? "input-clone"
                         : program.program.tensors[size_t(web.tensor)].isGraphOutput
                             ? "output-clone"
                             : "placed";
    std::string place;
    for (int parent : buffer.parents) {
      if (plan.plan.offsets[size_t(parent)] == plan.plan.offsets[i]) {
        place =
            fmt::format(", in the place of '{}'", plan.made.problem.buffers[size_t(parent)].name);
      }
    }
    return Decision::yes(reason,
                         "{} bytes of each core at {}, operations {} to {}{}; saves {} bytes",
                         buffer.sizeBytes, *plan.plan.offsets[i], buffer.lower, buffer.upper - 1,
                         place, buffer.worth());
  }

  Evidence numbersOf(size_t i) const {
    const placement::Buffer &buffer = plan.made.problem.buffers[i];
    return {"", {{"core_bytes", buffer.sizeBytes}, {"saved_bytes", buffer.worth()}}};
  }

  mlir::func::FuncOp main;
  const PlanLxOptions &options;
  DecisionTrace *trace;
  LxProgram program;
  placement::LxPlan plan;
};

struct PlanLx : mlir::PassWrapper<PlanLx, mlir::OperationPass<mlir::ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanLx)
  explicit PlanLx(PlanLxOptions options) : options(std::move(options)) {
    capacityBytes = this->options.capacityBytes;
    cores = this->options.cores;
    compat = this->options.lx.compat;
    solver = this->options.lx.solver;
  }
  PlanLx(const PlanLx &other) : PassWrapper(other), options(other.options) {}

  llvm::StringRef getArgument() const override { return "spyre-loop-plan-lx"; }
  llvm::StringRef getDescription() const override {
    return "Keeps intermediates in the cores' scratchpads: gives them lx_address and inserts "
           "copies "
           "of inputs and outputs that pay (requires spyre-loop-work-distribution).";
  }
  void getDependentDialects(mlir::DialectRegistry &registry) const override {
    registry.insert<loop::LoopDialect>();
  }

  void runOnOperation() override {
    mlir::func::FuncOp main = loop::findMain(getOperation());
    PlanLxOptions now = options;
    now.capacityBytes = capacityBytes;
    now.cores = cores;
    now.lx.compat = compat;
    now.lx.solver = solver;
    Status status = main ? Planner(main, now).run()
                         : error<1202>("a loop module holds one func.func @main() with one block");
    if (!status.ok()) {
      (void)dialect::report(getOperation(), status);
      signalPassFailure();
    }
  }

  PlanLxOptions options;
  Option<int64_t> capacityBytes{*this, "capacity-bytes", llvm::cl::desc("LX to plan, per core.")};
  Option<int64_t> cores{*this, "cores", llvm::cl::desc("Cores work is divided over.")};
  Option<bool> compat{*this, "compat", llvm::cl::desc("Plan as the documents do.")};
  Option<std::string> solver{*this, "solver", llvm::cl::desc("Placement solver.")};
};

} // namespace

std::unique_ptr<mlir::Pass> createPlanLxPass(const PlanLxOptions &options) {
  return std::make_unique<PlanLx>(options);
}

Expected<double> predictNanoseconds(mlir::ModuleOp module, const PlanLxOptions &options) {
  mlir::func::FuncOp main = loop::findMain(module);
  SPYRE_CHECK(main && options.device, "a divided module and the machine it is divided for");
  return Planner(main, options).predict();
}

void registerPlanLxPass() {
  mlir::registerPass([] { return createPlanLxPass({}); });
}

} // namespace spyre
