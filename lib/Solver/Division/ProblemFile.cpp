//===- ProblemFile.cpp - reader and writer of division problems -----------------------------===//
#include "spyre/Solver/Division/ProblemFile.h"

#include "spyre/Base/Json.h"
#include "spyre/Solver/Division/Build.h"

#include <algorithm>

namespace spyre::solver::division {

/// A problem is some kilobytes.
static constexpr uint64_t kMaxTextBytes = uint64_t(16) << 20;
static constexpr size_t kMaxOps = 100000;
static constexpr const char *kAccessNames[] = {"direct", "table", "index"};

namespace {

class OpReader {
public:
  explicit OpReader(Op &op) : op(op) {}

  Status read(const JsonReader &object) {
    SPYRE_RETURN_IF_ERROR(object.onlyFields({"name", "kind", "dims", "tensors", "operations",
                                             "windowStride", "loopTrips", "tileCopy"}));
    SPYRE_RETURN_IF_ERROR(readString(object, "name", op.name));
    SPYRE_RETURN_IF_ERROR(readKind(object));
    SPYRE_ASSIGN_OR_RETURN(JsonReader dims, object.field("dims"));
    SPYRE_ASSIGN_OR_RETURN(JsonElements dimList, dims.eachElement());
    for (const JsonReader &dim : dimList) {
      SPYRE_RETURN_IF_ERROR(readDim(dim));
    }
    SPYRE_ASSIGN_OR_RETURN(JsonReader tensors, object.field("tensors"));
    SPYRE_ASSIGN_OR_RETURN(JsonElements tensorList, tensors.eachElement());
    if (tensorList.size() > kMaxTensors || op.dims.size() > kMaxDims) {
      return error<3060>("'{}' has {} dims and {} tensors; at most {} and {} are supported",
                         op.name, op.dims.size(), tensorList.size(), kMaxDims, kMaxTensors);
    }
    for (const JsonReader &tensor : tensorList) {
      SPYRE_RETURN_IF_ERROR(readTensor(tensor));
    }
    if (object.has("operations")) {
      SPYRE_ASSIGN_OR_RETURN(JsonReader field, object.field("operations"));
      SPYRE_ASSIGN_OR_RETURN(op.operations, field.asNumber());
      if (!(op.operations >= 0 && op.operations <= 1e9)) {
        return error<3073>("{}: {} operations per point; give 0 to 1e9", field.path(),
                           op.operations);
      }
    }
    SPYRE_RETURN_IF_ERROR(readInt(object, "windowStride", op.windowStride, 1));
    SPYRE_RETURN_IF_ERROR(readInt(object, "loopTrips", op.loopTrips, 1));
    return readBool(object, "tileCopy", op.tileCopy);
  }

private:
  static Status readString(const JsonReader &object, const char *key, std::string &value) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader field, object.field(key));
    SPYRE_ASSIGN_OR_RETURN(value, field.asString());
    constexpr size_t kMaxName = 256;
    return value.size() <= kMaxName ? Status::success()
                                    : error<3073>("{}: {} bytes; names have at most {}",
                                                  field.path(), value.size(), kMaxName);
  }

  /// Keeps the value where the field is missing.
  static Status readInt(const JsonReader &object, const char *key, int64_t &value, int64_t low) {
    if (object.has(key)) {
      SPYRE_ASSIGN_OR_RETURN(JsonReader field, object.field(key));
      SPYRE_ASSIGN_OR_RETURN(value, field.asInt(low, kMaxCount));
    }
    return Status::success();
  }

  static Status readBool(const JsonReader &object, const char *key, bool &value) {
    if (object.has(key)) {
      SPYRE_ASSIGN_OR_RETURN(JsonReader field, object.field(key));
      SPYRE_ASSIGN_OR_RETURN(value, field.asBool());
    }
    return Status::success();
  }

