//===- DeviceDesc.cpp - presets, JSON form and hash of a machine ----------------------------===//
#include "spyre/Arch/DeviceDesc.h"

#include "spyre/Arch/TimingFields.h"
#include "spyre/Base/Artifacts.h"
#include "spyre/Base/Json.h"
#include "spyre/Base/Math.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace spyre::arch {

/// Bytes of a device, or of a part of it, stay below this: sums of a few of them fit 64 bits.
static constexpr int64_t kMaxDeviceBytes = int64_t(1) << 46;
/// A description has some hundred bytes.
static constexpr uint64_t kMaxTextBytes = uint64_t(1) << 20;
/// Scratchpads of all cores together: a simulator holds them and what it knows of them in memory.
static constexpr int64_t kMaxLxBytes = int64_t(4) << 30;
static constexpr double kMaxRate = 1e12;
static constexpr double kMaxClockGhz = 100;
/// What our machines have beyond the documented interface (docs/adr/0022).
static constexpr const char *kExtensions[] = {
    "x_bitand",     "x_bitor",       "x_bitxor",      "x_cumsum",      "x_floordiv",
    "x_floormod",   "x_fp32toint16", "x_fp32toint32", "x_int16tofp32", "x_int32tofp32",
    "x_int8todl16", "x_shiftleft",   "x_shiftright",  "x_truncdiv",    "x_truncmod"};
static constexpr const char *kPresetNames = "spyre, openspyre, tiny";

namespace {

struct IntField {
  const char *name;
  int64_t DeviceDesc::*member;
  int64_t low, high;
};

struct RateField {
  const char *name;
  double Timing::*member;
  /// Rates divide, so they must be positive; overheads may be zero.
  bool mayBeZero;
};

} // namespace

// One table for writer and reader: a field cannot be in one and not in the other.
static constexpr std::array<IntField, 10> kIntFields = {{
    {"cores", &DeviceDesc::cores, 1, 1024},
    {"coreletsPerCore", &DeviceDesc::coreletsPerCore, 1, 16},
    {"stickBytes", &DeviceDesc::stickBytes, 128, 128},
    {"lxBytes", &DeviceDesc::lxBytes, 128, int64_t(1) << 30},
    {"lxPlannerBytes", &DeviceDesc::lxPlannerBytes, 0, int64_t(1) << 30},
    {"spanLimitBytes", &DeviceDesc::spanLimitBytes, 128, kMaxDeviceBytes},
    {"ddrBytes", &DeviceDesc::ddrBytes, 128, kMaxDeviceBytes},
    {"segments", &DeviceDesc::segments, 8, 8},
    {"segmentBytes", &DeviceDesc::segmentBytes, 128, int64_t(1) << 40},
    {"ddrCoresPerPort", &DeviceDesc::ddrCoresPerPort, 1, 1024},
}};

static constexpr std::array<RateField, 23> kRateFields = {{
    {"clockGhz", &Timing::clockGhz, false},
    {"ddrPeakBytesPerCycle", &Timing::ddrPeakBytesPerCycle, false},
    {"ddrBytesPerCycle", &Timing::ddrBytesPerCycle, false},
    {"ddrPortBytesPerCycle", &Timing::ddrPortBytesPerCycle, false},
    {"ddrCoreBytesPerCycle", &Timing::ddrCoreBytesPerCycle, false},
    {"ddrStreamLoss", &Timing::ddrStreamLoss, true},
    {"ddrRequestCycles", &Timing::ddrRequestCycles, true},
    {"ddrTurnaroundCycles", &Timing::ddrTurnaroundCycles, true},
    {"ddrLatencyCycles", &Timing::ddrLatencyCycles, true},
    {"lxBytesPerCycle", &Timing::lxBytesPerCycle, false},
    {"ptMacsPerCycle", &Timing::ptMacsPerCycle, false},
    {"ptFillBytesPerCycle", &Timing::ptFillBytesPerCycle, false},
    {"sfpLanesPerCycle", &Timing::sfpLanesPerCycle, false},
    {"sfpTranscendentalFactor", &Timing::sfpTranscendentalFactor, false},
    {"sfpReductionFactor", &Timing::sfpReductionFactor, false},
    {"moveElementsPerCycle", &Timing::moveElementsPerCycle, false},
    {"ringBytesPerCycle", &Timing::ringBytesPerCycle, false},
    {"ringHopCycles", &Timing::ringHopCycles, true},
    {"ringRunCycles", &Timing::ringRunCycles, true},
    {"phaseOverheadCycles", &Timing::phaseOverheadCycles, true},
    {"barrierCycles", &Timing::barrierCycles, true},
    {"bundleOverheadCycles", &Timing::bundleOverheadCycles, true},
    {"launchOverheadCycles", &Timing::launchOverheadCycles, true},
}};

