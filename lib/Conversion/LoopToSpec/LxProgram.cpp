//===- LxProgram.cpp - see LxProgram.h ------------------------------------------------------===//
#include "LxProgram.h"

#include "spyre/Dialect/Loop/IR/Nests.h"

#include "llvm/ADT/DenseMap.h"

#include "LxClones.h"

#include <limits>

namespace spyre {

using loop::BufferOp;
using loop::ComputeOp;
namespace placement = solver::placement;

namespace {

class ProgramBuilder {
public:
  explicit ProgramBuilder(mlir::func::FuncOp main) : main(main) {}

  Expected<LxProgram> run() {
    for (BufferOp buffer : main.getOps<BufferOp>()) {
      if (!loop::isHostValue(buffer)) {
        SPYRE_RETURN_IF_ERROR(addTensor(buffer));
      }
    }
    auto computes = main.getOps<ComputeOp>();
    made.specs.reserve(size_t(std::distance(computes.begin(), computes.end())));
    for (mlir::Operation &op : main.getBody().front()) {
      if (auto compute = llvm::dyn_cast<ComputeOp>(op)) {
        SPYRE_RETURN_IF_ERROR(addCompute(compute));
      } else if (auto host = llvm::dyn_cast<loop::HostOp>(op)) {
        addHost(host);
      }
    }
    return std::move(made);
  }

private:
  Status addTensor(BufferOp buffer) {
    SPYRE_ASSIGN_OR_RETURN(layout::DeviceLayout layout, loop::layoutOf(buffer));
    placement::SpecTensor tensor;
    tensor.name = buffer.getName().str();
    tensor.bytes = layout.bytes();
    tensor.isGraphInput = buffer.getKind() == "input" || buffer.getKind() == "constant";
    tensor.isGraphOutput = buffer.getKind() == "output";
    tensor.barred =
        buffer.getKind() == "constant"
            ? "a constant; one stick that each core reads once, nothing would change that"
            : "";
    const int index = int(made.buffers.size());
    tensorOf[buffer.getResult()] = index;
    if (std::optional<int64_t> address = loop::lxAddressOf(buffer)) {
      made.residents[index] = *address;
    }
    made.program.tensors.push_back(std::move(tensor));
    made.buffers.push_back(buffer);
    return Status::success();
  }

  Status addCompute(ComputeOp op) {
    SPYRE_ASSIGN_OR_RETURN(MadeSpec one, makeSpec(op));
    made.specs.push_back(std::move(one));
    const MadeSpec &spec = made.specs.back();
    placement::SpecStep step;
    step.op = &spec.spec;
    step.name = isLxClone(op) ? "clone" : spec.spec.op;
    step.inLoop = !spec.spec.tiledSymbols.empty() || op->hasAttr(loop::kLoops);
    for (BufferOp buffer : spec.buffers) {
      step.tensors.push_back(tensorOf.at(buffer.getResult()));
    }
    made.program.steps.push_back(std::move(step));
    made.operations.push_back(op);
    return Status::success();
  }

  void addHost(loop::HostOp op) {
    placement::SpecStep step;
    step.name = op.getCallee().str();
    for (mlir::Value operand : op->getOperands()) {
      if (auto found = tensorOf.find(operand); found != tensorOf.end()) {
        step.tensors.push_back(found->second);
      }
    }
    made.program.steps.push_back(std::move(step));
    made.operations.push_back(op);
  }

  mlir::func::FuncOp main;
  LxProgram made;
  llvm::DenseMap<mlir::Value, int> tensorOf;
};

} // namespace

Expected<LxProgram> lxProgramOf(mlir::func::FuncOp main) { return ProgramBuilder(main).run(); }

Status verifyLx(const LxProgram &program, int64_t capacityBytes, bool kFastCores) {
  if (program.residents.empty()) {
    return Status::success();
  }
  // Whether the machine has one core or more makes no difference: views say how many are at work.
  return placement::verifyResidents(placement::listOf(program.program, kFastCores),
                                    program.residents, capacityBytes,
                                    std::numeric_limits<int>::max());
}

} // namespace spyre
