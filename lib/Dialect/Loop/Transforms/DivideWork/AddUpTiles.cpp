//===- AddUpTiles.cpp - see AddUpTiles.h ----------------------------------------------------===//
#include "AddUpTiles.h"

#include "../Rewrite.h"
#include "NestRules.h"

#include <limits>

namespace spyre::loop {

std::optional<Combination> combinationOf(ComputeOp op) {
  auto result = llvm::cast<mlir::MemRefType>(op.getOutput().getType()).getElementType();
  // Integers have 32 bits on the device.
  const bool isInteger = result.isInteger(32) || result.isInteger(64);
  const double most = isInteger ? double(std::numeric_limits<int32_t>::max())
                                : std::numeric_limits<double>::infinity();
  const double least = isInteger ? double(std::numeric_limits<int32_t>::min()) : -most;
  const llvm::StringRef callee = op.getCallee();
  if (callee == "sum" || callee == "mean" || callee == kMatmul) { // a mean is a scaled sum
    return Combination{"add", 0};
  }
  if (callee == "max" || callee == "min") {
    return callee == "max" ? Combination{"maximum", least} : Combination{"minimum", most};
  }
  return callee == "absmax" ? std::optional(Combination{"maximum", 0}) : std::nullopt;
}

namespace {

class Accumulator {
public:
  Accumulator(ComputeOp op, size_t level, mlir::Operation *loopBegin)
      : op(op), level(level), loopBegin(loopBegin), levels(levelsOf(op)),
        result(operandBuffer(op, operandCount(op) - 1)),
        rewriter(op->getParentOfType<mlir::func::FuncOp>()),
        vars(unsigned(op.getExtents().size() - op.getReductions())) {}

  void run(const Combination &combination) {
    auto type = llvm::cast<mlir::MemRefType>(result.getResult().getType());
    BufferOp identity =
        rewriter.addConstant(combination.identity, type.getElementType(), op.getLoc());
    ComputeOp fill = addOver({identity}, {none()}, kCopy, loopBegin, "accumulator");
    setLevels(fill, outputLevels(level));
    BufferOp part = addPart(type);
    ComputeOp sum = addOver({result, part}, {resultMap(), resultMap()}, combination.callee,
                            op->getNextNode(), "");
    setLevels(sum, outputLevels(levels.size()));
    op->setOperand(operandCount(op) - 1, part.getResult());
  }

private:
  mlir::AffineMap none() { return mlir::AffineMap::get(vars, 0, {}, op.getContext()); }

  /// Over the variables of the result, which come first.
  mlir::AffineMap resultMap() {
    auto map = llvm::cast<mlir::AffineMapAttr>(op.getMaps()[operandCount(op) - 1]).getValue();
    return mlir::AffineMap::get(vars, 0, map.getResults(), op.getContext());
  }

  Levels outputLevels(size_t depth) const {
    Levels of(levels.begin(), levels.begin() + int64_t(depth));
    for (Level &each : of) {
      each.var = each.var < int64_t(vars) ? each.var : -1;
    }
    return of;
  }

  BufferOp addPart(mlir::MemRefType type) {
    const std::vector<int64_t> shape = dialect::toVector(type.getShape());
    BufferOp part = rewriter.addTemp(result.getName().str() + "_part", shape, type.getElementType(),
                                     op.getLoc());
    if (part.getStride() == result.getStride()) {
      part.setLayoutAttr(result.getLayoutAttr());
    } else {
      Expected<DimRoles> roles = dimRolesOf(result);
      rewriter.setLayout(part, roles.ok() ? roles->order : std::vector<int64_t>());
    }
    return part;
  }

  /// An operation over the variables of the result that writes it.
  ComputeOp addOver(llvm::ArrayRef<BufferOp> inputs, llvm::ArrayRef<mlir::AffineMap> maps,
                    const char *callee, mlir::Operation *before, const std::string &why) {
    mlir::OpBuilder &builder = rewriter.builder;
    builder.setInsertionPoint(before);
    llvm::SmallVector<mlir::Value> operands;
    for (BufferOp input : inputs) {
      operands.push_back(input.getResult());
    }
    llvm::SmallVector<mlir::Attribute> all;
    for (mlir::AffineMap map : maps) {
      all.push_back(mlir::AffineMapAttr::get(map));
    }
    all.push_back(mlir::AffineMapAttr::get(resultMap()));
    const llvm::ArrayRef<mlir::Attribute> names = op.getVars().getValue().take_front(vars);
    auto made = builder.create<ComputeOp>(
        op.getLoc(), builder.getStringAttr(callee), operands, result.getResult(),
        builder.getArrayAttr(names), builder.getDenseI64ArrayAttr(op.getExtents().take_front(vars)),
        builder.getI64IntegerAttr(0), builder.getArrayAttr(all), mlir::DictionaryAttr(),
        mlir::ArrayAttr(), mlir::DenseI64ArrayAttr());
    if (!why.empty()) {
      made->setAttr(kWhy, builder.getStringAttr(why + ": tiles of a reduction are added to it"));
    }
    return made;
  }

  ComputeOp op;
  const size_t level;
  mlir::Operation *loopBegin;
  const Levels levels;
  BufferOp result;
  Rewriter rewriter;
  const unsigned vars;
};

/// The first operation in loop \p loop.
mlir::Operation *beginOf(ComputeOp op, size_t level, int64_t loop) {
  mlir::Operation *begin = op;
  while (auto before = llvm::dyn_cast_or_null<ComputeOp>(begin->getPrevNode())) {
    const Levels levels = levelsOf(before);
    if (levels.size() <= level || levels[level].loop != loop) {
      break;
    }
    begin = before;
  }
  return begin;
}

} // namespace

void addUpTiles(mlir::func::FuncOp main) {
  for (ComputeOp op : llvm::to_vector(main.getOps<ComputeOp>())) {
    const Levels levels = levelsOf(op);
    const std::optional<size_t> level = accumulatingLevel(op, levels);
    const std::optional<Combination> combination = combinationOf(op);
    if (level && combination) {
      Accumulator(op, *level, beginOf(op, *level, levels[*level].loop)).run(*combination);
    }
  }
}

} // namespace spyre::loop
