//===- LoopBuilder.h - emits buffers and loop operations from views -------------------------===//
//
// An operation is asked for in its own loop dimensions; each operand is a view with, per loop
// dimension, the dimension of the view that walks it. The builder cuts the loops where the operands
// are cut, and copies an operand only when its reading cannot be written down:
//
//     cuts of two operands that do not nest, or too many of them   a fresh buffer in loop order
//     steps that do not divide their buffer dimension              a copy of the region that is
//                                                                  read, padded so that they do
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Math.h"
#include "spyre/Dialect/Graph/IR/Graph.h"
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
  using Constants = std::vector<std::pair<std::string, double>>;

  explicit LoopBuilder(mlir::func::FuncOp function);

  /// Copies that are made while it lives are there for this reason, "key: text"; the innermost
  /// counts.
  class Because {
  public:
    Because(LoopBuilder &loops, std::string why) : loops(loops), outer(std::move(why)) {
      std::swap(loops.why, outer);
    }
    ~Because() { std::swap(loops.why, outer); }
    Because(const Because &) = delete;

  private:
    LoopBuilder &loops;
    std::string outer;
  };

  void setLocation(mlir::Location location) { loc = location; }

  int64_t addInput(const std::string &name, int64_t index, const std::vector<int64_t> &shape,
                   mlir::Type type, const std::vector<int64_t> &stride, int64_t offset,
                   mlir::DictionaryAttr layout);
  /// Names of a buffer's dimensions, which hints speak of (spyre-loop-assign-hints).
  void nameDims(int64_t buffer, mlir::Attribute names) {
    buffers[size_t(buffer)]->setAttr("dims", names);
  }
  /// Sizes that dimensions of a buffer have in other calls (spyre-loop-assign-sizes).
  void tellSizes(int64_t buffer, mlir::Attribute sizes) {
    buffers[size_t(buffer)]->setAttr("sizes", sizes);
  }
  /// One constant per value and type.
  int64_t addConstant(double value, mlir::Type type);
  /// An intermediate that operations will write, in parts or as a whole.
  views::View addBuffer(const std::vector<int64_t> &shape, mlir::Type type);

  /// Operands have the shape of the result.
  views::View addPointwise(const std::string &callee, const std::vector<views::View> &operands,
                           const std::vector<int64_t> &shape, mlir::Type type,
                           const Constants &constants = {});
  /// Reduces one dimension and drops it from the view.
  views::View addReduction(const std::string &callee, views::View operand, int64_t dim,
                           mlir::Type type, const Constants &constants = {});
  /// The \p k largest along \p dim, which becomes a dimension of size k, or where they are.
  views::View addTopK(const std::string &callee, views::View operand, int64_t dim, int64_t k,
                      mlir::Type type);
  /// [.., m, k] x [.., k, n]; leading dimensions are those of \p shape.
  views::View addMatmul(const std::string &callee, const views::View &a, const views::View &b,
                        const std::vector<int64_t> &shape, mlir::Type type);
  /// Copies into \p to the entries of dimension \p dim of \p table that \p index names; its
  /// dimensions take the place of that dimension.
  void addGather(views::View table, int64_t dim, const views::View &index, const views::View &to);
  /// Copies \p from, of the same shape, into the part of a buffer that \p to shows.
  void addCopy(const views::View &from, const views::View &to);
  /// A fresh buffer with the view's elements.
  views::View materialize(const views::View &view);
  views::View materialize(const views::View &view, const char *why) {
    Because reason(*this, why);
    return materialize(view);
  }

  /// Like views::reshape; what no index map can express is renumbered in a buffer of its own.
  views::View reshape(const views::View &view, const std::vector<int64_t> &shape);
  /// Like views::slice; joined dimensions are copied first.
  views::View slice(const views::View &view, int64_t dim, int64_t start, int64_t extent,
                    int64_t step);

  /// A call that runs on the CPU: operands are copied where a view is not a whole buffer, results
  /// are buffers of their own.
  std::vector<views::View> addHost(graph::HostOp call, const std::vector<views::View> &operands);

  /// Called last: what passes only between calls on the CPU need not go to the device.
  void keepOnHost();

  /// Makes the view the graph's result \p index, without a copy where its buffer can take the role.
  /// \p layout is the device layout that the caller wants, or null.
  void addOutput(const views::View &view, int64_t index, const std::vector<int64_t> &shape,
                 const std::vector<int64_t> &stride, mlir::Attribute layout);

  mlir::Type elementType(int64_t buffer);
  std::vector<int64_t> bufferShape(int64_t buffer);
  /// The dimension of the view along which its elements lie in sticks, or -1. A buffer without a
  /// layout is expected to have them along its last dimension.
  int64_t stickDimOf(const views::View &view);

