//===- LoopPass.h - what all passes on loop IR do alike -------------------------------------===//
//
// A pass works on the only function of a loop module, says no to any other module, reports its
// Status as a diagnostic, and may write down its decisions.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Decision.h"
#include "spyre/Dialect/Loop/IR/Loop.h"
#include "spyre/Dialect/Utils/Attributes.h"

#include "mlir/Pass/Pass.h"

#include <memory>

namespace spyre::loop {

/// \p Base is the class TableGen made for the pass.
template <typename Base>
class LoopPass : public Base {
public:
  LoopPass() = default;
  LoopPass(const LoopPass &other) : Base(other), trace(other.trace) {}

  DecisionTrace *trace = nullptr;

protected:
  virtual Status runOnMain(mlir::func::FuncOp main) = 0;
  /// The error is one of \p op.
  Status at(mlir::Operation *op, Status status) {
    culprit = op;
    return status;
  }

private:
  void runOnOperation() final {
    mlir::func::FuncOp main = findMain(this->getOperation());
    culprit = this->getOperation();
    Status status = main ? runOnMain(main)
                         : error<1202>("a loop module holds one func.func @main() with one block");
    if (!status.ok()) {
      (void)dialect::report(culprit, status);
      this->signalPassFailure();
    }
  }

  mlir::Operation *culprit = nullptr;
};

template <typename PassT>
std::unique_ptr<PassT> createLoopPass(DecisionTrace *trace) {
  auto pass = std::make_unique<PassT>();
  pass->trace = trace;
  return pass;
}

} // namespace spyre::loop
