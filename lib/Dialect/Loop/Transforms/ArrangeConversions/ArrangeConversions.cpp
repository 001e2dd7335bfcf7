//===- ArrangeConversions.cpp - conversions of widths, and the order they leave -------------===//
//
// The device's conversions move elements: of 64 neighbours along the stick, one that is number
// 16 h + 8 s + i in 16 bits has the position 32 s + 8 h + i in 32 bits (docs/adr/0019); of 128 that
// were 8 bits wide, it has the position 64 s + 8 h + i in 16 bits. Here that order becomes plain: a
// converted tensor is a buffer of positions, its dimension padded to a multiple of 64 (or 128), and
// what follows works on positions as long as all that it combines have the same order along the
// same variable. Only where orders meet that differ, elements are put in order by a copy that
// splits the dimension into the digits (q, h, s, i); the layout pass finds the sticks in which such
// a copy is possible, along another dimension or one element per stick.
//
//     x.float() * w.float()   both along the last dimension: positions all the way, no copy
//     x.float() + native      one of them is rearranged, whichever has fewer elements
//     .half() of positions    undoes the order
//
// The order of a tensor is that of its own width: what is converted twice is put in order between.
// docs/adr/0026
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/IR/Conversions.h"
#include "spyre/Dialect/Loop/Transforms/Passes.h"
#include "spyre/Dialect/Loop/Transforms/Stick.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include "../LoopPass.h"
#include "ElementOrders.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace spyre::loop {

#define GEN_PASS_DEF_ARRANGECONVERSIONSPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

/// Elements whose order a conversion to 32 or 16 bits may have changed.
bool hasWideLanes(mlir::Type type) {
  return type.isF32() || type.isInteger(32) || type.isInteger(64) || type.isF16() ||
         type.isBF16() || type.isInteger(1) || type.isUnsignedInteger(8);
}

std::vector<int64_t> extentsOf(ComputeOp op) { return dialect::toVector(op.getExtents()); }

mlir::AffineMap mapOf(ComputeOp op, unsigned index) {
  return llvm::cast<mlir::AffineMapAttr>(op.getMaps()[index]).getValue();
}

/// The dimension of an access whose blocks variable \p var walks in order; nothing when there is
/// none, or the variable is used elsewhere, too.
std::optional<unsigned> blockDim(const Access &access, unsigned var,
                                 llvm::ArrayRef<int64_t> extents, int64_t block) {
  std::optional<unsigned> found;
  for (unsigned d = 0; d < access.dims.size(); ++d) {
    const LinearIndex &index = access.dims[d];
    const bool uses = std::any_of(index.terms.begin(), index.terms.end(),
                                  [&](const LinearIndex::Term &term) { return term.var == var; });
    if (!uses) {
      continue;
    }
    bool plain = !found && index.terms.back().var == var && index.terms.back().coefficient == 1 &&
                 index.offset % block == 0;
    for (size_t i = 0; i + 1 < index.terms.size(); ++i) {
      plain = plain && index.terms[i].coefficient % block == 0;
    }
    BufferOp buffer = access.buffer;
    const bool whole = index.terms.size() == 1 && index.offset == 0 &&
                       extents[var] == typeOf(buffer).getDimSize(d);
    if (!plain || (extents[var] % block != 0 && !whole)) {
      return std::nullopt;
    }
    found = d;
  }
  return found;
}

/// The same for the blocks of the buffer's own width.
std::optional<unsigned> blockDim(const Access &access, unsigned var,
                                 llvm::ArrayRef<int64_t> extents) {
  return blockDim(access, var, extents, blockOf(access.buffer));
}

Conversion conversionOf(BufferOp from, BufferOp to) {
  std::optional<Conversion> conversion =
      findConversion(typeOf(from).getElementType(), typeOf(to).getElementType());
  SPYRE_CHECK(conversion.has_value(), "conversions are checked before they are arranged");
  return *conversion;
}

class Arranger {
public:
  Arranger(mlir::func::FuncOp function, DecisionTrace *trace)
      : function(function), rewriter(function), orders(rewriter, trace) {
    rewriter.why = "element-order: a conversion to more or fewer bits leaves elements in an order "
                   "of its own, which a reader does not share";
  }

