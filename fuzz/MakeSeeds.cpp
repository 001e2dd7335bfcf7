//===- MakeSeeds.cpp - seeds of the binary formats ------------------------------------------===//
//
//   MakeFuzzSeeds FOLDER [FILE.json | FILE.spyasm]...
//
// Binary seeds are made at build time: tracked ones could not be reviewed, and would be refused at
// the magic number after the next change of the program format. Writes
//
//   FOLDER/FuzzNpy       headers of all versions, types and orders, good and bad
//   FOLDER/FuzzProgram   the programs the back end makes of the SuperDSC files, and the assembled
//                        .spyasm files
//   FOLDER/FuzzAssembly  the .spyasm files (bad ones too) and the programs as text
//===--------------------------------------------------------------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Base/Artifacts.h"
#include "spyre/Spec/Bundle.h"

#include "fmt/format.h"

#include <cstdio>
#include <filesystem>
#include <vector>

using namespace spyre;
namespace fs = std::filesystem;

namespace {

struct NpySeed {
  const char *name;
  int major;
  const char *header;
  size_t dataBytes;
};

constexpr NpySeed kNpySeeds[] = {
    {"f2", 1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }", 12},
    {"f4-version2", 2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24},
    {"f4-version3", 3, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", 12},
    {"i8-fortran", 1, "{'descr': '<i8', 'fortran_order': True, 'shape': (2, 2, 2), }", 64},
    {"u2-fortran", 1, "{'descr': '<u2', 'fortran_order': True, 'shape': (3, 2), }", 12},
    {"i4-scalar", 1, "{'descr': '<i4', 'fortran_order': False, 'shape': (), }", 4},
    {"i2-empty", 1, "{'descr': '<i2', 'fortran_order': False, 'shape': (0, 5), }", 0},
    {"u1", 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }", 4},
    {"i1-double-quotes", 1, "{\"descr\": \"|i1\", \"fortran_order\": False, \"shape\": (4,)}", 4},
    {"b1", 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }", 1},
    {"b1-not-boolean", 1, "{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }", 4},
    {"other-key-order", 1, "{'shape': (1,), 'descr': '<f2', 'fortran_order': False}", 2},
    {"big-endian", 1, "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", 4},
    {"native-order", 1, "{'descr': '=f4', 'fortran_order': False, 'shape': (1,), }", 4},
    {"unknown-type", 1, "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", 8},
    {"structured", 1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", 4},
    {"too-little-data", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }", 4},
    {"absurd-size", 1, "{'descr': '<f4', 'fortran_order': True, 'shape': (999999999999, 99999), }",
     4},
    {"above-64-bits", 1,
     "{'descr': '<f4', 'fortran_order': True, 'shape': (99999999999999999999,)}", 4},
    {"missing-key", 1, "{'descr': '<f4', 'shape': (1,), }", 4},
    {"repeated-key", 1, "{'descr': '<f4', 'descr': '<f4', 'shape': (1,), }", 4},
    {"not-a-tuple", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1), }", 4},
    {"no-comma", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1), }", 4},
    {"no-size", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (,), }", 4},
    {"no-bool", 1, "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }", 4},
    {"open-string", 1, "{'descr': '<f4, 'fortran_order", 4},
    {"escape", 1, "{'descr': '<\\x66', 'fortran_order': False, 'shape': (1,), }", 4},
    {"more-text", 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x", 4},
    {"many-dimensions", 1,
     "{'descr': '<u1', 'fortran_order': True, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
     "1,1,1,1,1,1,1,1,1,1,1,1), }",
     1},
    {"unknown-version", 9, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", 4},
};

std::string npyBytes(const NpySeed &seed) {
  std::string header = std::string(seed.header) + "\n";
  std::string file = "\x93NUMPY";
  file += char(seed.major);
  file += '\0';
  for (size_t i = 0; i < (seed.major == 1 ? 2u : 4u); ++i) {
    file += char(header.size() >> (8 * i));
  }
  file += header;
  for (size_t i = 0; i < seed.dataBytes; ++i) {
    file += char(i + 1);
  }
  return file;
}

Status writeNpySeeds(const fs::path &folder) {
  for (const NpySeed &seed : kNpySeeds) {
    SPYRE_RETURN_IF_ERROR(writeFile(folder / (std::string(seed.name) + ".npy"), npyBytes(seed)));
  }
  const std::string whole = npyBytes(kNpySeeds[0]);
  SPYRE_RETURN_IF_ERROR(writeFile(folder / "magic-only.npy", whole.substr(0, 6)));
  SPYRE_RETURN_IF_ERROR(writeFile(folder / "cut-in-length.npy", whole.substr(0, 9)));
  return writeFile(folder / "cut-in-header.npy", whole.substr(0, 40));
}

/// A program in both forms, and damaged where no byte mutation is likely to hit.
Status writeProgramSeeds(const fs::path &folder, const std::string &name,
                         const std::string &binary) {
  SPYRE_ASSIGN_OR_RETURN(program::Program program, program::readProgram(binary));
  const fs::path binaries = folder / "FuzzProgram";
  const std::string plain = program::writeProgram(program);
  SPYRE_RETURN_IF_ERROR(writeFile(binaries / (name + ".bin"), plain));
  SPYRE_RETURN_IF_ERROR(
      writeFile(binaries / (name + "-padded.bin"), plain + std::string(96, '\0')));
  SPYRE_RETURN_IF_ERROR(
      writeFile(binaries / (name + "-cut.bin"), plain.substr(0, 3 * plain.size() / 4)));
  return writeFile(folder / "FuzzAssembly" / (name + ".spyasm"), program::disassemble(program));
}

/// An operation that the back end does not lower is no seed.
Status writeFromSuperDsc(const fs::path &folder, const fs::path &file) {
  SPYRE_ASSIGN_OR_RETURN(std::string dsc, readFile(file));
  SPYRE_ASSIGN_OR_RETURN(arch::DeviceDesc device, arch::DeviceDesc::preset("openspyre"));
  const Artifacts bundle = {
      {"bundle.mlir", spec::writeBundleMlir(spec::Bundle::baked({"sdsc_0.json"}))},
      {"sdsc_0.json", dsc}};
  auto code = backend::compileBundle(bundle, device);
  if (!code.ok()) {
    return Status::success();
  }
  SPYRE_ASSIGN_OR_RETURN(std::string binary, findArtifact(*code, "spyreCodeDir/init.bin"));
  return writeProgramSeeds(folder, file.stem().string(), binary);
}

/// Tests of the assembler bring faulty files too: they are seeds of its fuzzer only.
Status writeFromAssembly(const fs::path &folder, const fs::path &file) {
  const std::string name = file.parent_path().filename().string() + "-" + file.stem().string();
  SPYRE_ASSIGN_OR_RETURN(std::string text, readFile(file));
  SPYRE_RETURN_IF_ERROR(writeFile(folder / "FuzzAssembly" / (name + "-source.spyasm"), text));
  if (auto program = program::assemble(text); program.ok()) {
    return writeProgramSeeds(folder, name, program::writeProgram(*program));
  }
  return Status::success();
}

Status run(const std::vector<fs::path> &arguments) {
  const fs::path &folder = arguments.front();
  for (const char *target : {"FuzzNpy", "FuzzProgram", "FuzzAssembly"}) {
    std::error_code ignored; // writeFile says what is wrong
    fs::remove_all(folder / target, ignored);
    fs::create_directories(folder / target, ignored);
  }
  SPYRE_RETURN_IF_ERROR(writeNpySeeds(folder / "FuzzNpy"));
  for (size_t i = 1; i < arguments.size(); ++i) {
    const bool isText = arguments[i].extension() == ".spyasm";
    const Status status =
        isText ? writeFromAssembly(folder, arguments[i]) : writeFromSuperDsc(folder, arguments[i]);
    SPYRE_RETURN_IF_ERROR(status.withContext(arguments[i].string() + ": "));
  }
  SPYRE_CHECK(!fs::is_empty(folder / "FuzzProgram"), "some of the files give a program");
  return Status::success();
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fputs("usage: MakeFuzzSeeds FOLDER [FILE.json | FILE.spyasm]...\n", stderr);
    return 2;
  }
  if (Status status = run({argv + 1, argv + argc}); !status.ok()) {
    fmt::print(stderr, "{}\n", status.message());
    return 1;
  }
  return 0;
}