std::vector<std::string> timingFieldNames() {
  std::vector<std::string> names;
  for (const RateField &field : kRateFields) {
    names.push_back(field.name);
  }
  return names;
}

double *timingField(Timing &timing, const std::string &name) {
  for (const RateField &field : kRateFields) {
    if (name == field.name) {
      return &(timing.*field.member);
    }
  }
  return nullptr;
}

int64_t DeviceDesc::lxStagingBegin() const { return roundUp(lxPlannerBytes, stickBytes); }

/// Only what differs from the documented rules: most descriptions have nothing to say here.
static void writeDivision(const DivisionRules &rules, Json &json) {
  const DivisionRules documented;
  for (const DivisionRuleName &rule : kDivisionRules) {
    if (rules.*rule.member != documented.*rule.member) {
      json["division"][rule.name] = rules.*rule.member;
    }
  }
  for (const DivisionLimitName &limit : kDivisionLimits) {
    if (rules.*limit.member != documented.*limit.member) {
      json["division"][limit.name] = rules.*limit.member;
    }
  }
}

std::string DeviceDesc::toJson() const {
  Json json;
  json["version"] = version;
  json["name"] = name;
  for (const IntField &field : kIntFields) {
    json[field.name] = this->*field.member;
  }
  json["extensions"] = extensions;
  Json &rates = json["timing"] = Json::object();
  for (const RateField &field : kRateFields) {
    rates[field.name] = timing.*field.member;
  }
  writeDivision(division, json);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string DeviceDesc::hash() const { return contentHash(toJson()); }

static Status readInts(const JsonReader &root, DeviceDesc &desc) {
  for (const IntField &field : kIntFields) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader reader, root.field(field.name));
    SPYRE_ASSIGN_OR_RETURN(desc.*field.member, reader.asInt(field.low, field.high));
  }
  return Status::success();
}

static Status readTiming(const JsonReader &rates, Timing &timing) {
  std::vector<std::string> known;
  for (const RateField &field : kRateFields) {
    known.push_back(field.name);
  }
  SPYRE_RETURN_IF_ERROR(rates.onlyFields(known));
  for (const RateField &field : kRateFields) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader reader, rates.field(field.name));
    SPYRE_ASSIGN_OR_RETURN(double value, reader.asNumber());
    bool positive = field.mayBeZero ? value >= 0 : value > 0;
    if (!positive || value > kMaxRate) {
      return error<9201>("{}: {} is out of range; give a {} number up to {}", reader.path(), value,
                         field.mayBeZero ? "non-negative" : "positive", kMaxRate);
    }
    timing.*field.member = value;
  }
  return Status::success();
}

