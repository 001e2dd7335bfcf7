//===- EvenRows.cpp - whether rows are padded or cut, by price ------------------------------===//
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
#include <map>
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
/// Operations that are divided for the sake of all choices of an extent. Equal ones are divided
/// once, so forty equal layers count like one.
constexpr size_t kMostPlanned = 3'000;
/// Operations that are copied and priced for them, equal ones too: forty layers of some sixty
/// operations must not take seconds.
constexpr size_t kMostPriced = 60'000;
/// Of 16 bits; parts of an even number of such sticks are whole sticks of 8 and of 32 bits.
constexpr int64_t kLanes = 64;

struct Choice {
  int64_t extent = 0;
  /// Rows to walk; 0: the operations run in two parts.
  int64_t rows = 0;
  /// Of the first part.
  int64_t even = 0;
  Cut cut = Cut::Rows;

  RowGroup find(mlir::func::FuncOp main) const {
    return rows > 0 ? findPadded(main, extent) : findCut(main, extent, cut);
  }
  void apply(mlir::func::FuncOp main) const {
    const RowGroup group = find(main);
    rows > 0 ? padRows(main, group, rows, even) : cutRows(main, group, even);
  }
  std::string text() const {
    return rows > 0 ? fmt::format("padded from {} to {} rows", extent, rows)
                    : fmt::format("{} {} run as {} and {}{}", extent,
                                  cut == Cut::Columns ? "columns" : "rows", even, extent - even,
                                  cut == Cut::RowsWithoutProducts ? ", products as they are" : "");
  }
};

int64_t coresOf(ComputeOp op) {
  int64_t cores = 1;
  for (int64_t split : op.getSplits() ? *op.getSplits() : llvm::ArrayRef<int64_t>()) {
    cores *= split;
  }
  return cores;
}

/// Time and cores of a program that has been divided.
struct Priced {
  double ns = 0;
  /// Least and most cores of operations that walk the rows.
  int64_t least = 0, most = 0;
};

Priced pricedOf(mlir::func::FuncOp main, double ns, int64_t rows) {
  Priced priced{ns};
  for (ComputeOp op : main.getOps<ComputeOp>()) {
    const size_t results = op.getExtents().size() - size_t(op.getReductions());
    if (llvm::is_contained(op.getExtents().take_front(results), rows)) {
      const int64_t cores = coresOf(op);
      priced.least = priced.least == 0 ? cores : std::min(priced.least, cores);
      priced.most = std::max(priced.most, cores);
    }
  }
  return priced;
}

class EvenRowsSearch {
public:
  EvenRowsSearch(mlir::ModuleOp module, const DivisionSettings &settings, const ProgramPrice &price,
                 DecisionTrace *trace)
      : module(module), main(findMain(module)), settings(settings), price(price), trace(trace) {}

  void run() {
    for (int64_t extent : extentsToTry()) {
      std::vector<Choice> choices = choicesOf(extent);
      limit(extent, choices);
      if (!choices.empty()) {
        choose(extent, choices);
      }
    }
  }

private:
  /// Rows, or sticks of columns, that less than half of the cores could share.
  bool isOdd(int64_t count) const {
    return count > settings.cores &&
           solver::division::divisorsUpTo(count, settings.cores).back() * 2 < settings.cores;
  }

  std::vector<int64_t> extentsToTry() {
    std::map<int64_t, int64_t> uses;
    for (ComputeOp op : main.getOps<ComputeOp>()) {
      const std::set<int64_t> extents(op.getExtents().begin(), op.getExtents().end());
      for (int64_t extent : extents) {
        uses[extent] += 1;
      }
    }
    std::vector<int64_t> found;
    for (const auto &[extent, count] : uses) {
      if (isOdd(extent) || isOdd(ceilDiv(extent, kLanes))) {
        found.push_back(extent);
      }
    }
    std::stable_sort(found.begin(), found.end(),
                     [&](int64_t a, int64_t b) { return uses[a] > uses[b]; });
    found.resize(std::min(found.size(), kMostExtents));
    return found;
  }

  std::vector<Choice> choicesOf(int64_t extent) {
    std::vector<Choice> choices = isOdd(extent) ? rowChoices(extent) : std::vector<Choice>();
    const int64_t sticks = ceilDiv(extent, kLanes);
    // One element leaves no trace of its stick in a layout.
    if (isOdd(sticks) && extent % kLanes != 1 && !findCut(main, extent, Cut::Columns).ops.empty()) {
      choices.push_back({extent, 0, (sticks - sticks % settings.cores) * kLanes, Cut::Columns});
    }
    return choices;
  }

