//===- SavedModel.cpp - weights by signature.json, the user's inputs by name -----------------===//
#include "SavedModel.h"

#include "spyre/Base/Artifacts.h"
#include "spyre/Base/Json.h"

#include "fmt/ranges.h"

#include <algorithm>
#include <optional>

namespace spyre::tools {

namespace fs = std::filesystem;

namespace {

constexpr const char *kSignature = "signature.json";

bool isFile(const fs::path &path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_directory(path, ignored);
}

Expected<std::string> stringField(const JsonReader &entry, const char *key) {
  SPYRE_ASSIGN_OR_RETURN(JsonReader field, entry.field(key));
  return field.asString();
}

Expected<InputSource> readSource(const JsonReader &entry, const fs::path &directory) {
  InputSource source;
  SPYRE_ASSIGN_OR_RETURN(std::string kind, stringField(entry, "kind"));
  SPYRE_ASSIGN_OR_RETURN(source.name, stringField(entry, "name"));
  if (kind == "user_input") {
    return source;
  }
  SPYRE_ASSIGN_OR_RETURN(std::string file, stringField(entry, "file"));
  source.file = directory / file;
  if (!isFile(source.file)) {
    return error<6305>("the {} '{}' is to come from {}, which is not there; save the model again",
                       kind, source.name, source.file.string());
  }
  return source;
}

Expected<std::vector<InputSource>> readSignature(const std::string &text,
                                                 const fs::path &directory) {
  SPYRE_ASSIGN_OR_RETURN(JsonDocument document, JsonDocument::parse(text));
  SPYRE_ASSIGN_OR_RETURN(JsonReader inputs, JsonReader(document).field("inputs"));
  SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, inputs.elements());
  std::vector<InputSource> sources;
  for (const JsonReader &entry : entries) {
    SPYRE_ASSIGN_OR_RETURN(InputSource source, readSource(entry, directory));
    sources.push_back(std::move(source));
  }
  return sources;
}

/// Names of the inputs that have no file yet.
std::vector<std::string> openNames(const std::vector<InputSource> &sources) {
  std::vector<std::string> names;
  for (const InputSource &source : sources) {
    if (source.file.empty()) {
      names.push_back(source.name);
    }
  }
  return names;
}

/// The input that \p text names in front of its first '='; none when \p text is a file's name.
Expected<std::optional<size_t>> namedInput(const std::string &text,
                                           const std::vector<InputSource> &sources,
                                           const std::vector<std::string> &names) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    return std::optional<size_t>();
  }
  const std::string name = text.substr(0, equals);
  const bool isAsked = std::count(names.begin(), names.end(), name) > 0;
  if (!isAsked && isFile(text)) {
    return std::optional<size_t>();
  }
  auto found = std::find_if(sources.begin(), sources.end(),
                            [&](const InputSource &source) { return source.name == name; });
  if (!isAsked) {
    return error<6302>("--input {}: {} '{}'; the inputs to give are {}", text,
                       found == sources.end() ? "the model has no input"
                                              : "the saved model brings the contents of",
                       name, fmt::join(names, ", "));
  }
  if (!found->file.empty()) {
    return error<6302>("--input {}: '{}' has {} already; give each input once", text, name,
                       found->file.string());
  }
  return std::optional<size_t>(found - sources.begin());
}

} // namespace

fs::path modelDirectory(const fs::path &directory) {
  return isFile(directory / kSignature) ? directory / "model" : directory;
}

Expected<std::vector<InputSource>> readSources(const fs::path &directory,
                                               const spec::Model &model) {
  if (!isFile(directory / kSignature)) {
    std::vector<InputSource> sources;
    for (const spec::TensorDesc &input : model.inputs) {
      sources.push_back({input.name, {}});
    }
    return sources;
  }
  const std::string path = (directory / kSignature).string();
  SPYRE_ASSIGN_OR_RETURN(std::string text, readFile(path));
  Expected<std::vector<InputSource>> sources = readSignature(text, directory);
  if (!sources.ok()) {
    return sources.status().withContext(path + ": ");
  }
  if (sources->size() != model.inputs.size()) {
    return error<6305>("{} lists {} inputs, the model beside it has {}; save the model again", path,
                       sources->size(), model.inputs.size());
  }
  return sources;
}

Status bindInputs(const std::vector<std::string> &texts, std::vector<InputSource> &sources) {
  const std::vector<std::string> names = openNames(sources);
  std::vector<std::string> files;
  for (const std::string &text : texts) {
    SPYRE_ASSIGN_OR_RETURN(std::optional<size_t> input, namedInput(text, sources, names));
    if (input) {
      sources[*input].file = text.substr(text.find('=') + 1);
    } else {
      files.push_back(text);
    }
  }
  const std::vector<std::string> rest = openNames(sources);
  if (files.size() != rest.size()) {
    return error<6302>("the model has {} inputs to give ({}) but {} --input were given; give one "
                       "per input, as NAME=FILE or in this order",
                       names.size(), fmt::join(names, ", "), texts.size());
  }
  auto next = files.begin();
  for (InputSource &source : sources) {
    if (source.file.empty()) {
      source.file = *next++;
    }
  }
  return Status::success();
}

} // namespace spyre::tools
