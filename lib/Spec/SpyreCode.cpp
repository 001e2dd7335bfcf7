//===- SpyreCode.cpp - spyrecode.json -------------------------------------------------------===//
//
// Commands of program correction (ComputeOnHost, DataTransfer) belong to the interface; they are
// refused by name, since a launch without them would run an unpatched program.
// [spec: codegen-and-backend 5.2]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/SpyreCode.h"

#include "JsonText.h"

#include <algorithm>

namespace spyre::spec {

namespace {

Json command(const char *name, Json properties) {
  Json out = Json::object();
  out["command"] = name;
  out["properties"] = std::move(properties);
  return out;
}

template <typename... Args>
Status fault(const JsonReader &at, fmt::format_string<Args...> format, Args &&...args) {
  return error<5201>("{}: {}", at.path(), fmt::format(format, std::forward<Args>(args)...));
}

/// One entry of a plan.
struct Command {
  JsonReader entry;
  std::string name;
  JsonReader properties;

  Expected<JsonReader> property(const char *key) const {
    if (!properties.has(key)) {
      return fault(entry, "{} command missing '{}' property", name, key);
    }
    return properties.field(key);
  }

  Expected<int64_t> number(const char *key) const {
    SPYRE_ASSIGN_OR_RETURN(JsonReader value, property(key));
    return value.asDecimalString(0, kProgramOffsetBase + kSegmentBytes);
  }

  /// A pointer into the program segment.
  Expected<int64_t> pointer(const char *key) const {
    SPYRE_ASSIGN_OR_RETURN(JsonReader value, property(key));
    SPYRE_ASSIGN_OR_RETURN(int64_t pointer, value.asDecimalString(0));
    if (pointer < kProgramOffsetBase || pointer >= kProgramOffsetBase + kSegmentBytes) {
      return fault(value, "Device pointer 0x{:x} is out of program segment bounds", pointer);
    }
    return pointer;
  }
};

Expected<Command> readCommand(const JsonReader &entry) {
  SPYRE_RETURN_IF_ERROR(entry.onlyFields({"command", "properties"}));
  SPYRE_ASSIGN_OR_RETURN(JsonReader nameField, entry.field("command"));
  SPYRE_ASSIGN_OR_RETURN(std::string name, nameField.asString());
  SPYRE_ASSIGN_OR_RETURN(JsonReader properties, entry.field("properties"));
  SPYRE_RETURN_IF_ERROR(properties.members().status());
  return Command{entry, std::move(name), properties};
}

Status readInitTransfer(const Command &command, SpyreCode &code) {
  InitTransfer transfer;
  SPYRE_ASSIGN_OR_RETURN(JsonReader file, command.property("init_bin_file"));
  SPYRE_ASSIGN_OR_RETURN(transfer.file, file.asString());
  if (!isPlainFileName(transfer.file)) {
    return fault(file, "'{}' is not a plain file name; binaries lie beside spyrecode.json",
                 transfer.file.substr(0, 40));
  }
  SPYRE_ASSIGN_OR_RETURN(transfer.devicePointer, command.pointer("dev_ptr"));
  SPYRE_ASSIGN_OR_RETURN(transfer.sizeBytes, command.number("size"));
  SPYRE_RETURN_IF_ERROR(command.properties.onlyFields({"init_bin_file", "dev_ptr", "size"}));
  const int64_t room = code.allocateBytes - (transfer.devicePointer - kProgramOffsetBase);
  if (transfer.sizeBytes > room) {
    return fault(command.entry, "{} bytes at offset {} do not fit the allocation of {} bytes",
                 transfer.sizeBytes, transfer.devicePointer - kProgramOffsetBase,
                 code.allocateBytes);
  }
  code.transfers.push_back(std::move(transfer));
  return Status::success();
}

/// Which of two binaries would win is nowhere said, so there must be no such bytes.
Status checkDisjoint(const JsonReader &plan, const std::vector<InitTransfer> &transfers) {
  std::vector<const InitTransfer *> sorted;
  for (const InitTransfer &transfer : transfers) {
    if (transfer.sizeBytes > 0) {
      sorted.push_back(&transfer);
    }
  }
  std::sort(sorted.begin(), sorted.end(), [](const InitTransfer *a, const InitTransfer *b) {
    return a->devicePointer < b->devicePointer;
  });
  for (size_t i = 1; i < sorted.size(); ++i) {
    const InitTransfer &previous = *sorted[i - 1];
    if (previous.sizeBytes > sorted[i]->devicePointer - previous.devicePointer) {
      return fault(plan, "the transfers of '{}' and '{}' overlap at device pointer 0x{:x}",
                   previous.file.substr(0, 40), sorted[i]->file.substr(0, 40),
                   sorted[i]->devicePointer);
    }
  }
  return Status::success();
}

Status readPreparation(const JsonReader &plan, SpyreCode &code) {
  SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, plan.elements());
  if (entries.size() < 2) {
    return fault(plan, "{} commands; at least Allocate and one InitTransfer are needed",
                 entries.size());
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    SPYRE_ASSIGN_OR_RETURN(Command command, readCommand(entries[i]));
    const char *wanted = i == 0 ? "Allocate" : "InitTransfer";
    if (command.name != wanted) {
      return fault(entries[i], "command '{}'; entry {} must be {}", command.name.substr(0, 40), i,
                   wanted);
    }
    if (i > 0) {
      SPYRE_RETURN_IF_ERROR(readInitTransfer(command, code));
      continue;
    }
    SPYRE_ASSIGN_OR_RETURN(code.allocateBytes, command.number("size"));
    SPYRE_RETURN_IF_ERROR(command.properties.onlyFields({"size"}));
    if (code.allocateBytes > kSegmentBytes) {
      return fault(entries[i], "Allocate of {} bytes; the program segment has {}",
                   code.allocateBytes, kSegmentBytes);
    }
  }
  return checkDisjoint(plan, code.transfers);
}

Status readExecution(const JsonReader &plan, SpyreCode &code) {
  SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, plan.elements());
  for (const JsonReader &entry : entries) {
    SPYRE_ASSIGN_OR_RETURN(Command command, readCommand(entry));
    if (command.name == "ComputeOnHost" || command.name == "DataTransfer") {
      return fault(entry,
                   "command '{}' belongs to program correction, which is not accepted yet; "
                   "compile the bundle with baked addresses",
                   command.name);
    }
    if (command.name != "ComputeOnDevice") {
      return fault(entry, "unknown command '{}'; known is ComputeOnDevice",
                   command.name.substr(0, 40));
    }
    SPYRE_ASSIGN_OR_RETURN(int64_t pointer, command.pointer("job_bin_ptr"));
    SPYRE_RETURN_IF_ERROR(command.properties.onlyFields({"job_bin_ptr"}));
    if (pointer - kProgramOffsetBase >= code.allocateBytes) {
      return fault(entry, "the program at offset {} lies outside the allocation of {} bytes",
                   pointer - kProgramOffsetBase, code.allocateBytes);
    }
    code.jobs.push_back(pointer);
  }
  return Status::success();
}