  Status readKind(const JsonReader &object) {
    std::string name;
    SPYRE_RETURN_IF_ERROR(readString(object, "kind", name));
    std::string known;
    for (int i = 0; i <= int(Kind::Other); ++i) {
      if (name == kindName(Kind(i))) {
        op.kind = Kind(i);
        return Status::success();
      }
      known += fmt::format("{}{}", i > 0 ? ", " : "", kindName(Kind(i)));
    }
    return error<3073>("$.kind: \"{}\" is unknown; known: {}", name, known);
  }

  Status readRole(const JsonReader &object, Role &role) {
    if (!object.has("role")) {
      return Status::success();
    }
    std::string name;
    SPYRE_RETURN_IF_ERROR(readString(object, "role", name));
    for (int i = 0; i <= int(Role::Scan); ++i) {
      if (name == roleName(Role(i))) {
        role = Role(i);
        return Status::success();
      }
    }
    return error<3073>("{}: role \"{}\" is unknown", object.path(), name);
  }

  /// A hint is the user's: what is wrong with it has a number of its own.
  Status readHint(const JsonReader &object, Dim &dim) {
    if (!object.has("hint")) {
      return Status::success();
    }
    SPYRE_ASSIGN_OR_RETURN(JsonReader field, object.field("hint"));
    Expected<int64_t> value = field.asInt();
    if (!value.ok()) {
      return error<3066>("'{}': the hint for {} must be an integer", op.name, dim.name);
    }
    if (*value < 1 || *value > kMaxCount) {
      return error<3066>("'{}': the hint {} for {} must be positive, up to {}", op.name, *value,
                         dim.name, kMaxCount);
    }
    dim.hint = *value;
    return Status::success();
  }

  Status readDim(const JsonReader &object) {
    SPYRE_RETURN_IF_ERROR(
        object.onlyFields({"name", "extent", "walked", "reduced", "granularity", "hint", "tiles",
                           "role", "requiredSplit", "segments"}));
    Dim dim;
    SPYRE_RETURN_IF_ERROR(readString(object, "name", dim.name));
    SPYRE_ASSIGN_OR_RETURN(JsonReader extent, object.field("extent"));
    SPYRE_ASSIGN_OR_RETURN(dim.extent, extent.asInt(1, kMaxCount));
    SPYRE_RETURN_IF_ERROR(readInt(object, "walked", dim.walked, 0));
    SPYRE_RETURN_IF_ERROR(readBool(object, "reduced", dim.reduced));
    SPYRE_RETURN_IF_ERROR(readInt(object, "granularity", dim.granularity, 0));
    SPYRE_RETURN_IF_ERROR(readInt(object, "tiles", dim.tiles, 1));
    SPYRE_RETURN_IF_ERROR(readInt(object, "requiredSplit", dim.requiredSplit, 0));
    SPYRE_RETURN_IF_ERROR(readRole(object, dim.role));
    SPYRE_RETURN_IF_ERROR(readHint(object, dim));
    if (object.has("segments")) {
      SPYRE_ASSIGN_OR_RETURN(JsonReader field, object.field("segments"));
      SPYRE_ASSIGN_OR_RETURN(dim.segments, field.asIntList(1, kMaxCount));
    }
    op.dims.push_back(std::move(dim));
    return Status::success();
  }

  Expected<int> dimNamed(const std::string &name, const JsonReader &where) const {
    for (size_t d = 0; d < op.dims.size(); ++d) {
      if (op.dims[d].name == name) {
        return int(d);
      }
    }
    return error<3073>("{}: no dim is called \"{}\"", where.path(), name);
  }

