//===- Origins.cpp - comments that say which operation a phase came from --------------------===//
#include "Origins.h"

#include "spyre/Spec/LoopSpec.h"

#include <charconv>
#include <string_view>

namespace spyre::tools {

namespace fs = std::filesystem;

fs::path findOpSpecs(const fs::path &program) {
  std::error_code ignored;
  const fs::path directory = program.parent_path();
  for (const fs::path &place : {directory, directory.parent_path()}) {
    if (fs::is_regular_file(place / "op_spec.txt", ignored)) {
      return place / "op_spec.txt";
    }
  }
  return {};
}

static const char *residencyName(spec::Residency residency) {
  switch (residency) {
  case spec::Residency::Hbm:
    return "hbm";
  case spec::Residency::Pool:
    return "pool";
  case spec::Residency::Lx:
    break;
  }
  return "lx";
}

static std::string summary(const spec::OpSpec &spec) {
  std::string text = spec.op;
  for (const spec::IterationDim &dim : spec.iterationSpace) {
    text += fmt::format(", {} {}", dim.symbol, dim.range);
    text += dim.cores > 1 ? fmt::format(" over {} cores", dim.cores) : "";
  }
  const char *separator = ";";
  for (const spec::TensorArg &arg : spec.args) {
    text += fmt::format("{} {} [{}] {} {:#x}", separator, arg.isInput ? "in" : "out",
                        fmt::join(arg.deviceSize, ", "), residencyName(arg.residency), arg.address);
    separator = ",";
  }
  return text;
}

/// The number before '_' in a line 'phase 3 "0_add" cores 2'; -1 when it has none.
static int64_t operationIndex(std::string_view line) {
  int64_t index = -1;
  const size_t quote = line.find('"');
  if (line.starts_with("phase ") && quote != std::string_view::npos) {
    const char *end = line.data() + line.size();
    auto [stop, failure] = std::from_chars(line.data() + quote + 1, end, index);
    index = failure == std::errc() && stop != end && *stop == '_' ? index : -1;
  }
  return index;
}

/// The operation of each file of the bundle: loops may have been unrolled, which \p files, their
/// number, tells.
static Expected<std::vector<spec::OpSpec>> operations(const std::string &opSpecs, int64_t files) {
  SPYRE_ASSIGN_OR_RETURN(spec::Kernel kernel, spec::parseKernel(opSpecs));
  std::vector<spec::OpSpec> specs;
  for (const spec::OpSpec *spec : spec::operationsOf(kernel)) {
    specs.push_back(*spec);
  }
  return files > int64_t(specs.size()) ? spec::unrollKernel(kernel) : specs;
}

std::string withOrigins(const std::string &text, const std::string &opSpecs) {
  int64_t files = 0;
  for (size_t begin = 0; begin < text.size();
       begin = std::min(text.find('\n', begin), text.size() - 1) + 1) {
    files = std::max(files, operationIndex(std::string_view(text).substr(begin, 120)) + 1);
  }
  Expected<std::vector<spec::OpSpec>> specs = operations(opSpecs, files);
  std::string out;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const int64_t index = operationIndex(line);
    if (specs && index >= 0 && index < int64_t(specs->size())) {
      out += fmt::format("// sdsc_{}.json, op_spec.txt entry {}: {}\n", index, index,
                         summary((*specs)[size_t(index)]));
    }
    out += line;
    begin = end;
  }
  return specs ? out : fmt::format("{}// op_spec.txt: {}\n", out, specs.status().message());
}

} // namespace spyre::tools
