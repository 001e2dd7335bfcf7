//===- Model.cpp - model.json ---------------------------------------------------------------===//
//
// People open this file to see what a compiled graph needs, so short values stay on one line and
// names are torch's.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/Model.h"

#include "JsonText.h"

#include <cmath>
#include <limits>

namespace spyre::spec {

namespace {

constexpr const char *kArrangements[] = {"standard", "dl16_to_fp32", "qfp8ch", "exx2"};

Json tensorObject(const TensorDesc &tensor) {
  Json layout = Json::object();
  layout["device_size"] = tensor.layout.deviceSize;
  layout["stride_map"] = tensor.layout.strideMap;
  layout["format"] = numerics::formatName(tensor.layout.format);
  layout["arrangement"] = kArrangements[size_t(tensor.layout.arrangement)];
  Json out = Json::object();
  out["name"] = tensor.name;
  out["dtype"] = numerics::hostTypeName(tensor.dtype);
  out["size"] = tensor.size;
  out["stride"] = tensor.stride;
  out["offset"] = tensor.offset;
  out["layout"] = std::move(layout);
  return out;
}

/// JSON has no infinities; they are strings.
Json numberValue(double value) {
  if (std::isnan(value)) {
    return "nan";
  }
  if (std::isinf(value)) {
    return value > 0 ? "inf" : "-inf";
  }
  return value;
}

Expected<double> readNumberValue(const JsonReader &value) {
  if (!value.isString()) {
    return value.asNumber();
  }
  SPYRE_ASSIGN_OR_RETURN(std::string text, value.asString());
  if (text == "inf" || text == "-inf") {
    const double infinity = std::numeric_limits<double>::infinity();
    return text == "inf" ? infinity : -infinity;
  }
  if (text == "nan") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return error<6001>("{}: \"{}\" is not a number, inf, -inf or nan", value.path(),
                     text.substr(0, 40));
}

Expected<std::vector<int64_t>> listField(const JsonReader &object, const char *key) {
  SPYRE_ASSIGN_OR_RETURN(JsonReader field, object.field(key));
  return field.asIntList();
}

Expected<std::string> textField(const JsonReader &object, const char *key) {
  SPYRE_ASSIGN_OR_RETURN(JsonReader field, object.field(key));
  return field.asString();
}

Expected<layout::DeviceLayout> readLayout(const JsonReader &object) {
  SPYRE_RETURN_IF_ERROR(object.onlyFields({"device_size", "stride_map", "format", "arrangement"}));
  layout::DeviceLayout layout;
  SPYRE_ASSIGN_OR_RETURN(layout.deviceSize, listField(object, "device_size"));
  SPYRE_ASSIGN_OR_RETURN(layout.strideMap, listField(object, "stride_map"));
  SPYRE_ASSIGN_OR_RETURN(std::string format, textField(object, "format"));
  Expected<numerics::DataFormat> parsed = numerics::parseFormat(format);
  if (!parsed) {
    return parsed.status().withContext(object.path() + ".format: ");
  }
  layout.format = *parsed;
  SPYRE_ASSIGN_OR_RETURN(std::string arrangement, textField(object, "arrangement"));
  for (size_t i = 0; i < std::size(kArrangements); ++i) {
    if (arrangement == kArrangements[i]) {
      layout.arrangement = layout::ElementArrangement(i);
      return layout;
    }
  }
  return error<6001>("{}.arrangement: \"{}\" is none of standard, dl16_to_fp32, qfp8ch, exx2",
                     object.path(), arrangement.substr(0, 40));
}

Expected<TensorDesc> readTensor(const JsonReader &object, bool isConstant) {
  std::vector<std::string> known = {"name", "dtype", "size", "stride", "offset", "layout"};
  if (isConstant) {
    known.push_back("value");
  }
  SPYRE_RETURN_IF_ERROR(object.onlyFields(known));
  TensorDesc tensor;
  SPYRE_ASSIGN_OR_RETURN(tensor.name, textField(object, "name"));
  SPYRE_ASSIGN_OR_RETURN(std::string dtype, textField(object, "dtype"));
  Expected<numerics::HostType> parsed = numerics::parseHostType(dtype);
  if (!parsed) {
    return parsed.status().withContext(object.path() + ".dtype: ");
  }
  tensor.dtype = *parsed;
  SPYRE_ASSIGN_OR_RETURN(tensor.size, listField(object, "size"));
  SPYRE_ASSIGN_OR_RETURN(tensor.stride, listField(object, "stride"));
  SPYRE_ASSIGN_OR_RETURN(JsonReader offset, object.field("offset"));
  SPYRE_ASSIGN_OR_RETURN(tensor.offset, offset.asInt());
  SPYRE_ASSIGN_OR_RETURN(JsonReader layout, object.field("layout"));
  SPYRE_ASSIGN_OR_RETURN(tensor.layout, readLayout(layout));
  return tensor;
}

Expected<ConstantDesc> readConstant(const JsonReader &object) {
  ConstantDesc constant;
  SPYRE_ASSIGN_OR_RETURN(constant.tensor, readTensor(object, /*isConstant=*/true));
  SPYRE_ASSIGN_OR_RETURN(JsonReader value, object.field("value"));
  SPYRE_ASSIGN_OR_RETURN(constant.value, readNumberValue(value));
  return constant;
}

Expected<BundleStep> readBundleStep(const JsonReader &object) {
  SPYRE_RETURN_IF_ERROR(object.onlyFields({"kind", "directory", "uses_pool", "arguments"}));
  BundleStep step;
  SPYRE_ASSIGN_OR_RETURN(step.directory, textField(object, "directory"));
  SPYRE_ASSIGN_OR_RETURN(JsonReader usesPool, object.field("uses_pool"));
  SPYRE_ASSIGN_OR_RETURN(step.usesPool, usesPool.asBool());
  SPYRE_ASSIGN_OR_RETURN(JsonReader arguments, object.field("arguments"));
  SPYRE_ASSIGN_OR_RETURN(step.arguments, arguments.asStringList());
  return step;
}

Expected<CpuStep> readCpuStep(const JsonReader &object) {
  SPYRE_RETURN_IF_ERROR(object.onlyFields(
      {"kind", "callee", "node", "results", "inputs", "outputs", "gate", "reason", "location"}));
  CpuStep step;
  SPYRE_ASSIGN_OR_RETURN(step.callee, textField(object, "callee"));
  SPYRE_ASSIGN_OR_RETURN(JsonReader node, object.field("node"));
  SPYRE_ASSIGN_OR_RETURN(step.node, node.asInt(0));
  SPYRE_ASSIGN_OR_RETURN(step.results, listField(object, "results"));
  SPYRE_ASSIGN_OR_RETURN(JsonReader inputs, object.field("inputs"));
  SPYRE_ASSIGN_OR_RETURN(step.inputs, inputs.asStringList());
  SPYRE_ASSIGN_OR_RETURN(JsonReader outputs, object.field("outputs"));
  SPYRE_ASSIGN_OR_RETURN(step.outputs, outputs.asStringList());
  SPYRE_ASSIGN_OR_RETURN(JsonReader gate, object.field("gate"));
  SPYRE_ASSIGN_OR_RETURN(step.gate, gate.asInt(1, kGates));
  SPYRE_ASSIGN_OR_RETURN(step.reason, textField(object, "reason"));
  SPYRE_ASSIGN_OR_RETURN(step.location, textField(object, "location"));
  return step;
}

Expected<ModelStep> readStep(const JsonReader &object) {
  SPYRE_ASSIGN_OR_RETURN(std::string kind, textField(object, "kind"));
  if (kind == "bundle") {
    SPYRE_ASSIGN_OR_RETURN(BundleStep step, readBundleStep(object));
    return ModelStep(std::move(step));
  }
  if (kind == "cpu") {
    SPYRE_ASSIGN_OR_RETURN(CpuStep step, readCpuStep(object));
    return ModelStep(std::move(step));
  }
  if (kind != "allocate" && kind != "free") {
    return error<6001>("{}.kind: \"{}\" is none of bundle, cpu, allocate, free", object.path(),
                       kind.substr(0, 40));
  }
  SPYRE_RETURN_IF_ERROR(object.onlyFields({"kind", "buffer"}));
  SPYRE_ASSIGN_OR_RETURN(std::string buffer, textField(object, "buffer"));
  return kind == "free" ? ModelStep(FreeStep{std::move(buffer)})
                        : ModelStep(AllocateStep{std::move(buffer)});
}

Expected<HostValue> readHostValue(const JsonReader &object) {
  SPYRE_RETURN_IF_ERROR(object.onlyFields({"name", "dtype", "size"}));
  HostValue value;
  SPYRE_ASSIGN_OR_RETURN(value.name, textField(object, "name"));
  SPYRE_ASSIGN_OR_RETURN(value.dtype, textField(object, "dtype"));
  SPYRE_ASSIGN_OR_RETURN(value.size, listField(object, "size"));
  return value;
}

template <typename T, typename Fn>
Status readList(const JsonReader &file, const char *key, std::vector<T> &out, Fn &&read) {
  SPYRE_ASSIGN_OR_RETURN(JsonReader list, file.field(key));
  SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, list.elements());
  for (const JsonReader &entry : entries) {
    SPYRE_ASSIGN_OR_RETURN(T value, read(entry));
    out.push_back(std::move(value));
  }
  return Status::success();
}

Expected<Model> readFile(const JsonReader &file) {
  SPYRE_RETURN_IF_ERROR(file.onlyFields({"version", "device", "pool_bytes", "inputs", "outputs",
                                         "constants", "buffers", "host_values", "steps"}));
  Model model;
  SPYRE_ASSIGN_OR_RETURN(JsonReader version, file.field("version"));
  SPYRE_ASSIGN_OR_RETURN(int64_t number, version.asInt(1, 1));
  model.version = int(number);
  SPYRE_ASSIGN_OR_RETURN(JsonReader device, file.field("device"));
  SPYRE_RETURN_IF_ERROR(device.onlyFields({"name", "hash"}));
  SPYRE_ASSIGN_OR_RETURN(model.deviceName, textField(device, "name"));
  SPYRE_ASSIGN_OR_RETURN(model.deviceHash, textField(device, "hash"));
  SPYRE_ASSIGN_OR_RETURN(JsonReader pool, file.field("pool_bytes"));
  SPYRE_ASSIGN_OR_RETURN(model.poolBytes, pool.asInt(0));
  auto plain = [](const JsonReader &entry) { return readTensor(entry, /*isConstant=*/false); };
  SPYRE_RETURN_IF_ERROR(readList(file, "inputs", model.inputs, plain));
  SPYRE_RETURN_IF_ERROR(readList(file, "outputs", model.outputs, plain));
  SPYRE_RETURN_IF_ERROR(readList(file, "constants", model.constants, readConstant));
  if (file.has("buffers")) {
    SPYRE_RETURN_IF_ERROR(readList(file, "buffers", model.buffers, plain));
  }
  if (file.has("host_values")) {
    SPYRE_RETURN_IF_ERROR(readList(file, "host_values", model.hostValues, readHostValue));
  }
  SPYRE_RETURN_IF_ERROR(readList(file, "steps", model.steps, readStep));
  return model;
}

Json stepObject(const BundleStep &step) {
  Json entry = Json::object();
  entry["kind"] = "bundle";
  entry["directory"] = step.directory;
  entry["uses_pool"] = step.usesPool;
  entry["arguments"] = step.arguments;
  return entry;
}

Json stepObject(const CpuStep &step) {
  Json entry = Json::object();
  entry["kind"] = "cpu";
  entry["callee"] = step.callee;
  entry["node"] = step.node;
  entry["results"] = step.results;
  entry["inputs"] = step.inputs;
  entry["outputs"] = step.outputs;
  entry["gate"] = step.gate;
  entry["reason"] = step.reason;
  entry["location"] = step.location;
  return entry;
}

Json stepObject(const AllocateStep &step) {
  Json entry = Json::object();
  entry["kind"] = "allocate";
  entry["buffer"] = step.buffer;
  return entry;
}

Json stepObject(const FreeStep &step) {
  Json entry = Json::object();
  entry["kind"] = "free";
  entry["buffer"] = step.buffer;
  return entry;
}

Json hostValueObject(const HostValue &value) {
  Json entry = Json::object();
  entry["name"] = value.name;
  entry["dtype"] = value.dtype;
  entry["size"] = value.size;
  return entry;
}

} // namespace

