//===- Describe.cpp - loop IR as one line per operation, for people -------------------------===//
#include "spyre/Dialect/Loop/IR/Describe.h"

#include "spyre/Dialect/Loop/IR/Loop.h"
#include "spyre/Dialect/Utils/Attributes.h"

namespace spyre::loop {

namespace {

std::string nameOf(mlir::Value value) {
  auto buffer = value.getDefiningOp<BufferOp>();
  return buffer ? buffer.getName().str() : "?";
}

std::string namesOf(mlir::ValueRange values) {
  std::vector<std::string> names;
  for (mlir::Value value : values) {
    names.push_back(nameOf(value));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string describe(ComputeOp op) {
  std::vector<std::string> kept, reduced, splits;
  const size_t count = op.getExtents().size();
  const size_t firstReduced = count - std::min(size_t(op.getReductions()), count);
  for (size_t i = 0; i < count; ++i) {
    const std::string var = llvm::cast<mlir::StringAttr>(op.getVars()[i]).getValue().str();
    (i < firstReduced ? kept : reduced).push_back(fmt::format("{}={}", var, op.getExtents()[i]));
    if (op.getSplits() && (*op.getSplits())[i] > 1) {
      splits.push_back(fmt::format("{}/{}", var, (*op.getSplits())[i]));
    }
  }
  std::string text = fmt::format("{} = {}({})", nameOf(op.getOutput()), op.getCallee().str(),
                                 namesOf(op.getInputs()));
  if (!kept.empty()) {
    text += fmt::format(" over {}", fmt::join(kept, " "));
  }
  if (!reduced.empty()) {
    text += fmt::format(", reducing {}", fmt::join(reduced, " "));
  }
  if (op.getSplits()) {
    text += splits.empty() ? "; one core" : fmt::format("; splits {}", fmt::join(splits, " "));
  }
  return text;
}

std::string describe(BufferOp op) {
  auto type = llvm::cast<mlir::MemRefType>(op.getResult().getType());
  std::string element;
  llvm::raw_string_ostream(element) << type.getElementType();
  std::string text = fmt::format("{}: {} [{}] {}", op.getName().str(), op.getKind().str(),
                                 fmt::join(type.getShape(), ", "), element);
  if (op.getLayout()) {
    if (auto layout = dialect::layoutFromAttr(*op.getLayout()); layout.ok()) {
      text += " as " + layout->toString();
    }
  }
  if (op.getPoolOffset()) {
    text += fmt::format(" at pool+{}", *op.getPoolOffset());
  }
  return text;
}

} // namespace

std::string describeLoops(mlir::ModuleOp module) {
  std::string operations, buffers;
  int number = 0;
  module.walk([&](mlir::Operation *op) {
    if (auto compute = llvm::dyn_cast<ComputeOp>(op)) {
      operations += fmt::format("{:4} {}\n", number++, describe(compute));
    } else if (auto host = llvm::dyn_cast<HostOp>(op)) {
      operations +=
          fmt::format("{:4} {} = {}({}) on the CPU\n", number++, namesOf(host.getOutputs()),
                      host.getCallee().str(), namesOf(host.getInputs()));
    } else if (auto buffer = llvm::dyn_cast<BufferOp>(op)) {
      buffers += fmt::format("     {}\n", describe(buffer));
    }
  });
  return operations + buffers;
}

} // namespace spyre::loop
