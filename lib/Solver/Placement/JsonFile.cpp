//===- JsonFile.cpp - placement problems and plans as JSON ------------------------------------===//
#include "spyre/Base/Json.h"
#include "spyre/Solver/Placement/Files.h"

#include <map>

namespace spyre::solver::placement {
namespace {

constexpr const char *kFormat = "openspyre-placement";

Status optionalInt(const JsonReader &from, const char *key, std::optional<int64_t> &out) {
  if (from.has(key)) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader field, from.field(key));
    SPYRE_ASSIGN_OR_RETURN(int64_t value, field.asInt());
    out = value;
  }
  return Status::success();
}

Expected<int64_t> intField(const JsonReader &from, const char *key) {
  SPYRE_ASSIGN_OR_RETURN(JsonReader field, from.field(key));
  return field.asInt();
}

Expected<std::vector<JsonReader>> optionalList(const JsonReader &from, const char *key) {
  if (!from.has(key)) {
    return std::vector<JsonReader>();
  }
  SPYRE_ASSIGN_OR_RETURN(JsonReader field, from.field(key));
  return field.elements();
}

Status readGaps(const JsonReader &from, Buffer &buffer) {
  SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> gaps, optionalList(from, "gaps"));
  for (const JsonReader &entry : gaps) {
    SPYRE_RETURN_IF_ERROR(entry.onlyFields({"lower", "upper", "low", "high"}));
    Gap gap;
    SPYRE_ASSIGN_OR_RETURN(gap.lower, intField(entry, "lower"));
    SPYRE_ASSIGN_OR_RETURN(gap.upper, intField(entry, "upper"));
    if (entry.has("low") || entry.has("high")) {
      SPYRE_ASSIGN_OR_RETURN(gap.low, intField(entry, "low"));
      SPYRE_ASSIGN_OR_RETURN(gap.high, intField(entry, "high"));
    }
    buffer.gaps.push_back(gap);
  }
  return Status::success();
}

Expected<Buffer> readBuffer(const JsonReader &from) {
  SPYRE_RETURN_IF_ERROR(
      from.onlyFields({"id", "lower", "upper", "size", "alignment", "value", "hint", "offset",
                       "forbidden", "gaps", "parents", "uses", "first_use_is_read"}));
  Buffer buffer;
  SPYRE_ASSIGN_OR_RETURN(JsonReader id, from.field("id"));
  SPYRE_ASSIGN_OR_RETURN(buffer.name, id.asString());
  SPYRE_ASSIGN_OR_RETURN(buffer.lower, intField(from, "lower"));
  SPYRE_ASSIGN_OR_RETURN(buffer.upper, intField(from, "upper"));
  SPYRE_ASSIGN_OR_RETURN(buffer.sizeBytes, intField(from, "size"));
  std::optional<int64_t> alignment;
  SPYRE_RETURN_IF_ERROR(optionalInt(from, "alignment", alignment));
  buffer.alignment = alignment.value_or(0);
  SPYRE_RETURN_IF_ERROR(optionalInt(from, "value", buffer.value));
  SPYRE_RETURN_IF_ERROR(optionalInt(from, "hint", buffer.hint));
  SPYRE_RETURN_IF_ERROR(optionalInt(from, "offset", buffer.pinned));
  if (from.has("forbidden")) {
    // The reason; an empty one is a reason, too.
    SPYRE_ASSIGN_OR_RETURN(JsonReader reason, from.field("forbidden"));
    SPYRE_ASSIGN_OR_RETURN(buffer.forbiddenReason, reason.asString());
    buffer.forbidden = true;
  }
  SPYRE_RETURN_IF_ERROR(readGaps(from, buffer));
  if (from.has("uses")) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader uses, from.field("uses"));
    SPYRE_ASSIGN_OR_RETURN(buffer.uses, uses.asIntList());
  }
  if (from.has("first_use_is_read")) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader flag, from.field("first_use_is_read"));
    SPYRE_ASSIGN_OR_RETURN(buffer.firstUseIsRead, flag.asBool());
  }
  return buffer;
}

Json bufferJson(const Problem &problem, const Buffer &buffer) {
  Json json;
  json["id"] = buffer.name;
  json["lower"] = buffer.lower;
  json["upper"] = buffer.upper;
  json["size"] = buffer.sizeBytes;
  if (buffer.alignment > 0) {
    json["alignment"] = buffer.alignment;
  }
  for (const auto &[key, value] :
       {std::pair{"value", buffer.value}, {"hint", buffer.hint}, {"offset", buffer.pinned}}) {
    if (value) {
      json[key] = *value;
    }
  }
  if (buffer.forbidden) {
    json["forbidden"] = buffer.forbiddenReason;
  }
  for (const Gap &gap : buffer.gaps) {
    Json entry;
    entry["lower"] = gap.lower;
    entry["upper"] = gap.upper;
    if (gap.low != gap.high) {
      entry["low"] = gap.low;
      entry["high"] = gap.high;
    }
    json["gaps"].push_back(entry);
  }
  for (int parent : buffer.parents) {
    json["parents"].push_back(problem.buffers[parent].name);
  }
  if (!buffer.uses.empty()) {
    json["uses"] = buffer.uses;
  }
  if (buffer.firstUseIsRead) {
    json["first_use_is_read"] = true;
  }
  return json;
}

