//===- DivideCommand.cpp - divisions of operations from a file ------------------------------===//
#include "DivideCommand.h"

#include "spyre/Base/Artifacts.h"
#include "spyre/Solver/Division/Kernels.h"
#include "spyre/Solver/Division/ProblemFile.h"
#include "spyre/Solver/Division/Report.h"

#include "CLI/CLI.hpp"

#include <algorithm>
#include <ostream>

namespace spyre::tools {

namespace {

namespace division = solver::division;

void declareDivide(CLI::App &command, DivideOptions &options) {
  command
      .add_option("FILE", options.input,
                  "Operations as JSON (docs/division-problems.md); - reads standard input")
      ->required();
  command
      .add_option("--mode", options.mode,
                  "compat (the documented passes), compat-s1 (with the later pass for matrix "
                  "products) or best; default: SPYRE_PLANNER, else best")
      ->type_name("MODE");
  command
      .add_option("--cores", options.cores,
                  "Cores to divide over; default: SENCORES, else all of the device up to 32")
      ->type_name("N");
  command.add_option("--device", options.device, "spyre, openspyre, tiny or a JSON file")
      ->capture_default_str()
      ->type_name("NAME");
  command.add_flag("--span-only", options.spanOnly,
                   "Only the first documented pass: the fewest slices the span limit asks for");
  command.add_flag("--no-padding", options.noPadding, "Do not pad dims to reach more cores");
  command.add_flag("--uneven", options.uneven,
                   "Slices of one dim may differ by a unit where that is cheaper; mode best");
  command.add_flag("--ignore-hints", options.ignoreHints, "Plan as if no dim had a hint");
  command.add_flag("--rates", options.rates,
                   "Price by the device's rates in first order, not by its calibrated clock");
  command.add_option("--candidates", options.candidates, "Candidates to show per operation")
      ->check(CLI::Range(size_t(0), size_t(1000000)))
      ->capture_default_str()
      ->type_name("N");
  command.add_flag("--json", options.json, "One JSON document instead of text");
  command.add_option("-o", options.output, "Write here instead of standard output")
      ->type_name("FILE");
}

Expected<division::Options> plannerOptions(const DivideOptions &options,
                                           const arch::DeviceDesc &device) {
  division::Options planner;
  SPYRE_ASSIGN_OR_RETURN(planner.mode, division::parseMode(options.mode.value_or("best")));
  if (options.cores) {
    SPYRE_ASSIGN_OR_RETURN(planner.cores, division::parseCores(*options.cores, device));
  } else {
    planner.cores = std::min<int64_t>(device.cores, 32);
  }
  planner.distribute = !options.spanOnly;
  planner.padding = !options.noPadding;
  planner.uneven = options.uneven;
  planner.ignoreHints = options.ignoreHints;
  planner.explain = true;
  return planner;
}

/// A plan that can be run: one that was checked, or tiles that were.
bool isUsable(const division::Outcome &outcome) {
  return outcome.skipped || outcome.verdict.ok() || outcome.tiling.has_value();
}

Status divideFile(const DivideOptions &options, std::ostream &out, bool &usable) {
  SPYRE_ASSIGN_OR_RETURN(arch::DeviceDesc device, arch::DeviceDesc::load(options.device));
  SPYRE_ASSIGN_OR_RETURN(division::Options planner, plannerOptions(options, device));
  SPYRE_ASSIGN_OR_RETURN(std::string text, readFile(options.input));
  Expected<std::vector<division::Op>> ops = division::readProblem(text);
  if (!ops.ok()) {
    return ops.status().withContext(options.input + ": ");
  }
  const division::KernelCosts calibrated(device);
  const division::DeviceRates rates(device);
  const division::CostModel &costs =
      options.rates ? static_cast<const division::CostModel &>(rates) : calibrated;
  const division::ReportContext context{device, planner, costs.name(), options.candidates};
  Json list = Json::array();
  std::string report;
  usable = true;
  for (const division::Op &op : *ops) {
    Expected<division::Outcome> outcome = division::divide(op, device, planner, costs);
    if (!outcome.ok()) {
      return outcome.status().withContext(options.input + ": ");
    }
    usable = usable && isUsable(*outcome);
    if (options.json) {
      list.push_back(division::reportJson(*outcome, context));
    } else {
      report += division::reportText(*outcome, context);
    }
  }
  if (options.json) {
    const Json document = {{"version", 1}, {"ops", list}};
    report = document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  if (options.output == "-") {
    out << report;
    return Status::success();
  }
  return writeFile(options.output, report);
}

} // namespace

void DivideCommand::declare(CLI::App &app) {
  command = app.add_subcommand("divide", "Divide operations over the cores");
  declareDivide(*command, options);
}

bool DivideCommand::chosen() const { return command->parsed(); }

Status DivideCommand::run(const PlanEnvironment &environment, std::ostream &out, bool &good) {
  options.cores = options.cores ? options.cores : environment.cores;
  options.mode = options.mode ? options.mode : environment.mode;
  return divideFile(options, out, good);
}

} // namespace spyre::tools
