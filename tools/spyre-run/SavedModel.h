//===- SavedModel.h - a model directory, and where its inputs come from ----------------------===//
//
// A folder that compiled.save() of torch_spyre.compile_exported wrote holds the model in "model"
// and "signature.json", which names the file of each parameter, buffer and constant. In a plain
// model directory the user gives all inputs.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Spec/Model.h"

#include <filesystem>
#include <string>
#include <vector>

namespace spyre::tools {

/// One input of the model.
struct InputSource {
  /// The name that the user knows it by: of the signature, or of the model.
  std::string name;
  /// The npy file; empty until the user gives one.
  std::filesystem::path file;
};

/// "DIR/model" if \p directory holds a signature, else \p directory.
std::filesystem::path modelDirectory(const std::filesystem::path &directory);

/// One entry per input of the model. Errors: those of the JSON file; E6305 (the signature does not
/// fit the model, or the file of a weight is missing).
Expected<std::vector<InputSource>> readSources(const std::filesystem::path &directory,
                                               const spec::Model &model);

/// Gives the inputs without a file theirs. Each of \p texts is NAME=FILE, or FILE for the next
/// input that no other text names. Error: E6302, which lists the names.
Status bindInputs(const std::vector<std::string> &texts, std::vector<InputSource> &sources);

} // namespace spyre::tools