  void run() {
    for (ComputeOp op : function.getOps<ComputeOp>()) {
      ++writers[operandBuffer(op, operandCount(op) - 1)];
    }
    llvm::SmallVector<ComputeOp> operations(function.getOps<ComputeOp>());
    for (ComputeOp op : operations) {
      if (op.getCallee() == kConvert) {
        convert(op);
      } else {
        arrange(op);
      }
    }
    eraseUnused();
  }

private:
  //===--- operations that do not convert ---===//

  /// Nothing else writes the result, and it is not there before.
  bool isSingleResult(ComputeOp op) const {
    BufferOp buffer = operandBuffer(op, operandCount(op) - 1);
    return buffer.getKind() != "input" && writers.lookup(buffer) == 1;
  }

  /// Variables along which some operand is arranged, the one with the most elements first.
  std::vector<unsigned> candidates(ComputeOp op) {
    std::map<unsigned, int64_t> elements;
    for (unsigned i = 0; i + 1 < operandCount(op); ++i) {
      const Access access = accessOf(op, i);
      BufferOp buffer = access.buffer;
      if (!orders.isArranged(buffer)) {
        continue;
      }
      const LinearIndex &index = access.dims[orders.arrangedDim(buffer)];
      if (!index.terms.empty() &&
          blockDim(access, index.terms.back().var, op.getExtents()).has_value()) {
        elements[index.terms.back().var] += typeOf(buffer).getNumElements();
      }
    }
    std::vector<unsigned> vars;
    for (auto [var, count] : elements) {
      vars.push_back(var);
    }
    std::stable_sort(vars.begin(), vars.end(),
                     [&](unsigned a, unsigned b) { return elements[a] > elements[b]; });
    return vars;
  }

  /// Elements to rearrange so that the operation works on positions along \p var; -1 when it
  /// cannot. Without variable: in order.
  int64_t costOf(ComputeOp op, std::optional<unsigned> var) {
    int64_t cost = 0;
    for (unsigned i = 0; i < operandCount(op); ++i) {
      const Access access = accessOf(op, i);
      BufferOp buffer = access.buffer;
      const bool writes = i + 1 == operandCount(op);
      if (!var || !varsOf(access).count(*var)) {
        cost += writes || orders.hasStandard(buffer) ? 0 : typeOf(buffer).getNumElements();
        continue;
      }
      std::optional<unsigned> dim = blockDim(access, *var, op.getExtents());
      const bool isBound = !writes && holdsPairs(buffer);
      const bool isOther = blockOf(buffer) != blockOf(operandBuffer(op, operandCount(op) - 1));
      if (!dim || isBound || isOther || !hasWideLanes(typeOf(buffer).getElementType())) {
        return -1;
      }
      if (writes) {
        cost += ElementOrders::isReadOutside(buffer) ? typeOf(buffer).getNumElements() : 0;
      } else if (!orders.hasPositions(buffer, *dim)) {
        cost += typeOf(buffer).getNumElements();
      }
    }
    return cost;
  }

  bool canBeArranged(ComputeOp op, unsigned var) {
    const bool isReduced = var >= op.getExtents().size() - size_t(op.getReductions());
    const bool isWhole =
        op.getExtents()[var] % blockOf(operandBuffer(op, operandCount(op) - 1)) == 0;
    // Its lanes are what it reduces; the pairs it makes stay in order.
    const bool fits = makesPairs(op) ? isReduced && isWhole : isWhole || !isReduced;
    // The places of elements are counted in the order of the tensor.
    return op.getCallee() != kMatmul && !isTopK(op) && !op.getIndirect() && fits &&
           isSingleResult(op);
  }

