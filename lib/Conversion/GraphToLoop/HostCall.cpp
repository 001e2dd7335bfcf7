//===- HostCall.cpp - calls that stay on the CPU, as steps between device operations ---------===//
#include "spyre/Dialect/Graph/Transforms/Gates.h"
#include "spyre/Dialect/Utils/Attributes.h"

#include "LoopBuilder.h"

namespace spyre {

using views::View;

std::vector<View> LoopBuilder::addHost(graph::HostOp call, const std::vector<View> &operands) {
  llvm::SmallVector<mlir::Value> inputs, outputs;
  for (const View &operand : operands) {
    const bool inPlace = operand.isWhole(bufferShape(operand.buffer));
    const View whole =
        inPlace ? operand
                : materialize(operand, "host-reads-whole: a step on the CPU reads whole tensors");
    inputs.push_back(buffers[size_t(whole.buffer)].getResult());
  }
  std::vector<View> results;
  for (mlir::Value value : call.getValues()) {
    auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
    const std::vector<int64_t> shape = dialect::toVector(type.getShape());
    const bool onDevice = graph::checkTensorType(type, "").ok();
    declare(fmt::format("{}{}", onDevice ? "t" : "h", temps++), onDevice ? "temp" : loop::kHostKind,
            shape, type.getElementType(), rowMajorStrides(shape));
    results.push_back(View::whole(int64_t(buffers.size()) - 1, shape));
    outputs.push_back(buffers.back().getResult());
  }
  builder.setInsertionPoint(function.getBody().front().getTerminator());
  builder.create<loop::HostOp>(loc, call.getCallee(), inputs, outputs, call.getNode(),
                               call.getResultNumbers(), call.getGate(), call.getReason());
  return results;
}

void LoopBuilder::keepOnHost() {
  for (loop::BufferOp buffer : buffers) {
    auto users = buffer.getResult().getUsers();
    const bool onlyHost =
        llvm::all_of(users, [](mlir::Operation *user) { return llvm::isa<loop::HostOp>(user); });
    if (buffer.getKind() == "temp" && !users.empty() && onlyHost) {
      buffer.setKind(loop::kHostKind);
    }
  }
}

} // namespace spyre
