//===- AssignHints.cpp - what users ask of an operation, as numbers of its variables --------===//
//
// A hint speaks of named dimensions. Names stand on inputs (`dims` of a buffer: per dimension its
// names with their sizes, one inside the other) and follow the elements: a variable that walks a
// named dimension has its name, and gives it to the dimensions of the result it walks. Hints stand
// in the location of an operation, beside the user's line, so that whatever it is rewritten to has
// them. [spec: work-division 20]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"

#include "llvm/ADT/DenseMap.h"

#include "../LoopPass.h"
#include "Divider.h"

namespace spyre::loop {

#define GEN_PASS_DECL_ASSIGNHINTSPASS
#define GEN_PASS_DEF_ASSIGNHINTSPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

constexpr const char *kWorkDivision = "work_div";

struct Part {
  llvm::StringRef name;
  int64_t size = 1;
};
/// Per dimension, outermost part first.
using Names = std::vector<std::vector<Part>>;
using VarNames = std::vector<std::vector<llvm::StringRef>>;

mlir::DictionaryAttr hintsOf(mlir::Operation *op) {
  auto fused = llvm::dyn_cast<mlir::FusedLoc>(op->getLoc());
  return fused ? llvm::dyn_cast_or_null<mlir::DictionaryAttr>(fused.getMetadata())
               : mlir::DictionaryAttr();
}

/// `dims = [["tokens", 2048], ["batch", 2, "rows", 64]]`; anything else names nothing.
Names namesFrom(BufferOp buffer) {
  Names names;
  auto dims = buffer->getAttrOfType<mlir::ArrayAttr>(kDims);
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

/// Names of the parts that \p term walks: those that begin where its steps do.
std::vector<llvm::StringRef> walked(const std::vector<Part> &parts, int64_t step, int64_t extent) {
  int64_t inner = 1;
  for (size_t i = parts.size(); i-- > 0; inner *= parts[i].size) {
    if (inner != step) {
      continue;
    }
    std::vector<llvm::StringRef> names;
    int64_t covered = 1;
    for (size_t at = i + 1; at-- > 0 && (names.empty() || covered < extent);) {
      covered *= parts[at].size;
      if (!parts[at].name.empty()) {
        names.insert(names.begin(), parts[at].name);
      }
    }
    return names;
  }
  return {};
}

class Assigner {
public:
  explicit Assigner(DecisionTrace *trace) : trace(trace) {}

  Status add(ComputeOp op) {
    const VarNames vars = nameVars(op);
    if (mlir::DictionaryAttr hints = hintsOf(op)) {
      SPYRE_RETURN_IF_ERROR(divide(op, vars, hints));
      SPYRE_RETURN_IF_ERROR(tile(op, vars, hints));
    }
    return Status::success();
  }

private:
  const Names &namesOf(BufferOp buffer) {
    auto [place, isNew] = known.try_emplace(buffer.getOperation());
    if (isNew) {
      place->second = namesFrom(buffer);
    }
    return place->second;
  }

  VarNames nameVars(ComputeOp op) {
    VarNames vars(op.getExtents().size());
    const unsigned inputs = operandCount(op) - 1;
    for (unsigned i = 0; i < inputs; ++i) {
      const Access access = accessOf(op, i);
      const Names &names = namesOf(access.buffer);
      for (size_t d = 0; d < names.size(); ++d) {
        for (const LinearIndex::Term &term : access.dims[d].terms) {
          if (vars[term.var].empty()) {
            vars[term.var] = walked(names[d], term.coefficient, op.getExtents()[term.var]);
          }
        }
      }
    }
    const Access access = accessOf(op, inputs);
    if (namesOf(access.buffer).empty()) {
      Names names(access.dims.size());
      for (size_t d = 0; d < names.size(); ++d) {
        for (const LinearIndex::Term &term : access.dims[d].terms) {
          const std::vector<llvm::StringRef> &of = vars[term.var];
          names[d].push_back(
              {of.empty() ? llvm::StringRef() : of.front(), op.getExtents()[term.var]});
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

  /// Calls \p take for each entry of \p kind with the variable it means.
  template <typename Take>
  Status forEach(ComputeOp op, const VarNames &vars, mlir::DictionaryAttr hints, const char *kind,
                 Take take) {
    auto entries = hints.getAs<mlir::DictionaryAttr>(kind);
    for (mlir::NamedAttribute entry :
         entries ? entries.getValue() : llvm::ArrayRef<mlir::NamedAttribute>()) {
      auto count = llvm::dyn_cast<mlir::IntegerAttr>(entry.getValue());
      if (!count || count.getInt() < 1) {
        return error<3066>("'{}' at {}: the hint for {} must be a positive integer",
                           op.getCallee().str(), locationText(op.getLoc()), entry.getName().str());
      }
      bool found = false;
      for (unsigned v = 0; v < vars.size(); ++v) {
        if (llvm::is_contained(vars[v], entry.getName().getValue())) {
          SPYRE_RETURN_IF_ERROR(take(v, count.getInt()));
          found = true;
        }
      }
      if (!found) {
        say(op, Decision::no("hint-elsewhere", "{} {}={}: the operation has no such dimension",
                             kind, entry.getName().str(), count.getInt()));
      }
    }
    return Status::success();
  }

  Status divide(ComputeOp op, const VarNames &vars, mlir::DictionaryAttr hints) {
    std::vector<int64_t> slices(vars.size(), 0);
    bool any = false;
    SPYRE_RETURN_IF_ERROR(forEach(op, vars, hints, kWorkDivision, [&](unsigned v, int64_t count) {
      slices[v] = count;
      any = true;
      return Status::success();
    }));
    if (any) {
      op->setAttr(kHints, mlir::DenseI64ArrayAttr::get(op.getContext(), slices));
    }
    return Status::success();
  }

  Status tile(ComputeOp op, const VarNames &vars, mlir::DictionaryAttr hints) {
    std::vector<int64_t> tiles(vars.size(), 1);
    bool any = false;
    SPYRE_RETURN_IF_ERROR(forEach(op, vars, hints, kTiles, [&](unsigned v, int64_t count) {
      SPYRE_RETURN_IF_ERROR(checkTiles(op, v, count));
      tiles[v] = count;
      any = any || count > 1;
      return Status::success();
    }));
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
