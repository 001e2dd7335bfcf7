//===- Session.cpp - see Session.h ----------------------------------------------------------===//
#include "Session.h"

#include "spyre/Dialect/Utils/Attributes.h"

#include "mlir/IR/Location.h"
#include "mlir/Parser/Parser.h"

namespace spyre::pipelines {

/// File name in locations of text that names no file.
constexpr const char *kTextName = "input";

/// Node numbers and hints are metadata of locations.
static Culprit culpritAt(mlir::Location location) {
  Culprit culprit;
  location->walk([&](mlir::Location each) {
    if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(each)) {
      if (auto node = llvm::dyn_cast_or_null<mlir::IntegerAttr>(fused.getMetadata())) {
        culprit.node = node.getInt();
      }
      culprit.isHinted =
          culprit.isHinted || llvm::isa_and_nonnull<mlir::DictionaryAttr>(fused.getMetadata());
    }
    return mlir::WalkResult::advance();
  });
  return culprit;
}

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext *context, std::string userPasses)
    : userPasses(std::move(userPasses)), handler(context, [this](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error && first.empty()) {
          llvm::raw_string_ostream(first) << diagnostic;
          llvm::raw_string_ostream(location) << diagnostic.getLocation();
          line = dialect::sourceLine(diagnostic.getLocation());
          found = culpritAt(diagnostic.getLocation());
        }
        return mlir::success();
      }) {}

Status DiagnosticCollector::status() const {
  size_t mark = first.find("SPYRE-E");
  if (mark != std::string::npos && first.size() >= mark + 13) {
    int code = std::atoi(first.c_str() + mark + 7);
    const std::string text = first.substr(0, mark) + first.substr(mark + 13);
    return Status(code, isToldIn(text) ? text : line + ": " + text);
  }
  if (!userPasses.empty()) {
    return error<1502>("{}: {}; the passes of the user at this point are {}", location,
                       first.empty() ? "a pass failed and did not say why" : first, userPasses);
  }
  return error<1001>("{}: {}; compare with the phase dumps of spyre-compile --dump-phases",
                     location, first.empty() ? "the text cannot be read" : first);
}

bool DiagnosticCollector::isToldIn(const std::string &text) const {
  return line.empty() || line.starts_with(std::string(kTextName) + ":") ||
         text.find(line) != std::string::npos;
}

Session::Session() {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  context.appendDialectRegistry(registry);
  context.disableMultithreading();
  context.loadAllAvailableDialects();
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> parseIr(const std::string &text, Session &session) {
  SPYRE_RETURN_IF_ERROR(checkIrText(text));
  DiagnosticCollector diagnostics(&session.context);
  mlir::ParserConfig config(&session.context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, config, kTextName);
  if (!module) {
    return diagnostics.status();
  }
  return module;
}

std::string printIr(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // The printer writes word by word.
  stream.SetBuffered();
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(true, false);
  module->print(stream, flags);
  stream << "\n";
  stream.flush();
  return text;
}

} // namespace spyre::pipelines
