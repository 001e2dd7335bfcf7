//===- BringNear.cpp - see BringNear.h ------------------------------------------------------===//
#include "BringNear.h"

#include "spyre/Dialect/Loop/IR/Conversions.h"
#include "spyre/Dialect/Loop/IR/Nests.h"
#include "spyre/Dialect/Loop/Transforms/DivisionProblem.h"
#include "spyre/Dialect/Loop/Transforms/Stick.h"
#include "spyre/Solver/Division/TileReach.h"

#include "../Rewrite.h"

#include <algorithm>

namespace spyre::loop {

namespace division = solver::division;

namespace {

/// One operand and the temp that takes its place.
struct Operand {
  unsigned number = 0;
  Access access;
  /// Nothing where sticks hold one element each.
  std::optional<unsigned> stickVar;
  /// Variables of the temp's dimensions, outermost first; the stick is the last one.
  std::vector<unsigned> vars;
  layout::DeviceLayout layout;
};

class NearCopier {
public:
  NearCopier(ComputeOp op, const division::Op &problem, const arch::DeviceDesc &device,
             int64_t cores)
      : op(op), extents(dialect::toVector(op.getExtents())),
        reaches(division::leastReaches(problem, device, cores)),
        tileUnits(division::tileUnits(problem)),
        limitSticks(device.spanLimitBytes / device.stickBytes) {
    for (const division::Dim &dim : problem.dims) {
      walked.push_back(std::max(dim.walked, dim.extent));
    }
  }

  NearCopies run() {
    const bool isPlain = !op.getIndirect() && !op->hasAttr(kTiles) && !op->hasAttr(kLoops) &&
                         !op->hasAttr(kHints) && !isTopK(op) && !isConversion() &&
                         reaches.size() == operandCount(op);
    std::vector<Operand> far;
    for (unsigned i = 0; isPlain && i < operandCount(op); ++i) {
      if (reaches[i] > limitSticks) {
        std::optional<Operand> operand = operandOf(i);
        if (!operand) {
          return {};
        }
        far.push_back(*std::move(operand));
      }
    }
    if (!far.empty()) {
      copyAll(far);
    }
    return std::move(copies);
  }

private:
  /// Conversions change the order of elements inside sticks, which a copy would have to repeat.
  bool isConversion() { return findConversion(op.getCallee()).has_value(); }

  /// Nothing where the temp would reach as far as the operand itself.
  std::optional<Operand> operandOf(unsigned number) {
    Operand operand{number, accessOf(op, number), {}, {}, {}};
    Expected<layout::DeviceLayout> given = layoutOf(operand.access.buffer);
    if (!given.ok() || given->arrangement != layout::ElementArrangement::Standard ||
        !findStick(operand) || isPartlyKept(operand) || !holdsWalked(operand)) {
      return std::nullopt;
    }
    for (unsigned var : varsOf(operand.access)) {
      if (var != operand.stickVar && extents[var] > 1) {
        operand.vars.push_back(var);
      }
    }
    // From the outermost: variables that tiles cut, those they cut in sticks, those that stay
    // whole.
    std::stable_sort(operand.vars.begin(), operand.vars.end(), [&](unsigned a, unsigned b) {
      return (tileUnits[a] == 0 ? INT64_MAX : tileUnits[a]) <
             (tileUnits[b] == 0 ? INT64_MAX : tileUnits[b]);
    });
    if (operand.stickVar) {
      operand.vars.push_back(*operand.stickVar);
    }
    const int64_t reach = setLayout(operand, given->format);
    return reach < reaches[number] ? std::optional(operand) : std::nullopt;
  }

  /// False where a dimension of one element has the sticks: readers may take another one for it.
  bool findStick(Operand &operand) {
    Expected<StickUse> use = stickUse(operand.access);
    Expected<DimRoles> roles = dimRolesOf(operand.access.buffer);
    if (!use.ok() || !roles.ok()) {
      return false;
    }
    if (use->kind == StickUse::Kind::Var) {
      operand.stickVar = use->var;
    }
    return operand.stickVar ? extents[*operand.stickVar] > 1 : roles->stick() < 0;
  }

  /// Rows behind the extent that are read as well exist in the operand, so the temp can have them.
  bool holdsWalked(const Operand &operand) {
    BufferOp buffer = operand.access.buffer;
    const auto shape = llvm::cast<mlir::MemRefType>(buffer.getResult().getType()).getShape();
    for (size_t d = 0; d < operand.access.dims.size(); ++d) {
      const LinearIndex &index = operand.access.dims[d];
      for (const LinearIndex::Term &term : index.terms) {
        const bool isLonger = term.var != operand.stickVar && walked[term.var] > extents[term.var];
        const bool isPlain = index.terms.size() == 1 && term.coefficient == 1 && index.offset == 0;
        if (isLonger && !(isPlain && shape[d] >= walked[term.var])) {
          return false;
        }
      }
    }
    return true;
  }

  /// Elements of the temp along a variable.
  int64_t extentOf(const Operand &operand, unsigned var) const {
    return var == operand.stickVar ? extents[var] : walked[var];
  }

  /// Written in place by an operation that keeps what is there: the temp would not have it.
  bool isPartlyKept(const Operand &operand) {
    BufferOp buffer = operand.access.buffer;
    return operand.number + 1 == operandCount(op) &&
           llvm::is_contained(op.getInputs(), buffer.getResult());
  }

  std::vector<int64_t> shapeOf(const Operand &operand) const {
    std::vector<int64_t> shape;
    for (unsigned var : operand.vars) {
      shape.push_back(extentOf(operand, var));
    }
    return shape;
  }

