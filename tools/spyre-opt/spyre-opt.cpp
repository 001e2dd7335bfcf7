//===- spyre-opt.cpp - runs any pass on graph or loop IR ------------------------------------------------------------===//
#include "spyre/Pipelines/Pipelines.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

#include <iostream>

/// Text is limited before the library sees it: it crashes on hostile nesting and on bytecode.
static bool checkInput(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!file) {
    return true; // the library reports it
  }
  spyre::Status status = spyre::pipelines::checkIrText((*file)->getBuffer().str());
  if (!status.ok()) {
    std::cerr << path << ": " << status.message() << "\n";
  }
  return status.ok();
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  spyre::pipelines::registerDialects(registry);
  spyre::pipelines::registerPasses();
  auto [input, output] =
      mlir::registerAndParseCLIOptions(argc, argv, "OpenSpyre optimizer driver\n", registry);
  if (input != "-" && !checkInput(input)) {
    return 1;
  }
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
}