  void arrange(ComputeOp op) {
    std::optional<unsigned> best;
    int64_t least = costOf(op, std::nullopt);
    for (unsigned var : candidates(op)) {
      const int64_t cost = canBeArranged(op, var) ? costOf(op, var) : -1;
      if (cost >= 0 && cost <= least && !(best && cost == least)) {
        best = var;
        least = cost;
      }
    }
    for (unsigned i = 0; i + 1 < operandCount(op); ++i) {
      const Access access = accessOf(op, i);
      BufferOp buffer = access.buffer;
      const bool depends = best && varsOf(access).count(*best);
      BufferOp use = depends
                         ? orders.positionsOf(buffer, *blockDim(access, *best, op.getExtents()), op)
                         : orders.standardFor(access, op);
      if (use != buffer) {
        rewriter.setOperand(op, i, use, mapOf(op, i));
      }
    }
    if (best) {
      writePositions(op, *best);
    } else {
      orders.forget(operandBuffer(op, operandCount(op) - 1));
    }
    noteSingles(op, best);
  }

  /// A reduction of sticks leaves one element per stick, and so does what is computed of such
  /// results alone.
  void noteSingles(ComputeOp op, std::optional<unsigned> lanes) {
    const unsigned out = operandCount(op) - 1;
    const bool reducesSticks =
        lanes && *lanes >= op.getExtents().size() - size_t(op.getReductions());
    bool ofSingles = out > 0;
    for (unsigned i = 0; i < out; ++i) {
      BufferOp buffer = operandBuffer(op, i);
      ofSingles = ofSingles && (buffer.getKind() == "constant" || singles.contains(buffer));
    }
    BufferOp result = operandBuffer(op, out);
    if ((reducesSticks || ofSingles) && result.getKind() == "temp" && writers.lookup(result) == 1) {
      singles.insert(result);
    }
  }

  /// The operation works on positions along \p var, whole blocks of them.
  void writePositions(ComputeOp op, unsigned var) {
    const unsigned out = operandCount(op) - 1;
    const Access access = accessOf(op, out);
    const std::vector<int64_t> logical = extentsOf(op);
    std::vector<int64_t> extents = logical;
    extents[var] = roundUp(extents[var], blockOf(access.buffer));
    op.setExtents(extents);
    if (op.getReductions() > 0 && extents != logical) {
      op->setDiscardableAttr(kReducesPadding, rewriter.builder.getUnitAttr());
    }
    if (varsOf(access).count(var)) {
      BufferOp buffer = access.buffer;
      const unsigned dim = *blockDim(access, var, logical);
      rewriter.setOperand(op, out, orders.addPositions(buffer, dim), mapOf(op, out));
      orders.finishOutput(buffer, op->getNextNode());
    }
  }

  //===--- conversions ---===//

  void convert(ComputeOp op) {
    BufferOp from = operandBuffer(op, 0), to = operandBuffer(op, 1);
    const bool widens = conversionOf(from, to).widens();
    if (widens && orders.isArranged(from)) { // of another width, which this one does not undo
      rewriter.setOperand(op, 0, orders.standardFor(accessOf(op, 0), op), mapOf(op, 0));
    }
    if (!widens && singles.contains(from)) {
      narrowSingles(op);
    } else if (op.getExtents().empty() || varsOf(accessOf(op, 0)).empty()) {
      convertOne(op, widens);
    } else if (widens) {
      widen(op);
    } else {
      narrow(op);
    }
    op.erase();
  }

  /// A conversion over \p extents whose lanes follow the last of them.
  void addConversion(mlir::Operation *before, BufferOp from, mlir::AffineMap fromMap, BufferOp to,
                     mlir::AffineMap toMap, const std::vector<int64_t> &extents) {
    mlir::OpBuilder &builder = rewriter.builder;
    builder.setInsertionPoint(before);
    llvm::SmallVector<mlir::Attribute> vars;
    for (size_t v = 0; v < extents.size(); ++v) {
      vars.push_back(builder.getStringAttr("c" + std::to_string(v)));
    }
    const Conversion conversion = conversionOf(from, to);
    builder.create<ComputeOp>(
        before->getLoc(), builder.getStringAttr(conversion.callee),
        mlir::ValueRange{from.getResult()}, to.getResult(), builder.getArrayAttr(vars),
        builder.getDenseI64ArrayAttr(extents), builder.getI64IntegerAttr(0),
        builder.getArrayAttr({mlir::AffineMapAttr::get(fromMap), mlir::AffineMapAttr::get(toMap)}),
        conversion.constants(builder.getContext()), mlir::ArrayAttr(), mlir::DenseI64ArrayAttr());
  }

