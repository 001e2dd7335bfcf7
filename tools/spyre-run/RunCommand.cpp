//===- RunCommand.cpp - load, check, run, write ---------------------------------------------===//
//
// Everything that can be checked without the device is checked first, and nothing is written until
// the last output is in host memory: a failed run leaves the old files as they were.
//===--------------------------------------------------------------------------------------------===//
#include "RunCommand.h"

#include "spyre/Base/Artifacts.h"
#include "spyre/Base/Math.h"
#include "spyre/Runtime/Device.h"
#include "spyre/Runtime/Executable.h"
#include "spyre/Runtime/Npy.h"
#include "spyre/Runtime/OperationTimes.h"

#include "CLI/CLI.hpp"
#include "SavedModel.h"
#include "Support/Text.h"
#include "fmt/ranges.h"

#include <algorithm>
#include <filesystem>
#include <new>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace spyre::tools {

namespace {

using numerics::HostType;
using runtime::BufferRef;
using runtime::NpyArray;

struct RunOptions {
  std::string directory;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> dtypes;
  std::string device;
  std::string driver = "sim";
  uint32_t threads = 0;
  uint32_t repeat = 1;
  bool counters = false;
};

/// Type of the npy file that carries a host type. NumPy has no bfloat16 and no 8-bit floats: their
/// bits travel as unsigned integers.
const char *npyTypeOf(HostType type) {
  switch (type) {
  case HostType::Float16:
    return "f2";
  case HostType::Bfloat16:
    return "u2";
  case HostType::Float32:
    return "f4";
  case HostType::Bool:
    return "b1";
  case HostType::Int8:
    return "i1";
  case HostType::Int16:
    return "i2";
  case HostType::Int32:
    return "i4";
  case HostType::Int64:
    return "i8";
  case HostType::Float8E4m3fn:
  case HostType::Float8E5m2fnuz:
  case HostType::Uint8:
    return "u1";
  }
  return "?";
}

std::string describe(const std::string &type, const std::vector<int64_t> &shape) {
  return fmt::format("{} [{}]", type, fmt::join(shape, ", "));
}

std::string adviceFor(HostType type) {
  switch (type) {
  case HostType::Bfloat16:
    return "save the bits of the tensor: tensor.view(torch.uint16).numpy()";
  case HostType::Float8E4m3fn:
  case HostType::Float8E5m2fnuz:
    return "save the bits of the tensor: tensor.view(torch.uint8).numpy()";
  default:
    return "convert the array with astype and reshape";
  }
}

Status checkOutputs(const RunOptions &options, const spec::Model &model) {
  if (!options.outputs.empty() && options.outputs.size() != model.outputs.size()) {
    return error<6304>("the model has {} outputs but {} --output were given; give one per output, "
                       "in order, or none to discard them",
                       model.outputs.size(), options.outputs.size());
  }
  std::set<std::string> seen;
  for (const std::string &path : options.outputs) {
    if (!seen.insert(path).second) {
      return error<6304>("output file '{}' is given twice; use one file per output", path);
    }
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
      return error<6304>("output '{}' is a directory; name a file in it", path);
    }
  }
  return Status::success();
}

/// A --dtype is "TYPE" (for the input of the same position) or "NAME=TYPE".
Status checkDtypes(const RunOptions &options, const spec::Model &model,
                   const std::vector<InputSource> &sources) {
  for (size_t i = 0; i < options.dtypes.size(); ++i) {
    const std::string &text = options.dtypes[i];
    const size_t equals = text.rfind('=');
    size_t position = i;
    if (equals != std::string::npos) {
      position = 0;
      while (position < sources.size() && sources[position].name != text.substr(0, equals)) {
        ++position;
      }
    }
    const spec::TensorDesc *input =
        position < model.inputs.size() ? &model.inputs[position] : nullptr;
    if (!input) {
      return error<6303>("--dtype {} belongs to no input of the model; write NAME=TYPE with an "
                         "input's name, or one TYPE per input",
                         text);
    }
    SPYRE_ASSIGN_OR_RETURN(
        HostType type,
        numerics::parseHostType(equals == std::string::npos ? text : text.substr(equals + 1)));
    if (type != input->dtype) {
      return error<6303>("--dtype {} but the model's input '{}' is {}; compile the model for {} or "
                         "pass the right array",
                         text, sources[position].name, numerics::hostTypeName(input->dtype),
                         numerics::hostTypeName(type));
    }
  }
  return Status::success();
}

