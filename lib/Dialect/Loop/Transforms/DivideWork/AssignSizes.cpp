//===- AssignSizes.cpp - what is known of sizes that change from call to call ---------------===//
//
// A program is compiled for the sizes it is called with. Where the caller said that a dimension of
// an input has other sizes in other calls, and which (`sizes` of a buffer), every variable that
// walks it gets the step of those sizes and the largest one: its slices divide the step, and the
// division is the one of the largest size, so that programs of all sizes divide alike.
// [spec: work-division 9]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"
#include "spyre/Solver/Division/Granularity.h"

#include "llvm/ADT/DenseMap.h"

#include "../LoopPass.h"
#include "Divider.h"

namespace spyre::loop {

#define GEN_PASS_DECL_ASSIGNSIZESPASS
#define GEN_PASS_DEF_ASSIGNSIZESPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

constexpr const char *kStage = "sizes";

/// Of a dimension or a variable: its sizes are multiples of the step, up to the largest one. Both
/// are the extent where it never changes.
struct Size {
  int64_t step = 1, largest = 1;

  static Size fixed(int64_t extent) { return {extent, extent}; }
  bool changes() const { return step != largest; }
  friend Size operator*(Size a, Size b) { return {a.step * b.step, a.largest * b.largest}; }
};
using Sizes = std::vector<Size>;

int64_t dimSize(BufferOp buffer, size_t dim) {
  return llvm::cast<mlir::MemRefType>(buffer.getResult().getType()).getDimSize(unsigned(dim));
}

class Assigner {
public:
  explicit Assigner(DecisionTrace *trace) : trace(trace) {}

  /// `sizes = [[dim, least, largest], ...]` of an input. Errors: E3075, E3145.
  Status addInput(BufferOp buffer, mlir::ArrayAttr given) {
    Sizes &sizes = sizesOf(buffer);
    for (mlir::Attribute each : given) {
      auto bounds = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(each);
      if (!bounds || bounds.size() != 3 || bounds[0] < 0 || size_t(bounds[0]) >= sizes.size()) {
        return error<3145>("'{}': sizes need a dimension, the least and the largest size",
                           buffer.getName().str());
      }
      SPYRE_ASSIGN_OR_RETURN(const int64_t step,
                             solver::division::granularityOf(bounds[2], bounds[1]));
      const int64_t extent = dimSize(buffer, size_t(bounds[0]));
      const bool isOne = extent % step == 0 && extent <= bounds[2];
      say(buffer.getName().str(),
          isOne ? Decision::yes("one-of-sizes", "dimension {} is {}: one of {}, {}, ... {}",
                                bounds[0], extent, step, 2 * step, bounds[2])
                : Decision::no("other-size",
                               "dimension {} is {}, which is none of {}, {}, ... {}: divided for "
                               "itself",
                               bounds[0], extent, step, 2 * step, bounds[2]));
      if (isOne) {
        sizes[size_t(bounds[0])] = {step, bounds[2]};
      }
    }
    return Status::success();
  }

  void add(ComputeOp op) {
    const unsigned inputs = operandCount(op) - 1;
    const Sizes vars = sizesOfVars(op, inputs);
    std::vector<int64_t> flat;
    bool changes = false;
    for (const Size &size : vars) {
      flat.insert(flat.end(), {size.changes() ? size.step : 0, size.changes() ? size.largest : 0});
      changes = changes || size.changes();
    }
    if (changes) {
      op->setAttr(kSizes, mlir::DenseI64ArrayAttr::get(op.getContext(), flat));
      addResult(accessOf(op, inputs), vars);
    }
  }

private:
  Sizes &sizesOf(BufferOp buffer) {
    auto [place, isNew] = known.try_emplace(buffer.getOperation());
    if (isNew) {
      auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
      for (int64_t extent : type.getShape()) {
        place->second.push_back(Size::fixed(extent));
      }
    }
    return place->second;
  }

  /// The outermost variable of a dimension walks what its inner ones leave of it.
  Sizes sizesOfVars(ComputeOp op, unsigned inputs) {
    Sizes vars;
    for (int64_t extent : op.getExtents()) {
      vars.push_back(Size::fixed(extent));
    }
    for (unsigned i = 0; i < inputs; ++i) {
      const Access access = accessOf(op, i);
      const Sizes &sizes = sizesOf(access.buffer);
      for (size_t d = 0; d < sizes.size(); ++d) {
        if (!sizes[d].changes() || access.dims[d].terms.empty()) {
          continue;
        }
        const LinearIndex::Term &outer = access.dims[d].terms.front();
        const int64_t inner = outer.coefficient, extent = op.getExtents()[outer.var];
        const bool walksAll =
            access.dims[d].offset == 0 && inner >= 1 && extent * inner == dimSize(access.buffer, d);
        if (walksAll && sizes[d].step % inner == 0) {
          vars[outer.var] = {sizes[d].step / inner, sizes[d].largest / inner};
        }
      }
    }
    return vars;
  }

  void addResult(const Access &access, const Sizes &vars) {
    Sizes &sizes = sizesOf(access.buffer);
    for (size_t d = 0; d < sizes.size(); ++d) {
      Size product;
      for (const LinearIndex::Term &term : access.dims[d].terms) {
        product = product * vars[term.var];
      }
      if (product.changes() && access.dims[d].offset == 0) {
        sizes[d] = product;
      }
    }
  }

  void say(const std::string &subject, Decision decision) {
    if (trace) {
      trace->record(kStage, subject, decision, {});
    }
  }

  DecisionTrace *trace;
  llvm::DenseMap<mlir::Operation *, Sizes> known;
};

struct AssignSizes : LoopPass<impl::AssignSizesPassBase<AssignSizes>> {
  Status runOnMain(mlir::func::FuncOp main) override {
    Assigner assigner(trace);
    bool any = false;
    for (BufferOp buffer : main.getOps<BufferOp>()) {
      if (auto given = buffer->getAttrOfType<mlir::ArrayAttr>(kSizes)) {
        SPYRE_RETURN_IF_ERROR(at(buffer, assigner.addInput(buffer, given)));
        any = true;
      }
    }
    for (ComputeOp op : main.getOps<ComputeOp>()) {
      op->removeAttr(kSizes);
      if (any && !op->hasAttr(kTiles)) {
        assigner.add(op);
      }
    }
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createAssignSizesPass(DecisionTrace *trace) {
  return createLoopPass<AssignSizes>(trace);
}

} // namespace spyre::loop
