//===- TopK.cpp - see TopK.h ----------------------------------------------------------------===//
#include "spyre/Dialect/Graph/IR/TopK.h"

namespace spyre::graph {

Status checkTopK(CallOp call, const OpRow &row) {
  for (const char *name : {"k", "dim"}) {
    mlir::Attribute attribute = call->getDiscardableAttr(name);
    if (attribute && !llvm::isa<mlir::IntegerAttr>(attribute)) {
      return error<1005>("{}: {} must be an integer", row.name, name);
    }
  }
  std::vector<int64_t> shape = shapeOf(call.getOperand(0));
  const auto rank = int64_t(shape.size());
  const int64_t dim = dimAttribute(call, "dim", -1, rank);
  if (dim < 0 || dim >= rank) {
    return error<1004>("{}: dimension {} of rank {}", row.name, dim, rank);
  }
  const int64_t k = intAttribute(call, "k", 1), size = shape[size_t(dim)];
  if (k < 1 || k > size || k > kMaxTopK || size > kMaxSearched) {
    return error<1004>("{}: the {} largest of {}; the device finds up to {} of up to {}", row.name,
                       k, size, kMaxTopK, kMaxSearched);
  }
  shape[size_t(dim)] = k;
  return shape == shapeOf(call.getResult())
             ? Status::success()
             : error<1004>("{}: result shape [{}] expected, got [{}]", row.name,
                           fmt::join(shape, ", "), fmt::join(shapeOf(call.getResult()), ", "));
}

} // namespace spyre::graph
