//===- Main.cpp - spyre-dis: a device program as text, and text as a device program ---------===//
#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Artifacts.h"
#include "spyre/Program/Program.h"
#include "spyre/Spec/Model.h"

#include "Origins.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

static constexpr const char *kHelp = R"(usage: spyre-dis [options] FILE|DIR|-
       spyre-dis --assemble [options] FILE|-

Prints the text of a device program, or makes a program of such text.

  FILE             a program binary ("SPYP..."); with --assemble, program text ("spyre-program ...")
  DIR              a spyreCodeDir, or a directory that holds one: its init.bin. If op_spec.txt is
                   there too, a comment before each phase shows the operation it came from.
                   A model directory (with model.json, as spyre-compile writes it), or a directory
                   whose folder model is one: its steps in order, with the program of each bundle
  -                read standard input

options:
  --assemble       read text and write the binary, once it is verified
  --device NAME    the machine to verify the program for: spyre, openspyre, tiny or a JSON file.
                   Without it, text is verified for openspyre and a binary is printed unverified
  -o FILE          write here instead of standard output
  -h, --help       print this text

The text is described in docs/program-format.md; a printed program can be assembled again.

exit codes: 0 ok, 1 error in the input or the command line, 2 internal error

Examples:
  spyre-dis model
  spyre-dis model/bundle_0 --device openspyre
  spyre-dis --assemble program.spyasm -o program.bin
)";

/// The machine --assemble verifies for when none is named.
static constexpr const char *kDefaultDevice = "openspyre";

namespace {

struct Options {
  std::string input;
  std::string device;
  std::string output = "-";
  bool assemble = false;
  bool help = false;
  /// What is wrong with the command line; empty when nothing is.
  std::string complaint;
};

} // namespace

static Options parseOptions(const std::vector<std::string> &arguments) {
  Options options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &argument = arguments[i];
    if (argument == "-h" || argument == "--help") {
      options.help = true;
      return options;
    }
    if (argument == "--assemble") {
      options.assemble = true;
    } else if (argument == "--device" || argument == "-o") {
      if (i + 1 == arguments.size()) {
        options.complaint = argument + " needs a value";
        return options;
      }
      (argument == "-o" ? options.output : options.device) = arguments[++i];
    } else if (argument.size() > 1 && argument[0] == '-') {
      options.complaint = "unknown option " + argument;
    } else if (!options.input.empty()) {
      options.complaint = "more than one input";
    } else {
      options.input = argument;
    }
  }
  if (options.input.empty() && options.complaint.empty()) {
    options.complaint = "no input";
  }
  return options;
}

/// The program's file for a file, a spyreCodeDir or the directory around one.
static std::filesystem::path programPath(const std::string &input) {
  std::filesystem::path path = input;
  std::error_code ignored;
  if (input == "-" || !std::filesystem::is_directory(path, ignored)) {
    return path;
  }
  std::filesystem::path nested = path / "spyreCodeDir";
  return (std::filesystem::is_directory(nested, ignored) ? nested : path) / "init.bin";
}

/// The directory with model.json that \p input names: itself, or its folder "model"; empty when
/// \p input is not a model.
static std::filesystem::path modelDirectory(const std::string &input) {
  const std::filesystem::path path = input;
  std::error_code ignored;
  for (const std::filesystem::path &place : {path, path / "model"}) {
    if (input != "-" && std::filesystem::is_regular_file(place / "model.json", ignored)) {
      return place;
    }
  }
  return {};
}

/// Text of one program, and whether it is one for the machine.
struct ProgramText {
  std::string text;
  spyre::Status verdict = spyre::Status::success();
};

