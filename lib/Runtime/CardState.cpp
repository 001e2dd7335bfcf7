//===- CardState.cpp - state files: written by rename, read with suspicion ------------------===//
#include "spyre/Runtime/CardState.h"

#include "spyre/Base/Json.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace spyre::runtime {

namespace {

constexpr uint64_t kMaxStateBytes = 64 << 10;

/// Integer members by name, for writing and reading alike.
const std::vector<std::pair<const char *, int64_t CardState::*>> &numbers() {
  static const auto *table = new std::vector<std::pair<const char *, int64_t CardState::*>>{
      {"pid", &CardState::process},
      {"process_start", &CardState::processStart},
      {"reserved_bytes", &CardState::reservedBytes},
      {"active_bytes", &CardState::activeBytes},
      {"total_bytes", &CardState::totalBytes},
      {"launches", &CardState::launches},
      {"ddr_read_bytes", &CardState::ddrReadBytes},
      {"ddr_write_bytes", &CardState::ddrWriteBytes},
      {"pt_macs", &CardState::ptMacs},
      {"cycles", &CardState::cycles},
      {"simulated_ns", &CardState::simulatedNs},
      {"wall_ns", &CardState::wallNs}};
  return *table;
}

/// Field 22 of /proc/PID/stat; the name before it may hold blanks and brackets.
int64_t startOf(int64_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const size_t name = text.rfind(')');
  if (name == std::string::npos) {
    return 0;
  }
  std::istringstream words(text.substr(name + 1));
  constexpr int kFieldsBetween = 19;
  std::string skipped;
  for (int i = 0; i < kFieldsBetween; ++i) {
    words >> skipped;
  }
  int64_t start = 0;
  return words >> start ? start : 0;
}

bool isAlive(const CardState &state) {
  if (kill(pid_t(state.process), 0) != 0 && errno == ESRCH) {
    return false;
  }
  const int64_t start = startOf(state.process);
  return start == 0 || state.processStart == 0 || start == state.processStart;
}

std::string fileOf(const std::string &folder, int card, int64_t process) {
  return fmt::format("{}/card{}.{}.json", folder, card, process);
}

Expected<CardMode> modeOf(const JsonReader &field) {
  SPYRE_ASSIGN_OR_RETURN(const std::string name, field.asString());
  for (CardMode mode : {CardMode::Private, CardMode::Exclusive, CardMode::Shared}) {
    if (name == cardModeName(mode)) {
      return mode;
    }
  }
  return error<6148>("a state file names the mode '{}'; remove the file", name);
}

} // namespace

std::string CardState::toJson() const {
  Json json;
  json["card"] = card;
  json["mode"] = cardModeName(mode);
  json["process_name"] = processName;
  json["machine"] = machine;
  for (const auto &[name, member] : numbers()) {
    json[name] = this->*member;
  }
  json["pt_macs_per_cycle"] = ptMacsPerCycle;
  json["busy_share"] = busyShare();
  json["pt_utilisation"] = ptUtilisation();
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Expected<CardState> CardState::fromJson(const std::string &text) {
  SPYRE_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text, kMaxStateBytes));
  const JsonReader root(document);
  CardState state;
  SPYRE_ASSIGN_OR_RETURN(const JsonReader card, root.field("card"));
  SPYRE_ASSIGN_OR_RETURN(const int64_t number, card.asInt(0, kMaxCards - 1));
  state.card = int(number);
  SPYRE_ASSIGN_OR_RETURN(const JsonReader mode, root.field("mode"));
  SPYRE_ASSIGN_OR_RETURN(state.mode, modeOf(mode));
  SPYRE_ASSIGN_OR_RETURN(const JsonReader processName, root.field("process_name"));
  SPYRE_ASSIGN_OR_RETURN(state.processName, processName.asString());
  SPYRE_ASSIGN_OR_RETURN(const JsonReader machine, root.field("machine"));
  SPYRE_ASSIGN_OR_RETURN(state.machine, machine.asString());
  for (const auto &[name, member] : numbers()) {
    SPYRE_ASSIGN_OR_RETURN(const JsonReader field, root.field(name));
    SPYRE_ASSIGN_OR_RETURN(state.*member, field.asInt(0));
  }
  SPYRE_ASSIGN_OR_RETURN(const JsonReader rate, root.field("pt_macs_per_cycle"));
  SPYRE_ASSIGN_OR_RETURN(state.ptMacsPerCycle, rate.asNumber());
  return state;
}

void describeThisProcess(CardState &state) {
  state.process = getpid();
  state.processStart = startOf(state.process);
  std::ifstream file("/proc/self/comm");
  std::getline(file, state.processName);
}

std::string stateFolder(const std::string &cardFolder) { return cardFolder + "/state"; }

bool publishState(const std::string &folder, const CardState &state) {
  const std::string path = fileOf(folder, state.card, state.process);
  const std::string draft = path + ".new";
  {
    std::ofstream file(draft, std::ios::trunc);
    file << state.toJson() << '\n';
    if (!file.flush()) {
      return false;
    }
  }
  std::error_code fault;
  std::filesystem::rename(draft, path, fault);
  return !fault;
}

void withdrawState(const std::string &folder, int card, int64_t process) {
  std::error_code fault;
  std::filesystem::remove(fileOf(folder, card, process), fault);
}

std::vector<CardState> readStates(const std::string &folder) {
  std::vector<CardState> states;
  std::error_code fault;
  for (std::filesystem::directory_iterator entry(folder, fault), end; !fault && entry != end;
       entry.increment(fault)) {
    if (entry->path().extension() != ".json" || !entry->is_regular_file(fault)) {
      continue;
    }
    std::ifstream file(entry->path());
    std::string text(kMaxStateBytes, '\0');
    file.read(text.data(), std::streamsize(text.size()));
    text.resize(size_t(file.gcount()));
    Expected<CardState> state = CardState::fromJson(text);
    if (!state.ok()) {
      continue;
    }
    if (!isAlive(*state)) {
      withdrawState(folder, state->card, state->process);
      continue;
    }
    states.push_back(*std::move(state));
  }
  std::sort(states.begin(), states.end(), [](const CardState &a, const CardState &b) {
    return std::tie(a.card, a.process) < std::tie(b.card, b.process);
  });
  return states;
}

} // namespace spyre::runtime
