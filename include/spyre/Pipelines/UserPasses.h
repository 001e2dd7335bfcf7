//===- UserPasses.h - passes of users' shared libraries in our pipeline ---------------------===//
//
// A library that exports MLIR's mlirGetPassPluginInfo() registers passes; a pipeline text, as
// spyre-opt takes it, says which of them run at a point of the compilation:
//
//   pre             graph IR as captured
//   post            graph IR, decomposed, just before it becomes loops
//   pre-scheduling  loop IR without layouts
//   pre-fusion      loop IR with layouts and division over cores
//   post-fusion     planned loop IR, just before OpSpecs are made
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Pipelines/OperationView.h"

#include <map>
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace spyre::pipelines {

enum class PassPoint { Pre, Post, PreScheduling, PreFusion, PostFusion };

struct UserPasses {
  /// Paths of shared libraries.
  std::vector<std::string> plugins;
  /// Pipeline texts: "my-pass{limit=3},func.func(other-pass)".
  std::map<PassPoint, std::string> pipelines;

  /// Run behind the passes of the pipelines; at the points of loop IR only.
  std::map<PassPoint, std::vector<OperationFunction>> functions;

  bool empty() const { return pipelines.empty() && functions.empty(); }
  /// "pre: my-pass; post: other" for messages; empty when there are none.
  std::string toString() const;
};

/// Error: E1502 lists the points.
Expected<PassPoint> parsePassPoint(const std::string &name);

/// Loads the libraries (each once per process) and checks the pipeline texts. Errors: E1501 (a
/// library cannot be loaded, or was changed after it was), E1502 (a text cannot be read).
Status loadUserPasses(const UserPasses &passes);

/// Adds the passes of \p point. loadUserPasses() has accepted them.
void addUserPasses(mlir::OpPassManager &manager, PassPoint point, const UserPasses &passes);

} // namespace spyre::pipelines
