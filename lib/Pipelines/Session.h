//===- Session.h - one MLIR context, text in and out ----------------------------------------===//
#pragma once

#include "spyre/Pipelines/HostRetry.h"
#include "spyre/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>

namespace spyre::pipelines {

/// Turns what MLIR reports into a Status; our own diagnostics carry their code, MLIR's get E1001.
class DiagnosticCollector {
public:
  /// \p userPasses: passes of the user's that may be at fault, or empty.
  explicit DiagnosticCollector(mlir::MLIRContext *context, std::string userPasses = "");
  Status status() const;
  /// Call of the graph that the first error is about.
  const Culprit &culprit() const { return found; }

private:
  /// True if \p text names the line already, or if there is no line of the user's program to name.
  bool isToldIn(const std::string &text) const;

  /// \p line is \p location as "model.py:12", or empty.
  std::string first, location, line;
  Culprit found;
  const std::string userPasses;
  mlir::ScopedDiagnosticHandler handler;
};

/// A context per compilation: no state survives, and text cannot name foreign dialects.
struct Session {
  Session();
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
};

/// Error: E1001.
Expected<mlir::OwningOpRef<mlir::ModuleOp>> parseIr(const std::string &text, Session &session);
/// Text of the module, with its locations.
std::string printIr(mlir::ModuleOp module);

} // namespace spyre::pipelines