  /// The variables of an operation in another order, \p var last.
  struct LanesLast {
    std::vector<int64_t> extents;
    llvm::SmallVector<mlir::AffineExpr> replacements;
  };
  LanesLast lanesLast(const std::vector<int64_t> &extents, unsigned var) {
    LanesLast result;
    result.replacements.resize(extents.size());
    for (unsigned v = 0; v < extents.size(); ++v) {
      if (v != var) {
        result.replacements[v] = rewriter.builder.getAffineDimExpr(unsigned(result.extents.size()));
        result.extents.push_back(extents[v]);
      }
    }
    result.replacements[var] = rewriter.builder.getAffineDimExpr(unsigned(result.extents.size()));
    result.extents.push_back(extents[var]);
    return result;
  }

  void addConversion(mlir::Operation *before, BufferOp from, mlir::AffineMap fromMap, BufferOp to,
                     mlir::AffineMap toMap, const std::vector<int64_t> &extents, unsigned var) {
    LanesLast last = lanesLast(extents, var);
    auto reorder = [&](mlir::AffineMap map) {
      return map.replaceDimsAndSymbols(last.replacements, {}, unsigned(extents.size()), 0);
    };
    addConversion(before, from, reorder(fromMap), to, reorder(toMap), last.extents);
  }

  /// One element everywhere: a block of its own.
  void convertOne(ComputeOp op, bool widens) {
    mlir::MLIRContext *context = rewriter.builder.getContext();
    BufferOp source = orders.standardOf(operandBuffer(op, 0), op), target = operandBuffer(op, 1);
    mlir::Type fromType = typeOf(source).getElementType(), toType = typeOf(target).getElementType();
    mlir::AffineMap first =
        mlir::AffineMap::get(0, 0, {rewriter.builder.getAffineConstantExpr(0)}, context);
    // The offsets of the access, without variables.
    llvm::SmallVector<mlir::AffineExpr> at;
    for (const LinearIndex &index : accessOf(op, 0).dims) {
      at.push_back(rewriter.builder.getAffineConstantExpr(index.offset));
    }
    BufferOp one = rewriter.addTemp(source.getName().str() + "_one", {1}, fromType, op.getLoc());
    rewriter.addCopy(op, source, mlir::AffineMap::get(0, 0, at, context), one, first, {});
    BufferOp block = widens ? one : orders.padded(one, 0, op);
    BufferOp result =
        rewriter.addTemp(target.getName().str() + "_block", {widens ? blockOf(target) : int64_t(1)},
                         toType, op.getLoc());
    addConversion(op, block, orders.identityMap(1), result, orders.identityMap(1), {1});
    const auto vars = unsigned(op.getExtents().size());
    rewriter.addCopy(
        op, result,
        mlir::AffineMap::get(vars, 0, {rewriter.builder.getAffineConstantExpr(0)}, context), target,
        mapOf(op, 1), extentsOf(op));
  }

  /// True when the operation reads each element for one element of the result.
  static bool isOneToOne(ComputeOp op) {
    return varsOf(accessOf(op, 0)).size() == op.getExtents().size();
  }

  /// The variable a conversion's lanes should follow so that the result's order is along one of its
  /// dimensions: one whose order need not be undone, the stick of an input, or else the innermost.
  std::optional<unsigned> chooseLanes(ComputeOp op) {
    const Access from = accessOf(op, 0), to = accessOf(op, 1);
    std::optional<unsigned> given;
    BufferOp source = from.buffer;
    if (source.getLayoutAttr()) {
      Expected<StickUse> use = stickUse(from);
      if (use.ok() && use->kind == StickUse::Kind::Var) {
        given = use->var;
      }
    }
    std::optional<unsigned> best;
    int bestRank = 0;
    for (unsigned var = 0; var < op.getExtents().size(); ++var) {
      std::optional<unsigned> dim = blockDim(to, var, op.getExtents());
      if (op.getExtents()[var] == 1 || !varsOf(from).count(var) || !dim) {
        continue;
      }
      // What is reduced in parts of a block must be put in order; a dimension that is not reduced
      // is better, unless most of its positions are padding.
      const int64_t extent = op.getExtents()[var], blocks = roundUp(extent, blockOf(to.buffer));
      const bool fits = extent == blocks || !isReducedAlong(to.buffer, *dim);
      const int rank = 2 * int(fits && blocks <= 2 * extent) + int(given == var);
      if (!best || rank >= bestRank) {
        best = var;
        bestRank = rank;
      }
    }
    return best;
  }

