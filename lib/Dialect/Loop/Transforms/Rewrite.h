//===- Rewrite.h - small edits of loop IR that several passes make --------------------------===//
#pragma once

#include "spyre/Base/Math.h"
#include "spyre/Dialect/Loop/IR/Loop.h"
#include "spyre/Dialect/Utils/Attributes.h"

#include "mlir/IR/Builders.h"

#include <bit>
#include <set>
#include <string>
#include <vector>

namespace spyre::loop {

/// Declares buffers after the existing ones and appends operations before a given one.
class Rewriter {
public:
  explicit Rewriter(mlir::func::FuncOp function)
      : builder(function.getContext()), function(function) {
    for (BufferOp buffer : function.getOps<BufferOp>()) {
      last = buffer;
      names.insert(buffer.getName().str());
    }
  }

  /// A temp named \p stem, or stem_1, stem_2 ... when taken.
  BufferOp addTemp(const std::string &stem, const std::vector<int64_t> &shape, mlir::Type type,
                   mlir::Location loc) {
    return addBuffer(stem, "temp", shape, type, loc);
  }

  /// The buffer that holds these bits in this type; a new one where there is none.
  BufferOp addConstant(double value, mlir::Type type, mlir::Location loc) {
    for (BufferOp buffer : function.getOps<BufferOp>()) {
      bool same =
          buffer.getKind() == "constant" &&
          std::bit_cast<uint64_t>(buffer.getValue()->convertToDouble()) ==
              std::bit_cast<uint64_t>(value) &&
          llvm::cast<mlir::MemRefType>(buffer.getResult().getType()).getElementType() == type;
      if (same) {
        return buffer;
      }
    }
    BufferOp buffer = addBuffer("const", "constant", {}, type, loc);
    buffer.setValueAttr(builder.getF64FloatAttr(value));
    setLayout(buffer, {});
    return buffer;
  }

  /// copy from -> to, placed before \p op; maps are over \p wanted. A variable of extent 1 is
  /// dropped unless it selects one row of a larger dimension: it would only make equal layouts look
  /// different.
  ComputeOp addCopy(mlir::Operation *op, BufferOp from, mlir::AffineMap fromMap, BufferOp to,
                    mlir::AffineMap toMap, const std::vector<int64_t> &wanted) {
    std::vector<int64_t> extents;
    llvm::SmallVector<mlir::AffineExpr> replacements;
    for (size_t v = 0; v < wanted.size(); ++v) {
      bool dropped = wanted[v] == 1 && !selectsRow(from, fromMap, v) && !selectsRow(to, toMap, v);
      replacements.push_back(dropped ? builder.getAffineConstantExpr(0)
                                     : builder.getAffineDimExpr(extents.size()));
      if (!dropped) {
        extents.push_back(wanted[v]);
      }
    }
    fromMap = fromMap.replaceDimsAndSymbols(replacements, {}, extents.size(), 0);
    toMap = toMap.replaceDimsAndSymbols(replacements, {}, extents.size(), 0);
    builder.setInsertionPoint(op);
    std::vector<std::string> storage;
    for (size_t i = 0; i < extents.size(); ++i) {
      storage.push_back("c" + std::to_string(i));
    }
    llvm::SmallVector<llvm::StringRef> vars(storage.begin(), storage.end());
    auto copy = builder.create<ComputeOp>(
        op->getLoc(), builder.getStringAttr(kCopy), mlir::ValueRange{from.getResult()},
        to.getResult(), builder.getStrArrayAttr(vars), builder.getDenseI64ArrayAttr(extents),
        builder.getI64IntegerAttr(0),
        builder.getArrayAttr({mlir::AffineMapAttr::get(fromMap), mlir::AffineMapAttr::get(toMap)}),
        mlir::DictionaryAttr(), mlir::ArrayAttr(), mlir::DenseI64ArrayAttr());
    if (!why.empty()) {
      copy->setAttr(kWhy, builder.getStringAttr(why));
    }
    return copy;
  }

