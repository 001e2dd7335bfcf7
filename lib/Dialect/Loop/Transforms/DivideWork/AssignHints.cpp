//===- AssignHints.cpp - what users ask of an operation, as numbers of its variables --------===//
//
// A hint speaks of named dimensions. Names stand on inputs (`dims` of a buffer: per dimension its
// names with their sizes, one inside the other) and follow the elements: a variable that walks a
// named dimension has its names, and gives them to the dimensions of the result it walks. Hints
// stand in the location of an operation, beside the user's line, so that whatever it is rewritten
// to has them; so do the names of a result that is made of no input. [spec: work-division 20]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"

#include "llvm/ADT/DenseMap.h"

#include "../LoopPass.h"
#include "Divider.h"

#include <limits>

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

private:
  const Names &namesOf(BufferOp buffer) {
    auto [place, isNew] = known.try_emplace(buffer.getOperation());
    if (isNew) {
      place->second = namesFrom(buffer->getAttrOfType<mlir::ArrayAttr>(kDims), buffer);
    }
    return place->second;
  }

  static void addNames(ComputeOp op, const Access &access, const Names &names, Names &vars) {
    for (size_t d = 0; d < names.size(); ++d) {
      for (const LinearIndex::Term &term : access.dims[d].terms) {
        if (vars[term.var].empty()) {
          vars[term.var] = walked(names[d], term.coefficient, op.getExtents()[term.var]);
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
      trace->record("hints", subjectOf(op), decision, {locationText(op.getLoc()), {}});
    }
  }

  /// Parts of each variable by the entries of \p kind; 0 where none speaks of it.
  Expected<std::vector<int64_t>> countsOf(ComputeOp op, const Names &vars,
                                          mlir::DictionaryAttr hints, const char *kind) {
    std::vector<int64_t> counts(vars.size(), 0);
    auto entries = hints.getAs<mlir::DictionaryAttr>(kind);
    if (!entries) {
      return counts;
    }
    for (mlir::NamedAttribute entry : entries) {
      auto count = llvm::dyn_cast<mlir::IntegerAttr>(entry.getValue());
      if (!count || count.getInt() < 1) {
        return error<3066>("'{}' at {}: the hint for {} must be a positive integer",
                           op.getCallee().str(), locationText(op.getLoc()), entry.getName().str());
      }
      const bool found = llvm::any_of(vars, [&](const std::vector<Part> &parts) {
        return llvm::any_of(
            parts, [&](const Part &part) { return part.name == entry.getName().getValue(); });
      });
      if (!found) {
        say(op, Decision::no("hint-elsewhere", "{} {}={}: the operation has no such dimension",
                             kind, entry.getName().str(), count.getInt()));
      }
    }
    for (size_t v = 0; v < vars.size(); ++v) {
      SPYRE_ASSIGN_OR_RETURN(counts[v], countOf(op, vars[v], entries, kind));
    }
    return counts;
  }

  /// Of one variable, which may have several names: all entries hold, or none does.
  Expected<int64_t> countOf(ComputeOp op, const std::vector<Part> &parts,
                            mlir::DictionaryAttr entries, const char *kind) {
    std::vector<int64_t> counts;
    std::vector<std::string> texts;
    int64_t product = 1;
    bool any = false;
    for (const Part &part : parts) {
      auto count = entries.getAs<mlir::IntegerAttr>(part.name);
      counts.push_back(count ? count.getInt() : 1);
      any = any || count;
      texts.push_back(fmt::format("{} of {} {}", counts.back(), part.size, part.name.str()));
      if (__builtin_mul_overflow(product, counts.back(), &product)) {
        product = std::numeric_limits<int64_t>::max();
      }
    }
    if (parts.size() > 1 && any && !cutsParts(parts, counts)) {
      return error<3140>("'{}' at {}: {} asks for parts of dimensions that are walked as one ({}); "
                         "cut the outer ones entirely before an inner one is cut",
                         op.getCallee().str(), locationText(op.getLoc()), kind,
                         fmt::join(texts, ", "));
    }
    return any ? product : 0;
  }

  Status divide(ComputeOp op, const Names &vars, mlir::DictionaryAttr hints) {
    SPYRE_ASSIGN_OR_RETURN(std::vector<int64_t> slices, countsOf(op, vars, hints, kWorkDivision));
    if (llvm::any_of(slices, [](int64_t count) { return count > 0; })) {
      op->setAttr(kHints, mlir::DenseI64ArrayAttr::get(op.getContext(), slices));
    }
    return Status::success();
  }

  Status tile(ComputeOp op, const Names &vars, mlir::DictionaryAttr hints) {
    SPYRE_ASSIGN_OR_RETURN(std::vector<int64_t> tiles, countsOf(op, vars, hints, kTiles));
    bool any = false;
    for (unsigned v = 0; v < tiles.size(); ++v) {
      if (tiles[v] > 0) {
        SPYRE_RETURN_IF_ERROR(checkTiles(op, v, tiles[v]));
      }
      any = any || tiles[v] > 1;
      tiles[v] = std::max<int64_t>(tiles[v], 1);
    }
    if (any) {
      op->setAttr(kTiles, mlir::DenseI64ArrayAttr::get(op.getContext(), tiles));
      say(op, Decision::yes("hint", "runs in [{}] tiles as hinted", fmt::join(tiles, ", ")));
    }
    return Status::success();
  }

  /// Tiles are equal, of results, and cut no stick.
  Status checkTiles(ComputeOp op, unsigned v, int64_t count) {
    const int64_t extent = op.getExtents()[v];
    const auto name = llvm::cast<mlir::StringAttr>(op.getVars()[v]).str();
    const std::string where = locationText(op.getLoc());
    if (v >= op.getExtents().size() - op.getReductions() || isTopK(op)) {
      return error<3077>("'{}' at {}: {} is reduced and cannot run in {} tiles; give tiles of a "
                         "dimension of the result",
                         op.getCallee().str(), where, name, count);
    }
    int64_t unit = 1;
    for (unsigned i = 0; i < operandCount(op); ++i) {
      SPYRE_ASSIGN_OR_RETURN(StickUse use, stickUse(accessOf(op, i)));
      unit = use.isVar(v) ? std::max(unit, elemsPerStick(operandBuffer(op, i))) : unit;
    }
    if (extent % count != 0 || (count > 1 && extent / count % unit != 0)) {
      return error<3077>(
          "'{}' at {}: {} tiles of {} elements of {} are not equal{}; give a divisor "
          "of {}",
          op.getCallee().str(), where, count, extent, name, unit > 1 ? " or cut a stick" : "",
          extent % unit == 0 ? extent / unit : 1);
    }
    return Status::success();
  }

  DecisionTrace *trace;
  llvm::DenseMap<mlir::Operation *, Names> known;
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
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createAssignHintsPass(DecisionTrace *trace) {
  return createLoopPass<AssignHints>(trace);
}

} // namespace spyre::loop
