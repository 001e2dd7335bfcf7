//===- SuperDscWriter.cpp - SuperDsc -> JSON ------------------------------------------------===//
//
// Field names, order and constants are those of codegen-and-backend 2.2-2.7; consumers of the
// documented interface compare text, so nothing here is free to change.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/SuperDsc.h"

#include "JsonText.h"

#include <algorithm>

namespace spyre::spec {

namespace {

Json factor(int64_t count, const char *label) { return {{"factor_", count}, {"label_", label}}; }

Json affine(int64_t alpha) { return {{"Affine", {{"alpha_", alpha}, {"beta_", 0}}}}; }

Json mapFold() { return {{"Map", Json::object()}}; }
Json constFold() { return {{"Const", Json::object()}}; }

template <typename T>
Json dimObject(const DimMap<T> &map, const char *name, const char *suffix) {
  Json out = Json::object();
  if (name) {
    out["name_"] = name;
  }
  for (const auto &[dim, value] : map) {
    out[dim + suffix] = value;
  }
  return out;
}

/// (core, corelet, time) attributes of start addresses and constants.
Json threeFactors(int64_t cores) {
  return Json::array({factor(cores, "core"), factor(1, "corelet"), factor(1, "time")});
}

template <typename Fn>
Json perCore(int64_t cores, Fn &&value) {
  Json out = Json::object();
  for (int64_t core = 0; core < cores; ++core) {
    out[std::to_string(core)] = value(core);
  }
  return out;
}

int64_t valueOr(const DimMap<int64_t> &map, const std::string &dim, int64_t fallback) {
  const int64_t *found = findDim(map, dim);
  return found ? *found : fallback;
}

/// Elements of \p dim in the parts of a stick, inner to outer; empty when it is not in the stick.
std::vector<int64_t> stickParts(const DscLayout &layout, const std::string &dim) {
  // The writer prints any struct, also one no verifier has seen.
  constexpr int64_t kMaxLanes = 1024;
  std::vector<int64_t> parts;
  int64_t lanes = 1;
  for (size_t i = 0; i < layout.stickDims.size() && i < layout.stickSizes.size(); ++i) {
    if (layout.stickDims[i] == dim) {
      parts.push_back(std::clamp<int64_t>(layout.stickSizes[i], 1, kMaxLanes / lanes));
      lanes *= parts.back();
    }
  }
  return parts;
}

/// How the elements of one dim are spread over cores and sticks [spec: codegen-and-backend 2.4].
Json coordInfo(const SuperDsc &dsc, const DscTensor &tensor, const DscLayout &layout,
               const std::string &dim) {
  const int64_t scale = valueOr(tensor.scale, dim, 1);
  const int64_t slices = scale == 1 ? slicesOf(dsc, tensor, dim) : 1;
  const int64_t size = scale != 1                  ? 1
                       : tensor.ownerSlice.empty() ? valueOr(dsc.perCoreSize, dim, 1)
                                                   : valueOr(dsc.size, dim, 1) / slices;
  const std::vector<int64_t> parts = stickParts(layout, dim);
  const bool isStick = !parts.empty();
  const bool sparse = isStick && scale == -2;
  int64_t lanes = 1;
  for (int64_t part : parts) {
    lanes *= part;
  }

  Json functions = {affine(sparse ? lanes : size), affine(0), affine(0)};
  Json factors = {factor(sparse ? 1 : slices, "core_fold"), factor(1, "corelet_fold"),
                  factor(1, "row_fold")};
  // Whole sticks, then the parts of one stick, outer to inner.
  auto addElements = [&](int64_t alpha, int64_t count, size_t number) {
    functions.push_back(affine(alpha));
    factors.push_back(factor(count, fmt::format("elem_arr_{}", number).c_str()));
  };
  if (isStick) {
    addElements(lanes, sparse ? 1 : std::max<int64_t>(size / lanes, 1), parts.size());
  }
  for (size_t i = parts.size(), inside = size_t(lanes); i-- > 0;) {
    inside /= size_t(parts[i]);
    addElements(sparse && i == 0 ? 0 : int64_t(inside), parts[i], i);
  }
  if (!isStick) {
    addElements(1, size, 0);
  }
  return {{"spatial", 3},
          {"temporal", 0},
          {"elemArr", parts.size() + 1},
          {"padding", "nopad"},
          {"folds", {{"dim_prop_func", functions}, {"dim_prop_attr", factors}}}};
}

Json backGaps(const SuperDsc &dsc, const DscTensor &tensor) {
  Json out = Json::object();
  for (const auto &[dim, gap] : tensor.backGap) {
    const std::string text = std::to_string(gap);
    out[dim] =
        tensor.inLx ? perCore(dsc.cores, [&](int64_t) { return Json(text); }) : Json{{"-1", text}};
  }
  return out;
}

std::string nodeName(const DscTensor &tensor) {
  return fmt::format("allocate-{}_{}", tensor.name, tensor.inLx ? "lx" : "hbm");
}

const char *indirectionName(DscTensor::Indirection indirection) {
  switch (indirection) {
  case DscTensor::Indirection::Index:
    return "index_tensor";
  case DscTensor::Indirection::Value:
    return "value_tensor";
  case DscTensor::Indirection::None:
    break;
  }
  return "no_indirection";
}

std::string partnerName(const SuperDsc &dsc, const DscTensor &tensor) {
  const bool known =
      tensor.indirectPartner >= 0 && size_t(tensor.indirectPartner) < dsc.tensors.size();
  return known ? nodeName(dsc.tensors[size_t(tensor.indirectPartner)]) : "";
}

Json maxDimSizes(const DscTensor &tensor, const DscLayout &layout) {
  Json out = Json::array();
  for (const std::string &dim : layout.dimOrder) {
    const bool isIndirect = std::find(tensor.indirectDims.begin(), tensor.indirectDims.end(),
                                      dim) != tensor.indirectDims.end();
    out.push_back(isIndirect ? 1 : -1);
  }
  return out;
}

Json allocateNode(const SuperDsc &dsc, size_t index, const DscLayout &layout) {
  const DscTensor &tensor = dsc.tensors[index];
  const char *component = tensor.inLx ? "lx" : "hbm";
  Json starts = Json::object();
  for (size_t core = 0; core < tensor.startAddress.size(); ++core) {
    starts[fmt::format("[{}, 0, 0]", core)] = std::to_string(tensor.startAddress[core]);
  }
  Json coordinates = Json::object();
  for (const std::string &dim : layout.dimOrder) {
    coordinates[dim] = coordInfo(dsc, tensor, layout, dim);
  }
  Json node = Json::object();
  node["nodeType_"] = "allocate";
  node["name_"] = nodeName(tensor);
  node["prev_"] = "";
  node["ldsIdx_"] = index;
  node["component_"] = component;
  if (tensor.symbolic) {
    node["isStartAddrSymbolic_"] = 1;
  }
  node["layoutDimOrder_"] = tensor.dimOrder;
  node["maxDimSizes_"] = maxDimSizes(tensor, layout);
  node["indirectAllocType_"] = indirectionName(tensor.indirection);
  if (tensor.indirection != DscTensor::Indirection::None) {
    node["relatedIndirectAccessAlloc_"] = partnerName(dsc, tensor);
  }
  if (tensor.indirection == DscTensor::Indirection::Index) {
    node["indexTensorType_"] = tensor.holdsAddresses ? "address" : "index";
  }
  node["startAddressCoreCorelet_"] = {
      {"dim_prop_func", Json::array({mapFold(), constFold(), constFold()})},
      {"dim_prop_attr", threeFactors(dsc.cores)},
      {"data_", starts}};
  if (!tensor.backGap.empty()) {
    node["backGapCore_"] = backGaps(dsc, tensor);
  }
  Json owners = Json::object();
  for (size_t core = 0; core < tensor.ownerSlice.size(); ++core) {
    owners[std::to_string(core)] = dimObject(tensor.ownerSlice[core], nullptr, "");
  }
  node["coordinates_"] = {{"coordInfo", coordinates}, {"coreIdToWkSlice_", owners}};
  return node;
}

Json labeledDs(const SuperDsc &dsc, size_t index) {
  const DscTensor &tensor = dsc.tensors[index];
  Json scale = Json::array();
  for (const auto &entry : tensor.scale) {
    scale.push_back(entry.second);
  }
  const Json present = {{"isPresent", 1}};
  Json memory = Json::object();
  if (!tensor.inLx) {
    memory["hbm"] = present;
  }
  // Indices are read where they lie.
  if (tensor.inLx || tensor.indirection != DscTensor::Indirection::Index) {
    memory["lx"] = present;
  }
  return {{"ldsIdx_", index},
          {"dsName_", tensor.name},
          {"dsType_", tensor.layout},
          {"scale_", scale},
          {"wordLength", numerics::elementBytes(tensor.format)},
          {"dataFormat_", numerics::formatName(tensor.format)},
          {"memOrg_", memory}};
}

Json constantInfo(const SuperDsc &dsc) {
  if (dsc.constants.empty()) {
    return "{}"; // The documented writer prints an empty object as a string.
  }
  Json out = Json::object();
  for (size_t i = 0; i < dsc.constants.size(); ++i) {
    const DscConstant &constant = dsc.constants[i];
    Json data = {{"dim_prop_func", Json::array({constFold(), constFold(), mapFold()})},
                 {"dim_prop_attr", threeFactors(dsc.cores)},
                 {"data_", {{"[0, 0, 0]", Json::array({constant.bits})}}}};
    out[std::to_string(i)] = {{"dataFormat_", numerics::formatName(constant.format)},
                              {"name_", constant.name},
                              {"data_", data}};
  }
  return out;
}

Json computeOp(const SuperDsc &dsc) {
  auto operand = [&](int64_t index) {
    const bool known = index >= 0 && size_t(index) < dsc.tensors.size();
    return fmt::format("{}-idx{}", known ? dsc.tensors[size_t(index)].name : "Tensor", index);
  };
  Json inputs = Json::array();
  for (int64_t index : dsc.inputs) {
    inputs.push_back(operand(index));
  }
  Json out = {{"exUnit", dsc.exUnit},
              {"opFuncName", dsc.op},
              {"attributes_",
               {{"dataFormat_", numerics::formatName(dsc.format)}, {"fidelity_", "regular"}}},
              {"location", "Inner"},
              {"inputLabeledDs", inputs},
              {"outputLabeledDs", Json::array({operand(dsc.output)})}};
  if (!dsc.indexTensors.empty()) {
    Json indices = Json::array();
    for (int64_t index : dsc.indexTensors) {
      indices.push_back(operand(index));
    }
    out["indirectAccessIndexLabeledDs"] = std::move(indices);
  }
  return out;
}

Json layoutsObject(const SuperDsc &dsc) {
  Json out = Json::object();
  for (const DscLayout &layout : dsc.layouts) {
    out[layout.label] = {{"layoutDimOrder_", layout.dimOrder},
                         {"stickDimOrder_", layout.stickDims},
                         {"stickSize_", layout.stickSizes}};
  }
  return out;
}

Json designSpaceConfig(const SuperDsc &dsc) {
  Json masking = Json::object();
  for (const auto &[dim, range] : dsc.masking) {
    masking[dim] = Json::array({Json::array({range.first, range.second})});
  }
  Json coreIds = Json::array();
  for (int64_t core = 0; core < dsc.cores; ++core) {
    coreIds.push_back(core);
  }
  const Json stage = dimObject(dsc.perCoreSize, "core", "_");
  Json nodes = Json::array(), tensors = Json::array();
  static const DscLayout kNoLayout;
  for (size_t i = 0; i < dsc.tensors.size(); ++i) {
    auto layout = std::find_if(dsc.layouts.begin(), dsc.layouts.end(), [&](const DscLayout &l) {
      return l.label == dsc.tensors[i].layout;
    });
    nodes.push_back(allocateNode(dsc, i, layout == dsc.layouts.end() ? kNoLayout : *layout));
    tensors.push_back(labeledDs(dsc, i));
  }
  Json out = Json::object();
  out["numCoresUsed_"] = dsc.cores;
  out["numCoreletsUsed_"] = 1;
  out["coreIdsUsed_"] = coreIds;
  out["N_"] = dimObject(dsc.size, "n", "_");
  out["coordinateMasking_"] = masking;
  out["maskingConstId_"] = dsc.masking.empty() ? -1 : 0;
  out["dataStageParam_"] = {{"0", {{"ss_", stage}, {"el_", stage}}}};
  out["primaryDsInfo_"] = layoutsObject(dsc);
  out["scheduleTree_"] = nodes;
  out["labeledDs_"] = tensors;
  out["constantInfo_"] = constantInfo(dsc);
  out["computeOp_"] = Json::array({computeOp(dsc)});
  return out;
}

} // namespace

std::string writeSuperDsc(const SuperDsc &dsc) {
  const Json time = factor(1, "time");
  Json body = Json::object();
  body["sdscFoldProps_"] = Json::array({time});
  body["sdscFolds_"] = {{"dim_prop_func", Json::array({affine(1)})},
                        {"dim_prop_attr", Json::array({time})},
                        {"data_", {{"[0]", "0"}}}};
  body["coreFoldProp_"] = factor(dsc.cores, "core");
  body["coreletFoldProp_"] = factor(1, "corelet");
  body["numCoresUsed_"] = dsc.cores;
  body["coreIdToDsc_"] = perCore(dsc.cores, [](int64_t) { return Json(0); });
  body["numWkSlicesPerDim_"] = dimObject(dsc.slices, nullptr, "");
  body["coreIdToWkSlice_"] = perCore(dsc.cores, [&](int64_t core) {
    return size_t(core) < dsc.coreSlice.size() ? dimObject(dsc.coreSlice[size_t(core)], nullptr, "")
                                               : Json::object();
  });
  body["coreIdToDscSchedule"] =
      perCore(dsc.cores, [](int64_t) { return Json::array({Json::array({-1, 0, 0, 0})}); });
  body["dscs_"] = Json::array({Json{{dsc.op, designSpaceConfig(dsc)}}});
  const Json file = {{fmt::format("{}_{}", dsc.index, dsc.op), body}};
  return printJson(file, /*indentColumns=*/1, /*inlineChars=*/240);
}

} // namespace spyre::spec
