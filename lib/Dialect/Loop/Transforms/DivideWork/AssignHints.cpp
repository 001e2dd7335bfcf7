//===- AssignHints.cpp - what users ask of an operation, as numbers of its variables --------===//
//
// A hint speaks of named dimensions. Names stand on inputs (`dims` of a buffer: per dimension its
// names with their sizes, one inside the other) and follow the elements: a variable that walks a
// named dimension has its names, and gives them to the dimensions of the result it walks. Hints
// stand in the location of an operation, beside the user's line, so that whatever it is rewritten
// to has them; so do the names of a result that is made of no input. An entry has the number of its
// scope, and entries are in the order of the scopes, outermost first: `tiles = [["rows", 4, 0]]`.
// An entry that no operation in its scope can follow is an error. [spec: work-division 20]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/IR/Nests.h"
#include "spyre/Dialect/Loop/Transforms/AskedSplits.h"
#include "spyre/Dialect/Loop/Transforms/Passes.h"

#include "llvm/ADT/DenseMap.h"

#include "../LoopPass.h"
#include "AddUpTiles.h"
#include "Divider.h"

#include <limits>
#include <map>
#include <set>

namespace spyre::loop {

#define GEN_PASS_DECL_ASSIGNHINTSPASS
#define GEN_PASS_DEF_ASSIGNHINTSPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

constexpr const char *kWorkDivision = "work_div";
constexpr const char *kNamedDims = "named_dims";

struct Part {
  llvm::StringRef name;
  int64_t size = 1;
};
/// Per dimension, or per variable, outermost part first.
using Names = std::vector<std::vector<Part>>;

mlir::DictionaryAttr hintsOf(mlir::Operation *op) {
  auto fused = llvm::dyn_cast<mlir::FusedLoc>(op->getLoc());
  return fused ? llvm::dyn_cast_or_null<mlir::DictionaryAttr>(fused.getMetadata())
               : mlir::DictionaryAttr();
}

/// Parts of a named dimension that a user asks for.
struct Entry {
  llvm::StringRef name;
  int64_t count = 0;
  int64_t scope = 0;
};
using Entries = std::vector<Entry>;

int64_t integerOf(mlir::Attribute attribute) {
  auto number = llvm::dyn_cast<mlir::IntegerAttr>(attribute);
  return number ? number.getInt() : -1;
}

/// Also of `work_div = {tokens = 4}`, where there is one scope. A count that is none is -1.
Entries entriesOf(mlir::DictionaryAttr hints, const char *kind) {
  Entries entries;
  if (auto counts = hints.getAs<mlir::DictionaryAttr>(kind)) {
    for (mlir::NamedAttribute entry : counts) {
      entries.push_back({entry.getName().getValue(), integerOf(entry.getValue()), 0});
    }
  }
  if (auto counts = hints.getAs<mlir::ArrayAttr>(kind)) {
    for (mlir::Attribute each : counts) {
      auto entry = llvm::dyn_cast<mlir::ArrayAttr>(each);
      auto name = entry && entry.size() == 3 ? llvm::dyn_cast<mlir::StringAttr>(entry[0])
                                             : mlir::StringAttr();
      entries.push_back(name ? Entry{name.getValue(), integerOf(entry[1]), integerOf(entry[2])}
                             : Entry{"", -1, -1});
    }
  }
  return entries;
}

bool hasName(const std::vector<Part> &parts, llvm::StringRef name) {
  return llvm::any_of(parts, [&](const Part &part) { return part.name == name; });
}

/// `dims = [["tokens", 2048], ["batch", 2, "rows", 64]]`; anything else names nothing.
Names namesFrom(mlir::ArrayAttr dims, BufferOp buffer) {
  Names names;
  auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
  if (!dims || int64_t(dims.size()) != type.getRank()) {
    return names;
  }
  for (mlir::Attribute dim : dims) {
    std::vector<Part> &parts = names.emplace_back();
    auto list = llvm::dyn_cast<mlir::ArrayAttr>(dim);
    for (size_t i = 0; list && i + 1 < list.size(); i += 2) {
      auto name = llvm::dyn_cast<mlir::StringAttr>(list[i]);
      auto size = llvm::dyn_cast<mlir::IntegerAttr>(list[i + 1]);
      if (name && size && size.getInt() >= 1) {
        parts.push_back({name.getValue(), size.getInt()});
      }
    }
  }
  return names;
}

/// The parts that a variable walks: those that begin where its steps do.
std::vector<Part> walked(const std::vector<Part> &parts, int64_t step, int64_t extent) {
  int64_t inner = 1;
  for (size_t i = parts.size(); i-- > 0; inner *= parts[i].size) {
    if (inner != step) {
      continue;
    }
    std::vector<Part> found;
    int64_t covered = 1;
    for (size_t at = i + 1; at-- > 0 && (found.empty() || covered < extent);) {
      covered *= parts[at].size;
      found.insert(found.begin(), parts[at]);
    }
    if (covered != extent) { // some of the outermost
      found.front().size = std::max<int64_t>(1, extent / (covered / found.front().size));
    }
    return found;
  }
  return {};
}

/// Equal slices of a variable are equal slices of its parts where those outside of the one that is
/// cut are cut entirely, and those inside of it not at all.
bool cutsParts(const std::vector<Part> &parts, llvm::ArrayRef<int64_t> counts) {
  bool isWhole = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (isWhole && counts[i] > 1) {
      return false;
    }
    isWhole = isWhole || counts[i] != parts[i].size;
  }
  return true;
}

