//===- Explain.cpp - what the plan moves, why, and what it costs ----------------------------===//
//
// The last look at a planned function: every copy with the reason its maker left on it, every step
// on the CPU, inputs that are only ever read in another layout, and the sums. It changes nothing;
// the decision trace gets the numbers, and whoever reads the trace makes text of it.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"
#include "spyre/Dialect/Loop/Transforms/Stick.h"

#include "DivideWork/Divider.h"
#include "LoopPass.h"
#include "Rewrite.h"

#include <algorithm>

namespace spyre::loop {

#define GEN_PASS_DECL_EXPLAINPASS
#define GEN_PASS_DEF_EXPLAINPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

mlir::MemRefType typeOf(BufferOp buffer) {
  return llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
}

int64_t allBytes(BufferOp buffer) {
  Expected<layout::DeviceLayout> layout = layoutOf(buffer);
  return layout.ok() ? layout->bytes() : 0;
}

/// Bytes of whole sticks that one operand touches.
int64_t touchedBytes(ComputeOp op, unsigned operand) {
  const Access access = accessOf(op, operand);
  Expected<DimRoles> roles = dimRolesOf(access.buffer);
  int64_t sticks = 1;
  for (size_t d = 0; d < access.dims.size(); ++d) {
    int64_t steps = 1;
    for (const LinearIndex::Term &term : access.dims[d].terms) {
      steps *= op.getExtents()[term.var];
    }
    const bool isStick = roles.ok() && roles->stick() == int64_t(d);
    sticks *= isStick ? ceilDiv(steps, elemsPerStick(access.buffer)) : steps;
  }
  if (std::optional<unsigned> chooser = indexInputOf(op, operand)) {
    for (unsigned var : varsOf(accessOf(op, *chooser))) {
      sticks *= op.getExtents()[var];
    }
  }
  return sticks * 128;
}

int64_t touchedBytes(ComputeOp op) {
  int64_t bytes = 0;
  for (unsigned i = 0; i < operandCount(op); ++i) {
    bytes += touchedBytes(op, i);
  }
  return bytes;
}

const char *kindOf(ComputeOp op) {
  if (op.getIndirect()) {
    return "gather";
  }
  Expected<StickUse> from = stickUse(accessOf(op, 0)), to = stickUse(accessOf(op, 1));
  const bool changes = from.ok() && to.ok() && isRestickify(accessOf(op, 0), *from, *to);
  return changes ? "restickify" : "copy";
}

class Explainer {
public:
  Explainer(mlir::func::FuncOp main, const arch::Timing &timing, DecisionTrace &trace)
      : main(main), bytesPerNs(timing.ddrBytesPerCycle * timing.clockGhz),
        overheadNs(timing.barrierCycles / timing.clockGhz), trace(trace) {}

  void run() {
    for (mlir::Operation &op : main.getBody().front()) {
      if (auto compute = llvm::dyn_cast<ComputeOp>(op)) {
        add(compute);
      } else if (auto host = llvm::dyn_cast<HostOp>(op)) {
        add(host);
      }
    }
    for (BufferOp buffer : main.getOps<BufferOp>()) {
      if (buffer.getKind() == "input") {
        addPreference(buffer);
      }
    }
    trace.record("movement", "total",
                 Decision::yes("total",
                               "{} of {} device operations only move data: {} of {} bytes in DDR",
                               copies, operations, movedBytes, bytes),
                 {"",
                  {{"operations", operations},
                   {"copies", copies},
                   {"host_steps", hostSteps},
                   {"bytes", bytes},
                   {"moved_bytes", movedBytes},
                   {"moved_ns", movedNs}}});
  }

private:
  int64_t nsOf(int64_t moved) const { return int64_t(double(moved) / bytesPerNs + overheadNs); }