  /// Rows for all cores, or for a half or a quarter of them: the others may share columns.
  std::vector<Choice> rowChoices(int64_t extent) {
    std::vector<Choice> choices;
    const size_t cuts = findCut(main, extent).ops.size();
    const size_t apart = findCut(main, extent, Cut::RowsWithoutProducts).ops.size();
    const bool pads = !findPadded(main, extent).ops.empty();
    std::set<int64_t> known;
    for (int64_t slices : {settings.cores, settings.cores / 2, settings.cores / 4}) {
      if (slices < 2) {
        continue;
      }
      const int64_t rows = roundUp(extent, slices), even = extent - extent % slices;
      if (cuts > 0 && known.insert(even).second) {
        choices.push_back({extent, 0, even});
        if (apart > 0 && apart < cuts) {
          choices.push_back({extent, 0, even, Cut::RowsWithoutProducts});
        }
      }
      if (pads && rows - extent <= extent / kMostPadding && known.insert(rows).second) {
        choices.push_back({extent, rows, extent - extent % settings.cores});
      }
    }
    return choices;
  }

  /// Takes away what a large program has no time for; what pays most often comes first.
  void limit(int64_t extent, std::vector<Choice> &choices) {
    size_t count = 0;
    std::set<OperationKey> kinds;
    for (ComputeOp op : main.getOps<ComputeOp>()) {
      kinds.insert(operationKey(op));
      ++count;
    }
    // The program as it is has to be priced, too.
    const size_t programs = std::min(kMostPlanned / kinds.size(), kMostPriced / count);
    const size_t most = std::max<size_t>(programs, 1) - 1;
    if (choices.size() <= most) {
      return;
    }
    if (trace) {
      trace->record(kStage, fmt::format("{} rows", extent),
                    Decision::no("large-program",
                                 "{} of {} choices tried: {} operations would be priced and {} "
                                 "divided for each",
                                 most, choices.size(), count, kinds.size()));
    }
    choices.resize(most);
  }

  /// The program with \p choice, or as it is; nothing where it cannot be divided so.
  std::optional<Priced> priceOf(int64_t extent, const Choice *choice) {
    mlir::OwningOpRef<mlir::ModuleOp> copy(module.clone());
    mlir::func::FuncOp copied = findMain(*copy);
    if (choice) {
      choice->apply(copied);
    }
    const Expected<double> ns = price(*copy);
    const int64_t walked = !choice ? extent : choice->rows > 0 ? choice->rows : choice->even;
    return ns.ok() ? std::optional<Priced>(pricedOf(copied, *ns, walked)) : std::nullopt;
  }

  void choose(int64_t extent, const std::vector<Choice> &choices) {
    const std::optional<Priced> before = priceOf(extent, nullptr);
    if (!before || before->least == settings.cores) {
      return; // who walks these rows has all cores, by columns
    }
    std::optional<Priced> best;
    const Choice *chosen = nullptr;
    for (const Choice &choice : choices) {
      const std::optional<Priced> priced = priceOf(extent, &choice);
      if (priced && trace && settings.explain) {
        trace->record(kStage, fmt::format("{} rows", extent),
                      Decision::no("choice", "{}: {:.1f} us", choice.text(), priced->ns / 1000));
      }
      if (priced && (!best || priced->ns < best->ns)) {
        best = priced;
        chosen = &choice;
      }
    }
    if (!chosen) {
      return;
    }
    const bool pays = best->ns < before->ns * (1 - kWorthIt);
    record(*chosen, *before, *best, pays);
    if (pays) {
      chosen->apply(main);
    }
  }

  void record(const Choice &choice, const Priced &before, const Priced &after, bool pays) {
    if (!trace) {
      return;
    }
    const std::string text =
        fmt::format("{}: up to {} cores instead of {}, {:.1f} us instead of {:.1f}", choice.text(),
                    after.most, before.most, after.ns / 1000, before.ns / 1000);
    const char *reason = choice.rows > 0 ? "padded" : "cut";
    trace->record(kStage, fmt::format("{} rows", choice.extent),
                  pays ? Decision::yes(reason, "{}", text) : Decision::no("rows-stay", "{}", text),
                  {"", {{"ns_before", int64_t(before.ns)}, {"ns_after", int64_t(after.ns)}}});
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
                         (rows == 0 || (rows > extent && rows - extent <= extent)) &&
                         (!columns || (rows == 0 && even % (2 * kLanes) == 0 && extent - even > 1));
    if (!isSound) {
      return error<3146>("{} rows as {}, or {} and the rest; give extent, a smaller even "
                         "(of columns a multiple of 128), and rows up to twice the extent or 0",
                         int64_t(extent), int64_t(rows), int64_t(even));
    }
    Choice{extent, rows, even,
           columns    ? Cut::Columns
           : products ? Cut::Rows
                      : Cut::RowsWithoutProducts}
        .apply(main);
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