Expected<SpyreCode> readFile(const JsonReader &file) {
  SpyreCode code;
  SPYRE_RETURN_IF_ERROR(file.onlyFields({"JobPreparationPlan", "JobExecPlan"}));
  SPYRE_ASSIGN_OR_RETURN(JsonReader preparation, file.field("JobPreparationPlan"));
  SPYRE_RETURN_IF_ERROR(readPreparation(preparation, code));
  SPYRE_ASSIGN_OR_RETURN(JsonReader execution, file.field("JobExecPlan"));
  SPYRE_RETURN_IF_ERROR(readExecution(execution, code));
  return code;
}

} // namespace

std::string writeSpyreCode(const SpyreCode &code) {
  Json preparation = Json::array();
  preparation.push_back(command("Allocate", {{"size", std::to_string(code.allocateBytes)}}));
  for (const InitTransfer &transfer : code.transfers) {
    preparation.push_back(
        command("InitTransfer", {{"init_bin_file", transfer.file},
                                 {"dev_ptr", std::to_string(transfer.devicePointer)},
                                 {"size", std::to_string(transfer.sizeBytes)}}));
  }
  Json execution = Json::array();
  for (int64_t job : code.jobs) {
    execution.push_back(command("ComputeOnDevice", {{"job_bin_ptr", std::to_string(job)}}));
  }
  Json file = Json::object();
  file["JobPreparationPlan"] = std::move(preparation);
  file["JobExecPlan"] = std::move(execution);
  return printJson(file, /*indentColumns=*/2, /*inlineChars=*/130);
}

Expected<SpyreCode> readSpyreCode(const std::string &text) {
  Expected<Json> json = parseJson(text, kMaxJsonBytes);
  if (!json) {
    return recode<5201>(json.status());
  }
  Expected<SpyreCode> code = readFile(JsonReader(*json));
  if (!code) {
    return recode<5201>(code.status());
  }
  return code;
}

} // namespace spyre::spec
