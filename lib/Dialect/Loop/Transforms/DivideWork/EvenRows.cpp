//===- EvenRows.cpp - whether rows are padded or cut, by the price of the program
//--------------===//
//
// Each choice is made in a copy of the module, which is then divided like the program itself. Only
// what is cheaper than the rows as they are is done.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Dialect/Loop/Transforms/Passes.h"

#include "../LoopPass.h"
#include "Divider.h"
#include "RowGroup.h"

#include <algorithm>
#include <set>

namespace spyre::loop {

#define GEN_PASS_DECL_EVENROWSPASS
#define GEN_PASS_DEF_EVENROWSPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

constexpr const char *kStage = "even-rows";
/// Less is no reason to change a program: prices are not that exact.
constexpr double kWorthIt = 0.02;
/// Rows that are walked in vain: no more than this part of them.
constexpr int64_t kMostPadding = 4;
/// Extents that are looked at, the most common ones first.
constexpr size_t kMostExtents = 3;

struct Choice {
  int64_t extent = 0;
  /// Rows to walk; 0: the operations run in two parts.
  int64_t rows = 0;
  /// Of the first part.
  int64_t even = 0;
};

bool apply(mlir::func::FuncOp main, const Choice &choice) {
  const bool pads = choice.rows > 0;
  const RowGroup group = pads ? findPadded(main, choice.extent) : findCut(main, choice.extent);
  if (group.ops.empty()) {
    return false;
  }
  pads ? padRows(main, group, choice.rows, choice.even) : cutRows(main, group, choice.even);
  return true;
}

int64_t mostCores(mlir::func::FuncOp main, int64_t extent) {
  int64_t most = 1;
  for (ComputeOp op : main.getOps<ComputeOp>()) {
    const bool has = llvm::is_contained(op.getExtents(), extent);
    int64_t used = 1;
    for (int64_t split : has &&op.getSplits() ? *op.getSplits() : llvm::ArrayRef<int64_t>()) {
      used *= split;
    }
    most = std::max(most, used);
  }
  return most;
}

class EvenRowsSearch {
public:
  EvenRowsSearch(mlir::ModuleOp module, const DivisionSettings &settings, const ProgramPrice &price,
                 DecisionTrace *trace)
      : module(module), main(findMain(module)), settings(settings), price(price), trace(trace) {}

  void run() {
    for (int64_t extent : extentsToTry()) {
      const std::vector<Choice> choices = choicesOf(extent);
      if (!choices.empty()) {
        choose(choices);
      }
    }
  }

private:
  /// Rows that less than half of the cores could share.
  bool isOdd(int64_t extent) const {
    return extent > settings.cores &&
           solver::division::divisorsUpTo(extent, settings.cores).back() * 2 < settings.cores;
  }

