//===- PlacementCommands.cpp - placement problems on the command line -------------------------===//
#include "PlacementCommands.h"

#include "spyre/Base/Artifacts.h"
#include "spyre/Solver/Placement/Explain.h"
#include "spyre/Solver/Placement/Files.h"

#include "fmt/ranges.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>

namespace spyre::tools {
namespace {

namespace placement = solver::placement;
using placement::Plan;
using placement::Problem;
using placement::Variant;

bool endsWith(const std::string &text, const std::string &tail) {
  return text.size() >= tail.size() && text.ends_with(tail);
}

/// A million buffers take less.
constexpr uint64_t kMaxInputBytes = uint64_t(256) << 20;

Status writeOutput(const std::string &path, const std::string &text, std::ostream &out) {
  if (path.empty() || path == "-") {
    out << text;
    return Status::success();
  }
  return writeFile(path, text);
}

Expected<placement::Buffer *> find(Problem &problem, const std::string &name) {
  for (placement::Buffer &buffer : problem.buffers) {
    if (buffer.name == name) {
      return &buffer;
    }
  }
  return error<3050>("no buffer is named '{}'", name.substr(0, 60));
}

/// The question asked of \p problem.
Variant variantOf(const Problem &problem) { return problem.variant.value_or(Variant::Fit); }

/// One line: result, height or value, bound, gap, nodes, seconds.
std::string summary(const Problem &problem, const Plan &plan, double seconds) {
  const Variant variant = variantOf(problem);
  const auto placed = std::count_if(plan.offsets.begin(), plan.offsets.end(),
                                    [](const auto &offset) { return offset.has_value(); });
  const char *result = plan.impossible            ? "impossible"
                       : !plan.complete           ? "undecided"
                       : variant == Variant::Pick ? "picked"
                       : variant == Variant::Min  ? "minimised"
                                                  : "feasible";
  if (!plan.complete && !plan.impossible && placed > 0) {
    result = "incomplete";
  }
  return fmt::format("{}: placed {}/{}, height {}, {} {}, bound {}, gap {}, proof {}, load {}, "
                     "nodes {}, seconds {:.3f}\n",
                     result, placed, plan.offsets.size(), heightOf(problem, plan.offsets),
                     variant == Variant::Min ? "least" : "value", plan.certificate.value,
                     plan.certificate.bound, plan.certificate.gap(), nameOf(plan.certificate.proof),
                     plan.certificate.loadBytes, plan.certificate.nodes, seconds);
}

} // namespace

void PlacementCommands::declareProblem(CLI::App &command) {
  command
      .add_option("FILE", options.input,
                  "Buffers as CSV (id,lower,upper,size and optional alignment, hint, offset, gaps, "
                  "value, parents, forbidden) or, if it ends in .json, a whole problem; - reads "
                  "standard input")
      ->required();
  command
      .add_option("--capacity,--lx-budget-bytes", options.capacity,
                  "Bytes of the scratchpad; needed for CSV unless the variant is min")
      ->type_name("N");
  command.add_option("--alignment", options.alignment, "Of buffers that have none of their own")
      ->type_name("N");
  command
      .add_option("--pin", options.pins, "What if: the buffer must be at this offset (repeatable)")
      ->type_name("ID=OFFSET");
  command.add_option("--forbid", options.forbidden, "What if: it may not be placed (repeatable)")
      ->type_name("ID");
}

void PlacementCommands::declareSolver(CLI::App &command) {
  command
      .add_option("--variant", options.variant,
                  "fit (all buffers below the capacity), min (the least height for all) or pick "
                  "(the most valuable ones); default: the one that the file names, else fit")
      ->type_name("NAME");
  command
      .add_option("--solver", options.solver,
                  fmt::format("{}", fmt::join(placement::solverNames(), ", ")))
      ->capture_default_str()
      ->type_name("NAME");
  command.add_option("--order", options.order, "Of firstfit and bestfit: score or lifetime")
      ->capture_default_str()
      ->type_name("NAME");
  command.add_option("--seed", options.seed, "Of simulated_annealing")->capture_default_str();
  command.add_option("--nodes", options.nodes, "Limit of the exact solver's search")
      ->type_name("N");
}

void PlacementCommands::declare(CLI::App &app) {
  solve = app.add_subcommand("solve", "Place buffers in a scratchpad");
  verify = app.add_subcommand("verify", "Check the offsets of a CSV file");
  explain = app.add_subcommand("explain", "Say of each buffer where it is, or why it is not");
  draw = app.add_subcommand("draw", "Draw address over time (SVG, or HTML by the file's name)");
  for (CLI::App *command : {solve, verify, explain, draw}) {
    declareProblem(*command);
    if (command != verify) {
      declareSolver(*command);
      command->add_option("-o", options.output, "Write here instead of standard output")
          ->type_name("FILE");
    }
  }
  solve->add_option("--json", options.json, "Write the plan with its certificate here, too")
      ->type_name("FILE");
  solve->add_option("--write-problem", options.writeProblem, "Write the problem as JSON here, too")
      ->type_name("FILE");
}

bool PlacementCommands::chosen() const {
  const std::initializer_list<const CLI::App *> all = {solve, verify, explain, draw};
  return std::any_of(all.begin(), all.end(),
                     [](const CLI::App *command) { return command && command->parsed(); });
}

Status PlacementCommands::applyWhatIf(Problem &problem) const {
  for (const std::string &pin : options.pins) {
    const size_t at = pin.rfind('=');
    int64_t offset = 0;
    const char *begin = pin.data() + (at == std::string::npos ? 0 : at + 1);
    const char *end = pin.data() + pin.size();
    const auto [stop, problemCode] = std::from_chars(begin, end, offset);
    if (at == std::string::npos || problemCode != std::errc() || stop != end) {
      return error<3050>("--pin is '{}', not ID=OFFSET", pin.substr(0, 60));
    }
    SPYRE_ASSIGN_OR_RETURN(placement::Buffer * buffer, find(problem, pin.substr(0, at)));
    buffer->pinned = offset;
  }
  for (const std::string &name : options.forbidden) {
    SPYRE_ASSIGN_OR_RETURN(placement::Buffer * buffer, find(problem, name));
    buffer->forbidden = true;
    buffer->forbiddenReason = "--forbid";
  }
  return Status::success();
}

Expected<Problem> PlacementCommands::load() const {
  SPYRE_ASSIGN_OR_RETURN(std::string text, readFile(options.input, kMaxInputBytes));
  const size_t first = text.find_first_not_of(" \t\r\n");
  const bool json = endsWith(options.input, ".json") ||
                    (options.input == "-" && first != std::string::npos && text[first] == '{');
  Expected<Problem> problem =
      json ? placement::parseProblemJson(text) : placement::parseCsv(text, 0);
  if (!problem.ok()) {
    return problem.status().withContext(options.input + ": ");
  }
  if (!options.variant.empty()) {
    SPYRE_ASSIGN_OR_RETURN(problem->variant, placement::parseVariant(options.variant));
  }
  if (options.capacity != 0) {
    problem->capacityBytes = options.capacity;
  } else if (!json) {
    if (problem->variant != Variant::Min || (verify && verify->parsed())) {
      return error<3050>("a CSV file says nothing about the capacity; give --capacity");
    }
    problem->capacityBytes = placement::kMaxBytes;
  }
  if (options.alignment != 0) {
    problem->alignment = options.alignment;
  }
  SPYRE_RETURN_IF_ERROR(applyWhatIf(*problem));
  Status sound = placement::validate(*problem);
  if (!sound.ok()) {
    return sound.withContext(options.input + ": ");
  }
  return problem;
}

Expected<Plan> PlacementCommands::makePlan(const Problem &problem, double &seconds) const {
  placement::SolverOptions solverOptions;
  if (options.order == "lifetime") {
    solverOptions.order = placement::FitOrder::Lifetime;
  } else if (options.order != "score") {
    return error<3050>("--order is '{}', not score or lifetime", options.order.substr(0, 60));
  }
  solverOptions.seed = options.seed;
  if (options.nodes > 0) {
    solverOptions.limits.totalNodes = options.nodes;
    solverOptions.limits.packNodes = std::min(solverOptions.limits.packNodes, options.nodes);
  }
  const Variant asked = variantOf(problem);
  SPYRE_ASSIGN_OR_RETURN(auto solver, placement::createSolver(options.solver, solverOptions));
  const auto start = std::chrono::steady_clock::now();
  SPYRE_ASSIGN_OR_RETURN(Plan plan, solver->plan(problem, asked));
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (plan.complete) {
    SPYRE_RETURN_IF_ERROR(placement::verifyPlan(problem, plan.offsets, asked));
  }
  return plan;
}

Status PlacementCommands::runSolve(std::ostream &out, bool &good) const {
  SPYRE_ASSIGN_OR_RETURN(Problem problem, load());
  if (!options.writeProblem.empty()) {
    SPYRE_RETURN_IF_ERROR(
        writeOutput(options.writeProblem, placement::writeProblemJson(problem), out));
  }
  double seconds = 0;
  SPYRE_ASSIGN_OR_RETURN(Plan plan, makePlan(problem, seconds));
  if (!options.output.empty()) {
    SPYRE_RETURN_IF_ERROR(
        writeOutput(options.output, placement::writeCsv(problem, plan.offsets), out));
  }
  if (!options.json.empty()) {
    SPYRE_RETURN_IF_ERROR(writeOutput(options.json, placement::writePlanJson(problem, plan), out));
  }
  // The summary is for people where the table goes to standard output.
  (options.output == "-" || options.json == "-" ? std::cerr : out)
      << summary(problem, plan, seconds);
  if (plan.impossible && !plan.conflict.empty()) {
    out << placement::explainConflict(problem, plan.conflict) << "\n";
  }
  good = plan.complete;
  return Status::success();
}

Status PlacementCommands::runVerify(std::ostream &out, bool &good) const {
  SPYRE_ASSIGN_OR_RETURN(Problem problem, load());
  const placement::Offsets offsets = placement::takePinsAsPlan(problem);
  const bool all = std::all_of(offsets.begin(), offsets.end(),
                               [](const auto &offset) { return offset.has_value(); });
  SPYRE_RETURN_IF_ERROR(
      placement::verifyPlan(problem, offsets, all ? Variant::Fit : Variant::Pick));
  out << fmt::format("right: placed {}/{}, height {}, value {}\n",
                     std::count_if(offsets.begin(), offsets.end(),
                                   [](const auto &offset) { return offset.has_value(); }),
                     offsets.size(), placement::heightOf(problem, offsets),
                     placement::valueOf(problem, offsets));
  good = true;
  return Status::success();
}

Status PlacementCommands::runExplain(std::ostream &out, bool &good) const {
  SPYRE_ASSIGN_OR_RETURN(Problem problem, load());
  double seconds = 0;
  SPYRE_ASSIGN_OR_RETURN(Plan plan, makePlan(problem, seconds));
  std::string text = summary(problem, plan, seconds);
  if (plan.impossible) {
    text += placement::explainConflict(problem, plan.conflict) + "\n";
  } else {
    for (const placement::Explanation &entry : placement::explainPlan(problem, plan)) {
      text += fmt::format("{:10} {}\n", entry.reason, entry.text);
    }
  }
  good = plan.complete;
  return writeOutput(options.output, text, out);
}

Status PlacementCommands::runDraw(std::ostream &out, bool &good) const {
  SPYRE_ASSIGN_OR_RETURN(Problem problem, load());
  double seconds = 0;
  SPYRE_ASSIGN_OR_RETURN(Plan plan, makePlan(problem, seconds));
  good = plan.complete;
  const bool html = endsWith(options.output, ".html");
  return writeOutput(options.output,
                     html ? placement::drawHtml(problem, plan) : placement::drawSvg(problem, plan),
                     out);
}

Status PlacementCommands::run(std::ostream &out, bool &good) const {
  good = false;
  if (solve->parsed()) {
    return runSolve(out, good);
  }
  if (verify->parsed()) {
    return runVerify(out, good);
  }
  return explain->parsed() ? runExplain(out, good) : runDraw(out, good);
}

} // namespace spyre::tools
