//===- ExternalBackEnd.h - bundles as directories, and back ends that are other programs ----===//
//
// The back end is a command, `CMD --bundle -d DIR`, that reads DIR/bundle.mlir and writes
// DIR/spyreCodeDir. So ours can stand in for another and another for ours.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Artifacts.h"

#include <filesystem>
#include <string>

namespace spyre::backend {

/// bundle.mlir, the JSON files and op_spec.txt of a directory; nothing else of it matters. Error:
/// E9004.
Expected<Artifacts> readBundleDirectory(const std::filesystem::path &directory);

struct ExternalBackEnd {
  /// Program and leading arguments, separated by blanks; found as a shell would find it. No shell
  /// is involved, so nothing in it is expanded.
  std::string command;
  /// Where the bundle is put for the command; a new directory in it is made and removed again.
  std::filesystem::path scratch;
};

/// Like compileBundle(), by another program: "spyreCodeDir/..." as it left it. Error: E5312 (cannot
/// be started, fails, or leaves no plan that the runtime can read), with what it printed.
Expected<Artifacts> compileBundle(const Artifacts &bundle, const ExternalBackEnd &backEnd);

} // namespace spyre::backend