class Assigner {
public:
  explicit Assigner(DecisionTrace *trace) : trace(trace) {}

  Status add(ComputeOp op) {
    const mlir::DictionaryAttr hints = hintsOf(op);
    const Names vars = nameVars(op, hints);
    if (hints) {
      SPYRE_RETURN_IF_ERROR(divide(op, vars, hints));
      SPYRE_RETURN_IF_ERROR(tile(op, vars, hints));
    }
    return Status::success();
  }

  /// No entry is dropped: an operation of its scope follows it, or the program is wrong.
  Status checkUses() const {
    for (const auto &[entry, use] : uses) {
      const auto &[kind, name, scope] = entry;
      // One part is what a dimension is anyway; of one with one element nothing is left to follow.
      if (use.followers <= 0 && use.count > 1) {
        SPYRE_RETURN_IF_ERROR(use.refused);
        return error<3143>(
            "{}: {} asks for {} parts of '{}', which no operation under the hint has "
            "(they have {}); name the dimensions of a tensor they read "
            "(name_tensor_dims), or leave the entry out",
            use.location, kind, use.count, name,
            use.names.empty() ? "no names" : fmt::format("{}", fmt::join(use.names, ", ")));
      }
      if (trace) {
        trace->record("hints", name,
                      Decision::yes("hint-followed", "{} {}={}: {} operations", kind, name,
                                    use.count, use.followers),
                      {use.location, {{"scope", scope}}});
      }
    }
    return Status::success();
  }

private:
  const Names &namesOf(BufferOp buffer) {
    auto [place, isNew] = known.try_emplace(buffer.getOperation());
    if (isNew) {
      place->second = namesFrom(buffer->getAttrOfType<mlir::ArrayAttr>(kDims), buffer);
    }
    return place->second;
  }

  /// Whether several variables walk all of a dimension that has one name, each a digit of it.
  static bool areDigits(ComputeOp op, const LinearIndex &index, const std::vector<Part> &parts) {
    int64_t walked = 1;
    for (const LinearIndex::Term &term : llvm::reverse(index.terms)) {
      if (term.coefficient != walked) {
        return false;
      }
      walked *= op.getExtents()[term.var];
    }
    return index.terms.size() > 1 && parts.size() == 1 && parts.front().size == walked;
  }

  static void addNames(ComputeOp op, const Access &access, const Names &names, Names &vars) {
    for (size_t d = 0; d < names.size(); ++d) {
      const LinearIndex &index = access.dims[d];
      // Slices of the whole are slices of its outermost digit.
      const bool isCutOutside = areDigits(op, index, names[d]);
      for (const LinearIndex::Term &term : index.terms) {
        const int64_t extent = op.getExtents()[term.var];
        if (!vars[term.var].empty()) {
          continue;
        }
        if (!isCutOutside) {
          vars[term.var] = walked(names[d], term.coefficient, extent);
        } else if (term.var == index.terms.front().var) {
          vars[term.var] = {{names[d].front().name, extent}};
        }
      }
    }
  }

  Names nameVars(ComputeOp op, mlir::DictionaryAttr hints) {
    Names vars(op.getExtents().size());
    const unsigned inputs = operandCount(op) - 1;
    for (unsigned i = 0; i < inputs; ++i) {
      const Access access = accessOf(op, i);
      addNames(op, access, namesOf(access.buffer), vars);
    }
    const Access access = accessOf(op, inputs);
    if (auto given = hints ? hints.getAs<mlir::ArrayAttr>(kNamedDims) : mlir::ArrayAttr()) {
      addNames(op, access, namesFrom(given, access.buffer), vars);
    }
    if (namesOf(access.buffer).empty()) {
      Names names(access.dims.size());
      for (size_t d = 0; d < names.size(); ++d) {
        for (const LinearIndex::Term &term : access.dims[d].terms) {
          const std::vector<Part> nameless{{llvm::StringRef(), op.getExtents()[term.var]}};
          const std::vector<Part> &of = vars[term.var].empty() ? nameless : vars[term.var];
          names[d].insert(names[d].end(), of.begin(), of.end());
        }
      }
      BufferOp buffer = access.buffer;
      known[buffer.getOperation()] = std::move(names);
    }
    return vars;
  }

