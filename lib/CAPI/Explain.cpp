//===- Explain.cpp - the decision trace as text for people ----------------------------------===//
#include "spyre/CAPI/Explain.h"

#include "spyre/Base/Json.h"

#include <algorithm>
#include <map>

namespace spyre::capi {

namespace {

std::string field(const Json &entry, const char *name) {
  auto found = entry.find(name);
  return found != entry.end() && found->is_string() ? found->get<std::string>() : "";
}

int64_t number(const Json &entry, const char *name) {
  auto numbers = entry.find("numbers");
  if (numbers == entry.end() || !numbers->is_object()) {
    return 0;
  }
  auto found = numbers->find(name);
  return found != numbers->end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

std::string bytesText(int64_t bytes) {
  constexpr double kKilo = 1024;
  return bytes < 10240              ? fmt::format("{} bytes", bytes)
         : bytes < 10 * 1024 * 1024 ? fmt::format("{:.1f} KiB", double(bytes) / kKilo)
                                    : fmt::format("{:.1f} MiB", double(bytes) / kKilo / kKilo);
}

std::string timeText(double ns) {
  return ns < 10000 ? fmt::format("{:.0f} ns", ns) : fmt::format("{:.1f} us", ns / 1000);
}

bool isTaken(const Json &entry) {
  auto found = entry.find("taken");
  return found != entry.end() && found->is_boolean() && found->get<bool>();
}

/// One line for what, one for why.
std::string movementText(const Json &entry) {
  const std::string location = field(entry, "location");
  std::string text =
      fmt::format("  {}: {}", field(entry, "subject"), bytesText(number(entry, "bytes")));
  if (number(entry, "ns") > 0) {
    text += fmt::format(", about {}", timeText(double(number(entry, "ns"))));
  }
  text += location.empty() ? "" : fmt::format(" ({})", location);
  return text + fmt::format("\n    {}: {}\n", field(entry, "reason"), field(entry, "detail"));
}

/// "3 exp -> t1" by the number of the step.
using Subjects = std::map<int64_t, std::string>;

std::string titleOf(const Json &entry) {
  return fmt::format("{} {}", number(entry, "step"), field(entry, "subject"));
}

/// The division that runs, the reason for it, and the candidates.
std::string divisionText(const Json &entry) {
  const std::string detail = field(entry, "detail"), reason = field(entry, "reason");
  if (!isTaken(entry)) {
    return fmt::format("    alone: {}\n", detail);
  }
  const size_t end = std::min(detail.find("; "), detail.size());
  return fmt::format("  {}: {}\n    {}: {}\n", titleOf(entry), detail.substr(0, end), reason,
                     detail.substr(std::min(end + 2, detail.size())));
}

/// Reasons with at least a hundredth of the time, largest first.
std::string waitsText(const runtime::OperationTime &time) {
  std::vector<std::pair<uint64_t, const char *>> waits;
  for (size_t i = 0; i < runtime::kStallReasons; ++i) {
    if (time.stallCycles[i] * 100 >= std::max<uint64_t>(time.cycles, 1)) {
      waits.emplace_back(time.stallCycles[i], runtime::kStallNames[i]);
    }
  }
  std::stable_sort(waits.begin(), waits.end(),
                   [](const auto &a, const auto &b) { return a.first > b.first; });
  std::string text;
  for (const auto &[cycles, name] : waits) {
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", name,
                        100 * double(cycles) / double(time.cycles));
  }
  return text;
}

double totalOf(const std::vector<StepTime> &steps) {
  double ns = 0;
  for (const StepTime &step : steps) {
    ns += step.time.nanoseconds;
  }
  return ns;
}

/// The steps with most time first.
std::string timesText(std::vector<StepTime> steps, const Subjects &subjects) {
  const double total = totalOf(steps);
  std::stable_sort(steps.begin(), steps.end(), [](const StepTime &a, const StepTime &b) {
    return a.time.nanoseconds > b.time.nanoseconds;
  });
  std::string text;
  for (const StepTime &step : steps) {
    const runtime::OperationTime &time = step.time;
    auto found = subjects.find(step.step);
    const std::string intensity =
        time.intensity < 1e300 ? fmt::format("{:.3g}", time.intensity) : "-";
    text += fmt::format(
        "  {}: {:.3f} us ({:.0f} %) on {} cores, {:.0f} % of the {} bound at {} "
        "operations per DDR byte; {}\n",
        found != subjects.end() ? found->second : fmt::format("{} {}", step.step, step.operation),
        time.nanoseconds / 1000, 100 * time.nanoseconds / std::max(total, 1e-9), time.cores,
        100 * time.partOfBound(), time.bound, intensity, waitsText(time));
  }
  return text;
}

} // namespace

Expected<std::string> explanationText(const std::string &decisionsJson, const Artifacts &artifacts,
                                      const arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(Json decisions, parseJson(decisionsJson));
  SPYRE_ASSIGN_OR_RETURN(const std::vector<StepTime> steps, stepTimes(artifacts, device));
  if (!decisions.is_array()) {
    return error<9303>("a decision trace is an array; give what --trace-decisions wrote");
  }
  std::string head, movement, layouts, rows, cores, resident, absent;
  Subjects subjects;
  for (const Json &entry : decisions) {
    const std::string stage = entry.is_object() ? field(entry, "stage") : "";
    const std::string line =
        stage.empty() ? ""
                      : fmt::format("  {}: {}\n", field(entry, "subject"), field(entry, "detail"));
    if (stage == "movement" && field(entry, "reason") == "total") {
      const std::string all = steps.empty() ? ""
                                            : fmt::format("; {} predicted for all operations",
                                                          timeText(totalOf(steps)));
      head = fmt::format("{}, about {}{}; {} steps on the CPU\n", field(entry, "detail"),
                         timeText(double(number(entry, "moved_ns"))), all,
                         number(entry, "host_steps"));
    } else if (stage == "movement") {
      movement += movementText(entry);
    } else if (stage == "layout") {
      layouts += line;
    } else if (stage == "plan-lx" && field(entry, "reason") == "total") {
      resident = fmt::format("  {}\n", field(entry, "detail")) + resident;
    } else if (stage == "plan-lx") {
      (isTaken(entry) ? resident : absent) +=
          fmt::format("  {}: {}: {}\n", field(entry, "subject"), field(entry, "reason"),
                      field(entry, "detail"));
    } else if (stage == "even-rows") {
      rows += line;
    } else if (stage == "work-per-core") {
      cores += divisionText(entry);
      subjects.emplace(number(entry, "step"), titleOf(entry));
    }
  }
  auto section = [](const char *title, const std::string &lines) {
    return lines.empty() ? "" : fmt::format("{}\n{}", title, lines);
  };
  return head + section("Data that is only moved, and why:", movement) +
         section("Layouts that would save copies:", layouts) +
         section("What stays in the scratchpads:", resident) +
         section("What does not, and why:", absent) +
         section("Rows that cores cannot share:", rows) +
         section("Work per core, as it runs, with the reason and what each operation would take "
                 "alone:",
                 cores) +
         section(
             "Where the time goes (waits sum to the time; bound: the nearest peak of the chip):",
             timesText(steps, subjects));
}

} // namespace spyre::capi
