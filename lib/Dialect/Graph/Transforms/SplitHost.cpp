//===- SplitHost.cpp - calls the device cannot run go back to the caller --------------------===//
//
// A call is asked the five gates in program order. What is refused becomes graph.host; a call that
// reads a value only the host can hold is refused by its own gates and follows by itself.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Graph/IR/Graph.h"
#include "spyre/Dialect/Graph/IR/OpTable.h"
#include "spyre/Dialect/Graph/Transforms/Gates.h"
#include "spyre/Dialect/Graph/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

#include <algorithm>
#include <map>

namespace spyre::graph {

#define GEN_PASS_DEF_SPLITHOSTPASS
#include "spyre/Dialect/Graph/Transforms/Passes.h.inc"

namespace {

/// Refused calls of one node, and why the first of them was.
struct Group {
  std::vector<CallOp> calls;
  Status why = Status::success();
};

constexpr int64_t kWhole = -1;

/// Which of the node's results a call is.
int64_t resultNumber(CallOp call) { return intAttribute(call, "result", kWhole); }

/// Whether both are results of one call. Text written by hand may number as it likes.
bool belongTogether(CallOp a, CallOp b) {
  return a.getNode() == b.getNode() && a.getCallee() == b.getCallee() &&
         a.getOperands() == b.getOperands() &&
         (resultNumber(a) == kWhole) == (resultNumber(b) == kWhole);
}

void giveBack(const Group &group, DecisionTrace *trace) {
  CallOp first = group.calls.front();
  // Two calls may be the same result.
  std::map<int64_t, size_t> places;
  llvm::SmallVector<int64_t> numbers;
  llvm::SmallVector<mlir::Type> types;
  for (CallOp call : group.calls) {
    if (places.emplace(resultNumber(call), numbers.size()).second) {
      numbers.push_back(resultNumber(call));
      types.push_back(call.getResult().getType());
    }
  }
  mlir::OpBuilder builder(first);
  const bool isWhole = numbers.front() == kWhole;
  auto host = builder.create<HostOp>(
      first.getLoc(), types, first.getCallee(), first.getOperands(), uint64_t(*first.getNode()),
      isWhole ? llvm::ArrayRef<int64_t>() : llvm::ArrayRef<int64_t>(numbers),
      uint64_t(gateOf(group.why)), group.why.text());
  if (trace) {
    trace->record("split-host", first.getCallee().str(),
                  Decision::no(gateName(gateOf(group.why)), "{}", group.why.text()));
  }
  for (CallOp call : group.calls) {
    call.getResult().replaceAllUsesWith(host.getResult(unsigned(places.at(resultNumber(call)))));
    call.erase();
  }
}

struct SplitHost : impl::SplitHostPassBase<SplitHost> {
  DecisionTrace *trace = nullptr;
  std::optional<std::vector<std::string>> extensions;

  /// The refusal of a later phase, else that of the gates.
  Status statusOf(CallOp call) {
    if (auto refused = call->getAttrOfType<mlir::StringAttr>(kRefused)) {
      return error<1007>("the compiler found no way to run it: {}", refused.str());
    }
    return checkAllGates(call, extensions ? &*extensions : nullptr);
  }

  void runOnOperation() override {
    mlir::func::FuncOp main = findMain(getOperation());
    if (!main || !llvm::hasSingleElement(main.getBody())) {
      return; // spyre-graph-verify says what is wrong
    }
    std::vector<Group> groups;
    std::map<int64_t, std::vector<size_t>> groupsOfNode;
    for (CallOp call : llvm::make_early_inc_range(main.getOps<CallOp>())) {
      if (!call.getNode()) {
        continue;
      }
      const Status status = statusOf(call);
      const auto node = int64_t(*call.getNode());
      if (status.ok() || node < 0 || resultNumber(call) < kWhole) {
        call.removeNodeAttr();
        continue;
      }
      std::vector<size_t> &candidates = groupsOfNode[node];
      auto found = std::find_if(candidates.begin(), candidates.end(), [&](size_t index) {
        return belongTogether(groups[index].calls.front(), call);
      });
      if (found == candidates.end()) {
        found = candidates.insert(candidates.end(), groups.size());
        groups.push_back({{}, status});
      }
      groups[*found].calls.push_back(call);
    }
    for (const Group &group : groups) {
      giveBack(group, trace);
    }
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createSplitHostPass(DecisionTrace *trace,
                                                const std::vector<std::string> *extensions) {
  auto pass = std::make_unique<SplitHost>();
  pass->trace = trace;
  if (extensions) {
    pass->extensions = *extensions;
  }
  return pass;
}

} // namespace spyre::graph
