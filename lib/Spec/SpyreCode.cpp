//===- SpyreCode.cpp - spyrecode.json -------------------------------------------------------===//
//
// An execution plan is either jobs alone, or ComputeOnHost, DataTransfer to the device and jobs.
// The metadata of a correction (hcm) is each back end's own; ours is {"correction": [{"offset":
// "0", "argument": "pool"}, ...]}. A plan with any other can be read, so that tools can show it,
// but not launched: it would run an unpatched program. [spec: codegen-and-backend 5.2]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/SpyreCode.h"

#include "spyre/Spec/Bundle.h"

#include "JsonText.h"

#include <algorithm>
#include <set>

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

/// The numbers a correction writes are eight bytes each.
constexpr int64_t kSlotBytes = 8;

Status readSlots(const JsonReader &list, ProgramCorrection &correction) {
  SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, list.elements());
  std::set<int64_t> taken;
  for (const JsonReader &entry : entries) {
    SPYRE_RETURN_IF_ERROR(entry.onlyFields({"offset", "argument"}));
    ProgramCorrection::Slot slot;
    SPYRE_ASSIGN_OR_RETURN(JsonReader offset, entry.field("offset"));
    SPYRE_ASSIGN_OR_RETURN(slot.offsetBytes, offset.asDecimalString(0, kSegmentBytes));
    SPYRE_ASSIGN_OR_RETURN(JsonReader argument, entry.field("argument"));
    SPYRE_ASSIGN_OR_RETURN(std::string name, argument.asString());
    Expected<int64_t> index = parseBundleArgument(name);
    if (!index) {
      return fault(argument, "{}", index.status().text());
    }
    slot.argument = *index;
    if (slot.offsetBytes % kSlotBytes != 0 ||
        slot.offsetBytes > correction.sizeBytes - kSlotBytes ||
        !taken.insert(slot.offsetBytes).second) {
      return fault(offset, "{} of {} bytes; each slot has {} bytes of its own", slot.offsetBytes,
                   correction.sizeBytes, kSlotBytes);
    }
    correction.slots.push_back(slot);
  }
  return Status::success();
}

/// Returns the handle the correction is written to.
Expected<std::string> readComputeOnHost(const Command &command, ProgramCorrection &correction) {
  SPYRE_ASSIGN_OR_RETURN(JsonReader input, command.property("ihandle"));
  SPYRE_ASSIGN_OR_RETURN(std::string inputName, input.asString());
  if (!inputName.empty()) {
    return fault(input, "ihandle '{}' not found in pinned buffer map", inputName.substr(0, 40));
  }
  SPYRE_ASSIGN_OR_RETURN(JsonReader shape, command.property("ishape"));
  if (!shape.isArray()) {
    return fault(shape, "ComputeOnHost 'ishape' must be an array");
  }
  SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> sizes, shape.elements());
  for (const JsonReader &size : sizes) {
    if (!size.isString()) {
      return fault(shape, "ComputeOnHost 'ishape' elements must be strings");
    }
    SPYRE_ASSIGN_OR_RETURN([[maybe_unused]] int64_t value, size.asDecimalString(0, kSegmentBytes));
  }
  SPYRE_ASSIGN_OR_RETURN(JsonReader output, command.property("ohandle"));
  SPYRE_ASSIGN_OR_RETURN(std::string handle, output.asString());
  SPYRE_ASSIGN_OR_RETURN(correction.sizeBytes, command.number("size"));
  // What the interface calls the correction tensor is some kilobytes.
  constexpr int64_t kMaxCorrectionBytes = int64_t(1) << 24;
  if (handle.empty() || correction.sizeBytes > kMaxCorrectionBytes) {
    return fault(command.entry, "ohandle is empty, or its {} bytes are more than {}",
                 correction.sizeBytes, kMaxCorrectionBytes);
  }
  SPYRE_ASSIGN_OR_RETURN(JsonReader metadata, command.property("hcm"));
  SPYRE_RETURN_IF_ERROR(metadata.members().status());
  correction.isForeign = !metadata.has("correction");
  if (!correction.isForeign) {
    SPYRE_RETURN_IF_ERROR(metadata.onlyFields({"correction"}));
    SPYRE_ASSIGN_OR_RETURN(JsonReader slots, metadata.field("correction"));
    SPYRE_RETURN_IF_ERROR(readSlots(slots, correction));
  }
  SPYRE_RETURN_IF_ERROR(
      command.properties.onlyFields({"ihandle", "ishape", "ohandle", "size", "hcm"}));
  return handle;
}

Status readDataTransfer(const Command &command, const std::string &handle, int64_t allocateBytes,
                        ProgramCorrection &correction) {
  SPYRE_ASSIGN_OR_RETURN(JsonReader direction, command.property("dirn"));
  SPYRE_ASSIGN_OR_RETURN(std::string toHost, direction.asString());
  if (toHost != "false") {
    return fault(direction, "\"{}\"; only \"false\", to the device, is known here",
                 toHost.substr(0, 40));
  }
  SPYRE_ASSIGN_OR_RETURN(JsonReader source, command.property("host_handle"));
  SPYRE_ASSIGN_OR_RETURN(std::string name, source.asString());
  SPYRE_ASSIGN_OR_RETURN(correction.devicePointer, command.pointer("dev_ptr"));
  SPYRE_ASSIGN_OR_RETURN(int64_t sizeBytes, command.number("size"));
  SPYRE_RETURN_IF_ERROR(command.properties.onlyFields({"dirn", "host_handle", "dev_ptr", "size"}));
  const int64_t offset = correction.devicePointer - kProgramOffsetBase;
  if (name != handle || sizeBytes != correction.sizeBytes || sizeBytes > allocateBytes - offset) {
    return fault(command.entry,
                 "{} bytes of '{}' at offset {}; ComputeOnHost makes {} bytes of '{}' and the "
                 "allocation has {}",
                 sizeBytes, name.substr(0, 40), offset, correction.sizeBytes, handle.substr(0, 40),
                 allocateBytes);
  }
  return Status::success();
}