Expected<std::vector<NpyArray>> readInputs(const std::vector<InputSource> &sources,
                                           const spec::Model &model) {
  std::vector<NpyArray> arrays;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const spec::TensorDesc &desc = model.inputs[i];
    const std::string path = sources[i].file.string();
    SPYRE_ASSIGN_OR_RETURN(std::string bytes, readFile(path));
    Expected<NpyArray> array = runtime::parseNpy(bytes);
    if (!array.ok()) {
      return array.status().withContext(path + ": ");
    }
    const std::string wanted = npyTypeOf(desc.dtype);
    if (array->type != wanted || array->shape != desc.size) {
      return error<6302>("input {} ('{}') is {} and needs an npy file of {}, but {} holds {}; {}",
                         i, sources[i].name, numerics::hostTypeName(desc.dtype),
                         describe(wanted, desc.size), path, describe(array->type, array->shape),
                         adviceFor(desc.dtype));
    }
    arrays.push_back(*std::move(array));
  }
  return arrays;
}

Expected<arch::DeviceDesc> findDevice(const RunOptions &options, const spec::Model &model) {
  if (!options.device.empty()) {
    return arch::DeviceDesc::load(options.device);
  }
  Expected<arch::DeviceDesc> desc = arch::DeviceDesc::preset(model.deviceName);
  if (!desc.ok()) {
    return desc.status().withContext(fmt::format(
        "the model was compiled for '{}'; give its description with --device: ", model.deviceName));
  }
  return desc;
}

layout::HostTensorRef hostTensor(const spec::TensorDesc &desc, std::string &data) {
  return {data.data(), desc.dtype, desc.size, rowMajorStrides(desc.size)};
}

Expected<std::vector<BufferRef>> allocateAll(runtime::Device &device,
                                             const std::vector<spec::TensorDesc> &descs) {
  std::vector<BufferRef> buffers;
  for (const spec::TensorDesc &desc : descs) {
    SPYRE_ASSIGN_OR_RETURN(BufferRef buffer, device.allocate(uint64_t(desc.layout.bytes())));
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

/// The npy file of each output.
Expected<std::vector<std::string>> downloadAll(const std::vector<BufferRef> &buffers,
                                               const std::vector<spec::TensorDesc> &descs) {
  std::vector<std::string> files;
  for (size_t i = 0; i < descs.size(); ++i) {
    std::vector<int64_t> factors = descs[i].size;
    factors.push_back(numerics::hostTypeBytes(descs[i].dtype));
    int64_t bytes = 0;
    SPYRE_CHECK(checkedProduct(factors, bytes), "verifyModel bounds every tensor");
    NpyArray array{npyTypeOf(descs[i].dtype), descs[i].size, std::string(size_t(bytes), '\0')};
    SPYRE_RETURN_IF_ERROR(
        runtime::downloadTensor(buffers[i], descs[i], hostTensor(descs[i], array.data)));
    files.push_back(runtime::writeNpy(array));
  }
  return files;
}

void removeAll(const std::vector<std::string> &paths) {
  for (const std::string &path : paths) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
}

/// Standard output, a pipe or a device: written in place, never replaced by a rename.
bool isStream(const std::string &path) {
  std::error_code ignored;
  std::filesystem::file_status status = std::filesystem::status(path, ignored);
  return path == "-" ||
         (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status));
}

/// All files are written under temporary names first, so that a full disk or a missing directory
/// for the second output does not replace the first.
Status writeAll(const std::vector<std::string> &paths, const std::vector<std::string> &files) {
  std::vector<std::string> staged;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (isStream(paths[i])) {
      continue;
    }
    const std::string temporary = paths[i] + ".spyre-run";
    if (Status written = writeFile(temporary, files[i]); !written.ok()) {
      removeAll(staged);
      return written;
    }
    staged.push_back(temporary);
  }
  for (size_t i = 0; i < paths.size(); ++i) {
    if (isStream(paths[i])) {
      SPYRE_RETURN_IF_ERROR(writeFile(paths[i], files[i]));
      continue;
    }
    std::error_code failed;
    std::filesystem::rename(paths[i] + ".spyre-run", paths[i], failed);
    if (failed) {
      removeAll(staged);
      return error<6304>("output '{}' cannot be put in place ({}); check the permissions of its "
                         "directory",
                         paths[i], failed.message());
    }
  }
  return Status::success();
}