  void add(ComputeOp op) {
    const int64_t touched = touchedBytes(op);
    ++operations;
    bytes += touched;
    if (op.getCallee() != kCopy) {
      return;
    }
    ++copies;
    movedBytes += touched;
    movedNs += nsOf(touched);
    auto why = op->getAttrOfType<mlir::StringAttr>(kWhy);
    const std::string text = why ? why.str() : "asked-for: a copy";
    const size_t colon = std::min(text.find(": "), text.size());
    BufferOp from = operandBuffer(op, op.getIndirect() ? indirectionsOf(op)[0].input : 0);
    BufferOp to = operandBuffer(op, operandCount(op) - 1);
    trace.record(
        "movement",
        fmt::format("{} {} -> {}", kindOf(op), from.getName().str(), to.getName().str()),
        Decision::yes(text.substr(0, colon), "{}", text.substr(std::min(colon + 2, text.size()))),
        {dialect::sourceLine(op.getLoc()), {{"bytes", touched}, {"ns", nsOf(touched)}}});
  }

  void add(HostOp op) {
    ++hostSteps;
    int64_t transferred = 0;
    for (mlir::Value operand : op.getOperands()) {
      auto buffer = operand.getDefiningOp<BufferOp>();
      transferred += isHostValue(buffer) ? 0 : allBytes(buffer);
    }
    trace.record("movement", "host " + op.getCallee().str(),
                 Decision::yes("host-step", "runs on the CPU: {}", op.getReason().str()),
                 {dialect::sourceLine(op.getLoc()),
                  {{"bytes", transferred}, {"gate", int64_t(op.getGate())}}});
  }

  /// An input that is read in one other layout and never in its own should come in that layout.
  void addPreference(BufferOp input) {
    BufferOp wanted;
    mlir::Location location = input.getLoc();
    int64_t saved = 0;
    for (mlir::Operation *user : input.getResult().getUsers()) {
      auto op = llvm::dyn_cast<ComputeOp>(user);
      auto target = op ? op.getOutput().getDefiningOp<BufferOp>() : BufferOp();
      const bool isWholeCopy = op && op.getCallee() == kCopy && !op.getIndirect() &&
                               typeOf(target).getShape() == typeOf(input).getShape() &&
                               op.getMaps()[0] == op.getMaps()[1] &&
                               std::string(kindOf(op)) == "restickify";
      if (!isWholeCopy || (wanted && wanted != target) || target.getKind() != "temp") {
        return;
      }
      wanted = target;
      location = op.getLoc();
      saved = touchedBytes(op);
    }
    Expected<DimRoles> roles = wanted ? dimRolesOf(wanted) : Expected<DimRoles>(DimRoles());
    if (!wanted || !roles.ok() || roles->stick() < 0) {
      return;
    }
    trace.record("layout", input.getName().str(),
                 Decision::no("input-layout-differs",
                              "input {} is only read with its sticks along dimension {}; give it "
                              "with dim_order=[{}] to save the copy",
                              *input.getIndex(), roles->stick(), fmt::join(roles->order, ", ")),
                 {dialect::sourceLine(location),
                  {{"input", int64_t(*input.getIndex())}, {"bytes", saved}, {"ns", nsOf(saved)}}});
  }

  mlir::func::FuncOp main;
  double bytesPerNs, overheadNs;
  DecisionTrace &trace;
  int64_t operations = 0, copies = 0, hostSteps = 0, bytes = 0, movedBytes = 0, movedNs = 0;
};

struct Explain : LoopPass<impl::ExplainPassBase<Explain>> {
  arch::Timing timing;

  Status runOnMain(mlir::func::FuncOp main) override {
    DecisionTrace own;
    Explainer(main, timing, trace ? *trace : own).run();
    if (!trace) {
      llvm::errs() << own.toJson();
    }
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createExplainPass(const arch::Timing &timing, DecisionTrace *trace) {
  auto pass = createLoopPass<Explain>(trace);
  pass->timing = timing;
  return pass;
}

std::unique_ptr<mlir::Pass> createExplainPass() {
  return createExplainPass(arch::DeviceDesc::preset("openspyre")->timing, nullptr);
}

} // namespace spyre::loop