Expected<Variant> readVariant(const JsonReader &root) {
  SPYRE_ASSIGN_OR_RETURN(JsonReader field, root.field("variant"));
  SPYRE_ASSIGN_OR_RETURN(std::string name, field.asString());
  Expected<Variant> variant = parseVariant(name);
  return variant.ok() ? variant : error<3048>("{}: {}", field.path(), variant.status().text());
}

/// One line per buffer: large files stay readable.
std::string linesOf(const Json &head, const char *list, const std::vector<Json> &entries) {
  std::string text = head.dump(1, ' ', false, Json::error_handler_t::replace);
  text.resize(text.rfind('}'));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) {
    text.pop_back();
  }
  text += fmt::format(",\n \"{}\": [", list);
  for (size_t i = 0; i < entries.size(); ++i) {
    text += (i > 0 ? ",\n  " : "\n  ") +
            entries[i].dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return text + "\n ]\n}\n";
}

Status linkParents(const std::vector<JsonReader> &entries, Problem &problem) {
  std::map<std::string, int> byName;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    byName.emplace(problem.buffers[i].name, int(i));
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> parents, optionalList(entries[i], "parents"));
    for (const JsonReader &parent : parents) {
      SPYRE_ASSIGN_OR_RETURN(std::string name, parent.asString());
      auto found = byName.find(name);
      if (found == byName.end()) {
        return error<3048>("{}: parent '{}' is no buffer of the file", parent.path(),
                           name.substr(0, 60));
      }
      problem.buffers[i].parents.push_back(found->second);
    }
  }
  return Status::success();
}

} // namespace

Expected<Problem> parseProblemJson(const std::string &text) {
  SPYRE_ASSIGN_OR_RETURN(JsonDocument document, JsonDocument::parse(text));
  const JsonReader root(document);
  SPYRE_RETURN_IF_ERROR(root.onlyFields(
      {"format", "version", "capacity", "alignment", "variant", "transients", "buffers"}));
  SPYRE_ASSIGN_OR_RETURN(JsonReader format, root.field("format"));
  SPYRE_ASSIGN_OR_RETURN(std::string kind, format.asString());
  SPYRE_ASSIGN_OR_RETURN(int64_t version, intField(root, "version"));
  if (kind != kFormat || version != 1) {
    return error<3048>("the file is '{}' version {}, expected '{}' version 1", kind.substr(0, 60),
                       version, kFormat);
  }
  Problem problem;
  SPYRE_ASSIGN_OR_RETURN(problem.capacityBytes, intField(root, "capacity"));
  std::optional<int64_t> alignment;
  SPYRE_RETURN_IF_ERROR(optionalInt(root, "alignment", alignment));
  problem.alignment = alignment.value_or(1);
  if (root.has("variant")) {
    SPYRE_ASSIGN_OR_RETURN(problem.variant, readVariant(root));
  }
  SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> needs, optionalList(root, "transients"));
  for (const JsonReader &need : needs) {
    SPYRE_RETURN_IF_ERROR(need.onlyFields({"tick", "bytes"}));
    Transient transient;
    SPYRE_ASSIGN_OR_RETURN(transient.tick, intField(need, "tick"));
    SPYRE_ASSIGN_OR_RETURN(transient.bytes, intField(need, "bytes"));
    problem.transients.push_back(transient);
  }
  SPYRE_ASSIGN_OR_RETURN(JsonReader list, root.field("buffers"));
  SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, list.elements());
  for (const JsonReader &entry : entries) {
    SPYRE_ASSIGN_OR_RETURN(Buffer buffer, readBuffer(entry));
    problem.buffers.push_back(std::move(buffer));
  }
  SPYRE_RETURN_IF_ERROR(linkParents(entries, problem));
  SPYRE_RETURN_IF_ERROR(validate(problem));
  return problem;
}

std::string writeProblemJson(const Problem &problem) {
  Json head;
  head["format"] = kFormat;
  head["version"] = 1;
  head["capacity"] = problem.capacityBytes;
  head["alignment"] = problem.alignment;
  if (problem.variant) {
    head["variant"] = nameOf(*problem.variant);
  }
  for (const Transient &need : problem.transients) {
    Json entry;
    entry["tick"] = need.tick;
    entry["bytes"] = need.bytes;
    head["transients"].push_back(entry);
  }
  std::vector<Json> entries;
  for (const Buffer &buffer : problem.buffers) {
    entries.push_back(bufferJson(problem, buffer));
  }
  return linesOf(head, "buffers", entries);
}

std::string writePlanJson(const Problem &problem, const Plan &plan) {
  Json head;
  head["complete"] = plan.complete;
  head["impossible"] = plan.impossible;
  head["value"] = plan.certificate.value;
  head["bound"] = plan.certificate.bound;
  head["gap"] = plan.certificate.gap();
  head["proof"] = nameOf(plan.certificate.proof);
  head["load_bytes"] = plan.certificate.loadBytes;
  head["nodes"] = plan.certificate.nodes;
  std::vector<Json> entries;
  for (size_t i = 0; i < plan.offsets.size(); ++i) {
    Json entry;
    entry["id"] = problem.buffers[i].name;
    entry["offset"] = plan.offsets[i] ? Json(*plan.offsets[i]) : Json();
    entries.push_back(entry);
  }
  return linesOf(head, "buffers", entries);
}

} // namespace spyre::solver::placement
