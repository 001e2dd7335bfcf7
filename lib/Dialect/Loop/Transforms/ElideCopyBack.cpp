//===- ElideCopyBack.cpp - results that are computed where they belong ----------------------===//
//
// A graph that changes an input in place computes the new contents in a buffer of its own and
// copies them back at the end [spec: front-end 6.6]. The buffer can be the input itself when nobody
// reads the old contents once new ones are written; then the copy is gone. A cache of which one row
// changes is first copied, then written in part: that copy goes as well, and only the row is
// written.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"
#include "spyre/Dialect/Loop/Transforms/Stick.h"

#include "LoopPass.h"
#include "Rewrite.h"

#include <algorithm>
#include <vector>

namespace spyre::loop {

#define GEN_PASS_DEF_ELIDECOPYBACKPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

mlir::AffineMap mapOf(ComputeOp op, unsigned index) {
  return llvm::cast<mlir::AffineMapAttr>(op.getMaps()[index]).getValue();
}

BufferOp bufferOf(mlir::Value value) { return value.getDefiningOp<BufferOp>(); }

/// Every element once: each dimension is walked from end to end by a variable of its own.
bool isWhole(const Access &access, llvm::ArrayRef<int64_t> extents) {
  BufferOp buffer = access.buffer;
  auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
  std::set<unsigned> seen;
  for (size_t d = 0; d < access.dims.size(); ++d) {
    const LinearIndex &index = access.dims[d];
    const int64_t size = type.getDimSize(unsigned(d));
    if (index.terms.empty() && size == 1) {
      continue;
    }
    if (index.terms.size() != 1 || index.offset != 0 || index.terms[0].coefficient != 1 ||
        extents[index.terms[0].var] != size || !seen.insert(index.terms[0].var).second) {
      return false;
    }
  }
  return true;
}

/// Moves all elements of one buffer to the same places of another one.
bool isWholeCopy(ComputeOp op) {
  return op.getCallee() == kCopy && op.getInputs().size() == 1 && !op.getIndirect() &&
         op.getInputs()[0].getType() == op.getOutput().getType() && mapOf(op, 0) == mapOf(op, 1) &&
         isWhole(accessOf(op, 0), op.getExtents());
}

/// Each core reads a place before it writes it, and no core reads what another one writes.
bool canWriteWhatItReads(ComputeOp op, mlir::Value buffer) {
  if (op.getReductions() != 0 || op.getIndirect() || op.getCallee() == kCopy) {
    return false;
  }
  for (unsigned i = 0; i < op.getInputs().size(); ++i) {
    if (op.getInputs()[i] == buffer && mapOf(op, i) != mapOf(op, operandCount(op) - 1)) {
      return false;
    }
  }
  return true;
}

class Elider {
public:
  Elider(mlir::func::FuncOp function, DecisionTrace *trace) : function(function), trace(trace) {}

  void run() {
    llvm::SmallVector<ComputeOp> copies;
    for (ComputeOp op : function.getOps<ComputeOp>()) {
      if (isWholeCopy(op) && bufferOf(op.getOutput()).getKind() == "input" &&
          bufferOf(op.getInputs()[0]).getKind() == "temp") {
        copies.push_back(op);
      }
    }
    for (ComputeOp copy : copies) {
      BufferOp target = bufferOf(copy.getOutput());
      if (bufferOf(copy.getInputs()[0]).getKind() != "temp") {
        continue; // the contents of another input, where they were just made
      }
      const std::string name = target.getName().str();
      ComputeOp first = initialCopy(copy);
      Decision decision = check(copy, first);
      if (decision) {
        elide(copy, first);
      }
      if (trace) {
        trace->record("elide-copy-back", name, decision);
      }
    }
  }

private:
  llvm::SmallVector<ComputeOp> writersOf(mlir::Value buffer) {
    llvm::SmallVector<ComputeOp> writers;
    for (ComputeOp op : function.getOps<ComputeOp>()) {
      if (op.getOutput() == buffer) {
        writers.push_back(op);
      }
    }
    return writers;
  }

  /// The first writer of the buffer, if it only fetches the old contents.
  ComputeOp initialCopy(ComputeOp copyBack) {
    llvm::SmallVector<ComputeOp> writers = writersOf(copyBack.getInputs()[0]);
    const bool fetches = !writers.empty() && isWholeCopy(writers.front()) &&
                         writers.front().getInputs()[0] == copyBack.getOutput();
    return fetches ? writers.front() : nullptr;
  }

  Decision check(ComputeOp copyBack, ComputeOp first) {
    mlir::Value buffer = copyBack.getInputs()[0], target = copyBack.getOutput();
    auto isHost = [](mlir::Operation *user) { return llvm::isa<HostOp>(user); };
    if (llvm::any_of(buffer.getUsers(), isHost) || llvm::any_of(target.getUsers(), isHost)) {
      return Decision::no("host-step", "a CPU step reads or writes it");
    }
    Expected<DimRoles> made = dimRolesOf(bufferOf(buffer)), wanted = dimRolesOf(bufferOf(target));
    if (!made.ok() || !wanted.ok() || made->stick() != wanted->stick()) {
      return Decision::no("layout-differs", "the new contents have other sticks than the input");
    }
    if (writersOf(target).size() != 1) {
      return Decision::no("written-twice", "something else writes the input, too");
    }
    return checkOrder(copyBack, first);
  }

  /// Nobody reads the old contents after the first operation that writes new ones.
  Decision checkOrder(ComputeOp copyBack, ComputeOp first) {
    mlir::Value buffer = copyBack.getInputs()[0], target = copyBack.getOutput();
    bool isWritten = false;
    for (ComputeOp op : function.getOps<ComputeOp>()) {
      if (op == copyBack || op == first) {
        continue;
      }
      const bool reads = llvm::is_contained(op.getInputs(), target);
      const bool writes = op.getOutput() == buffer;
      if (writes && op->hasAttr(kOverwritesPadding)) {
        return Decision::no("padding", "'{}' writes beyond its elements", op.getCallee().str());
      }
      if (reads && (isWritten || (writes && !canWriteWhatItReads(op, target)))) {
        return Decision::no("old-contents-read", "'{}' reads the old contents",
                            op.getCallee().str());
      }
      isWritten = isWritten || writes;
    }
    return Decision::yes("in-place", "new contents are written where they belong");
  }

  static void elide(ComputeOp copyBack, ComputeOp first) {
    BufferOp buffer = bufferOf(copyBack.getInputs()[0]);
    mlir::Value target = copyBack.getOutput();
    copyBack.erase();
    if (first) {
      first.erase();
    }
    buffer.getResult().replaceAllUsesWith(target);
    buffer.erase();
  }

  mlir::func::FuncOp function;
  DecisionTrace *trace;
};

struct ElideCopyBack : LoopPass<impl::ElideCopyBackPassBase<ElideCopyBack>> {
  Status runOnMain(mlir::func::FuncOp main) override {
    Elider(main, trace).run();
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createElideCopyBackPass(DecisionTrace *trace) {
  return createLoopPass<ElideCopyBack>(trace);
}

} // namespace spyre::loop