  /// Layout with the given dimension order (empty: natural order).
  void setLayout(BufferOp buffer, std::vector<int64_t> order) {
    auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
    if (order.empty()) {
      for (int64_t i = 0; i < type.getRank(); ++i) {
        order.push_back(i);
      }
    }
    Expected<numerics::HostType> hostType = dialect::hostTypeOf(type.getElementType());
    SPYRE_CHECK(hostType.ok(), "buffers are verified to have a device format");
    auto layout =
        layout::DeviceLayout::make(dialect::toVector(type.getShape()),
                                   dialect::toVector(buffer.getStride()), *hostType, order);
    SPYRE_CHECK(layout.ok(), "a permutation of the dimensions gives a layout");
    buffer.setLayoutAttr(dialect::layoutToAttr(builder.getContext(), *layout));
  }

  void setOperand(ComputeOp op, unsigned index, BufferOp buffer, mlir::AffineMap map) {
    llvm::SmallVector<mlir::Attribute> maps(op.getMaps().begin(), op.getMaps().end());
    maps[index] = mlir::AffineMapAttr::get(map);
    op.setMapsAttr(builder.getArrayAttr(maps));
    op->setOperand(index, buffer.getResult());
  }

  mlir::OpBuilder builder;
  /// Of the copies that follow, as "key: text".
  std::string why;

private:
  static bool selectsRow(BufferOp buffer, mlir::AffineMap map, unsigned var) {
    auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
    for (unsigned d = 0; d < map.getNumResults(); ++d) {
      if (map.getResult(d).isFunctionOfDim(var) && type.getDimSize(d) > 1) {
        return true;
      }
    }
    return false;
  }

  BufferOp addBuffer(const std::string &stem, const char *kind, const std::vector<int64_t> &shape,
                     mlir::Type type, mlir::Location loc) {
    std::string name = stem;
    for (int64_t n = 1; !names.insert(name).second; ++n) {
      name = stem + "_" + std::to_string(n);
    }
    if (last) {
      builder.setInsertionPointAfter(last);
    } else {
      builder.setInsertionPointToStart(&function.getBody().front());
    }
    auto buffer = builder.create<BufferOp>(
        loc, mlir::MemRefType::get(shape, type), builder.getStringAttr(name),
        builder.getStringAttr(kind), mlir::IntegerAttr(),
        builder.getDenseI64ArrayAttr(rowMajorStrides(shape)), mlir::IntegerAttr(),
        mlir::DictionaryAttr(), mlir::FloatAttr(), mlir::IntegerAttr());
    last = buffer;
    return buffer;
  }

  mlir::func::FuncOp function;
  mlir::Operation *last = nullptr;
  std::set<std::string> names;
};

/// An operand's own iteration space: the variables it depends on, in order, and the map over them.
struct OwnSpace {
  std::vector<unsigned> vars;
  std::vector<int64_t> extents;
  mlir::AffineMap map;        ///< own variables -> buffer dimensions
  mlir::AffineMap projection; ///< the operation's variables -> own variables
};

inline OwnSpace ownSpace(ComputeOp op, unsigned index, mlir::OpBuilder &builder,
                         const std::set<unsigned> &vars) {
  OwnSpace own;
  own.vars.assign(vars.begin(), vars.end());
  unsigned numVars = op.getExtents().size();
  llvm::SmallVector<mlir::AffineExpr> replacements(numVars, builder.getAffineConstantExpr(0));
  llvm::SmallVector<mlir::AffineExpr> projected;
  for (size_t i = 0; i < own.vars.size(); ++i) {
    own.extents.push_back(op.getExtents()[own.vars[i]]);
    replacements[own.vars[i]] = builder.getAffineDimExpr(i);
    projected.push_back(builder.getAffineDimExpr(own.vars[i]));
  }
  auto map = llvm::cast<mlir::AffineMapAttr>(op.getMaps()[index]).getValue();
  own.map = map.replaceDimsAndSymbols(replacements, {}, own.vars.size(), 0);
  own.projection = mlir::AffineMap::get(numVars, 0, projected, builder.getContext());
  return own;
}

} // namespace spyre::loop
