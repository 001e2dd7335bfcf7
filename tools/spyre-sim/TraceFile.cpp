//===- TraceFile.cpp - events as JSON, one per line -----------------------------------------===//
#include "TraceFile.h"

#include "spyre/Base/Json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

namespace spyre::tools {

using program::Program;

namespace {

/// The rows of one unit of one core: when each is free again.
using Rows = std::vector<uint64_t>;

class TraceWriter {
public:
  TraceWriter(const Program &program, double clockGhz);
  void add(const spyre_sim_event &event);
  /// From \p cycle on; returns when it is over.
  uint64_t add(const runtime::OperationTime &operation, uint64_t cycle);
  void nameOperations() {
    name("process_name", kOperations, 0, "operations");
    name("thread_name", kOperations, 0, "all cores");
  }
  std::string finish();

private:
  /// Process of the operations, beside one for each core.
  static constexpr uint32_t kOperations = 1u << 20;
  void line(const std::string &json);
  void name(const char *what, uint32_t core, size_t row, const std::string &text);
  size_t rowOf(const spyre_sim_event &event);
  uint64_t tenthsOfNs(uint64_t cycle) const { return uint64_t(double(cycle) * 10 / clockGhz); }

  const Program &program;
  double clockGhz;
  /// Per phase and instruction, as the disassembler prints it.
  std::vector<std::vector<std::string>> instructionTexts;
  std::map<uint32_t, std::array<Rows, program::kUnits>> cores;
  std::string text = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  bool isFirst = true;
};

} // namespace

static std::string jsonString(const std::string &text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// The disassembler writes one line per instruction behind "phase" and "table" lines.
static std::vector<std::vector<std::string>> instructionLines(const Program &program) {
  std::vector<std::vector<std::string>> phases;
  std::istringstream lines(program::disassemble(program));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("phase ")) {
      phases.emplace_back();
    } else if (!phases.empty() && !line.starts_with("  table ")) {
      size_t number = line.find_first_not_of(' ');
      size_t begin = line.find_first_not_of(' ', line.find(' ', number));
      phases.back().push_back(begin == std::string::npos ? "" : line.substr(begin));
    }
  }
  return phases;
}

static std::string operationName(const program::Instruction &instruction) {
  std::string name = program::opcodeName(instruction.opcode);
  if (instruction.function != program::Function::None) {
    name += fmt::format(".{}", program::functionName(instruction.function));
  }
  return name;
}

TraceWriter::TraceWriter(const Program &program, double clockGhz)
    : program(program), clockGhz(clockGhz), instructionTexts(instructionLines(program)) {}

void TraceWriter::line(const std::string &json) {
  text += (isFirst ? "\n" : ",\n") + json;
  isFirst = false;
}

void TraceWriter::name(const char *what, uint32_t core, size_t row, const std::string &text) {
  line(fmt::format(R"({{"ph": "M", "name": "{}", "pid": {}, "tid": {}, "args": {{"name": {}}}}})",
                   what, core, row, jsonString(text)));
}

/// Rows of a unit are numbered unit, unit + kUnits, unit + 2 * kUnits, ...
size_t TraceWriter::rowOf(const spyre_sim_event &event) {
  auto [found, isNew] = cores.try_emplace(event.core);
  if (isNew) {
    name("process_name", event.core, 0, fmt::format("core {}", event.core));
  }
  Rows &rows = found->second[event.unit];
  auto free = std::find_if(rows.begin(), rows.end(),
                           [&](uint64_t end) { return end <= event.start_cycle; });
  size_t row = size_t(free - rows.begin());
  size_t id = event.unit + row * program::kUnits;
  if (free == rows.end()) {
    std::string unit = program::unitName(program::Unit(event.unit));
    name("thread_name", event.core, id, row == 0 ? unit : fmt::format("{} +{}", unit, row));
    rows.push_back(0);
  }
  rows[row] = event.end_cycle;
  return id;
}

/// Viewers count microseconds.
static std::string microseconds(uint64_t tenthsOfNs) {
  constexpr uint64_t kPerMicrosecond = 10000;
  return fmt::format("{}.{:04}", tenthsOfNs / kPerMicrosecond, tenthsOfNs % kPerMicrosecond);
}

void TraceWriter::add(const spyre_sim_event &event) {
  const program::Phase &phase = program.phases[event.phase];
  size_t row = rowOf(event);
  std::string operation = operationName(phase.instructions[event.instruction]);
  // Both ends are rounded, not the duration: what follows without a gap must not seem to overlap.
  uint64_t start = tenthsOfNs(event.start_cycle), end = tenthsOfNs(event.end_cycle);
  line(fmt::format(
      R"({{"ph": "X", "name": {}, "cat": "{}", "pid": {}, "tid": {}, "ts": {}, "dur": {}, )"
      R"("args": {{"launch": {}, "phase": {}, "instruction": {}, "start_cycle": {}, )"
      R"("end_cycle": {}, "text": {}}}}})",
      jsonString(operation + " " + phase.name), program::unitName(program::Unit(event.unit)),
      event.core, row, microseconds(start), microseconds(end - start), event.launch, event.phase,
      event.instruction, event.start_cycle, event.end_cycle,
      jsonString(instructionTexts[event.phase][event.instruction])));
}

uint64_t TraceWriter::add(const runtime::OperationTime &operation, uint64_t cycle) {
  std::string waited;
  for (size_t i = 0; i < runtime::kStallReasons; ++i) {
    waited +=
        fmt::format(R"(, "{}_cycles": {})", runtime::kStallNames[i], operation.stallCycles[i]);
  }
  const uint64_t over = cycle + operation.cycles;
  uint64_t start = tenthsOfNs(cycle), end = tenthsOfNs(over);
  line(fmt::format(
      R"({{"ph": "X", "name": {}, "cat": "operation", "pid": {}, "tid": 0, "ts": {}, "dur": {}, )"
      R"("args": {{"cycles": {}, "waits_for": "{}", "bound": "{}", "part_of_bound": {:.4f}{}}}}})",
      jsonString(operation.name), kOperations, microseconds(start), microseconds(end - start),
      operation.cycles, operation.mainReason(), operation.bound, operation.partOfBound(), waited));
  return over;
}

std::string TraceWriter::finish() { return text + "\n]}\n"; }

std::string traceText(const std::vector<spyre_sim_event> &events,
                      const std::vector<runtime::OperationTime> &operations, const Program &program,
                      const arch::Timing &timing) {
  TraceWriter writer(program, timing.clockGhz);
  uint32_t launches = 0;
  for (const spyre_sim_event &event : events) {
    writer.add(event);
    launches = std::max(launches, event.launch + 1);
  }
  if (launches > 0) {
    writer.nameOperations();
  }
  uint64_t cycle = 0;
  for (uint32_t launch = 0; launch < launches; ++launch) {
    cycle += uint64_t(std::ceil(timing.launchOverheadCycles)) +
             uint64_t(std::ceil(timing.bundleOverheadCycles));
    for (const runtime::OperationTime &operation : operations) {
      cycle = writer.add(operation, cycle);
    }
  }
  return writer.finish();
}

} // namespace spyre::tools
