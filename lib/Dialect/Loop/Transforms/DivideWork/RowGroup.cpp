//===- RowGroup.cpp - who treats rows apart, and by which variable ----------------------------===//
#include "RowGroup.h"

#include "spyre/Dialect/Loop/IR/Nests.h"

#include "Divider.h"
#include "GrowOutput.h"

namespace spyre::loop {

/// The dimension that \p var walks alone, whole and in single steps; -1 where the operand does not
/// have the variable, nothing where it is walked otherwise or through lanes (of columns: not
/// through lanes).
static std::optional<int> rowDim(ComputeOp op, unsigned operand, unsigned var,
                                 bool columns = false) {
  const Access access = accessOf(op, operand);
  BufferOp buffer = access.buffer;
  const auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
  int found = -1;
  for (size_t d = 0; d < access.dims.size(); ++d) {
    const LinearIndex &index = access.dims[d];
    if (llvm::none_of(index.terms, [&](const auto &term) { return term.var == var; })) {
      continue;
    }
    if (found >= 0 || index.terms.size() != 1 || index.terms[0].coefficient != 1 ||
        index.offset != 0 || type.getDimSize(unsigned(d)) != op.getExtents()[var]) {
      return std::nullopt;
    }
    found = int(d);
  }
  const Expected<StickUse> use = stickUse(access);
  if (!use.ok() || use->kind == StickUse::Kind::Illegal) {
    return std::nullopt;
  }
  const std::optional<unsigned> named = findNamedStickVar(op, operand);
  const bool fits =
      columns ? use->isVar(var) && named.value_or(var) == var : !use->isVar(var) && named != var;
  return found < 0 || fits ? std::optional<int>(found) : std::nullopt;
}

/// Somebody has decided how it is divided, or its rows know of each other.
static bool isFixed(ComputeOp op) {
  for (const char *attribute :
       {kTiles, kLoops, kHints, kSizes, kReducesPadding, kOverwritesPadding}) {
    if (op->hasAttr(attribute)) {
      return true;
    }
  }
  return op.getIndirect() || isTopK(op) || op.getCallee() == kScan;
}

/// The first part would write what the second one reads.
static bool readsWhatItWrites(ComputeOp op) {
  for (unsigned i = 0; i < op.getInputs().size(); ++i) {
    if (op.getInputs()[i] == op.getOutput() &&
        op.getMaps()[i] != op.getMaps()[operandCount(op) - 1]) {
      return true;
    }
  }
  return false;
}

/// The one variable of this extent that all operands have as rows or not at all.
static std::optional<unsigned> rowVar(ComputeOp op, int64_t extent, bool columns) {
  if (isFixed(op) || readsWhatItWrites(op)) {
    return std::nullopt;
  }
  std::optional<unsigned> found;
  const unsigned output = operandCount(op) - 1;
  const unsigned results = op.getExtents().size() - unsigned(op.getReductions());
  for (unsigned var = 0; var < results; ++var) {
    bool fits =
        op.getExtents()[var] == extent && rowDim(op, output, var, columns).value_or(-1) >= 0;
    for (unsigned i = 0; i < output && fits; ++i) {
      fits = rowDim(op, i, var, columns).has_value();
    }
    if (fits && found) {
      return std::nullopt; // rows of rows
    }
    found = fits ? std::optional<unsigned>(var) : found;
  }
  return found;
}

/// A temp of one writer whose layout follows from its shape, so that another shape has one, too.
static bool mayHaveOtherShape(ComputeOp writer) {
  BufferOp buffer = operandBuffer(writer, operandCount(writer) - 1);
  if (!isPooled(buffer) || isPerTile(buffer)) {
    return false;
  }
  for (mlir::Operation *user : buffer->getUsers()) {
    auto other = llvm::dyn_cast<ComputeOp>(user);
    const bool writes = other && other.getOutput() == buffer.getResult();
    const bool reads = other && llvm::is_contained(other.getInputs(), buffer.getResult());
    if (!other || (other == writer ? reads : writes)) {
      return false;
    }
  }
  Expected<DimRoles> roles = dimRolesOf(buffer);
  Expected<layout::DeviceLayout> layout = layoutOf(buffer);
  return roles.ok() && layout.ok() && roles->given.empty() &&
         layout->arrangement == layout::ElementArrangement::Standard;
}

namespace {

class Finder {
public:
  Finder(mlir::func::FuncOp main, int64_t extent, Cut cut = Cut::Rows)
      : main(main), columns(cut == Cut::Columns) {
    group.extent = extent;
    for (ComputeOp op : main.getOps<ComputeOp>()) {
      const std::optional<unsigned> var = rowVar(op, extent, columns);
      if (var && (cut != Cut::RowsWithoutProducts || op.getCallee() != kMatmul)) {
        group.ops[op] = *var;
      }
    }
  }

  RowGroup cut() {
    addInner([&](ComputeOp op) { return mayHaveOtherShape(op) && isReadByGroup(op, false); });
    return std::move(group);
  }

