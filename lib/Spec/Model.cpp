//===- Model.cpp - model.json ---------------------------------------------------------------===//
//
// People open this file to see what a compiled graph needs, so short values stay on one line and
// names are torch's.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/Model.h"

#include "JsonText.h"
#include "JsonWriter.h"

#include <cmath>
#include <limits>

namespace spyre::spec {

namespace {

constexpr const char *kArrangements[] = {"standard", "dl16_to_fp32", "qfp8ch", "exx2"};

void integers(JsonWriter &out, const std::vector<int64_t> &values) {
  out.beginArray();
  for (int64_t value : values) {
    out.value(value);
  }
  out.end();
}

void strings(JsonWriter &out, const std::vector<std::string> &values) {
  out.beginArray();
  for (const std::string &value : values) {
    out.value(value);
  }
  out.end();
}

/// All of the object but its end: constants have one field more.
void tensorFields(JsonWriter &out, const TensorDesc &tensor) {
  out.beginObject().key("name").value(tensor.name);
  out.key("dtype").value(numerics::hostTypeName(tensor.dtype)).key("size");
  integers(out, tensor.size);
  out.key("stride");
  integers(out, tensor.stride);
  out.key("offset").value(tensor.offset);
  out.key("layout").beginObject().key("device_size");
  integers(out, tensor.layout.deviceSize);
  out.key("stride_map");
  integers(out, tensor.layout.strideMap);
  out.key("format").value(numerics::formatName(tensor.layout.format));
  out.key("arrangement").value(kArrangements[size_t(tensor.layout.arrangement)]).end();
}

void tensorList(JsonWriter &out, const std::vector<TensorDesc> &tensors) {
  out.beginArray();
  for (const TensorDesc &tensor : tensors) {
    tensorFields(out, tensor);
    out.end();
  }
  out.end();
}

/// JSON has no infinities; they are strings.
void numberValue(JsonWriter &out, double value) {
  if (std::isnan(value)) {
    out.value("nan");
  } else if (std::isinf(value)) {
    out.value(value > 0 ? "inf" : "-inf");
  } else {
    out.raw(Json(value).dump());
  }
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
  SPYRE_RETURN_IF_ERROR(
      object.onlyFields({"kind", "directory", "uses_pool", "arguments", "non_terminal"}));
  BundleStep step;
  SPYRE_ASSIGN_OR_RETURN(step.directory, textField(object, "directory"));
  SPYRE_ASSIGN_OR_RETURN(JsonReader usesPool, object.field("uses_pool"));
  SPYRE_ASSIGN_OR_RETURN(step.usesPool, usesPool.asBool());
  SPYRE_ASSIGN_OR_RETURN(JsonReader arguments, object.field("arguments"));
  SPYRE_ASSIGN_OR_RETURN(step.arguments, arguments.asStringList());
  if (object.has("non_terminal")) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader nonTerminal, object.field("non_terminal"));
    SPYRE_ASSIGN_OR_RETURN(step.nonTerminal, nonTerminal.asBool());
  }
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

void stepFields(JsonWriter &out, const BundleStep &step) {
  out.key("kind").value("bundle").key("directory").value(step.directory);
  out.key("uses_pool").boolean(step.usesPool).key("arguments");
  strings(out, step.arguments);
  if (step.nonTerminal) {
    out.key("non_terminal").boolean(true);
  }
}

void stepFields(JsonWriter &out, const CpuStep &step) {
  out.key("kind").value("cpu").key("callee").value(step.callee).key("node").value(step.node);
  out.key("results");
  integers(out, step.results);
  out.key("inputs");
  strings(out, step.inputs);
  out.key("outputs");
  strings(out, step.outputs);
  out.key("gate").value(step.gate).key("reason").value(step.reason);
  out.key("location").value(step.location);
}

void stepFields(JsonWriter &out, const AllocateStep &step) {
  out.key("kind").value("allocate").key("buffer").value(step.buffer);
}

void stepFields(JsonWriter &out, const FreeStep &step) {
  out.key("kind").value("free").key("buffer").value(step.buffer);
}

void constantList(JsonWriter &out, const std::vector<ConstantDesc> &constants) {
  out.beginArray();
  for (const ConstantDesc &constant : constants) {
    tensorFields(out, constant.tensor);
    out.key("value");
    numberValue(out, constant.value);
    out.end();
  }
  out.end();
}

void hostValueList(JsonWriter &out, const std::vector<HostValue> &values) {
  out.beginArray();
  for (const HostValue &value : values) {
    out.beginObject().key("name").value(value.name).key("dtype").value(value.dtype).key("size");
    integers(out, value.size);
    out.end();
  }
  out.end();
}

} // namespace

std::string writeModel(const Model &model) {
  JsonWriter out(/*inlineChars=*/110);
  out.beginObject().key("version").value(int64_t(model.version));
  out.key("device").beginObject().key("name").value(model.deviceName);
  out.key("hash").value(model.deviceHash).end();
  out.key("pool_bytes").value(model.poolBytes).key("inputs");
  tensorList(out, model.inputs);
  out.key("outputs");
  tensorList(out, model.outputs);
  out.key("constants");
  constantList(out, model.constants);
  if (!model.buffers.empty()) {
    out.key("buffers");
    tensorList(out, model.buffers);
  }
  if (!model.hostValues.empty()) {
    out.key("host_values");
    hostValueList(out, model.hostValues);
  }
  out.key("steps").beginArray();
  for (const ModelStep &step : model.steps) {
    out.beginObject();
    std::visit([&](const auto &one) { stepFields(out, one); }, step);
    out.end();
  }
  out.end().end();
  return out.print(/*indentColumns=*/2);
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