static Status readDivision(const JsonReader &root, DivisionRules &rules) {
  if (!root.has("division")) {
    return Status::success();
  }
  SPYRE_ASSIGN_OR_RETURN(JsonReader table, root.field("division"));
  std::vector<std::string> known;
  for (const DivisionRuleName &rule : kDivisionRules) {
    known.push_back(rule.name);
    if (table.has(rule.name)) {
      SPYRE_ASSIGN_OR_RETURN(JsonReader reader, table.field(rule.name));
      SPYRE_ASSIGN_OR_RETURN(rules.*rule.member, reader.asBool());
    }
  }
  for (const DivisionLimitName &limit : kDivisionLimits) {
    known.push_back(limit.name);
    if (table.has(limit.name)) {
      SPYRE_ASSIGN_OR_RETURN(JsonReader reader, table.field(limit.name));
      SPYRE_ASSIGN_OR_RETURN(rules.*limit.member, reader.asInt(limit.low, limit.high));
    }
  }
  return table.onlyFields(known);
}

static Status readExtensions(const JsonReader &root, DeviceDesc &desc) {
  SPYRE_ASSIGN_OR_RETURN(JsonReader reader, root.field("extensions"));
  SPYRE_ASSIGN_OR_RETURN(desc.extensions, reader.asStringList());
  std::vector<std::string> sorted = desc.extensions;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return error<9201>("{}: an operation is listed twice; keep one", reader.path());
  }
  for (const std::string &name : desc.extensions) {
    if (!name.starts_with("x_")) {
      return error<9201>("{}: \"{}\" does not begin with x_; only extensions are listed here",
                         reader.path(), name);
    }
  }
  return Status::success();
}

static Status readName(const JsonReader &root, DeviceDesc &desc) {
  constexpr size_t kMaxNameBytes = 64;
  SPYRE_ASSIGN_OR_RETURN(JsonReader version, root.field("version"));
  SPYRE_ASSIGN_OR_RETURN(int64_t number, version.asInt(1, 1));
  desc.version = int(number);
  SPYRE_ASSIGN_OR_RETURN(JsonReader name, root.field("name"));
  SPYRE_ASSIGN_OR_RETURN(desc.name, name.asString());
  if (desc.name.empty() || desc.name.size() > kMaxNameBytes) {
    return error<9201>("$.name: the name must have 1 to {} bytes", kMaxNameBytes);
  }
  return Status::success();
}

/// What no single field can show.
static Status checkTogether(const DeviceDesc &desc) {
  if (desc.lxBytes % desc.stickBytes != 0 || desc.segmentBytes % desc.stickBytes != 0) {
    return error<9201>("lxBytes {} and segmentBytes {} must be multiples of stickBytes {}",
                       desc.lxBytes, desc.segmentBytes, desc.stickBytes);
  }
  if (desc.cores > kMaxLxBytes / desc.lxBytes) {
    return error<9201>(
        "{} cores with {} bytes of LX have more than {} bytes together; lower one of "
        "them",
        desc.cores, desc.lxBytes, kMaxLxBytes);
  }
  if (desc.lxPlannerBytes > desc.lxBytes) {
    return error<9201>("lxPlannerBytes {} is above lxBytes {}; the planner's part lies inside LX",
                       desc.lxPlannerBytes, desc.lxBytes);
  }
  const Timing &timing = desc.timing;
  if (timing.clockGhz > kMaxClockGhz) {
    return error<9201>("clockGhz {} is no clock of a chip; give at most {}", timing.clockGhz,
                       kMaxClockGhz);
  }
  for (double rate :
       {timing.ddrBytesPerCycle, timing.ddrPortBytesPerCycle, timing.ddrCoreBytesPerCycle}) {
    if (rate > timing.ddrPeakBytesPerCycle) {
      return error<9201>("a DDR rate of {} bytes per cycle is above ddrPeakBytesPerCycle {}; no "
                         "memory is faster than its data sheet",
                         rate, timing.ddrPeakBytesPerCycle);
    }
  }
  return Status::success();
}