  /// Whether lane-wise operations lead from dimension \p dim of a buffer to a reduction of it.
  static bool isReducedAlong(BufferOp buffer, unsigned dim) {
    std::set<std::pair<mlir::Operation *, unsigned>> seen;
    std::vector<std::pair<BufferOp, unsigned>> open = {{buffer, dim}};
    while (!open.empty()) {
      auto [from, along] = open.back();
      open.pop_back();
      if (!seen.insert({from, along}).second) {
        continue;
      }
      for (mlir::Operation *user : from.getResult().getUsers()) {
        auto op = llvm::dyn_cast<ComputeOp>(user);
        if (!op) {
          continue;
        }
        const unsigned out = operandCount(op) - 1;
        for (unsigned i = 0; i < out; ++i) {
          const Access access = accessOf(op, i);
          if (access.buffer != from || access.dims[along].terms.empty()) {
            continue;
          }
          const unsigned var = access.dims[along].terms.back().var;
          if (var >= op.getExtents().size() - size_t(op.getReductions())) {
            return true;
          }
          const Access result = accessOf(op, out);
          if (std::optional<unsigned> next = blockDim(result, var, op.getExtents())) {
            open.emplace_back(result.buffer, *next);
          }
        }
      }
    }
    return false;
  }

  void widen(ComputeOp op) {
    BufferOp source = operandBuffer(op, 0), target = operandBuffer(op, 1);
    std::optional<unsigned> lanes = chooseLanes(op);
    if (lanes && isOneToOne(op) && target.getKind() == "output" && target.getResult().hasOneUse() &&
        op.getExtents()[*lanes] % blockOf(target) == 0) {
      return widenInOrder(op, *lanes);
    }
    if (lanes && isOneToOne(op) && isSingleResult(op)) {
      const unsigned dim = *blockDim(accessOf(op, 1), *lanes, op.getExtents());
      BufferOp result = orders.addPositions(target, dim);
      addConversion(op, source, mapOf(op, 0), result, mapOf(op, 1), extentsOf(op), *lanes);
      orders.finishOutput(target, op);
      return;
    }
    // What is read, converted once; then a copy spreads it.
    OwnSpace own = ownSpace(op, 0, rewriter.builder, varsOf(accessOf(op, 0)));
    const auto last = unsigned(innermost(own.extents));
    BufferOp whole = rewriter.addTemp(target.getName().str() + "_converted", own.extents,
                                      typeOf(target).getElementType(), op.getLoc());
    BufferOp result = orders.addPositions(whole, last);
    addConversion(op, source, own.map, result, orders.identityMap(own.extents.size()), own.extents,
                  last);
    copyInto(op, whole, own.projection);
  }

  /// Only the graph's caller reads it, in order: fewer bytes are cheaper to rearrange.
  void widenInOrder(ComputeOp op, unsigned lanes) {
    BufferOp source = operandBuffer(op, 0), target = operandBuffer(op, 1);
    const std::vector<int64_t> shape = extentsOf(op);
    mlir::AffineMap identity = orders.identityMap(shape.size());
    mlir::Type type = typeOf(source).getElementType();
    if (shapeOf(source) != shape || mapOf(op, 0) != identity) {
      BufferOp copy =
          rewriter.addTemp(source.getName().str() + "_converting", shape, type, op.getLoc());
      rewriter.addCopy(op, source, mapOf(op, 0), copy, identity, shape);
      source = copy;
    }
    BufferOp ordered =
        rewriter.addTemp(target.getName().str() + "_standard", shape, type, op.getLoc());
    orders.rearrange(source, ordered, lanes, Order::ToStandard, blockOf(target), op);
    addConversion(op, ordered, identity, target, mapOf(op, 1), shape, lanes);
  }