void printCounters(std::ostream &out, const runtime::Device &device,
                   const runtime::StallSource *stalls, uint32_t runs) {
  const runtime::DeviceCounters counters = device.counters();
  out << fmt::format("device      {} ({} driver)\n", device.desc().name, device.driverName())
      << fmt::format("runs        {}, launches {}\n", grouped(runs), grouped(counters.launches))
      << fmt::format("simulated   {:.3f} us per run, {} cycles in all\n",
                     double(counters.nanoseconds) / 1e3 / runs, grouped(counters.cycles))
      << fmt::format("DDR         {} bytes read, {} written\n", grouped(counters.ddrReadBytes),
                     grouped(counters.ddrWriteBytes))
      << fmt::format("LX          {} bytes read, {} written\n", grouped(counters.lxReadBytes),
                     grouped(counters.lxWriteBytes))
      << fmt::format("ring        {} bytes\n", grouped(counters.ringBytes))
      << fmt::format("PT          {} multiply-adds\n", grouped(counters.ptMacs))
      << fmt::format("SFP         {} lane operations\n", grouped(counters.sfpLaneOps));
  if (stalls == nullptr || counters.cycles == 0) {
    return;
  }
  const runtime::StallCycles cycles = stalls->stallCycles();
  out << "waited for ";
  for (size_t i = 0; i < runtime::kStallReasons; ++i) {
    out << fmt::format("{}{} {:.1f} %", i == 0 ? " " : ", ", runtime::kStallNames[i],
                       100 * double(cycles[i]) / double(counters.cycles));
  }
  out << "\n";
}

