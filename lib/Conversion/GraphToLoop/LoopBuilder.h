//===- LoopBuilder.h - emits buffers and loop operations from views -------------------------===//
#pragma once

#include "spyre/Base/Math.h"
#include "spyre/Dialect/Loop/IR/Loop.h"

#include "mlir/IR/Builders.h"

#include "View.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace spyre {

/// Buffers are declared at the top of the function, operations are appended in order.
class LoopBuilder {
public:
  explicit LoopBuilder(mlir::func::FuncOp function);

  void setLocation(mlir::Location location) { loc = location; }

  int64_t addInput(const std::string &name, int64_t index, const std::vector<int64_t> &shape,
                   mlir::Type type, const std::vector<int64_t> &stride, int64_t offset,
                   mlir::DictionaryAttr layout);
  /// One constant per value and type.
  int64_t addConstant(double value, mlir::Type type);

  views::View addPointwise(const std::string &callee, std::vector<views::View> operands,
                           const std::vector<int64_t> &shape, mlir::Type type);
  /// Reduces one dimension and drops it from the view.
  views::View addReduction(const std::string &callee, views::View operand, int64_t dim);
  views::View addMatmul(const std::string &callee, views::View a, views::View b,
                        const std::vector<int64_t> &shape, mlir::Type type);
  /// A fresh buffer with the view's elements.
  views::View materialize(const views::View &view);
  /// A reshape no index map can express: copy to one element per stick, then renumber the rows.
  views::View reshapeThroughRows(const views::View &view, const std::vector<int64_t> &shape);
  /// Makes the view the graph's result \p index, without a copy where its buffer can take the role.
  void addOutput(const views::View &view, int64_t index, const std::vector<int64_t> &shape,
                 const std::vector<int64_t> &stride);

private:
  /// One operand of an operation: a buffer and, per loop dimension, the atoms it reads there.
  struct Operand {
    int64_t buffer;
    std::vector<views::Atoms> atoms;
    /// Matmul only: the loop dimensions it has, in the order of its own dimensions.
    std::vector<size_t> order;
  };
  /// Loop variables after cutting, and which of them belong to each loop dimension.
  struct Loops {
    std::vector<std::vector<int64_t>> segments;
    std::vector<unsigned> firstVar;
    std::vector<int64_t> varExtents;
  };
  loop::BufferOp &declare(std::string name, const char *kind, const std::vector<int64_t> &shape,
                          mlir::Type type, const std::vector<int64_t> &stride);
  int64_t addTemp(const std::vector<int64_t> &shape, mlir::Type type);
  void addCopy(const views::View &from, const Operand &to);
  std::vector<int64_t> bufferShape(int64_t buffer);
  mlir::Type elementType(int64_t buffer);
  std::string uniqueName(const std::string &wanted);

  /// Cuts the loop dimensions at all operands' cuts; nothing when they do not nest. With \p
  /// keepUnit loop dimensions of extent 1 stay variables.
  static std::optional<Loops> splitLoops(const std::vector<Operand> &operands,
                                         const std::vector<int64_t> &extents, int64_t reductions,
                                         bool keepUnit);
  /// Variables to buffer dimensions; null when a unit variable finds no unit dimension.
  mlir::AffineMap accessMap(const Operand &operand, const Loops &loops);
  /// Appends the operation; false when the cuts do not nest, need more than \p maxVars variables,
  /// or leave a unit variable without a dimension.
  bool tryAdd(const std::string &callee, const std::vector<Operand> &operands,
              const std::vector<int64_t> &extents, int64_t reductions, bool keepUnit,
              size_t maxVars = SIZE_MAX);

  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::Operation *lastBuffer = nullptr;
  std::vector<loop::BufferOp> buffers;
  std::map<std::string, int64_t> usedNames;
  std::map<std::pair<std::string, uint64_t>, int64_t> constants;
  int64_t temps = 0;
};

} // namespace spyre