  static size_t innermost(const std::vector<int64_t> &extents) {
    size_t last = extents.size() - 1;
    while (last > 0 && extents[last] == 1) {
      --last;
    }
    return extents[last] == 1 ? extents.size() - 1 : last;
  }

  /// \p op as a copy of \p from, read through \p map, in whatever order is best.
  void copyInto(ComputeOp op, BufferOp from, mlir::AffineMap map) {
    arrange(rewriter.addCopy(op, from, map, operandBuffer(op, 1), mapOf(op, 1), extentsOf(op)));
  }

  /// From positions, which that undoes, or from elements in order, which are put in order after.
  void narrow(ComputeOp op) {
    const Access from = accessOf(op, 0);
    BufferOp source = from.buffer, target = operandBuffer(op, 1);
    std::optional<unsigned> lanes;
    if (orders.isArranged(source)) {
      const LinearIndex &index = from.dims[orders.arrangedDim(source)];
      if (!index.terms.empty() && blockDim(from, index.terms.back().var, op.getExtents())) {
        lanes = index.terms.back().var;
      }
    }
    if (lanes) {
      BufferOp use = orders.positionsOf(source, orders.arrangedDim(source), op);
      if (isOneToOne(op) && blockDim(accessOf(op, 1), *lanes, op.getExtents(), blockOf(source))) {
        return addConversion(op, use, mapOf(op, 0), target, mapOf(op, 1), extentsOf(op), *lanes);
      }
      OwnSpace own = ownSpace(op, 0, rewriter.builder, varsOf(from));
      BufferOp whole = rewriter.addTemp(target.getName().str() + "_converted", own.extents,
                                        typeOf(target).getElementType(), op.getLoc());
      const auto position =
          unsigned(std::find(own.vars.begin(), own.vars.end(), *lanes) - own.vars.begin());
      addConversion(op, use, own.map, whole, orders.identityMap(own.extents.size()), own.extents,
                    position);
      return copyInto(op, whole, own.projection);
    }
    narrowInOrder(op);
  }

  /// From one element per stick to one element per stick: each is a block of its own, so none
  /// changes its place.
  void narrowSingles(ComputeOp op) {
    BufferOp source = operandBuffer(op, 0), target = operandBuffer(op, 1);
    BufferOp blocks = blocksOf(source, op);
    OwnSpace own = ownSpace(op, 0, rewriter.builder, varsOf(accessOf(op, 0)));
    const auto lanes = unsigned(own.extents.size());
    mlir::MLIRContext *context = rewriter.builder.getContext();
    std::vector<int64_t> extents = own.extents;
    extents.push_back(1);
    llvm::SmallVector<mlir::AffineExpr> read(own.map.getResults());
    read.push_back(rewriter.builder.getAffineDimExpr(lanes));
    BufferOp result = rewriter.addTemp(target.getName().str() + "_converted", extents,
                                       typeOf(target).getElementType(), op.getLoc());
    addConversion(op, blocks, mlir::AffineMap::get(lanes + 1, 0, read, context), result,
                  orders.identityMap(extents.size()), extents);
    llvm::SmallVector<mlir::AffineExpr> first(own.projection.getResults());
    first.push_back(rewriter.builder.getAffineConstantExpr(0));
    copyInto(op, result, mlir::AffineMap::get(unsigned(op.getExtents().size()), 0, first, context));
  }