  void say(ComputeOp op, Decision decision) {
    if (trace) {
      trace->record("hints", subjectOf(op), decision, {dialect::sourceLine(op.getLoc()), {}});
    }
  }

  /// Entries with a count of 1 or more; notes which of them the operation follows.
  Expected<Entries> checkedEntries(ComputeOp op, const Names &vars, mlir::DictionaryAttr hints,
                                   const char *kind) {
    Entries entries = entriesOf(hints, kind);
    for (const Entry &entry : entries) {
      if (entry.count < 1 || entry.scope < 0) {
        return error<3066>("'{}': the hint for {} must be a positive integer", op.getCallee().str(),
                           entry.name.str());
      }
      const bool found = llvm::any_of(
          vars, [&](const std::vector<Part> &parts) { return hasName(parts, entry.name); });
      Use &use = uses[{kind, entry.name.str(), entry.scope}];
      use.followers += found;
      use.count = entry.count;
      use.location = use.location.empty() ? dialect::sourceLine(op.getLoc()) : use.location;
      for (const std::vector<Part> &parts : vars) {
        for (const Part &part : parts) {
          if (!part.name.empty()) {
            use.names.insert(part.name.str());
          }
        }
      }
      if (!found) {
        say(op, Decision::no("hint-elsewhere", "{} {}={}: the operation has no such dimension",
                             kind, entry.name.str(), entry.count));
      }
    }
    return entries;
  }

  /// Of one variable, which may have several names: all entries hold, or none does. 0 where none
  /// speaks of it.
  Expected<int64_t> countOf(ComputeOp op, const std::vector<Part> &parts, const Entries &entries,
                            const char *kind) {
    std::vector<int64_t> counts;
    std::vector<std::string> texts;
    int64_t product = 1;
    bool any = false;
    for (const Part &part : parts) {
      auto entry =
          llvm::find_if(entries, [&](const Entry &each) { return each.name == part.name; });
      counts.push_back(entry != entries.end() ? entry->count : 1);
      any = any || entry != entries.end();
      texts.push_back(fmt::format("{} of {} {}", counts.back(), part.size, part.name.str()));
      if (__builtin_mul_overflow(product, counts.back(), &product)) {
        product = std::numeric_limits<int64_t>::max();
      }
    }
    if (parts.size() > 1 && any && !cutsParts(parts, counts)) {
      return error<3140>("'{}': {} asks for parts of dimensions that are walked as one ({}); "
                         "cut the outer ones entirely before an inner one is cut",
                         op.getCallee().str(), kind, fmt::join(texts, ", "));
    }
    return any ? product : 0;
  }

  /// Copies are the compiler's: where their variables lie across the named dimensions, or sticks
  /// across the tiles, they are made as if there was no hint. An entry that only they could have
  /// followed is their error.
  static bool mayStayWhole(ComputeOp op) { return op.getCallee() == kCopy || op->hasAttr(kWhy); }

  Status stayWhole(ComputeOp op, const std::vector<Part> &parts, const Entries &entries,
                   const char *kind, const Status &why) {
    if (!mayStayWhole(op)) {
      return why;
    }
    say(op, Decision::no("stays-whole", "{}", why.text()));
    for (const Entry &entry : entries) {
      if (hasName(parts, entry.name)) {
        Use &use = uses[{kind, entry.name.str(), entry.scope}];
        --use.followers;
        use.refused = why.withContext(dialect::sourceLine(op.getLoc()) + ": ");
      }
    }
    return Status::success();
  }

  Status divide(ComputeOp op, const Names &vars, mlir::DictionaryAttr hints) {
    SPYRE_ASSIGN_OR_RETURN(const Entries entries, checkedEntries(op, vars, hints, kWorkDivision));
    std::vector<int64_t> slices;
    for (const std::vector<Part> &parts : vars) {
      const Expected<int64_t> count = countOf(op, parts, entries, kWorkDivision);
      if (!count.ok()) {
        SPYRE_RETURN_IF_ERROR(stayWhole(op, parts, entries, kWorkDivision, count.status()));
      }
      slices.push_back(count.ok() ? *count : 0);
    }
    if (llvm::any_of(slices, [](int64_t count) { return count > 0; })) {
      op->setAttr(kHints, mlir::DenseI64ArrayAttr::get(op.getContext(), slices));
    }
    return Status::success();
  }