  Status readTensor(const JsonReader &object) {
    SPYRE_RETURN_IF_ERROR(
        object.onlyFields({"name", "shape", "order", "elemsPerStick", "deviceSize", "coordinates",
                           "offsets", "index", "hostItemBytes", "output", "access", "growable",
                           "directRead", "staggered", "sharesSticks"}));
    Tensor tensor;
    if (object.has("shape") == object.has("deviceSize")) {
      return error<3073>("{}: give a tensor either \"shape\" or \"deviceSize\"", object.path());
    }
    SPYRE_RETURN_IF_ERROR(object.has("shape") ? readShape(object, tensor)
                                              : readLayout(object, tensor));
    SPYRE_RETURN_IF_ERROR(readString(object, "name", tensor.name));
    SPYRE_RETURN_IF_ERROR(readInt(object, "hostItemBytes", tensor.hostItemBytes, 0));
    SPYRE_RETURN_IF_ERROR(readBool(object, "output", tensor.output));
    SPYRE_RETURN_IF_ERROR(readBool(object, "growable", tensor.growable));
    SPYRE_RETURN_IF_ERROR(readBool(object, "directRead", tensor.directRead));
    SPYRE_RETURN_IF_ERROR(readBool(object, "staggered", tensor.staggered));
    SPYRE_RETURN_IF_ERROR(readBool(object, "sharesSticks", tensor.sharesSticks));
    SPYRE_RETURN_IF_ERROR(readAccess(object, tensor));
    op.tensors.push_back(std::move(tensor));
    return Status::success();
  }

  Status readAccess(const JsonReader &object, Tensor &tensor) {
    if (!object.has("access")) {
      return Status::success();
    }
    std::string name;
    SPYRE_RETURN_IF_ERROR(readString(object, "access", name));
    for (int i = 0; i < 3; ++i) {
      if (name == kAccessNames[i]) {
        tensor.access = Access(i);
        return Status::success();
      }
    }
    return error<3073>("{}: access \"{}\" is unknown; known: direct, table, index", object.path(),
                       name);
  }

  /// Host dimensions by name; "" is one that does not vary.
  Status readShape(const JsonReader &object, Tensor &tensor) {
    for (const char *key : {"coordinates", "offsets", "index"}) {
      if (object.has(key)) {
        return error<3073>("{}: \"{}\" belongs to a tensor with \"deviceSize\"", object.path(),
                           key);
      }
    }
    HostTensor host;
    SPYRE_RETURN_IF_ERROR(readString(object, "name", host.name));
    SPYRE_RETURN_IF_ERROR(readInt(object, "elemsPerStick", host.elemsPerStick, 1));
    SPYRE_ASSIGN_OR_RETURN(JsonReader shape, object.field("shape"));
    SPYRE_ASSIGN_OR_RETURN(std::vector<std::string> names, shape.asStringList());
    for (const std::string &name : names) {
      int dim = -1;
      if (!name.empty()) {
        SPYRE_ASSIGN_OR_RETURN(dim, dimNamed(name, shape));
      }
      host.dims.push_back(dim);
    }
    if (object.has("order")) {
      SPYRE_ASSIGN_OR_RETURN(JsonReader field, object.field("order"));
      SPYRE_ASSIGN_OR_RETURN(std::vector<int64_t> order, field.asIntList(-1, 16));
      host.order.assign(order.begin(), order.end());
    }
    SPYRE_ASSIGN_OR_RETURN(tensor, defaultTensor(op.dims, host));
    return Status::success();
  }