  RowGroup padded() {
    const RowVars able = group.ops;
    for (size_t before = 0; before != group.ops.size();) {
      before = group.ops.size();
      group.ops.remove_if([&](const auto &entry) {
        auto op = llvm::cast<ComputeOp>(entry.first);
        return !mayHaveOtherShape(op) || !isReadByGroup(op, true) || !entriesHold(op);
      });
    }
    addInner([](ComputeOp) { return true; });
    for (auto [operation, var] : group.ops) {
      auto op = llvm::cast<ComputeOp>(operation);
      for (unsigned i = 0; i < op.getInputs().size(); ++i) {
        if (const int dim = *rowDim(op, i, var);
            dim >= 0 && !group.inner.contains(op.getInputs()[i])) {
          group.entries[op.getInputs()[i]] = unsigned(dim);
        }
      }
    }
    for (auto [operation, var] : able) {
      if (!group.ops.contains(operation) && readsGrown(llvm::cast<ComputeOp>(operation), var)) {
        group.exits[operation] = var;
      }
    }
    return std::move(group);
  }

private:
  template <typename Predicate>
  void addInner(Predicate isInner) {
    for (auto [operation, var] : group.ops) {
      auto op = llvm::cast<ComputeOp>(operation);
      if (isInner(op)) {
        group.inner[op.getOutput()] = unsigned(*rowDim(op, operandCount(op) - 1, var, columns));
      }
    }
  }

  bool isMemberAlong(ComputeOp reader, mlir::Value buffer, int dim) const {
    const auto found = group.ops.find(reader);
    for (unsigned i = 0; found != group.ops.end() && i < reader.getInputs().size(); ++i) {
      if (reader.getInputs()[i] == buffer && rowDim(reader, i, found->second, columns) != dim) {
        return false;
      }
    }
    return found != group.ops.end();
  }

  /// A product reads its second operand in whole sticks of rows, which must be zero behind K.
  static bool readsZeros(ComputeOp reader, mlir::Value buffer) {
    return reader.getCallee() == kMatmul && reader.getInputs().size() > 1 &&
           reader.getInputs()[1] == buffer;
  }

  /// All readers walk the result of \p op as rows of the group; or step over the end of them.
  bool isReadByGroup(ComputeOp op, bool mayStepOver) const {
    const mlir::Value buffer = op.getOutput();
    const int dim = *rowDim(op, operandCount(op) - 1, group.ops.lookup(op), columns);
    return llvm::all_of(buffer.getUsers(), [&](mlir::Operation *user) {
      auto reader = llvm::cast<ComputeOp>(user);
      return reader == op || isMemberAlong(reader, buffer, dim) ||
             (mayStepOver && stepsOver(reader, buffer) && !readsZeros(reader, buffer));
    });
  }

  /// What has no room is copied once, in front of its first reader: nobody may write it later.
  bool entriesHold(ComputeOp op) {
    for (unsigned i = 0; i < op.getInputs().size(); ++i) {
      const mlir::Value input = op.getInputs()[i];
      BufferOp buffer = operandBuffer(op, i);
      const bool isEntry = *rowDim(op, i, group.ops.lookup(op)) >= 0 && !isWrittenByGroup(input);
      Expected<DimRoles> roles = dimRolesOf(buffer);
      if (isEntry && (!roles.ok() || !roles->given.empty() || isHostValue(buffer) ||
                      isWrittenBehindReader(input) || !isReadAlike(input))) {
        return false;
      }
    }
    return true;
  }

  /// By all of the group along the same dimension.
  bool isReadAlike(mlir::Value buffer) const {
    std::optional<int> dim;
    for (auto [operation, var] : group.ops) {
      auto op = llvm::cast<ComputeOp>(operation);
      for (unsigned i = 0; i < op.getInputs().size(); ++i) {
        const std::optional<int> own =
            op.getInputs()[i] == buffer ? rowDim(op, i, var) : std::nullopt;
        if (own && dim.value_or(*own) != *own) {
          return false;
        }
        dim = own ? own : dim;
      }
    }
    return true;
  }

  bool isWrittenByGroup(mlir::Value buffer) const {
    return llvm::any_of(group.ops, [&](const auto &entry) {
      return llvm::cast<ComputeOp>(entry.first).getOutput() == buffer;
    });
  }

  bool isWrittenBehindReader(mlir::Value buffer) {
    bool isRead = false;
    for (mlir::Operation &each : main.getBody().front()) {
      auto op = llvm::dyn_cast<ComputeOp>(each);
      const bool uses = llvm::is_contained(each.getOperands(), buffer);
      const bool writes = uses && (!op || op.getOutput() == buffer);
      if (isRead && writes) {
        return true;
      }
      isRead = isRead || (uses && group.ops.contains(&each));
    }
    return false;
  }

  bool readsGrown(ComputeOp op, unsigned var) const {
    for (unsigned i = 0; i < op.getInputs().size(); ++i) {
      const auto grown = group.inner.find(op.getInputs()[i]);
      if (grown != group.inner.end() && *rowDim(op, i, var) == int(grown->second)) {
        return true;
      }
    }
    return false;
  }

  mlir::func::FuncOp main;
  const bool columns;
  RowGroup group;
};

} // namespace

RowGroup findPadded(mlir::func::FuncOp main, int64_t extent) {
  return Finder(main, extent).padded();
}

RowGroup findCut(mlir::func::FuncOp main, int64_t extent, Cut cut) {
  return Finder(main, extent, cut).cut();
}

} // namespace spyre::loop
