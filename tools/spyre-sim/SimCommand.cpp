//===- SimCommand.cpp - read a program, fill memory, launch, show what came out -------------===//
//
// Everything the command line says is parsed before the device is made; dumps and counters appear
// only after the last launch succeeded, so a failed run prints its error and nothing else.
//===--------------------------------------------------------------------------------------------===//
#include "SimCommand.h"

#include "spyre/BackEnd/BackEnd.h"
#include "spyre/BackEnd/ExternalBackEnd.h"
#include "spyre/Base/Artifacts.h"
#include "spyre/Base/Json.h"
#include "spyre/Program/Program.h"
#include "spyre/Runtime/Device.h"
#include "spyre/Runtime/Npy.h"
#include "spyre/Runtime/OperationTimes.h"
#include "spyre/Spec/SpyreCode.h"

#include "CLI/CLI.hpp"
#include "MemoryText.h"
#include "SimSession.h"
#include "Support/Text.h"
#include "TraceFile.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <new>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace spyre::tools {

namespace {

/// A trace beyond this is of no use in a viewer; the file then has some hundred megabytes.
constexpr uint64_t kMaxTraceEvents = 1000000;

struct SimOptions {
  std::string program;
  std::string device = "openspyre";
  std::vector<std::string> inits, paddings, dumps, symbols;
  DumpFormat dumpFormat = DumpFormat::Bytes;
  uint32_t threads = 0;
  uint32_t repeat = 1;
  bool vfMode = false;
  uint64_t wipeSeed = 0;
  /// Empty, "table" or "json".
  std::string counters;
  std::string trace;
  bool noSanitizer = false;
};

/// What the command line asks of the memory.
struct MemoryWork {
  std::vector<InitSpec> inits;
  std::vector<PaddingSpec> paddings;
  std::vector<DumpSpec> dumps;
};

/// A program and the bytes the device gets.
struct LoadedProgram {
  program::Program program;
  std::string bytes;
  /// Of a bundle: LX is kept for the next launch.
  bool nonTerminal = false;
};

template <typename Spec>
Status parseAll(const std::vector<std::string> &texts, Expected<Spec> (*parse)(const std::string &),
                std::vector<Spec> &specs) {
  for (const std::string &text : texts) {
    SPYRE_ASSIGN_OR_RETURN(Spec spec, parse(text));
    specs.push_back(std::move(spec));
  }
  return Status::success();
}

Expected<MemoryWork> parseMemoryWork(const SimOptions &options) {
  MemoryWork work;
  SPYRE_RETURN_IF_ERROR(parseAll(options.inits, parseInit, work.inits));
  SPYRE_RETURN_IF_ERROR(parseAll(options.paddings, parsePadding, work.paddings));
  SPYRE_RETURN_IF_ERROR(parseAll(options.dumps, parseDump, work.dumps));
  uint64_t element = elementBytes(options.dumpFormat);
  for (const DumpSpec &dump : work.dumps) {
    if (dump.file.empty() && dump.bytes % element != 0) {
      return error<7101>("--dump-mem of {} bytes cannot be shown as values of {} bytes", dump.bytes,
                         element);
    }
  }
  return work;
}

//===- Program ------------------------------------------------------------------------------===//

Expected<LoadedProgram> readProgramFile(const std::string &path) {
  SPYRE_ASSIGN_OR_RETURN(std::string bytes, readFile(path));
  bool isBinary = bytes.starts_with("SPYP");
  Expected<program::Program> program =
      isBinary ? program::readProgram(bytes) : program::assemble(bytes);
  if (!program) {
    return program.status().withContext(path + ": ");
  }
  if (!isBinary) {
    bytes = program::writeProgram(*program);
  }
  return LoadedProgram{*std::move(program), std::move(bytes), false};
}

/// The back end's program of a bundle, for the machine it will run on.
Expected<LoadedProgram> compileBundleDirectory(const std::string &path,
                                               const arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(Artifacts bundle, backend::readBundleDirectory(path));
  Expected<Artifacts> code = backend::compileBundle(bundle, device);
  if (!code) {
    return code.status().withContext(path + ": ");
  }
  LoadedProgram loaded;
  SPYRE_ASSIGN_OR_RETURN(loaded.bytes, findArtifact(*code, "spyreCodeDir/init.bin"));
  SPYRE_ASSIGN_OR_RETURN(std::string text, findArtifact(*code, "spyreCodeDir/spyrecode.json"));
  SPYRE_ASSIGN_OR_RETURN(spec::SpyreCode plan, spec::readSpyreCode(text));
  loaded.nonTerminal = plan.nonTerminal;
  SPYRE_ASSIGN_OR_RETURN(loaded.program, program::readProgram(loaded.bytes));
  return loaded;
}

Status setSymbol(LoadedProgram &loaded, const SymbolSpec &spec) {
  const std::vector<program::Symbol> &symbols = loaded.program.symbols;
  auto found = std::find_if(symbols.begin(), symbols.end(), [&](const program::Symbol &symbol) {
    return symbol.name == spec.name;
  });
  if (found == symbols.end()) {
    std::vector<std::string> names;
    for (const program::Symbol &symbol : symbols) {
      names.push_back(symbol.name);
    }
    return error<7103>("the program has no symbol '{}'; it has {}", spec.name,
                       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
  }
  uint64_t offset = program::symbolValueOffset(size_t(found - symbols.begin()));
  SPYRE_CHECK(offset + sizeof(spec.value) <= loaded.bytes.size(), "symbols are in the binary");
  std::memcpy(loaded.bytes.data() + offset, &spec.value, sizeof(spec.value));
  return Status::success();
}

/// Names all symbols of buffers that have no value in one error: E7103.
Status refuseOpenSymbols(const program::Program &program, const std::set<std::string> &given) {
  std::vector<std::string> names;
  for (size_t i = 0; i < program.symbols.size(); ++i) {
    const program::Symbol &symbol = program.symbols[i];
    const bool isUsed =
        std::any_of(program.buffers.begin(), program.buffers.end(),
                    [&](const program::Buffer &buffer) { return buffer.symbol == int32_t(i); });
    if (isUsed && symbol.value == program::kUnsetSymbol && !given.contains(symbol.name)) {
      names.push_back(symbol.name);
    }
  }
  return names.empty() ? Status::success()
                       : error<7103>("the program's symbols {} have no value; give each with "
                                     "--symbol NAME=VALUE, as in --symbol {}=0:0x0",
                                     fmt::join(names, ", "), names.front());
}

Expected<LoadedProgram> loadProgram(const SimOptions &options, const arch::DeviceDesc &device) {
  std::vector<SymbolSpec> symbols;
  SPYRE_RETURN_IF_ERROR(parseAll(options.symbols, parseSymbol, symbols));
  std::error_code ignored;
  SPYRE_ASSIGN_OR_RETURN(LoadedProgram loaded,
                         std::filesystem::is_directory(options.program, ignored)
                             ? compileBundleDirectory(options.program, device)
                             : readProgramFile(options.program));
  std::set<std::string> given;
  for (const SymbolSpec &symbol : symbols) {
    SPYRE_RETURN_IF_ERROR(setSymbol(loaded, symbol));
    given.insert(symbol.name);
  }
  SPYRE_RETURN_IF_ERROR(refuseOpenSymbols(loaded.program, given));
  return loaded;
}

//===- Memory -------------------------------------------------------------------------------===//

/// The bytes of a file; of an array, its elements.
Expected<std::string> readData(const std::string &path) {
  SPYRE_ASSIGN_OR_RETURN(std::string bytes, readFile(path));
  if (!path.ends_with(".npy")) {
    return bytes;
  }
  Expected<runtime::NpyArray> array = runtime::parseNpy(bytes);
  if (!array) {
    return array.status().withContext(path + ": ");
  }
  return std::move(array->data);
}

Status fillMemory(SimSession &session, const MemoryWork &work) {
  for (const InitSpec &init : work.inits) {
    SPYRE_ASSIGN_OR_RETURN(std::string data, readData(init.file));
    SPYRE_RETURN_IF_ERROR(session.write(init.place, data).withContext(init.file + ": "));
  }
  for (const PaddingSpec &padding : work.paddings) {
    SPYRE_RETURN_IF_ERROR(session.markPadding(padding));
  }
  return Status::success();
}

std::string dumpTitle(const DumpSpec &dump) {
  return dump.place.inLx
             ? fmt::format("lx of core {}, {:#x}, {} bytes:\n", dump.place.core, dump.place.address,
                           dump.bytes)
             : fmt::format("ddr {}, {} bytes:\n", ddrText(dump.place.address), dump.bytes);
}

Status dumpMemory(SimSession &session, const MemoryWork &work, DumpFormat format,
                  std::string &text) {
  for (const DumpSpec &dump : work.dumps) {
    SPYRE_ASSIGN_OR_RETURN(std::string data, session.read(dump.place, dump.bytes));
    if (dump.file.empty()) {
      uint64_t address = dump.place.inLx ? dump.place.address : ddrOffset(dump.place.address);
      text += dumpTitle(dump) + memoryText(data, address, format);
    } else {
      SPYRE_RETURN_IF_ERROR(writeFile(dump.file, data));
    }
  }
  return Status::success();
}

//===- Counters -----------------------------------------------------------------------------===//

struct CounterRow {
  const char *name;
  uint64_t spyre_sim_counters::*value;
};

constexpr CounterRow kCounters[] = {
    {"launches", &spyre_sim_counters::launches},
    {"instructions", &spyre_sim_counters::instructions},
    {"cycles", &spyre_sim_counters::cycles},
    {"nanoseconds", &spyre_sim_counters::nanoseconds},
    {"ddr_read_bytes", &spyre_sim_counters::ddr_read_bytes},
    {"ddr_write_bytes", &spyre_sim_counters::ddr_write_bytes},
    {"lx_read_bytes", &spyre_sim_counters::lx_read_bytes},
    {"lx_write_bytes", &spyre_sim_counters::lx_write_bytes},
    {"ring_bytes", &spyre_sim_counters::ring_bytes},
    {"program_bytes", &spyre_sim_counters::program_bytes},
    {"pt_macs", &spyre_sim_counters::pt_macs},
    {"sfp_lane_ops", &spyre_sim_counters::sfp_lane_ops},
    {"sanitizer_checks", &spyre_sim_counters::sanitizer_checks},
};

std::string countersText(const spyre_sim_counters &counters, bool asJson) {
  Json json = Json::object();
  std::string table;
  for (const CounterRow &row : kCounters) {
    uint64_t value = counters.*row.value;
    json[row.name] = value;
    table += fmt::format("{:<18}{:>16}\n", row.name, grouped(value));
  }
  for (size_t i = 0; i < runtime::kStallReasons; ++i) {
    std::string name = fmt::format("{}_cycles", runtime::kStallNames[i]);
    json[name] = counters.stall_cycles[i];
    table += fmt::format("{:<18}{:>16}\n", name, grouped(counters.stall_cycles[i]));
  }
  return asJson ? json.dump(2) + "\n" : table;
}

//===- Run ----------------------------------------------------------------------------------===//

Status launchAll(SimSession &session, uint32_t repeat, uint32_t flags) {
  for (uint32_t i = 0; i < repeat; ++i) {
    if (Status status = session.launch(flags); !status.ok()) {
      return repeat == 1 ? status
                         : status.withContext(fmt::format("launch {} of {}: ", i + 1, repeat));
    }
  }
  return Status::success();
}

Status writeTrace(const SimSession &session, const SimOptions &options, const LoadedProgram &loaded,
                  const arch::DeviceDesc &device, std::ostream &err) {
  std::vector<spyre_sim_event> events = session.trace();
  if (events.size() >= kMaxTraceEvents) {
    err << fmt::format("spyre-sim: the trace holds the first {} events\n", grouped(events.size()));
  }
  SPYRE_ASSIGN_OR_RETURN(std::vector<runtime::OperationTime> operations,
                         runtime::operationTimes(loaded.bytes, device));
  return writeFile(options.trace, traceText(events, operations, loaded.program, device.timing));
}

Status execute(const SimOptions &options, std::ostream &out, std::ostream &err) {
  SPYRE_ASSIGN_OR_RETURN(MemoryWork work, parseMemoryWork(options));
  SPYRE_ASSIGN_OR_RETURN(arch::DeviceDesc device, arch::DeviceDesc::load(options.device));
  SPYRE_ASSIGN_OR_RETURN(LoadedProgram loaded, loadProgram(options, device));
  SessionOptions sessionOptions{.threads = options.threads,
                                .sanitizer = !options.noSanitizer,
                                .vfMode = options.vfMode,
                                .wipeSeed = options.wipeSeed};
  SPYRE_ASSIGN_OR_RETURN(SimSession session, SimSession::create(device, sessionOptions));
  SPYRE_RETURN_IF_ERROR(session.setProgram(loaded.bytes));
  SPYRE_RETURN_IF_ERROR(fillMemory(session, work));
  if (!options.trace.empty()) {
    session.startTrace(kMaxTraceEvents);
  }
  SPYRE_RETURN_IF_ERROR(
      launchAll(session, options.repeat, loaded.nonTerminal ? runtime::kNonTerminalLaunch : 0));
  std::string text;
  SPYRE_RETURN_IF_ERROR(dumpMemory(session, work, options.dumpFormat, text));
  if (!options.trace.empty()) {
    SPYRE_RETURN_IF_ERROR(writeTrace(session, options, loaded, device, err));
  }
  if (!options.counters.empty()) {
    text += countersText(session.counters(), options.counters == "json");
  }
  out << text;
  return Status::success();
}

//===- Command line -------------------------------------------------------------------------===//

void declareMemoryOptions(CLI::App &app, SimOptions &options) {
  // One value per flag: "--init-mem a.bin@0 PROGRAM" must not swallow PROGRAM.
  auto repeated = [&](const char *name, std::vector<std::string> &values, const char *help,
                      const char *form) {
    app.add_option(name, values, help)->allow_extra_args(false)->type_name(form);
  };
  repeated("--init-mem", options.inits,
           "Put the bytes of FILE (of a .npy file: its elements) into memory before the first "
           "launch; may be repeated",
           "FILE@ADDR|FILE@lx:CORE:ADDR");
  repeated("--init-padding", options.paddings,
           "Declare that of each of STICKS sticks only the first VALIDBYTES hold data",
           "ADDR:STICKS:VALIDBYTES");
  repeated("--dump-mem", options.dumps,
           "Show memory after the last launch, or write its bytes to FILE; may be repeated. DDR "
           "is read as a tensor: padding in it is an error",
           "ddr:ADDR:BYTES[@FILE]|lx:CORE:ADDR:BYTES[@FILE]");
  static const std::map<std::string, DumpFormat> kFormats = {{"bytes", DumpFormat::Bytes},
                                                             {"dl16", DumpFormat::Dl16},
                                                             {"fp16", DumpFormat::Fp16},
                                                             {"fp32", DumpFormat::Fp32},
                                                             {"int32", DumpFormat::Int32}};
  app.add_option_function<std::string>(
         "--dump-as", [&](const std::string &name) { options.dumpFormat = kFormats.at(name); },
         "What --dump-mem shows: bytes (default), dl16, fp16, fp32 or int32")
      ->check(CLI::IsMember({"bytes", "dl16", "fp16", "fp32", "int32"}))
      ->type_name("FORMAT");
  repeated("--symbol", options.symbols, "Give a symbol of the program its value; may be repeated",
           "NAME=VALUE");
}

void declareRunOptions(CLI::App &app, SimOptions &options) {
  app.add_option("--device", options.device, "The machine: a preset or a JSON file")
      ->type_name("PRESET|FILE")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Host threads of the simulator, 0 = one per core")
      ->check(CLI::Range(0u, 1024u))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--repeat", options.repeat, "Launch the program N times")
      ->check(CLI::Range(1u, 1000000u))
      ->type_name("N")
      ->capture_default_str();
  CLI::Option *vf = app.add_flag("--vf", options.vfMode,
                                 "The card is shared: LX is overwritten at random after each "
                                 "launch");
  app.add_option("--wipe-seed", options.wipeSeed, "Of that random")->needs(vf)->type_name("N");
  app.add_flag("--counters{table}", options.counters,
               "Print what the device counted, as a table or (--counters=json) as JSON")
      ->check(CLI::IsMember({"table", "json"}));
  app.add_option("--trace", options.trace,
                 "Write what each unit did when, as JSON for chrome://tracing or Perfetto")
      ->type_name("FILE");
  app.add_flag("--no-sanitizer", options.noSanitizer,
               "Run without the checks of LX and DDR, to measure speed. Results of faulty programs "
               "are then undefined; tests never use it");
}

constexpr const char *kFooter =
    R"(PROGRAM is text (docs/program-format.md) or a binary that starts with "SPYP"; "-" is standard input.
A directory is taken as a bundle (bundle.mlir, sdsc_*.json) and compiled for the machine first; the
arguments of a symbolic one are the symbols pool, arg_0, arg_1, ...
ADDR is a virtual DDR address: a number (4096, 0x1000) or segment:offset (1:0x80). Every segment is
mapped to an equal part of DDR; the program itself is at the start of the last one.
Exit code: 0 done, 1 wrong input or a fault of the program, 2 internal fault.

Examples:
  spyre-sim model/bundle_0 --symbol pool=0:0 --symbol arg_0=1:0 --symbol arg_1=2:0 --counters
  spyre-sim examples/programs/add.spyasm --init-mem x.bin@0:0 --init-mem y.bin@1:0 \
      --dump-mem ddr:2:0:512 --dump-as dl16 --counters)";

} // namespace

int simCommand(int argc, const char *const *argv, std::ostream &out, std::ostream &err) {
  SimOptions options;
  CLI::App app("Runs a device program on the simulated device.", "spyre-sim");
  app.add_option("PROGRAM", options.program, "A device program or a bundle's directory")
      ->required();
  declareMemoryOptions(app, options);
  declareRunOptions(app, options);
  app.footer(kFooter);
  auto fail = [&](const Status &status) {
    err << "spyre-sim: " << status.message() << '\n';
    return 1;
  };
  try {
    app.parse(argc, argv);
    Status status = execute(options, out, err);
    return status.ok() ? 0 : fail(status);
  } catch (const CLI::ParseError &parseError) {
    if (parseError.get_exit_code() == 0) {
      return app.exit(parseError, out, err);
    }
    return fail(error<7101>("{}; see spyre-sim --help", parseError.what()));
  } catch (const std::bad_alloc &) {
    return fail(error<7104>("no host memory for this run; dump less or use a smaller device"));
  } catch (const std::exception &fault) {
    err << "spyre-sim: internal fault: " << fault.what() << '\n';
    return 2;
  }
}

} // namespace spyre::tools
