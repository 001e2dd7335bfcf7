//===- main.cpp - spyre-backend: a bundle directory to SpyreCode ----------------------------===//
//
// Takes the command line of any Spyre back end (--bundle -d DIR), so that one can replace the
// other. The result is written beside its final place and then swapped in: a reader sees the old
// DIR/spyreCodeDir or the new one, never half of one.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Arch/DeviceDesc.h"
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/BackEnd/ExternalBackEnd.h"
#include "spyre/Base/Artifacts.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>

namespace fs = std::filesystem;
using namespace spyre;

static constexpr int kUserError = 1, kInternalError = 2;
static constexpr const char *kUsage =
    "usage: spyre-backend --bundle -d DIR [--device PRESET-OR-FILE]\n"
    "\n"
    "Lowers the bundle in DIR (bundle.mlir and its sdsc_*.json) to a device program and writes\n"
    "DIR/spyreCodeDir (spyrecode.json, init.bin), replacing an older one as a whole.\n"
    "\n"
    "  --bundle       the input is a bundle (the only kind there is)\n"
    "  -d DIR         the bundle's directory\n"
    "  --device NAME  spyre, openspyre (default), tiny, or a JSON file that describes a machine\n"
    "  --help         this text\n"
    "\n"
    "Exit code: 0 done, 1 the input or the options are at fault, 2 the back end is at fault.\n"
    "\n"
    "Examples:\n"
    "  spyre-backend --bundle -d model/bundle_0\n"
    "  spyre-backend --bundle -d model/bundle_0 --device machine.json\n";

struct Options {
  bool help = false, bundle = false;
  std::string directory, device = "openspyre";
};

static Expected<Options> parseOptions(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    std::string *value = argument == "-d"         ? &options.directory
                         : argument == "--device" ? &options.device
                                                  : nullptr;
    if (value && i + 1 == argc) {
      return error<5306>("option {} needs a value; see --help", argument);
    }
    if (value) {
      *value = argv[++i];
    } else if (argument == "--bundle") {
      options.bundle = true;
    } else if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else {
      return error<5306>("unknown option '{}'; see --help", argument);
    }
  }
  if (!options.help && (!options.bundle || options.directory.empty())) {
    return error<5306>("--bundle and -d DIR are needed; see --help");
  }
  return options;
}

static Status run(const Options &options) {
  fs::path directory = options.directory;
  SPYRE_ASSIGN_OR_RETURN(arch::DeviceDesc device, arch::DeviceDesc::load(options.device));
  SPYRE_ASSIGN_OR_RETURN(Artifacts bundle, backend::readBundleDirectory(directory));
  SPYRE_ASSIGN_OR_RETURN(Artifacts code, backend::compileBundle(bundle, device));
  return writeToDirectory(subArtifacts(code, "spyreCodeDir/"), directory / "spyreCodeDir");
}

static int report(const Status &status) {
  fmt::print(stderr, "spyre-backend: {}\n", status.message());
  return status.code() == 5305 ? kInternalError : kUserError;
}

int main(int argc, char **argv) {
  try {
    Expected<Options> options = parseOptions(argc, argv);
    if (!options) {
      return report(options.status());
    }
    if (options->help) {
      fmt::print("{}", kUsage);
      return 0;
    }
    Status status = run(*options);
    return status.ok() ? 0 : report(status);
  } catch (const std::exception &fault) {
    fmt::print(stderr, "spyre-backend: internal fault: {}\n", fault.what());
    return kInternalError;
  }
}
