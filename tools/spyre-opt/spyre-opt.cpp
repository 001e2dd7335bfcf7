//===- spyre-opt.cpp - runs any pass on graph or loop IR ------------------------------------===//
//
// The usual MLIR driver, but the text is limited before the library sees it (size, nesting, no
// bytecode): the library itself crashes on hostile input.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Pipelines/Pipelines.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include <iostream>

/// Options that exist before MLIR's are registered are those of LLVM's targets and passes, which
/// the library brings; none of them changes what is done here. --help-hidden still lists them.
static void hideOptionsOfLlvm() {
  for (auto &[name, option] : llvm::cl::getRegisteredOptions()) {
    const bool isOfEveryTool =
        llvm::any_of(option->Categories, [](const llvm::cl::OptionCategory *category) {
          return category->getName() == "Generic Options" || category->getName() == "Color Options";
        });
    if (!isOfEveryTool) {
      option->setHiddenFlag(llvm::cl::Hidden);
    }
  }
}

static constexpr const char *kExamples = R"(
Examples:
  spyre-opt --spyre-graph-to-division-pipeline graph.mlir
  spyre-opt --spyre-loop-work-distribution="cores=8" phases/2-layout.mlir
  spyre-opt --load-pass-plugin=mine.so --pass-pipeline='builtin.module(my-pass)' phases/1-loop.mlir
)";

int main(int argc, char **argv) {
  hideOptionsOfLlvm();
  const llvm::cl::extrahelp examples(kExamples);
  llvm::InitLLVM init(argc, argv);
  mlir::DialectRegistry registry;
  spyre::pipelines::registerDialects(registry);
  spyre::pipelines::registerPasses();
  auto [inputName, outputName] =
      mlir::registerAndParseCLIOptions(argc, argv, "OpenSpyre optimizer driver\n", registry);
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> input = mlir::openInputFile(inputName, &message);
  if (!input) {
    std::cerr << "spyre-opt: "
              << spyre::error<9001>("{}; check the path and its permissions", message).message()
              << "\n";
    return 1;
  }
  spyre::Status status = spyre::pipelines::checkIrText(input->getBuffer().str());
  if (!status.ok()) {
    std::cerr << inputName << ": " << status.message() << "\n";
    return 1;
  }
  std::unique_ptr<llvm::ToolOutputFile> output = mlir::openOutputFile(outputName, &message);
  if (!output) {
    std::cerr << "spyre-opt: "
              << spyre::error<9003>("{}; check the path and its permissions", message).message()
              << "\n";
    return 1;
  }
  mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (mlir::failed(mlir::MlirOptMain(output->os(), std::move(input), registry, config))) {
    return 1;
  }
  output->keep();
  return 0;
}