  std::vector<int64_t> extentsToTry() {
    std::map<int64_t, int64_t> uses;
    for (ComputeOp op : main.getOps<ComputeOp>()) {
      const std::set<int64_t> extents(op.getExtents().begin(), op.getExtents().end());
      for (int64_t extent : extents) {
        uses[extent] += isOdd(extent) ? 1 : 0;
      }
    }
    std::vector<int64_t> found;
    for (const auto &[extent, count] : uses) {
      if (count > 0) {
        found.push_back(extent);
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [&](int64_t a, int64_t b) { return uses[a] > uses[b]; });
    found.resize(std::min(found.size(), kMostExtents));
    return found;
  }

  std::vector<Choice> choicesOf(int64_t extent) {
    std::vector<Choice> choices;
    const int64_t even = extent - extent % settings.cores;
    const bool pads = !findPadded(main, extent).ops.empty();
    const bool cuts = !findCut(main, extent).ops.empty();
    std::set<int64_t> known;
    for (int64_t slices = settings.cores; slices > settings.cores / 8 && slices > 1; slices /= 2) {
      const int64_t rows = roundUp(extent, slices), part = extent - extent % slices;
      if (pads && rows - extent <= extent / kMostPadding && known.insert(rows).second) {
        choices.push_back({extent, rows, even});
      }
      if (cuts && part > 0 && known.insert(part).second) {
        choices.push_back({extent, 0, part});
      }
    }
    return choices;
  }

  struct Priced {
    double ns = 0;
    int64_t cores = 1;
  };

  /// What the program takes with \p choice; nothing where it cannot be divided so.
  std::optional<Priced> priceOf(const Choice *choice, int64_t extent) {
    mlir::OwningOpRef<mlir::ModuleOp> copy(module.clone());
    mlir::func::FuncOp copied = findMain(*copy);
    if (choice && !apply(copied, *choice)) {
      return std::nullopt;
    }
    const Expected<double> ns = price(*copy);
    const int64_t walked = !choice ? extent : choice->rows > 0 ? choice->rows : choice->even;
    return ns.ok() ? std::optional<Priced>({*ns, mostCores(copied, walked)}) : std::nullopt;
  }

  void choose(const std::vector<Choice> &choices) {
    const int64_t extent = choices.front().extent;
    const std::optional<Priced> before = priceOf(nullptr, extent);
    if (!before) {
      return;
    }
    std::optional<Priced> best;
    const Choice *chosen = nullptr;
    for (const Choice &choice : choices) {
      const std::optional<Priced> priced = priceOf(&choice, extent);
      if (priced && (!best || priced->ns < best->ns)) {
        best = priced;
        chosen = &choice;
      }
    }
    const bool pays = best && best->ns < before->ns * (1 - kWorthIt);
    if (chosen) {
      record(*chosen, *before, *best, pays);
    }
    if (pays) {
      apply(main, *chosen);
    }
  }

  void record(const Choice &choice, const Priced &before, const Priced &after, bool pays) {
    if (!trace) {
      return;
    }
    const std::string subject = fmt::format("{} rows", choice.extent);
    const std::string what =
        choice.rows > 0 ? fmt::format("padded from {} to {} rows", choice.extent, choice.rows)
                        : fmt::format("{} rows run as {} and {}", choice.extent, choice.even,
                                      choice.extent - choice.even);
    const std::string text =
        fmt::format("{}: {} cores instead of {}, {:.1f} us instead of {:.1f}", what, after.cores,
                    before.cores, after.ns / 1000, before.ns / 1000);
    const char *reason = choice.rows > 0 ? "padded" : "cut";
    const Evidence evidence = {
        "", {{"ns_before", int64_t(before.ns)}, {"ns_after", int64_t(after.ns)}}};
    trace->record(kStage, subject,
                  pays ? Decision::yes(reason, "{}", text) : Decision::no("rows-stay", "{}", text),
                  evidence);
  }

  mlir::ModuleOp module;
  mlir::func::FuncOp main;
  const DivisionSettings &settings;
  const ProgramPrice &price;
  DecisionTrace *trace;
};

struct EvenRows : LoopPass<impl::EvenRowsPassBase<EvenRows>> {
  DivisionSettings settings;
  ProgramPrice price;

  Status runOnMain(mlir::func::FuncOp main) override {
    if (price) {
      EvenRowsSearch(getOperation(), settings, price, trace).run();
      return Status::success();
    }
    const bool isSound = extent > 1 && even > 0 && even < extent &&
                         (rows == 0 || (rows > extent && rows - extent <= extent));
    if (!isSound) {
      return error<3146>("{} rows as {}, or {} and the rest; give extent, a smaller even, and "
                         "rows up to twice the extent or 0",
                         int64_t(extent), int64_t(rows), int64_t(even));
    }
    apply(main, {extent, rows, even});
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createEvenRowsPass(const DivisionSettings &settings, ProgramPrice price,
                                               DecisionTrace *trace) {
  auto pass = createLoopPass<EvenRows>(trace);
  pass->settings = settings;
  pass->price = std::move(price);
  return pass;
}

std::unique_ptr<mlir::Pass> createEvenRowsPass() { return createLoopPass<EvenRows>(nullptr); }

} // namespace spyre::loop
