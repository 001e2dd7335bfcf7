//===- FitCommand.cpp - read rows, fit, report ----------------------------------------------===//
#include "FitCommand.h"

#include "spyre/Arch/TimingFields.h"
#include "spyre/Base/Artifacts.h"
#include "spyre/CostModel/Fit.h"

#include "Report.h"
#include "RowPrograms.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <ostream>
#include <sstream>

namespace spyre::tools {

using costmodel::FitParameter;
using costmodel::TimingRow;

static constexpr const char *kUsage =
    "usage: spyre-fit --rows FILE [options]\n"
    "\n"
    "Times the published rows on the simulated clock and reports what it misses them by; with\n"
    "--fit it first fits the clock's parameters to the rows of set fit.\n"
    "\n"
    "  --rows FILE        published times (CSV; docs/timing.md has the columns)\n"
    "  --write-specs DIR  writes the OpSpecs each row runs from into the folder, which must exist\n"
    "  --device NAME      spyre, openspyre (default), tiny, or a JSON file: where to start\n"
    "  --fit              fit, then report\n"
    "  --parameters LIST  names of the timing fields to fit, with commas between them\n"
    "                     (default: those docs/timing.md calls free)\n"
    "  --rounds N         the back end chooses tiles by the rates: lower and fit so many times\n"
    "                     (default 3)\n"
    "  --out FILE         writes the device file with the fitted parameters\n"
    "  --help             this text\n"
    "\n"
    "Exit code: 0 done, 1 the input or the options are at fault, 2 the tool is at fault.\n"
    "\n"
    "Examples:\n"
    "  spyre-fit --rows rows.csv\n"
    "  spyre-fit --rows rows.csv --fit --out machine.json\n";

/// What the rows can tell; the others are documented figures or have no row.
static constexpr const char *kFreeParameters =
    "ddrBytesPerCycle,ddrPortBytesPerCycle,ddrCoreBytesPerCycle,ddrStreamLoss,ddrTurnaroundCycles,"
    "ptFillBytesPerCycle,sfpTranscendentalFactor,ringBytesPerCycle,ringRunCycles";

namespace {

struct Options {
  bool help = false, fit = false;
  std::string rows, specs, device = "openspyre", parameters = kFreeParameters, out;
  int64_t rounds = 3;
};

} // namespace

static Expected<Options> parseOptions(int argc, char **argv) {
  Options options;
  std::string rounds = "3";
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    std::string *value = argument == "--rows"          ? &options.rows
                         : argument == "--write-specs" ? &options.specs
                         : argument == "--device"      ? &options.device
                         : argument == "--parameters"  ? &options.parameters
                         : argument == "--rounds"      ? &rounds
                         : argument == "--out"         ? &options.out
                                                       : nullptr;
    if (value && i + 1 == argc) {
      return error<7036>("option {} needs a value; see --help", argument);
    }
    if (value) {
      *value = argv[++i];
    } else if (argument == "--fit") {
      options.fit = true;
    } else if (argument == "--help" || argument == "-h") {
      options.help = true;
    } else {
      return error<7036>("unknown option '{}'; see --help", argument);
    }
  }
  auto [end, fault] = std::from_chars(rounds.data(), rounds.data() + rounds.size(), options.rounds);
  if (fault != std::errc() || *end != '\0' || options.rounds < 1 || options.rounds > 20) {
    return error<7036>("--rounds '{}' must be a number from 1 to 20", rounds);
  }
  if (!options.help && options.rows.empty()) {
    return error<7036>("--rows FILE is needed; see --help");
  }
  return options;
}

/// Each may move by a factor of 30 either way from where it starts; rates of DDR not above its
/// peak.
static Expected<std::vector<FitParameter>> parametersOf(const std::string &list,
                                                        arch::Timing timing) {
  constexpr double kReach = 30;
  std::vector<FitParameter> parameters;
  std::istringstream names(list);
  for (std::string name; std::getline(names, name, ',');) {
    const double *field = arch::timingField(timing, name);
    if (field == nullptr) {
      return error<7037>("there is no timing field '{}'; there are {}", name.substr(0, 64),
                         fmt::join(arch::timingFieldNames(), ", "));
    }
    if (std::any_of(parameters.begin(), parameters.end(),
                    [&](const FitParameter &other) { return other.name == name; })) {
      return error<7037>("parameter '{}' is there twice", name);
    }
    double value = std::max(*field, 1e-4), high = value * kReach;
    bool isDdrRate = name.starts_with("ddr") && name.ends_with("BytesPerCycle");
    if (isDdrRate) {
      high = timing.ddrPeakBytesPerCycle;
      value = std::min(value, high);
    }
    parameters.push_back({name, value, value / kReach, high});
  }
  return parameters;
}

