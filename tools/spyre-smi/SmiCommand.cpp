//===- SmiCommand.cpp - a table of cards and processes --------------------------------------===//
#include "SmiCommand.h"

#include "spyre/Base/Json.h"
#include "spyre/Runtime/CardState.h"

#include "CLI/CLI.hpp"

#include <chrono>
#include <filesystem>
#include <ostream>
#include <thread>

namespace spyre::tools {

namespace {

using runtime::CardState;

struct SmiOptions {
  std::string folder;
  bool json = false, on = false, off = false;
  uint32_t samples = 1;
  double intervalSeconds = 1;
};

constexpr const char *kHeading =
    "card  mode     pid      process          reserved      active   busy %     PT %"
    "     DDR read    DDR write   simulated\n";

/// "1.5 GiB"
std::string bytesText(int64_t bytes) {
  constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string timeText(int64_t nanoseconds) {
  constexpr double kNsPerMs = 1e6;
  return fmt::format("{:.3f} ms", double(nanoseconds) / kNsPerMs);
}

std::string rowOf(const CardState &state) {
  return fmt::format("{:>4}  {:<7}  {:<7}  {:<15.15}  {:>10}  {:>10}  {:>7.2f}  {:>7.2f}  {:>11}  "
                     "{:>11}  {:>10}\n",
                     state.card, runtime::cardModeName(state.mode), state.process,
                     state.processName, bytesText(state.reservedBytes),
                     bytesText(state.activeBytes), 100 * state.busyShare(),
                     100 * state.ptUtilisation(), bytesText(state.ddrReadBytes),
                     bytesText(state.ddrWriteBytes), timeText(state.simulatedNs));
}

void printTable(const std::string &folder, bool withHeading, std::ostream &out) {
  if (withHeading) {
    out << kHeading;
  }
  const std::vector<CardState> states = runtime::readStates(folder);
  for (const CardState &state : states) {
    out << rowOf(state);
  }
  if (states.empty()) {
    out << "No process reports the use of a card"
        << (std::filesystem::exists(folder)
                ? ".\n"
                : ". Reports are off: start programs with SPYRE_SMI=1, or run spyre-smi --on "
                  "first.\n");
  }
}

/// One document per line and sample.
void printJson(const std::string &folder, std::ostream &out) {
  Json document;
  document["reports"] = std::filesystem::exists(folder);
  document["cards"] = runtime::kMaxCards;
  document["processes"] = Json::array();
  for (const CardState &state : runtime::readStates(folder)) {
    document["processes"].push_back(Json::parse(state.toJson()));
  }
  out << document.dump() << '\n';
}

Status switchReports(const SmiOptions &options, const std::string &folder, std::ostream &out) {
  if (options.off) {
    std::error_code fault;
    std::filesystem::remove_all(folder, fault);
    out << "Programs that start from now on do not report.\n";
    return Status::success();
  }
  SPYRE_RETURN_IF_ERROR(runtime::prepareCardFolder(options.folder));
  SPYRE_RETURN_IF_ERROR(runtime::prepareCardFolder(folder));
  out << "Programs that start from now on report their use of cards.\n";
  return Status::success();
}

Status execute(const SmiOptions &options, std::ostream &out) {
  const std::string folder = runtime::stateFolder(options.folder);
  if (options.on || options.off) {
    return switchReports(options, folder, out);
  }
  constexpr uint32_t kRowsPerHeading = 20;
  for (uint32_t sample = 0; sample < options.samples; ++sample) {
    if (sample > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double>(options.intervalSeconds));
    }
    if (options.json) {
      printJson(folder, out);
    } else {
      printTable(folder, sample % kRowsPerHeading == 0, out);
    }
    out.flush();
  }
  return Status::success();
}

void declareOptions(CLI::App &app, SmiOptions &options) {
  app.add_flag("--json", options.json, "One JSON document per sample and line");
  app.add_option("--loop", options.samples, "Take N samples")
      ->check(CLI::Range(1u, 1000000u))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--interval", options.intervalSeconds, "Seconds between samples")
      ->check(CLI::Range(0.0, 3600.0))
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_flag("--on", options.on, "Make programs that start from now on report");
  app.add_flag("--off", options.off, "Make them stop that, and forget what was reported")
      ->excludes("--on");
  app.add_option("--dir", options.folder,
                 "Folder of card locks and reports; default: SPYRE_CARD_DIR, else openspyre in the "
                 "user's run-time folder, else openspyre-UID in the temporary folder")
      ->type_name("DIR");
}

} // namespace

int smiCommand(int argc, const char *const *argv, const std::string &cardFolder, std::ostream &out,
               std::ostream &err) {
  SmiOptions options;
  CLI::App app("Shows which processes use which card, and how much.", "spyre-smi");
  declareOptions(app, options);
  app.footer(
      "A program reports at most once a second, while it launches work, if it was started with\n"
      "SPYRE_SMI=1 or after spyre-smi --on (SPYRE_SMI=0: never). Busy is simulated device time "
      "over\n"
      "wall time, PT the share of the matrix unit's multiply-adds in that device time; both, the\n"
      "DDR bytes and the simulated time count from when the process opened the card.\n"
      "Exit code: 0 done, 1 wrong input, 2 internal fault.\n\nExample:\n"
      "  spyre-smi --loop 10 --interval 0.5");
  try {
    app.parse(argc, argv);
    options.folder = options.folder.empty() ? cardFolder : options.folder;
    const Status status = execute(options, out);
    if (!status.ok()) {
      err << "spyre-smi: " << status.message() << '\n';
      return 1;
    }
    return 0;
  } catch (const CLI::ParseError &parseError) {
    return app.exit(parseError, out, err) == 0 ? 0 : 1;
  } catch (const std::exception &fault) {
    err << "spyre-smi: internal fault: " << fault.what() << '\n';
    return 2;
  }
}

} // namespace spyre::tools
