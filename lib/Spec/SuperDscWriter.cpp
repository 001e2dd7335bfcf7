//===- SuperDscWriter.cpp - SuperDsc -> JSON ------------------------------------------------===//
//
// Field names, order and constants are those of codegen-and-backend 2.2-2.7; consumers of the
// documented interface compare text, so nothing here is free to change.
//===--------------------------------------------------------------------------------------------===//
#include "SuperDscWriter.h"

#include "SuperDscSticks.h"

#include <algorithm>
#include <charconv>

namespace spyre::spec {

namespace {

/// Ends of {"factor_": 32, "label_": "core"}: these small objects are half of the text.
constexpr std::string_view kCore = ", \"label_\": \"core\"}";
constexpr std::string_view kCorelet = ", \"label_\": \"corelet\"}";
constexpr std::string_view kTime = ", \"label_\": \"time\"}";
constexpr std::string_view kCoreFold = ", \"label_\": \"core_fold\"}";
constexpr std::string_view kCoreletFold = ", \"label_\": \"corelet_fold\"}";
constexpr std::string_view kRowFold = ", \"label_\": \"row_fold\"}";

void factor(JsonWriter &out, int64_t count, std::string_view label) {
  out.raw("{\"factor_\": ", count, label);
}

void affine(JsonWriter &out, int64_t alpha) {
  out.raw("{\"Affine\": {\"alpha_\": ", alpha, ", \"beta_\": 0}}");
}

constexpr std::string_view kMapFold = "{\"Map\": {}}", kConstFold = "{\"Const\": {}}";

/// Entries by key, each once: the last one with a key, where the first one is. What a verifier has
/// seen has no two.
template <typename Entries, typename KeyOf, typename Fn>
void forEachKey(const Entries &entries, KeyOf keyOf, Fn write) {
  auto isRepeated = [&](const auto &entry) {
    return std::any_of(entries.data(), &entry,
                       [&](const auto &other) { return keyOf(other) == keyOf(entry); });
  };
  if (std::none_of(entries.begin(), entries.end(), isRepeated)) {
    std::for_each(entries.begin(), entries.end(), write);
    return;
  }
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    auto isSame = [&](const auto &other) { return keyOf(other) == keyOf(*entry); };
    if (isRepeated(*entry)) {
      continue;
    }
    auto last = entry;
    for (auto other = entry; other != entries.end(); ++other) {
      last = isSame(*other) ? other : last;
    }
    write(*last);
  }
}

constexpr auto kDimOf = [](const auto &entry) -> const std::string & { return entry.first; };
constexpr auto kItself = [](const std::string &entry) -> const std::string & { return entry; };

template <typename T>
void dimObject(JsonWriter &out, const DimMap<T> &map, const char *name, const char *suffix) {
  out.beginObject();
  if (name) {
    out.key("name_").value(name);
  }
  forEachKey(map, kDimOf, [&](const auto &entry) {
    if (*suffix) {
      out.key(entry.first + suffix);
    } else {
      out.key(entry.first);
    }
    out.value(int64_t(entry.second));
  });
  out.end();
}

template <typename Range>
void strings(JsonWriter &out, const Range &values) {
  out.beginArray();
  for (const std::string &value : values) {
    out.value(value);
  }
  out.end();
}

/// (core, corelet, time) attributes of start addresses and constants.
void threeFactors(JsonWriter &out, int64_t cores) {
  out.beginArray();
  factor(out, cores, kCore);
  factor(out, 1, kCorelet);
  factor(out, 1, kTime);
  out.end();
}

/// Short texts of numbers, without an allocation each.
class Digits {
public:
  explicit Digits(int64_t number)
      : size(size_t(std::to_chars(text, text + sizeof text, number).ptr - text)) {}
  operator std::string_view() const { return {text, size}; }

private:
  char text[24];
  size_t size;
};

template <typename Fn>
void perCore(JsonWriter &out, int64_t cores, Fn &&value) {
  out.beginObject();
  for (int64_t core = 0; core < cores; ++core) {
    out.numberKey(core);
    value(core);
  }
  out.end();
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
void coordInfo(JsonWriter &out, const SuperDsc &dsc, const DscTensor &tensor,
               const DscLayout &layout, const std::string &dim) {
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
  /// (step, count, number): whole sticks, then the parts of one stick, outer to inner.
  auto forEachElement = [&](auto &&write) {
    if (!isStick) {
      write(int64_t(1), size, size_t(0));
      return;
    }
    write(lanes, sparse ? int64_t(1) : std::max<int64_t>(size / lanes, 1), parts.size());
    for (size_t i = parts.size(), inside = size_t(lanes); i-- > 0;) {
      inside /= size_t(parts[i]);
      write(sparse && i == 0 ? int64_t(0) : int64_t(inside), parts[i], i);
    }
  };
  out.beginObject().key("spatial").value(int64_t(3)).key("temporal").value(int64_t(0));
  out.key("elemArr").value(int64_t(parts.size() + 1)).key("padding").value("nopad");
  out.key("folds").beginObject().key("dim_prop_func").beginArray();
  affine(out, sparse ? lanes : size);
  affine(out, 0);
  affine(out, 0);
  forEachElement([&](int64_t alpha, int64_t, size_t) { affine(out, alpha); });
  out.end().key("dim_prop_attr").beginArray();
  factor(out, sparse ? 1 : slices, kCoreFold);
  factor(out, 1, kCoreletFold);
  factor(out, 1, kRowFold);
  std::string label;
  forEachElement([&](int64_t, int64_t count, size_t number) {
    label = ", \"label_\": \"elem_arr_";
    label += Digits(int64_t(number));
    factor(out, count, label += "\"}");
  });
  out.end().end().end();
}

void backGaps(JsonWriter &out, const SuperDsc &dsc, const DscTensor &tensor) {
  out.beginObject();
  forEachKey(tensor.backGap, kDimOf, [&](const auto &entry) {
    out.key(entry.first);
    if (tensor.inLx) {
      perCore(out, dsc.cores, [&](int64_t) { out.numberText(entry.second); });
    } else {
      out.beginObject().key("-1").numberText(entry.second).end();
    }
  });
  out.end();
}

std::string nodeName(const DscTensor &tensor) {
  return "allocate-" + tensor.name + (tensor.inLx ? "_lx" : "_hbm");
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

void maxDimSizes(JsonWriter &out, const DscTensor &tensor, const DscLayout &layout) {
  out.beginArray();
  for (const std::string &dim : layout.dimOrder) {
    const bool isIndirect = std::find(tensor.indirectDims.begin(), tensor.indirectDims.end(),
                                      dim) != tensor.indirectDims.end();
    out.value(int64_t(isIndirect ? 1 : -1));
  }
  out.end();
}

void startAddresses(JsonWriter &out, const SuperDsc &dsc, const DscTensor &tensor) {
  out.beginObject().key("dim_prop_func").beginArray();
  out.raw(kMapFold);
  out.raw(kConstFold);
  out.raw(kConstFold);
  out.end().key("dim_prop_attr");
  threeFactors(out, dsc.cores);
  out.key("data_").beginObject();
  for (size_t core = 0; core < tensor.startAddress.size(); ++core) {
    out.numberKey(int64_t(core), "[", ", 0, 0]");
    out.numberText(tensor.startAddress[core]);
  }
  out.end().end();
}

void allocateNode(JsonWriter &out, const SuperDsc &dsc, size_t index, const DscLayout &layout) {
  const DscTensor &tensor = dsc.tensors[index];
  out.beginObject().key("nodeType_").value("allocate").key("name_").value(nodeName(tensor));
  out.key("prev_").value("").key("ldsIdx_").value(int64_t(index));
  out.key("component_").value(tensor.inLx ? "lx" : "hbm");
  if (tensor.symbolic) {
    out.key("isStartAddrSymbolic_").value(int64_t(1));
  }
  out.key("layoutDimOrder_");
  strings(out, tensor.dimOrder);
  out.key("maxDimSizes_");
  maxDimSizes(out, tensor, layout);
  out.key("indirectAllocType_").value(indirectionName(tensor.indirection));
  if (tensor.indirection != DscTensor::Indirection::None) {
    out.key("relatedIndirectAccessAlloc_").value(partnerName(dsc, tensor));
  }
  if (tensor.indirection == DscTensor::Indirection::Index) {
    out.key("indexTensorType_").value(tensor.holdsAddresses ? "address" : "index");
  }
  out.key("startAddressCoreCorelet_");
  startAddresses(out, dsc, tensor);
  if (!tensor.backGap.empty()) {
    out.key("backGapCore_");
    backGaps(out, dsc, tensor);
  }
  out.key("coordinates_").beginObject().key("coordInfo").beginObject();
  forEachKey(layout.dimOrder, kItself, [&](const std::string &dim) {
    out.key(dim);
    coordInfo(out, dsc, tensor, layout, dim);
  });
  out.end().key("coreIdToWkSlice_");
  perCore(out, int64_t(tensor.ownerSlice.size()),
          [&](int64_t core) { dimObject(out, tensor.ownerSlice[size_t(core)], nullptr, ""); });
  out.end().end();
}

void labeledDs(JsonWriter &out, const SuperDsc &dsc, size_t index) {
  const DscTensor &tensor = dsc.tensors[index];
  out.beginObject().key("ldsIdx_").value(int64_t(index)).key("dsName_").value(tensor.name);
  out.key("dsType_").value(tensor.layout).key("scale_").beginArray();
  for (const auto &entry : tensor.scale) {
    out.value(int64_t(entry.second));
  }
  out.end().key("wordLength").real(wordLengthBytes(tensor.format));
  out.key("dataFormat_").value(numerics::formatName(tensor.format));
  out.key("memOrg_").beginObject();
  auto present = [&](const char *where) {
    out.key(where).beginObject().key("isPresent").value(int64_t(1)).end();
  };
  if (!tensor.inLx) {
    present("hbm");
  }
  // Indices are read where they lie.
  if (tensor.inLx || tensor.indirection != DscTensor::Indirection::Index) {
    present("lx");
  }
  out.end().end();
}

void constantInfo(JsonWriter &out, const SuperDsc &dsc) {
  if (dsc.constants.empty()) {
    out.value("{}"); // The documented writer prints an empty object as a string.
    return;
  }
  out.beginObject();
  for (size_t i = 0; i < dsc.constants.size(); ++i) {
    const DscConstant &constant = dsc.constants[i];
    out.numberKey(int64_t(i)).beginObject();
    out.key("dataFormat_").value(numerics::formatName(constant.format));
    out.key("name_").value(constant.name);
    out.key("data_").beginObject().key("dim_prop_func").beginArray();
    out.raw(kConstFold);
    out.raw(kConstFold);
    out.raw(kMapFold);
    out.end().key("dim_prop_attr");
    threeFactors(out, dsc.cores);
    out.key("data_").beginObject().key("[0, 0, 0]").beginArray();
    out.value(int64_t(constant.bits)).end().end().end().end();
  }
  out.end();
}

void computeOp(JsonWriter &out, const SuperDsc &dsc) {
  auto operand = [&](int64_t index) {
    const bool known = index >= 0 && size_t(index) < dsc.tensors.size();
    out.value(fmt::format("{}-idx{}", known ? dsc.tensors[size_t(index)].name : "Tensor", index));
  };
  auto operands = [&](const char *name, const auto &indices) {
    out.key(name).beginArray();
    for (int64_t index : indices) {
      operand(index);
    }
    out.end();
  };
  out.beginObject().key("exUnit").value(dsc.exUnit).key("opFuncName").value(dsc.op);
  out.key("attributes_").beginObject();
  out.key("dataFormat_").value(numerics::formatName(dsc.format));
  out.key("fidelity_").value("regular").end();
  out.key("location").value("Inner");
  operands("inputLabeledDs", dsc.inputs);
  operands("outputLabeledDs", std::vector<int64_t>{dsc.output});
  if (!dsc.indexTensors.empty()) {
    operands("indirectAccessIndexLabeledDs", dsc.indexTensors);
  }
  out.end();
}

void layoutsObject(JsonWriter &out, const SuperDsc &dsc) {
  out.beginObject();
  auto labelOf = [](const DscLayout &layout) -> const std::string & { return layout.label; };
  forEachKey(dsc.layouts, labelOf, [&](const DscLayout &layout) {
    out.key(layout.label).beginObject().key("layoutDimOrder_");
    strings(out, layout.dimOrder);
    out.key("stickDimOrder_");
    strings(out, layout.stickDims);
    out.key("stickSize_").beginArray();
    for (int64_t size : layout.stickSizes) {
      out.value(size);
    }
    out.end().end();
  });
  out.end();
}

void masking(JsonWriter &out, const SuperDsc &dsc) {
  out.beginObject();
  forEachKey(dsc.masking, kDimOf, [&](const auto &entry) {
    out.key(entry.first).beginArray().beginArray();
    out.value(int64_t(entry.second.first)).value(int64_t(entry.second.second)).end().end();
  });
  out.end();
}

/// \p coreIds are those of \p dsc when it is one part of uneven work; else nullptr.
void designSpaceConfig(JsonWriter &out, const SuperDsc &dsc, const std::vector<int64_t> *coreIds) {
  static const DscLayout kNoLayout;
  out.beginObject().key("numCoresUsed_").value(dsc.cores);
  out.key("numCoreletsUsed_").value(int64_t(1)).key("coreIdsUsed_").beginArray();
  for (int64_t core = 0; core < dsc.cores; ++core) {
    out.value(coreIds ? (*coreIds)[size_t(core)] : core);
  }
  out.end().key("N_");
  dimObject(out, dsc.size, "n", "_");
  out.key("coordinateMasking_");
  masking(out, dsc);
  out.key("maskingConstId_").value(int64_t(dsc.masking.empty() ? -1 : 0));
  out.key("dataStageParam_").beginObject().key("0").beginObject();
  for (const char *stage : {"ss_", "el_"}) {
    out.key(stage);
    dimObject(out, dsc.perCoreSize, "core", "_");
  }
  out.end().end().key("primaryDsInfo_");
  layoutsObject(out, dsc);
  out.key("scheduleTree_").beginArray();
  for (size_t i = 0; i < dsc.tensors.size(); ++i) {
    auto layout = std::find_if(dsc.layouts.begin(), dsc.layouts.end(), [&](const DscLayout &l) {
      return l.label == dsc.tensors[i].layout;
    });
    allocateNode(out, dsc, i, layout == dsc.layouts.end() ? kNoLayout : *layout);
  }
  out.end().key("labeledDs_").beginArray();
  for (size_t i = 0; i < dsc.tensors.size(); ++i) {
    labeledDs(out, dsc, i);
  }
  out.end().key("constantInfo_");
  constantInfo(out, dsc);
  out.key("computeOp_").beginArray();
  computeOp(out, dsc);
  out.end().end();
}

void foldProperties(JsonWriter &out, const SuperDsc &dsc) {
  out.key("sdscFoldProps_").beginArray();
  factor(out, 1, kTime);
  out.end().key("sdscFolds_").beginObject().key("dim_prop_func").beginArray();
  affine(out, 1);
  out.end().key("dim_prop_attr").beginArray();
  factor(out, 1, kTime);
  out.end().key("data_").beginObject().key("[0]").value("0").end().end();
  out.key("coreFoldProp_");
  factor(out, dsc.cores, kCore);
  out.key("coreletFoldProp_");
  factor(out, 1, kCorelet);
}

/// Entry of dscs_ that core \p core of uneven work runs.
int64_t partOfCore(const SuperDsc &dsc, int64_t core) {
  const int64_t *slice = findDim(dsc.coreSlice[size_t(core)], dsc.uneven.dim);
  return slice && *slice >= dsc.uneven.largeSlices ? 1 : 0;
}

} // namespace

std::string writeSuperDsc(const SuperDsc &dsc) {
  JsonWriter out(kSuperDscInlineChars);
  return writeSuperDsc(dsc, out);
}

std::string writeSuperDsc(const SuperDsc &dsc, JsonWriter &out) {
  out.clear();
  out.beginObject().key(fmt::format("{}_{}", dsc.index, dsc.op)).beginObject();
  foldProperties(out, dsc);
  out.key("numCoresUsed_").value(dsc.cores).key("coreIdToDsc_");
  static const std::vector<std::vector<int64_t>> kOnePart(1);
  const bool isUneven = !dsc.uneven.dim.empty() && int64_t(dsc.coreSlice.size()) == dsc.cores;
  perCore(out, dsc.cores, [&](int64_t core) { out.value(isUneven ? partOfCore(dsc, core) : 0); });
  out.key("numWkSlicesPerDim_");
  dimObject(out, dsc.slices, nullptr, "");
  out.key("coreIdToWkSlice_");
  static const DimMap<int64_t> kNoSlices;
  perCore(out, dsc.cores, [&](int64_t core) {
    const bool known = size_t(core) < dsc.coreSlice.size();
    dimObject(out, known ? dsc.coreSlice[size_t(core)] : kNoSlices, nullptr, "");
  });
  out.key("coreIdToDscSchedule");
  perCore(out, dsc.cores, [&](int64_t) { out.raw("[[-1, 0, 0, 0]]"); });
  out.key("dscs_").beginArray();
  const std::vector<std::vector<int64_t>> coreIds = isUneven ? partCores(dsc) : kOnePart;
  for (size_t i = 0; i < coreIds.size(); ++i) {
    out.beginObject().key(dsc.op);
    designSpaceConfig(out, isUneven ? partsOf(dsc)[i] : dsc, isUneven ? &coreIds[i] : nullptr);
    out.end();
  }
  out.end().end().end();
  return out.print(/*indentColumns=*/1);
}

} // namespace spyre::spec