Status readJob(const Command &command, SpyreCode &code) {
  if (code.nonTerminal) {
    return fault(command.entry, "a job behind a non_terminal one; only the last may be it");
  }
  SPYRE_ASSIGN_OR_RETURN(int64_t pointer, command.pointer("job_bin_ptr"));
  SPYRE_RETURN_IF_ERROR(command.properties.onlyFields({"job_bin_ptr", "non_terminal"}));
  if (command.properties.has("non_terminal")) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader flag, command.property("non_terminal"));
    SPYRE_ASSIGN_OR_RETURN(std::string value, flag.asString());
    if (value != "true" && value != "false") {
      return fault(flag, "\"{}\" is neither \"true\" nor \"false\"", value.substr(0, 40));
    }
    code.nonTerminal = value == "true";
  }
  if (pointer - kProgramOffsetBase >= code.allocateBytes) {
    return fault(command.entry, "the program at offset {} lies outside the allocation of {} bytes",
                 pointer - kProgramOffsetBase, code.allocateBytes);
  }
  code.jobs.push_back(pointer);
  return Status::success();
}

Status readExecution(const JsonReader &plan, SpyreCode &code) {
  SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, plan.elements());
  std::string handle;
  for (size_t i = 0; i < entries.size(); ++i) {
    SPYRE_ASSIGN_OR_RETURN(Command command, readCommand(entries[i]));
    if (command.name == "ComputeOnHost" && i == 0) {
      code.correction.emplace();
      SPYRE_ASSIGN_OR_RETURN(handle, readComputeOnHost(command, *code.correction));
    } else if (command.name == "DataTransfer" && i == 1 && code.correction) {
      SPYRE_RETURN_IF_ERROR(
          readDataTransfer(command, handle, code.allocateBytes, *code.correction));
    } else if (command.name == "ComputeOnDevice" && !(code.correction && i == 1)) {
      SPYRE_RETURN_IF_ERROR(readJob(command, code));
    } else {
      return fault(entries[i],
                   "Step ordering violation at step {}: command '{}'; a plan is ComputeOnDevice "
                   "steps, before which may stand ComputeOnHost and DataTransfer to the device "
                   "(program correction)",
                   i, command.name.substr(0, 40));
    }
  }
  return code.correction && code.jobs.empty()
             ? fault(plan, "Incomplete step sequence: a program correction without a "
                           "ComputeOnDevice")
             : Status::success();
}

void writeCorrection(const ProgramCorrection &correction, Json &plan) {
  constexpr const char *kHandle = "T1";
  Json slots = Json::array();
  for (const ProgramCorrection::Slot &slot : correction.slots) {
    slots.push_back({{"offset", std::to_string(slot.offsetBytes)},
                     {"argument", bundleArgumentName(slot.argument)}});
  }
  const std::string size = std::to_string(correction.sizeBytes);
  Json host = {{"ihandle", ""},
               {"ishape", Json::array({std::to_string(correction.slots.size())})},
               {"ohandle", kHandle},
               {"size", size},
               {"hcm", correction.isForeign ? Json::object() : Json{{"correction", slots}}}};
  plan.push_back(command("ComputeOnHost", std::move(host)));
  plan.push_back(command("DataTransfer", {{"dirn", "false"},
                                          {"host_handle", kHandle},
                                          {"dev_ptr", std::to_string(correction.devicePointer)},
                                          {"size", size}}));
}

Expected<SpyreCode> readFile(const JsonReader &file) {
  SpyreCode code;
  SPYRE_RETURN_IF_ERROR(file.onlyFields({"JobPreparationPlan", "JobExecPlan"}));
  SPYRE_ASSIGN_OR_RETURN(JsonReader preparation, file.field("JobPreparationPlan"));
  SPYRE_RETURN_IF_ERROR(readPreparation(preparation, code));
  SPYRE_ASSIGN_OR_RETURN(JsonReader execution, file.field("JobExecPlan"));
  if (Status read = readExecution(execution, code); !read.ok()) {
    return read.withContext("Failed to parse SpyreCode command: ");
  }
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
  if (code.correction) {
    writeCorrection(*code.correction, execution);
  }
  for (size_t i = 0; i < code.jobs.size(); ++i) {
    Json properties = {{"job_bin_ptr", std::to_string(code.jobs[i])}};
    if (code.nonTerminal && i + 1 == code.jobs.size()) {
      properties["non_terminal"] = "true";
    }
    execution.push_back(command("ComputeOnDevice", std::move(properties)));
  }
  Json file = Json::object();
  file["JobPreparationPlan"] = std::move(preparation);
  file["JobExecPlan"] = std::move(execution);
  return printJson(file, /*indentColumns=*/2, /*inlineChars=*/130);
}

Expected<SpyreCode> readSpyreCode(const std::string &text) {
  Expected<JsonDocument> json = JsonDocument::parse(text, kMaxJsonBytes);
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