  /// Dimensions in the order of the variables, the tiles of the stick among them. Returns the
  /// sticks that one tile of the smallest size spans.
  int64_t setLayout(Operand &operand, numerics::DataFormat format) const {
    layout::DeviceLayout &near = operand.layout;
    near.format = format;
    const std::vector<int64_t> shape = shapeOf(operand), stride = rowMajorStrides(shape);
    const int64_t lanes = near.elemsPerStick();
    std::vector<int64_t> touched; // of each device dimension, by one tile
    const auto add = [&](int64_t size, int64_t step, int64_t unit) {
      near.deviceSize.push_back(size);
      near.strideMap.push_back(step);
      touched.push_back(unit == 0 ? size : std::min(unit, size));
    };
    const size_t rows = shape.size() - (operand.stickVar ? 1 : 0);
    bool needsTiles = operand.stickVar.has_value();
    for (size_t d = 0; d < rows; ++d) {
      const int64_t unit = tileUnits[operand.vars[d]];
      if (needsTiles && unit != 1 && tileUnits[*operand.stickVar] > 0) {
        add(ceilDiv(shape.back(), lanes), lanes, 1);
        needsTiles = false;
      }
      add(shape[d], stride[d], unit);
    }
    if (needsTiles) {
      add(ceilDiv(shape.back(), lanes), lanes, tileUnits[*operand.stickVar] > 0 ? 1 : 0);
    }
    int64_t reach = 1, sticks = 1;
    for (size_t j = touched.size(); j-- > 0;) {
      reach += (touched[j] - 1) * sticks;
      sticks *= near.deviceSize[j];
    }
    near.deviceSize.push_back(lanes);
    near.strideMap.push_back(operand.stickVar ? 1 : -1);
    return reach;
  }

  void copyAll(const std::vector<Operand> &far) {
    Rewriter rewriter(op->getParentOfType<mlir::func::FuncOp>());
    auto near = llvm::cast<ComputeOp>(mlir::OpBuilder(op).clone(*op));
    for (const Operand &operand : far) {
      BufferOp whole = operand.access.buffer;
      const std::vector<int64_t> shape = shapeOf(operand);
      BufferOp temp = rewriter.addTemp(
          whole.getName().str() + "_near", shape,
          llvm::cast<mlir::MemRefType>(whole.getResult().getType()).getElementType(), op.getLoc());
      temp.setLayoutAttr(dialect::layoutToAttr(op.getContext(), operand.layout));
      rewriter.why = fmt::format("near: a core would span {} sticks of '{}', the limit is {}",
                                 reaches[operand.number], whole.getName().str(), limitSticks);
      const bool isOutput = operand.number + 1 == operandCount(op);
      const mlir::AffineMap own = ownMap(rewriter, operand);
      const mlir::AffineMap identity =
          rewriter.builder.getMultiDimIdentityMap(unsigned(shape.size()));
      rewriter.setOperand(near, operand.number, temp, projection(rewriter, operand));
      if (isOutput) {
        copies.pieces.push_back(near);
        copies.pieces.push_back(rewriter.addCopy(op, temp, identity, whole, own, shape));
        if (op->hasAttr(kOverwritesPadding)) {
          copies.pieces.back()->setAttr(kOverwritesPadding, rewriter.builder.getUnitAttr());
        }
      } else {
        copies.pieces.push_back(rewriter.addCopy(near, whole, own, temp, identity, shape));
      }
      copies.operands += (copies.operands.empty() ? "'" : ", '") + whole.getName().str() + "'";
      copies.bytes += operand.layout.bytes();
    }
    if (!llvm::is_contained(copies.pieces, near)) {
      copies.pieces.push_back(near);
    }
  }

  /// Variables of the temp to the operand's dimensions.
  mlir::AffineMap ownMap(Rewriter &rewriter, const Operand &operand) {
    llvm::SmallVector<mlir::AffineExpr> replacements(op.getExtents().size(),
                                                     rewriter.builder.getAffineConstantExpr(0));
    for (size_t d = 0; d < operand.vars.size(); ++d) {
      replacements[operand.vars[d]] = rewriter.builder.getAffineDimExpr(unsigned(d));
    }
    return llvm::cast<mlir::AffineMapAttr>(op.getMaps()[operand.number])
        .getValue()
        .replaceDimsAndSymbols(replacements, {}, unsigned(operand.vars.size()), 0);
  }

  /// Variables of the operation to dimensions of the temp.
  mlir::AffineMap projection(Rewriter &rewriter, const Operand &operand) {
    llvm::SmallVector<mlir::AffineExpr> dims;
    for (unsigned var : operand.vars) {
      dims.push_back(rewriter.builder.getAffineDimExpr(var));
    }
    return mlir::AffineMap::get(unsigned(op.getExtents().size()), 0, dims, op.getContext());
  }

  ComputeOp op;
  const std::vector<int64_t> extents;
  const std::vector<int64_t> reaches;
  /// Elements by which tiles cut each variable; 0: not at all.
  const std::vector<int64_t> tileUnits;
  const int64_t limitSticks;
  /// Elements that cores walk of each variable, padding included.
  std::vector<int64_t> walked;
  NearCopies copies;
};

} // namespace

NearCopies bringNear(ComputeOp op, const division::Op &problem, const arch::DeviceDesc &device,
                     int64_t cores) {
  return NearCopier(op, problem, device, cores).run();
}

} // namespace spyre::loop