  Status readLayout(const JsonReader &object, Tensor &tensor) {
    for (const char *key : {"order", "elemsPerStick"}) {
      if (object.has(key)) {
        return error<3073>("{}: \"{}\" belongs to a tensor with \"shape\"", object.path(), key);
      }
    }
    SPYRE_ASSIGN_OR_RETURN(JsonReader sizes, object.field("deviceSize"));
    SPYRE_ASSIGN_OR_RETURN(tensor.deviceSize, sizes.asIntList(1, kMaxCount));
    SPYRE_ASSIGN_OR_RETURN(JsonReader coordinates, object.field("coordinates"));
    SPYRE_ASSIGN_OR_RETURN(JsonElements list, coordinates.eachElement());
    for (const JsonReader &terms : list) {
      tensor.coordinates.emplace_back();
      SPYRE_ASSIGN_OR_RETURN(JsonElements termList, terms.eachElement());
      for (const JsonReader &term : termList) {
        SPYRE_RETURN_IF_ERROR(readTerm(term, tensor.coordinates.back()));
      }
    }
    if (object.has("offsets")) {
      SPYRE_ASSIGN_OR_RETURN(JsonReader field, object.field("offsets"));
      SPYRE_ASSIGN_OR_RETURN(std::vector<int64_t> offsets, field.asIntList(0, kMaxCount));
      if (offsets.size() != tensor.coordinates.size()) {
        return error<3073>("{}: {} offsets for {} coordinates", field.path(), offsets.size(),
                           tensor.coordinates.size());
      }
      for (size_t i = 0; i < offsets.size(); ++i) {
        tensor.coordinates[i].offset = offsets[i];
      }
    }
    return readIndex(object, tensor);
  }

  Status readTerm(const JsonReader &object, Coordinate &coordinate) {
    SPYRE_RETURN_IF_ERROR(object.onlyFields({"dim", "step", "wrap", "divisor"}));
    Term term;
    std::string name;
    SPYRE_RETURN_IF_ERROR(readString(object, "dim", name));
    SPYRE_ASSIGN_OR_RETURN(term.dim, dimNamed(name, object));
    SPYRE_RETURN_IF_ERROR(readInt(object, "step", term.step, 1));
    SPYRE_RETURN_IF_ERROR(readInt(object, "wrap", term.wrap, 0));
    SPYRE_RETURN_IF_ERROR(readInt(object, "divisor", term.divisor, 1));
    coordinate.terms.push_back(term);
    return Status::success();
  }

  Status readIndex(const JsonReader &object, Tensor &tensor) {
    if (!object.has("index")) {
      return Status::success();
    }
    SPYRE_ASSIGN_OR_RETURN(JsonReader field, object.field("index"));
    SPYRE_ASSIGN_OR_RETURN(JsonMembers members, field.eachMember());
    tensor.index.assign(op.dims.size(), 0);
    for (const auto [key, value] : members) {
      SPYRE_ASSIGN_OR_RETURN(int dim, dimNamed(std::string(key), field));
      SPYRE_ASSIGN_OR_RETURN(tensor.index[size_t(dim)], value.asInt(0, kMaxCount));
    }
    return Status::success();
  }

  Op &op;
};

bool isOwnNumber(int code) { return code >= 3060 && code <= 3079; }

} // namespace

static Status readOps(const std::string &text, std::vector<Op> &ops) {
  SPYRE_ASSIGN_OR_RETURN(JsonDocument document, JsonDocument::parse(text, kMaxTextBytes));
  JsonReader root(document);
  SPYRE_RETURN_IF_ERROR(root.onlyFields({"version", "ops"}));
  SPYRE_ASSIGN_OR_RETURN(JsonReader version, root.field("version"));
  SPYRE_ASSIGN_OR_RETURN(int64_t number, version.asInt(1, 1));
  (void)number;
  SPYRE_ASSIGN_OR_RETURN(JsonReader list, root.field("ops"));
  SPYRE_ASSIGN_OR_RETURN(JsonElements elements, list.eachElement());
  if (elements.size() > kMaxOps) {
    return error<3073>("$.ops: {} operations; at most {} are read", elements.size(), kMaxOps);
  }
  for (const JsonReader &element : elements) {
    ops.emplace_back();
    SPYRE_RETURN_IF_ERROR(OpReader(ops.back()).read(element));
    SPYRE_RETURN_IF_ERROR(checkOp(ops.back()));
  }
  return Status::success();
}

Expected<std::vector<Op>> readProblem(const std::string &text) {
  std::vector<Op> ops;
  Status status = readOps(text, ops);
  if (status.ok()) {
    return ops;
  }
  return isOwnNumber(status.code()) ? status : error<3073>("problem file: {}", status.text());
}