static arch::Timing withValues(arch::Timing timing, const std::vector<FitParameter> &parameters,
                               std::span<const double> values) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    *arch::timingField(timing, parameters[i].name) = values[i];
  }
  return timing;
}

/// Four digits say all the rows can.
static double rounded(double value) {
  std::string text = fmt::format("{:.4g}", value);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// One fit with the programs that the back end makes for the rates so far.
static Status fitOnce(const Options &options, const std::vector<TimingRow> &rows,
                      arch::DeviceDesc &device, std::ostream &out) {
  SPYRE_ASSIGN_OR_RETURN(RowPrograms programs, RowPrograms::compile(rows, device));
  SPYRE_ASSIGN_OR_RETURN(std::vector<FitParameter> parameters,
                         parametersOf(options.parameters, device.timing));
  auto cost = [&](std::span<const double> values) -> Expected<double> {
    SPYRE_ASSIGN_OR_RETURN(std::vector<double> predicted,
                           programs.predict(withValues(device.timing, parameters, values)));
    return costmodel::fitCost(rows, predicted);
  };
  SPYRE_ASSIGN_OR_RETURN(costmodel::FitResult result, costmodel::fitParameters(parameters, cost));
  for (double &value : result.values) {
    value = rounded(value);
  }
  device.timing = withValues(device.timing, parameters, result.values);
  out << fmt::format("cost {:.4f} after {} evaluations\n", result.cost, result.evaluations);
  return Status::success();
}

static void printParameters(const Options &options, const arch::DeviceDesc &device,
                            std::ostream &out) {
  arch::Timing timing = device.timing;
  out << "\nparameters (* fitted)\n";
  std::string list = "," + options.parameters + ",";
  for (const std::string &name : arch::timingFieldNames()) {
    bool isFree = list.find("," + name + ",") != std::string::npos;
    out << fmt::format("  {} {:<26}{:>12.5g}\n", isFree ? "*" : " ", name,
                       *arch::timingField(timing, name));
  }
}

static Status writeSpecs(const std::vector<TimingRow> &rows, const std::filesystem::path &folder) {
  for (const TimingRow &row : rows) {
    SPYRE_ASSIGN_OR_RETURN(Artifacts texts, specTexts(row));
    for (const auto &[file, text] : texts) {
      SPYRE_RETURN_IF_ERROR(writeFile(folder / file, text));
    }
  }
  return Status::success();
}

static Status run(const Options &options, std::ostream &out) {
  SPYRE_ASSIGN_OR_RETURN(arch::DeviceDesc device, arch::DeviceDesc::load(options.device));
  SPYRE_ASSIGN_OR_RETURN(std::string text, readFile(options.rows, uint64_t(64) << 20));
  Expected<std::vector<TimingRow>> rows = costmodel::readTimingRows(text);
  if (!rows.ok()) {
    return rows.status().withContext(options.rows + ": ");
  }
  if (!options.specs.empty()) {
    SPYRE_RETURN_IF_ERROR(writeSpecs(*rows, options.specs));
  }
  SPYRE_RETURN_IF_ERROR(parametersOf(options.parameters, device.timing).status());
  for (int64_t round = 0; options.fit && round < options.rounds; ++round) {
    SPYRE_RETURN_IF_ERROR(fitOnce(options, *rows, device, out));
  }
  SPYRE_ASSIGN_OR_RETURN(RowPrograms programs, RowPrograms::compile(*rows, device));
  SPYRE_ASSIGN_OR_RETURN(std::vector<double> predicted, programs.predict(device.timing));
  printParameters(options, device, out);
  out << reportText(*rows, predicted, device, programs.fastestDdrGbPerSecond());
  return options.out.empty() ? Status::success() : writeFile(options.out, device.toJson());
}

int fitCommand(int argc, char **argv, std::ostream &out, std::ostream &err) {
  try {
    Expected<Options> options = parseOptions(argc, argv);
    Status status = options.status();
    if (options.ok() && options->help) {
      out << kUsage;
    } else if (options.ok()) {
      status = run(*options, out);
    }
    if (!status.ok()) {
      err << "spyre-fit: " << status.message() << "\n";
    }
    return status.ok() ? 0 : 1;
  } catch (const std::exception &fault) {
    err << "spyre-fit: internal fault: " << fault.what() << "\n";
    return 2;
  }
}

} // namespace spyre::tools
