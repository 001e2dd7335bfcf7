//===- Calls.h - makes calls with the result types the framework would give them -----------===//
//
// A decomposition is a function from a call to the value that takes its place. It is written as a
// formula over values with the helpers here; each of them makes one call at the place and with the
// location of the call that is replaced.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Dialect/Graph/IR/Graph.h"

#include "mlir/IR/Builders.h"

#include <functional>
#include <string>
#include <vector>

namespace spyre::graph {

class Calls {
public:
  explicit Calls(CallOp at) : builder(at), location(at.getLoc()) {}

  using Attributes = std::vector<std::pair<std::string, mlir::Attribute>>;
  mlir::Value call(const std::string &callee, const std::vector<mlir::Value> &operands,
                   const std::vector<int64_t> &shape, mlir::Type element,
                   const Attributes &attributes = {});

  /// Element-wise, of the type of the first operand.
  mlir::Value unary(const std::string &callee, mlir::Value x, const Attributes &attributes = {});
  mlir::Value binary(const std::string &callee, mlir::Value x, mlir::Value y);
  mlir::Value scalar(const std::string &callee, mlir::Value x, double number);
  /// The same elements in another type.
  mlir::Value convert(mlir::Value x, mlir::Type element);
  /// A number of the type and shape of \p like.
  mlir::Value fill(mlir::Value like, double number);
  /// Reduces \p dim and keeps it with size 1.
  mlir::Value reduce(const std::string &callee, mlir::Value x, int64_t dim);

  mlir::Value add(mlir::Value x, mlir::Value y) { return binary("aten.add.Tensor", x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return binary("aten.sub.Tensor", x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return binary("aten.mul.Tensor", x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return binary("aten.div.Tensor", x, y); }
  mlir::Value times(mlir::Value x, double number) {
    return number == 1.0 ? x : scalar("aten.mul.Scalar", x, number);
  }

  mlir::Value transpose(mlir::Value x, int64_t dim0, int64_t dim1);
  mlir::Value reshape(mlir::Value x, const std::vector<int64_t> &shape);
  mlir::Value expand(mlir::Value x, const std::vector<int64_t> &shape);
  mlir::Value slice(mlir::Value x, int64_t dim, int64_t start, int64_t end);
  mlir::Value cat(const std::vector<mlir::Value> &pieces, int64_t dim);
  mlir::Value where(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// The framework's matmul of any ranks: batches broadcast, vectors become matrices.
  Expected<mlir::Value> matmul(mlir::Value a, mlir::Value b);

  mlir::OpBuilder builder;

private:
  mlir::Location location;
};

mlir::Type elementOf(mlir::Value value);
inline int64_t rankOf(mlir::Value value) { return int64_t(shapeOf(value).size()); }
/// Shape of two operands that broadcast; nothing when they do not.
Expected<std::vector<int64_t>> broadcastShape(const std::vector<int64_t> &a,
                                              const std::vector<int64_t> &b);

using Decomposition = std::function<Expected<mlir::Value>(CallOp, Calls &)>;
struct NamedDecomposition {
  const char *name;
  Decomposition rule;
};
/// A product of 32-bit matrices: a row of its own that is made of others.
bool isWideProduct(CallOp call);
/// Computes with integers of 8 or 16 bits, which the device does in 32.
bool isSmallArithmetic(CallOp call);
/// A conversion of 32 bits to fp8, which the device would round twice.
bool isCastToFp8(CallOp call);
/// Compares elements that read back as infinity, or computes with an infinite number in 16 bits.
bool meetsInfinity(CallOp call);
/// Rows that are made of others in any of these ways, or are composites.
bool isMadeOfOthers(CallOp call);
/// Replaces a call that is made of others by what it is made of. Errors: E1003 to E1005 of the
/// rule, E1007 when there is none; then the call is still there, behind what the rule made so far.
Status decomposeCall(CallOp call);
/// What takes the place of a product of 32-bit matrices. Errors: E1004 for one that fits no memory.
Expected<mlir::Value> wideProduct(CallOp call, Calls &calls);
/// What takes the place of the calls above.
Expected<mlir::Value> smallArithmetic(CallOp call, Calls &calls);
Expected<mlir::Value> castToFp8(CallOp call, Calls &calls);
Expected<mlir::Value> withInfinity(CallOp call, Calls &calls);
/// Arithmetic and small operations; layers of networks; the largest elements and their places.
std::vector<NamedDecomposition> mathDecompositions();
std::vector<NamedDecomposition> networkDecompositions();
std::vector<NamedDecomposition> selectionDecompositions();

} // namespace spyre::graph