//===- Writer -------------------------------------------------------------------------------===//

static Json dimJson(const Dim &dim) {
  const Dim usual;
  Json json = {{"name", dim.name}, {"extent", dim.extent}};
  auto put = [&](const char *key, const auto &value, const auto &otherwise) {
    if (value != otherwise) {
      json[key] = value;
    }
  };
  put("reduced", dim.reduced, usual.reduced);
  put("granularity", dim.granularity, usual.granularity);
  put("hint", dim.hint, usual.hint);
  put("tiles", dim.tiles, usual.tiles);
  put("walked", dim.walked, usual.walked);
  put("requiredSplit", dim.requiredSplit, usual.requiredSplit);
  put("segments", dim.segments, usual.segments);
  put("role", std::string(roleName(dim.role)), std::string(roleName(usual.role)));
  return json;
}

static Json termJson(const Op &op, const Term &term) {
  Json json = {{"dim", op.dims[size_t(term.dim)].name}};
  if (term.step != 1) {
    json["step"] = term.step;
  }
  if (term.wrap != 0) {
    json["wrap"] = term.wrap;
  }
  if (term.divisor != 1) {
    json["divisor"] = term.divisor;
  }
  return json;
}

static Json tensorJson(const Op &op, const Tensor &tensor) {
  Json json = {{"name", tensor.name}, {"deviceSize", tensor.deviceSize}};
  Json coordinates = Json::array(), offsets = Json::array();
  bool moved = false;
  for (const Coordinate &coordinate : tensor.coordinates) {
    Json terms = Json::array();
    for (const Term &term : coordinate.terms) {
      terms.push_back(termJson(op, term));
    }
    coordinates.push_back(terms);
    offsets.push_back(coordinate.offset);
    moved = moved || coordinate.offset != 0;
  }
  json["coordinates"] = coordinates;
  if (moved) {
    json["offsets"] = offsets;
  }
  if (!tensor.index.empty()) {
    Json index = Json::object();
    for (size_t d = 0; d < tensor.index.size(); ++d) {
      if (tensor.index[d] != 0) {
        index[op.dims[d].name] = tensor.index[d];
      }
    }
    json["index"] = index;
  }
  if (tensor.hostItemBytes != 0) {
    json["hostItemBytes"] = tensor.hostItemBytes;
  }
  for (auto [key, flag] : {std::pair("output", tensor.output),
                           {"growable", tensor.growable},
                           {"directRead", tensor.directRead},
                           {"staggered", tensor.staggered},
                           {"sharesSticks", tensor.sharesSticks}}) {
    if (flag) {
      json[key] = true;
    }
  }
  if (tensor.access != Access::Direct) {
    json["access"] = kAccessNames[int(tensor.access)];
  }
  return json;
}

std::string writeProblem(const std::vector<Op> &ops) {
  Json list = Json::array();
  for (const Op &op : ops) {
    Json json = {{"name", op.name}, {"kind", kindName(op.kind)}};
    json["dims"] = Json::array();
    for (const Dim &dim : op.dims) {
      json["dims"].push_back(dimJson(dim));
    }
    json["tensors"] = Json::array();
    for (const Tensor &tensor : op.tensors) {
      json["tensors"].push_back(tensorJson(op, tensor));
    }
    const Op usual;
    if (op.operations != usual.operations) {
      json["operations"] = op.operations;
    }
    if (op.windowStride != usual.windowStride) {
      json["windowStride"] = op.windowStride;
    }
    if (op.loopTrips != usual.loopTrips) {
      json["loopTrips"] = op.loopTrips;
    }
    if (op.tileCopy) {
      json["tileCopy"] = true;
    }
    list.push_back(json);
  }
  Json root = {{"version", 1}, {"ops", list}};
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace spyre::solver::division