  /// One level per scope, outermost first; a count of 1 is none.
  Status tile(ComputeOp op, const Names &vars, mlir::DictionaryAttr hints) {
    SPYRE_ASSIGN_OR_RETURN(const Entries entries, checkedEntries(op, vars, hints, kTiles));
    std::vector<bool> mayTile;
    for (unsigned v = 0; v < vars.size(); ++v) {
      const Expected<int64_t> count = countOf(op, vars[v], entries, kTiles);
      Status status = count.status();
      if (count.ok() && *count > 0) {
        status = checkTiles(op, v, *count);
      }
      mayTile.push_back(status.ok());
      if (!status.ok()) {
        SPYRE_RETURN_IF_ERROR(stayWhole(op, vars[v], entries, kTiles, status));
      }
    }
    Levels levels;
    for (const Entry &entry : entries) {
      if (entry.count == 1) {
        continue;
      }
      // Two variables of one dimension: the first. Together they would be the diagonal.
      auto found = llvm::find_if(
          vars, [&](const std::vector<Part> &parts) { return hasName(parts, entry.name); });
      const auto v = found - vars.begin();
      const bool isTiled = found != vars.end() && mayTile[size_t(v)];
      levels.push_back({entry.scope, entry.count, isTiled ? v : -1});
    }
    if (!entries.empty()) {
      setLevels(op, levels);
    }
    if (op->hasAttr(kTiles)) {
      say(op, Decision::yes("hint", "runs in [{}] tiles as hinted", fmt::join(tilesOf(op), ", ")));
    }
    return Status::success();
  }

  /// Tiles are equal and cut no stick; those of a reduction can be added up.
  Status checkTiles(ComputeOp op, unsigned v, int64_t count) {
    const int64_t extent = op.getExtents()[v];
    const auto name = llvm::cast<mlir::StringAttr>(op.getVars()[v]).str();
    // A search has rows first; then what it finds and what it looks through.
    const size_t results =
        op.getExtents().size() - (isTopK(op) ? kTopKVars - 1 : op.getReductions());
    const bool isScanned = op.getCallee() == kScan && v + 1 == op.getExtents().size();
    if (count > 1 && (isScanned || (v >= results && !combinationOf(op)))) {
      return error<3142>("'{}': {} ({} elements) is reduced and cannot run in {} tiles, whose "
                         "results no operation puts together; give tiles of a dimension of the "
                         "result, or 1",
                         op.getCallee().str(), name, extent, count);
    }
    int64_t unit = 1;
    for (unsigned i = 0; i < operandCount(op); ++i) {
      SPYRE_ASSIGN_OR_RETURN(StickUse use, stickUse(accessOf(op, i)));
      unit = use.isVar(v) ? std::max(unit, elemsPerStick(operandBuffer(op, i))) : unit;
    }
    if (extent % count != 0 || (count > 1 && extent / count % unit != 0)) {
      return error<3077>("'{}': {} tiles of {} elements of {} are not equal{}; give a divisor "
                         "of {}",
                         op.getCallee().str(), count, extent, name,
                         unit > 1 ? " or cut a stick" : "", extent % unit == 0 ? extent / unit : 1);
    }
    return Status::success();
  }

  /// What the operations in the scope of an entry say to it.
  struct Use {
    int64_t followers = 0, count = 0;
    /// Why a copy that has the dimension does not follow.
    Status refused = Status::success();
    /// Of the first.
    std::string location;
    /// That they have.
    std::set<std::string> names;
  };

  DecisionTrace *trace;
  llvm::DenseMap<mlir::Operation *, Names> known;
  /// By kind, dimension and scope.
  std::map<std::tuple<std::string, std::string, int64_t>, Use> uses;
};

struct AssignHints : LoopPass<impl::AssignHintsPassBase<AssignHints>> {
  Status runOnMain(mlir::func::FuncOp main) override {
    // Names are followed only where somebody speaks of them.
    bool any = false;
    for (ComputeOp op : main.getOps<ComputeOp>()) {
      any = any || hintsOf(op);
    }
    Assigner assigner(trace);
    for (ComputeOp op : main.getOps<ComputeOp>()) {
      if (any) {
        SPYRE_RETURN_IF_ERROR(at(op, assigner.add(op)));
      }
    }
    SPYRE_RETURN_IF_ERROR(assigner.checkUses());
    return takeAskedSplits(main);
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createAssignHintsPass(DecisionTrace *trace) {
  return createLoopPass<AssignHints>(trace);
}

} // namespace spyre::loop
