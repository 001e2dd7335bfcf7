//===- Explain.cpp - the decision trace as text for people ----------------------------------===//
#include "spyre/Base/Json.h"
#include "spyre/CAPI/Compiler.h"

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

std::string timeText(int64_t ns) {
  return ns < 10000 ? fmt::format("{} ns", ns) : fmt::format("{:.1f} us", double(ns) / 1000);
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
    text += fmt::format(", about {}", timeText(number(entry, "ns")));
  }
  text += location.empty() ? "" : fmt::format(" ({})", location);
  return text + fmt::format("\n    {}: {}\n", field(entry, "reason"), field(entry, "detail"));
}

} // namespace

Expected<std::string> explanationText(const std::string &decisionsJson) {
  SPYRE_ASSIGN_OR_RETURN(Json decisions, parseJson(decisionsJson));
  if (!decisions.is_array()) {
    return error<9303>("a decision trace is an array; give what --trace-decisions wrote");
  }
  std::string head, movement, layouts, rows, cores, resident, absent;
  for (const Json &entry : decisions) {
    const std::string stage = entry.is_object() ? field(entry, "stage") : "";
    const std::string line =
        stage.empty() ? ""
                      : fmt::format("  {}: {}\n", field(entry, "subject"), field(entry, "detail"));
    if (stage == "movement" && field(entry, "reason") == "total") {
      head = fmt::format("{}, about {}; {} steps on the CPU\n", field(entry, "detail"),
                         timeText(number(entry, "moved_ns")), number(entry, "host_steps"));
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
    } else if (stage == "work-distribution" && field(entry, "reason") != "host-step") {
      cores += line;
    }
  }
  auto section = [](const char *title, const std::string &lines) {
    return lines.empty() ? "" : fmt::format("{}\n{}", title, lines);
  };
  return head + section("Data that is only moved, and why:", movement) +
         section("Layouts that would save copies:", layouts) +
         section("What stays in the scratchpads:", resident) +
         section("What does not, and why:", absent) +
         section("Rows that cores cannot share:", rows) + section("Work per core:", cores);
}

} // namespace spyre::capi