Status execute(const RunOptions &options, std::ostream &summary) {
  SPYRE_ASSIGN_OR_RETURN(Artifacts artifacts, readDirectory(modelDirectory(options.directory)));
  SPYRE_ASSIGN_OR_RETURN(std::string modelText, findArtifact(artifacts, "model.json"));
  SPYRE_ASSIGN_OR_RETURN(spec::Model model, spec::readModel(modelText));
  SPYRE_RETURN_IF_ERROR(spec::verifyModel(model));
  SPYRE_RETURN_IF_ERROR(spec::refuseCpuSteps(model));
  SPYRE_ASSIGN_OR_RETURN(std::vector<InputSource> sources, readSources(options.directory, model));
  SPYRE_RETURN_IF_ERROR(bindInputs(options.inputs, sources));
  SPYRE_RETURN_IF_ERROR(checkOutputs(options, model));
  SPYRE_RETURN_IF_ERROR(checkDtypes(options, model, sources));
  SPYRE_ASSIGN_OR_RETURN(std::vector<NpyArray> arrays, readInputs(sources, model));
  SPYRE_ASSIGN_OR_RETURN(arch::DeviceDesc desc, findDevice(options, model));

  runtime::DriverOptions driverOptions;
  driverOptions.threads = options.threads;
  SPYRE_ASSIGN_OR_RETURN(std::unique_ptr<runtime::Driver> driver,
                         runtime::createDriver(options.driver, desc, driverOptions));
  const auto *stalls = dynamic_cast<runtime::StallSource *>(driver.get());
  std::shared_ptr<runtime::Device> device =
      runtime::Device::create(std::move(driver), options.threads);
  SPYRE_ASSIGN_OR_RETURN(std::shared_ptr<runtime::Executable> executable,
                         runtime::Executable::load(device, artifacts));
  SPYRE_ASSIGN_OR_RETURN(std::vector<BufferRef> inputs, allocateAll(*device, model.inputs));
  SPYRE_ASSIGN_OR_RETURN(std::vector<BufferRef> outputs, allocateAll(*device, model.outputs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    SPYRE_RETURN_IF_ERROR(runtime::uploadTensor(inputs[i], model.inputs[i],
                                                hostTensor(model.inputs[i], arrays[i].data)));
  }
  device->resetCounters();
  for (uint32_t i = 0; i < options.repeat; ++i) {
    SPYRE_RETURN_IF_ERROR(executable->run(inputs, outputs));
  }
  if (!options.outputs.empty()) {
    SPYRE_ASSIGN_OR_RETURN(std::vector<std::string> files, downloadAll(outputs, model.outputs));
    SPYRE_RETURN_IF_ERROR(writeAll(options.outputs, files));
  }
  if (options.counters) {
    printCounters(summary, *device, stalls, options.repeat);
  }
  return Status::success();
}

void declareOptions(CLI::App &app, RunOptions &options) {
  app.add_option("DIR", options.directory,
                 "Directory of a compiled model (with model.json), or one that compiled.save() "
                 "wrote (with signature.json), which brings the weights")
      ->required();
  // One value per flag: "--input a.npy DIR" must not swallow DIR.
  app.add_option("-i,--input", options.inputs,
                 "npy file of an input, by name or of the next one in the model's order")
      ->allow_extra_args(false)
      ->type_name("[NAME=]FILE");
  app.add_option("-o,--output", options.outputs,
                 "npy file for the next output; none at all discards the outputs")
      ->allow_extra_args(false)
      ->type_name("FILE");
  app.add_option("--dtype", options.dtypes,
                 "States the type of an input, as NAME=TYPE or one TYPE per input; must agree with "
                 "the model")
      ->allow_extra_args(false)
      ->type_name("[NAME=]TYPE");
  app.add_option("--device", options.device,
                 "Preset name or JSON file of the machine; default: the preset the model names")
      ->type_name("NAME|FILE");
  app.add_option("--driver", options.driver, "sim (simulated card) or null (computes nothing)")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Host threads of the simulator, 0 = one per core")
      ->check(CLI::Range(0u, 1024u))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "Run the model N times")
      ->check(CLI::Range(1u, 1000000u))
      ->type_name("N")
      ->capture_default_str();
  app.add_flag("--counters", options.counters,
               "Print simulated time, bytes moved and operations of all runs");
}

} // namespace

int runCommand(int argc, const char *const *argv, std::ostream &out, std::ostream &err) {
  RunOptions options;
  CLI::App app("Runs a compiled model on NumPy files.", "spyre-run");
  declareOptions(app, options);
  app.footer(
      "bfloat16 tensors travel as uint16 npy files, float8 tensors as uint8: the bits, not "
      "the values.\n\"-\" is standard input or output. Exit code: 0 done, 1 wrong input, 2 "
      "internal fault.\n\nExamples:\n  spyre-run model --input x.npy --input y.npy --output z.npy "
      "--counters\n  spyre-run saved --input x=x.npy --output y.npy");
  try {
    app.parse(argc, argv);
    // A summary must not end up inside an npy file.
    const bool toStdout = std::count(options.outputs.begin(), options.outputs.end(), "-") > 0;
    const Status status = execute(options, toStdout ? err : out);
    if (!status.ok()) {
      err << "spyre-run: " << status.message() << '\n';
      return 1;
    }
    return 0;
  } catch (const CLI::ParseError &parseError) {
    return app.exit(parseError, out, err) == 0 ? 0 : 1;
  } catch (const std::bad_alloc &) {
    err << "spyre-run: "
        << error<6107>("no host memory for this model; free host memory or use a smaller batch")
               .message()
        << '\n';
    return 1;
  } catch (const std::exception &fault) {
    err << "spyre-run: internal fault: " << fault.what() << '\n';
    return 2;
  }
}

} // namespace spyre::tools