static Status readDesc(const std::string &text, DeviceDesc &desc) {
  SPYRE_ASSIGN_OR_RETURN(JsonDocument json, JsonDocument::parse(text, kMaxTextBytes));
  JsonReader root(json);
  std::vector<std::string> known = {"version", "name", "extensions", "timing", "division"};
  for (const IntField &field : kIntFields) {
    known.push_back(field.name);
  }
  SPYRE_RETURN_IF_ERROR(root.onlyFields(known));
  SPYRE_RETURN_IF_ERROR(readName(root, desc));
  SPYRE_RETURN_IF_ERROR(readInts(root, desc));
  SPYRE_RETURN_IF_ERROR(readExtensions(root, desc));
  SPYRE_RETURN_IF_ERROR(readDivision(root, desc.division));
  SPYRE_ASSIGN_OR_RETURN(JsonReader rates, root.field("timing"));
  SPYRE_RETURN_IF_ERROR(readTiming(rates, desc.timing));
  return checkTogether(desc);
}

/// "line 12: " of the last key of \p text that the first part of \p message names, or nothing.
static std::string lineOf(const std::string &text, const std::string &message) {
  size_t place = std::string::npos;
  std::string word;
  for (char c : message.substr(0, message.find(';')) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_') {
      word += c;
      continue;
    }
    size_t found = word.empty() ? std::string::npos : text.find("\"" + word + "\"");
    place = found != std::string::npos ? found : place;
    word.clear();
  }
  return place == std::string::npos
             ? ""
             : fmt::format("line {}: ", 1 + std::count(text.begin(), text.begin() + place, '\n'));
}

Expected<DeviceDesc> DeviceDesc::fromJson(const std::string &text) {
  DeviceDesc desc;
  if (Status status = readDesc(text, desc); !status.ok()) {
    return error<9201>("device description: {}{}", lineOf(text, status.text()), status.text());
  }
  return desc;
}

static Status unknownPreset(const std::string &name) {
  return error<9202>("\"{}\" is neither a preset nor a readable file; presets: {}", name,
                     kPresetNames);
}

/// As spyre-fit printed them (docs/timing.md).
static Timing fittedTiming() {
  Timing timing;
  timing.ddrBytesPerCycle = 105;
  timing.ddrPortBytesPerCycle = 49.81;
  timing.ddrCoreBytesPerCycle = 10.54;
  timing.ddrStreamLoss = 0.004846;
  timing.ddrRequestCycles = 4;
  timing.ddrTurnaroundCycles = 22.18;
  timing.ddrLatencyCycles = 200;
  timing.ptFillBytesPerCycle = 34.62;
  timing.sfpLanesPerCycle = 64;
  timing.sfpTranscendentalFactor = 15;
  timing.ringBytesPerCycle = 131.3;
  timing.ringHopCycles = 1;
  timing.ringRunCycles = 4;
  timing.barrierCycles = 20;
  return timing;
}

Expected<DeviceDesc> DeviceDesc::preset(const std::string &name) {
  DeviceDesc desc;
  desc.name = name;
  desc.timing = fittedTiming();
  if (name == "spyre") {
    return desc;
  }
  desc.extensions.assign(std::begin(kExtensions), std::end(kExtensions));
  desc.division.indirectAccess = false; // our back end divides rows of tables and sticks of indices
  if (name == "openspyre") {
    return desc;
  }
  if (name == "tiny") {
    desc.cores = 4;
    desc.lxBytes = 64 << 10;
    desc.lxPlannerBytes = 48 << 10;
    desc.spanLimitBytes = 1 << 20;
    return desc;
  }
  return unknownPreset(name);
}

Expected<DeviceDesc> DeviceDesc::load(const std::string &presetOrPath) {
  if (Expected<DeviceDesc> found = preset(presetOrPath); found.ok()) {
    return found;
  }
  Expected<std::string> text = readFile(presetOrPath);
  if (!text.ok()) {
    return unknownPreset(presetOrPath);
  }
  Expected<DeviceDesc> desc = fromJson(*text);
  return desc.ok() ? desc : Expected<DeviceDesc>(desc.status().withContext(presetOrPath + ": "));
}

} // namespace spyre::arch