private:
  /// A view in an operation: per loop dimension the dimension of the view, or -1.
  struct Operand {
    views::View view;
    std::vector<int64_t> dims;

    static Operand straight(const views::View &view);
    const views::Atoms &atoms(size_t loop) const;
    /// Its loop dimensions in the order of its own dimensions.
    std::vector<size_t> order() const;
  };
  struct Request {
    std::string callee;
    std::vector<int64_t> extents;
    int64_t reductions = 0;
    std::vector<Operand> inputs;
    Operand result;
    Constants constants = {};
    /// Loop dimensions of extent 1 stay variables: a matmul names its roles by position.
    bool keepUnit = false;
    /// So does this one.
    int64_t unitLoop = -1;
    /// Input, dimension of its buffer, and input with the indices.
    std::vector<int64_t> indirect = {};
    /// Loop dimensions walk the dimensions of the result's buffer that it names, from 0 on, also
    /// those of extent 1 in a longer dimension.
    bool walksResult = false;
  };
  /// Loop variables after cutting, and which of them belong to each loop dimension.
  struct Loops {
    std::vector<std::vector<int64_t>> segments;
    std::vector<unsigned> firstVar;
    std::vector<int64_t> varExtents;
  };

  loop::BufferOp &declare(std::string name, const char *kind, const std::vector<int64_t> &shape,
                          mlir::Type type, const std::vector<int64_t> &stride);
  std::string uniqueName(const std::string &wanted);

  /// Emits the operation, copying inputs until it can be written down.
  void add(Request request);
  /// Cuts the loop dimensions at all operands' cuts; nothing when they do not nest, or a reduced
  /// dimension is cut.
  static std::optional<Loops> splitLoops(const Request &request);
  /// Replaces the input with the most cuts by a copy of it; false when none is cut.
  bool uncutOneInput(Request &request);
  /// True when the places of the operand can be written as digits of its buffer's dimensions.
  bool divides(const Operand &operand, mlir::AffineMap map, const Loops &loops);
  /// Replaces an input whose steps do not divide its buffer; true when there was one. Otherwise
  /// \p maps gets the accessMap() of all.
  bool regionOneInput(Request &request, const Loops &loops, std::vector<mlir::AffineMap> &maps);
  /// Variables to buffer dimensions; null when a unit variable finds no unit dimension.
  mlir::AffineMap accessMap(const Operand &operand, const Loops &loops);
  mlir::AffineMap walkMap(const Operand &operand, const Loops &loops);
  void emit(const Request &request, const Loops &loops, const std::vector<mlir::AffineMap> &maps);
  /// The same view of a copy of the part of the buffer it reads.
  views::View copyRegion(const views::View &view, const std::vector<int64_t> &multiples);
  views::View renumber(const views::View &view, const std::vector<int64_t> &shape);

  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::Operation *lastBuffer = nullptr;
  std::vector<loop::BufferOp> buffers;
  std::map<std::string, int64_t> usedNames;
  std::map<std::pair<std::string, uint64_t>, int64_t> constants;
  int64_t temps = 0;
  std::string why;
};

} // namespace spyre
