//===- Bundle.h - bundle.mlir: the order in which a kernel's operations run -----------------===//
//
// The dialect is eight constructs [spec: codegen-and-backend 4]; this is a small strict parser and
// writer of our own, no MLIR library. Today the project writes and reads the baked mode: executes
// without operands, one per SuperDSC file.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Artifacts.h"
#include "spyre/Spec/SuperDsc.h"

namespace spyre::spec {

struct Bundle {
  /// File names in execution order.
  std::vector<std::string> executes;

  bool operator==(const Bundle &) const = default;
};

std::string writeBundleMlir(const Bundle &bundle);
/// Errors: E5004 with the line.
Expected<Bundle> parseBundleMlir(const std::string &text);

/// OpSpecs of one kernel -> "bundle.mlir" + "sdsc_<n>.json".
Expected<Artifacts> generateBundle(const std::vector<OpSpec> &specs);
/// The reverse direction: all SuperDSCs of a bundle in execution order.
Expected<std::vector<SuperDsc>> readBundle(const Artifacts &bundle);

} // namespace spyre::spec