std::string writeModel(const Model &model) {
  Json inputs = Json::array(), outputs = Json::array(), constants = Json::array(),
       steps = Json::array();
  for (const TensorDesc &tensor : model.inputs) {
    inputs.push_back(tensorObject(tensor));
  }
  for (const TensorDesc &tensor : model.outputs) {
    outputs.push_back(tensorObject(tensor));
  }
  for (const ConstantDesc &constant : model.constants) {
    Json entry = tensorObject(constant.tensor);
    entry["value"] = numberValue(constant.value);
    constants.push_back(std::move(entry));
  }
  for (const ModelStep &step : model.steps) {
    steps.push_back(std::visit([](const auto &one) { return stepObject(one); }, step));
  }
  Json buffers = Json::array(), hostValues = Json::array();
  for (const TensorDesc &tensor : model.buffers) {
    buffers.push_back(tensorObject(tensor));
  }
  for (const HostValue &value : model.hostValues) {
    hostValues.push_back(hostValueObject(value));
  }
  Json device = Json::object();
  device["name"] = model.deviceName;
  device["hash"] = model.deviceHash;
  Json file = Json::object();
  file["version"] = model.version;
  file["device"] = std::move(device);
  file["pool_bytes"] = model.poolBytes;
  file["inputs"] = std::move(inputs);
  file["outputs"] = std::move(outputs);
  file["constants"] = std::move(constants);
  if (!model.buffers.empty()) {
    file["buffers"] = std::move(buffers);
  }
  if (!model.hostValues.empty()) {
    file["host_values"] = std::move(hostValues);
  }
  file["steps"] = std::move(steps);
  return printJson(file, /*indentColumns=*/2, /*inlineChars=*/110);
}

Expected<Model> readModel(const std::string &text) {
  Expected<JsonDocument> json = JsonDocument::parse(text, kMaxJsonBytes);
  if (!json) {
    return recode<6001>(json.status());
  }
  Expected<Model> model = readFile(JsonReader(*json));
  if (!model) {
    return recode<6001>(model.status());
  }
  return model;
}

} // namespace spyre::spec