static spyre::Expected<ProgramText> programText(const Options &options,
                                                const std::filesystem::path &path,
                                                const spyre::arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(std::string bytes, spyre::readFile(path));
  spyre::Expected<spyre::program::Program> program = spyre::program::readProgram(bytes);
  if (!program.ok()) {
    return program.status().withContext(path.string() + ": ");
  }
  ProgramText result{spyre::program::disassemble(*program)};
  // Only of a directory it is known that what lies beside the program belongs to it.
  std::filesystem::path opSpecs = path == options.input ? "" : spyre::tools::findOpSpecs(path);
  if (!opSpecs.empty()) {
    SPYRE_ASSIGN_OR_RETURN(std::string specs, spyre::readFile(opSpecs));
    result.text = spyre::tools::withOrigins(result.text, specs);
  }
  if (!options.device.empty()) {
    result.verdict =
        spyre::program::verifyProgram(*program, device).withContext(path.string() + ": ");
  }
  return result;
}

/// The programs of a model in the order of its steps, each under the line of its step.
static spyre::Expected<ProgramText> modelText(const Options &options,
                                              const std::filesystem::path &directory,
                                              const spyre::arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(std::string json, spyre::readFile(directory / "model.json"));
  spyre::Expected<spyre::spec::Model> model = spyre::spec::readModel(json);
  spyre::Status sound = model.ok() ? spyre::spec::verifyModel(*model) : model.status();
  if (!sound.ok()) {
    return sound.withContext((directory / "model.json").string() + ": ");
  }
  ProgramText result;
  std::set<std::string> printed;
  for (size_t i = 0; i < model->steps.size(); ++i) {
    const spyre::spec::ModelStep &step = model->steps[i];
    result.text += fmt::format("// step {}: {}\n", i, spyre::spec::describeStep(step));
    const auto *bundle = std::get_if<spyre::spec::BundleStep>(&step);
    if (bundle && printed.insert(bundle->directory).second) {
      const auto path = programPath((directory / bundle->directory).string());
      SPYRE_ASSIGN_OR_RETURN(ProgramText one, programText(options, path, device));
      result.text += one.text;
      result.verdict = result.verdict.ok() ? one.verdict : result.verdict;
    }
  }
  return result;
}

static spyre::Status print(const Options &options, const spyre::arch::DeviceDesc &device) {
  const std::filesystem::path model = modelDirectory(options.input);
  SPYRE_ASSIGN_OR_RETURN(const ProgramText printed,
                         model.empty() ? programText(options, programPath(options.input), device)
                                       : modelText(options, model, device));
  // Printed first: a program that fails is the one to look at.
  SPYRE_RETURN_IF_ERROR(spyre::writeFile(options.output, printed.text));
  return printed.verdict;
}

static spyre::Status assembleProgram(const Options &options, const std::string &text,
                                     const spyre::arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(spyre::program::Program program, spyre::program::assemble(text));
  SPYRE_RETURN_IF_ERROR(spyre::program::verifyProgram(program, device));
  return spyre::writeFile(options.output, spyre::program::writeProgram(program));
}

static spyre::Status run(const Options &options) {
  SPYRE_ASSIGN_OR_RETURN(
      spyre::arch::DeviceDesc device,
      spyre::arch::DeviceDesc::load(options.device.empty() ? kDefaultDevice : options.device));
  if (!options.assemble) {
    return print(options, device);
  }
  SPYRE_ASSIGN_OR_RETURN(std::string text, spyre::readFile(options.input));
  return assembleProgram(options, text, device).withContext(options.input + ": ");
}

int main(int argc, char **argv) {
  try {
    Options options = parseOptions({argv + 1, argv + argc});
    if (options.help) {
      std::fputs(kHelp, stdout);
      return 0;
    }
    if (!options.complaint.empty()) {
      std::fprintf(stderr, "spyre-dis: %s; see spyre-dis --help\n", options.complaint.c_str());
      return 1;
    }
    spyre::Status status = run(options);
    if (!status.ok()) {
      std::fprintf(stderr, "spyre-dis: %s\n", status.message().c_str());
      return 1;
    }
    return 0;
  } catch (const std::exception &exception) {
    std::fprintf(stderr, "spyre-dis: internal error: %s\n", exception.what());
    return 2;
  }
}