  /// The elements of \p source, each at the beginning of a block.
  BufferOp blocksOf(BufferOp source, ComputeOp reader) {
    std::vector<int64_t> shape = shapeOf(source), extents = shape;
    const auto rank = unsigned(shape.size());
    shape.push_back(blockOf(source));
    extents.push_back(1);
    BufferOp blocks = rewriter.addTemp(source.getName().str() + "_blocks", shape,
                                       typeOf(source).getElementType(), source.getLoc());
    llvm::SmallVector<mlir::AffineExpr> dims;
    for (unsigned d = 0; d < rank; ++d) {
      dims.push_back(rewriter.builder.getAffineDimExpr(d));
    }
    const auto map = mlir::AffineMap::get(rank + 1, 0, dims, rewriter.builder.getContext());
    ComputeOp copy =
        rewriter.addCopy(reader, source, map, blocks, orders.identityMap(extents.size()), extents);
    copy->setDiscardableAttr(kOverwritesPadding, rewriter.builder.getUnitAttr());
    return blocks;
  }

  /// Fewer bytes are cheaper to put in order: after the conversion.
  void narrowInOrder(ComputeOp op) {
    BufferOp source = orders.standardFor(accessOf(op, 0), op), target = operandBuffer(op, 1);
    rewriter.setOperand(op, 0, source, mapOf(op, 0));
    OwnSpace own = ownSpace(op, 0, rewriter.builder, varsOf(accessOf(op, 0)));
    const auto last = unsigned(innermost(own.extents));
    const int64_t block = blockOf(source);
    mlir::AffineMap identity = orders.identityMap(own.extents.size());
    mlir::AffineMap map = own.map;
    std::vector<int64_t> shape = own.extents;
    shape[last] = roundUp(shape[last], block);
    if (shape != own.extents) {
      BufferOp slice = rewriter.addTemp(source.getName().str() + "_converting", own.extents,
                                        typeOf(source).getElementType(), op.getLoc());
      rewriter.addCopy(op, source, own.map, slice, identity, own.extents);
      source = orders.padded(slice, last, op);
      map = identity;
    }
    mlir::Type type = typeOf(target).getElementType();
    const std::string name = target.getName().str();
    BufferOp result = rewriter.addTemp(name + "_converted", shape, type, op.getLoc());
    addConversion(op, source, map, result, identity, shape, last);
    if (own.extents[last] > kInOrder) {
      BufferOp inOrder = rewriter.addTemp(name + "_standard", shape, type, op.getLoc());
      orders.rearrange(result, inOrder, last, Order::ToPositions, block, op);
      result = inOrder;
    }
    rewriter.addCopy(op, result, own.projection, target, mapOf(op, 1), extentsOf(op));
  }

  void eraseUnused() {
    llvm::SmallVector<BufferOp> buffers(function.getOps<BufferOp>());
    for (BufferOp buffer : buffers) {
      if (buffer.getKind() == "temp" && buffer.getResult().use_empty()) {
        buffer.erase();
      }
    }
  }

  mlir::func::FuncOp function;
  Rewriter rewriter;
  ElementOrders orders;
  llvm::DenseMap<mlir::Operation *, int> writers;
  /// Temps with one element per stick.
  llvm::DenseSet<mlir::Operation *> singles;
};

Status checkConversion(ComputeOp op) {
  if (op.getCallee() != kConvert) {
    return Status::success();
  }
  const bool isSound = op.getInputs().size() == 1 && op.getReductions() == 0 && !op.getIndirect();
  const bool converts = isSound && findConversion(typeOf(operandBuffer(op, 0)).getElementType(),
                                                  typeOf(operandBuffer(op, 1)).getElementType());
  return converts ? Status::success()
                  : error<1206>("'{}' has one input, reduces nothing, and converts f16, bf16, i1 "
                                "or i16 to f32, f8E4M3FN or i8 to f16, bf16 or i1, or back",
                                kConvert);
}

struct ArrangeConversions : LoopPass<impl::ArrangeConversionsPassBase<ArrangeConversions>> {
  Status runOnMain(mlir::func::FuncOp main) override {
    for (ComputeOp op : main.getOps<ComputeOp>()) {
      if (Status status = checkConversion(op); !status.ok()) {
        return at(op, std::move(status));
      }
    }
    Arranger(main, trace).run();
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createArrangeConversionsPass(DecisionTrace *trace) {
  return createLoopPass<ArrangeConversions>(trace);
}

} // namespace spyre::loop
