//===- SuperDscReader.cpp - JSON -> SuperDsc ------------------------------------------------===//
//
// Strict: a field nobody knows is refused, since ignoring it could change what the operation means.
// Fields whose content follows from others (folds, coordinates) are checked against it. Allocate
// nodes are read in SuperDscNodes.cpp. [spec: codegen-and-backend 2.2-2.7]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/SuperDsc.h"

#include "SuperDscFields.h"
#include "SuperDscSticks.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace spyre::spec {

namespace {

/// [[-1, 0, 0, 0]]; its numbers are documented nowhere, this is what everybody writes.
bool isUsualSchedule(const JsonReader &value) {
  if (!value.isArray() || value.size() != 1) {
    return false;
  }
  const Expected<JsonElements> row = value.element(0)->eachElement();
  if (!row.ok() || row->size() != 4) {
    return false;
  }
  double expected = -1;
  for (const JsonReader &entry : *row) {
    const Expected<double> number = entry.asNumber();
    if (!number.ok() || *number != expected) {
      return false;
    }
    expected = 0;
  }
  return true;
}

class Reader {
public:
  Expected<SuperDsc> run(const JsonReader &file) {
    SPYRE_ASSIGN_OR_RETURN(auto members, file.members());
    if (members.size() != 1) {
      return fault(file, "{} entries; a SuperDSC has one, \"<index>_<op>\"", members.size());
    }
    const auto &[title, body] = members.front();
    const size_t cut = title.find('_');
    if (cut == std::string::npos || cut + 1 == title.size() || title.size() > 160) {
      return fault(body, "the name must be \"<index>_<op>\"");
    }
    SPYRE_ASSIGN_OR_RETURN(dsc.index, parseId(body, title.substr(0, cut)));
    dsc.op = title.substr(cut + 1);
    SPYRE_RETURN_IF_ERROR(readBody(body));
    return std::move(dsc);
  }

private:
  Status readBody(const JsonReader &body) {
    SPYRE_RETURN_IF_ERROR(
        body.onlyFields({"sdscFoldProps_", "sdscFolds_", "coreFoldProp_", "coreletFoldProp_",
                         "numCoresUsed_", "coreIdToDsc_", "numWkSlicesPerDim_", "coreIdToWkSlice_",
                         "coreIdToDscSchedule", "dscs_"}));
    SPYRE_ASSIGN_OR_RETURN(dsc.cores, intField(body, "numCoresUsed_", 1, kMaxCores));
    SPYRE_RETURN_IF_ERROR(readTopFolds(body));
    SPYRE_RETURN_IF_ERROR(readPerCore(body, "coreIdToDsc_", dsc.cores,
                                      [&](int64_t core, const JsonReader &value) -> Status {
                                        SPYRE_ASSIGN_OR_RETURN(int64_t which, value.asInt(0, 1));
                                        entryOfCore.resize(size_t(dsc.cores), 0);
                                        entryOfCore[size_t(core)] = which;
                                        return Status::success();
                                      }));
    SPYRE_RETURN_IF_ERROR(readPerCore(
        body, "coreIdToDscSchedule", dsc.cores, [](int64_t, const JsonReader &value) -> Status {
          return isUsualSchedule(value) ? Status::success()
                                        : fault(value, "only [[-1, 0, 0, 0]] is known");
        }));
    SPYRE_ASSIGN_OR_RETURN(JsonReader slices, body.field("numWkSlicesPerDim_"));
    SPYRE_ASSIGN_OR_RETURN(dsc.slices, readDims(slices, nullptr, false, 1));
    dsc.coreSlice.resize(size_t(dsc.cores));
    SPYRE_RETURN_IF_ERROR(readPerCore(
        body, "coreIdToWkSlice_", dsc.cores, [&](int64_t core, const JsonReader &value) -> Status {
          SPYRE_ASSIGN_OR_RETURN(dsc.coreSlice[size_t(core)], readDims(value, nullptr, false, 0));
          return Status::success();
        }));
    SPYRE_ASSIGN_OR_RETURN(JsonReader list, body.field("dscs_"));
    SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, list.elements());
    const int64_t used = 1 + *std::max_element(entryOfCore.begin(), entryOfCore.end());
    if (int64_t(entries.size()) != used) {
      return fault(list, "{} entries, of which coreIdToDsc_ uses {}; one is accepted, or two",
                   entries.size(), used);
    }
    for (const JsonReader &entry : entries) {
      SPYRE_RETURN_IF_ERROR(entry.onlyFields({dsc.op}));
    }
    SPYRE_ASSIGN_OR_RETURN(JsonReader config, entries.front().field(dsc.op));
    if (entries.size() == 1) {
      return readConfig(config, allCores());
    }
    SPYRE_ASSIGN_OR_RETURN(JsonReader other, entries.back().field(dsc.op));
    return readUneven(config, other);
  }

  std::vector<int64_t> allCores() const {
    std::vector<int64_t> cores(size_t(dsc.cores), 0);
    std::iota(cores.begin(), cores.end(), 0);
    return cores;
  }

  /// Reads one of two entries: an operation of its own on the cores that coreIdToDsc_ gives it.
  Expected<SuperDsc> readPart(const JsonReader &config, int64_t entry) const {
    Reader reader;
    SuperDsc &part = reader.dsc;
    part.index = dsc.index;
    part.op = dsc.op;
    std::vector<int64_t> cores;
    for (size_t core = 0; core < entryOfCore.size(); ++core) {
      if (entryOfCore[core] == entry) {
        cores.push_back(int64_t(core));
        part.coreSlice.push_back(dsc.coreSlice[core]);
      }
    }
    part.cores = int64_t(cores.size());
    for (const auto &[dim, slices] : dsc.slices) {
      std::set<int64_t> seen;
      for (const DimMap<int64_t> &slice : part.coreSlice) {
        const int64_t *number = findDim(slice, dim);
        seen.insert(number ? *number : -1);
      }
      part.slices.emplace_back(dim, int64_t(seen.size()));
    }
    SPYRE_RETURN_IF_ERROR(reader.readConfig(config, cores));
    return std::move(part);
  }

  /// Two entries that say the same but for the size of a core's slice along one dimension, the
  /// larger first (docs/adr/0055).
  Status readUneven(const JsonReader &first, const JsonReader &second) {
    if (std::count(entryOfCore.begin(), entryOfCore.end(), 0) == 0) {
      return fault(first, "no core of coreIdToDsc_ uses it");
    }
    SPYRE_ASSIGN_OR_RETURN(SuperDsc large, readPart(first, 0));
    SPYRE_ASSIGN_OR_RETURN(SuperDsc small, readPart(second, 1));
    for (const auto &[dim, size] : large.perCoreSize) {
      const int64_t *other = findDim(small.perCoreSize, dim);
      if (other && *other != size) {
        dsc.uneven = {dim, *findDim(large.slices, dim), *other};
        break;
      }
    }
    SuperDsc whole = large;
    whole.cores = dsc.cores;
    whole.slices = dsc.slices;
    whole.coreSlice = dsc.coreSlice;
    whole.uneven = dsc.uneven;
    for (size_t t = 0; t < whole.tensors.size(); ++t) {
      std::vector<int64_t> &starts = whole.tensors[t].startAddress;
      starts.assign(size_t(dsc.cores), 0);
      size_t next[2] = {0, 0};
      for (size_t core = 0; core < entryOfCore.size() && t < small.tensors.size(); ++core) {
        const SuperDsc &part = entryOfCore[core] == 0 ? large : small;
        starts[core] = part.tensors[t].startAddress[next[entryOfCore[core]]++];
      }
    }
    // What the two say must be what this one says of its parts.
    const std::vector<SuperDsc> parts = partsOf(whole);
    if (parts.size() != 2 || parts[0] != large || parts[1] != small) {
      return fault(second, "the two entries may differ in ss_ of one dimension, of which the first "
                           "slices have more and belong to the first entry, and in nothing else");
    }
    dsc = std::move(whole);
    return Status::success();
  }

  Status readTopFolds(const JsonReader &body) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader props, body.field("sdscFoldProps_"));
    SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> propList, props.elements());
    for (const JsonReader &prop : propList) {
      SPYRE_RETURN_IF_ERROR(checkFactor(prop, 1, 1));
    }
    SPYRE_ASSIGN_OR_RETURN(JsonReader folds, body.field("sdscFolds_"));
    SPYRE_RETURN_IF_ERROR(checkFold(folds, /*hasData=*/true));
    SPYRE_ASSIGN_OR_RETURN(JsonReader core, body.field("coreFoldProp_"));
    SPYRE_RETURN_IF_ERROR(checkFactor(core, dsc.cores, dsc.cores));
    SPYRE_ASSIGN_OR_RETURN(JsonReader corelet, body.field("coreletFoldProp_"));
    return checkFactor(corelet, 1, 2);
  }

  /// \p cores are those that run it.
  Status readConfig(const JsonReader &config, const std::vector<int64_t> &cores) {
    SPYRE_RETURN_IF_ERROR(config.onlyFields({"numCoresUsed_", "numCoreletsUsed_", "coreIdsUsed_",
                                             "N_", "coordinateMasking_", "maskingConstId_",
                                             "dataStageParam_", "primaryDsInfo_", "scheduleTree_",
                                             "labeledDs_", "constantInfo_", "computeOp_"}));
    SPYRE_RETURN_IF_ERROR(expectInt(config, "numCoresUsed_", dsc.cores, dsc.cores));
    SPYRE_RETURN_IF_ERROR(expectInt(config, "numCoreletsUsed_", 1, 2));
    SPYRE_ASSIGN_OR_RETURN(JsonReader ids, config.field("coreIdsUsed_"));
    SPYRE_ASSIGN_OR_RETURN(std::vector<int64_t> coreIds, ids.asIntList());
    if (coreIds != cores) {
      return fault(ids, "must be the {} cores from {} on that coreIdToDsc_ gives it", cores.size(),
                   cores.front());
    }
    SPYRE_ASSIGN_OR_RETURN(JsonReader sizes, config.field("N_"));
    SPYRE_ASSIGN_OR_RETURN(dsc.size, readDims(sizes, "n", true, 1));
    SPYRE_RETURN_IF_ERROR(readStage(config));
    SPYRE_RETURN_IF_ERROR(checkSameDims(config));
    SPYRE_RETURN_IF_ERROR(readMasking(config));
    SPYRE_RETURN_IF_ERROR(readLayouts(config));
    SPYRE_RETURN_IF_ERROR(readTensors(config));
    SPYRE_RETURN_IF_ERROR(readAllocateNodes(config, dsc));
    SPYRE_RETURN_IF_ERROR(readConstants(config));
    return readComputeOp(config);
  }

  Status readStage(const JsonReader &config) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader stages, config.field("dataStageParam_"));
    SPYRE_RETURN_IF_ERROR(stages.onlyFields({"0"}));
    SPYRE_ASSIGN_OR_RETURN(JsonReader stage, stages.field("0"));
    SPYRE_RETURN_IF_ERROR(stage.onlyFields({"ss_", "el_"}));
    SPYRE_ASSIGN_OR_RETURN(JsonReader steady, stage.field("ss_"));
    SPYRE_ASSIGN_OR_RETURN(dsc.perCoreSize, readDims(steady, "core", true, 1));
    SPYRE_ASSIGN_OR_RETURN(JsonReader epilogue, stage.field("el_"));
    SPYRE_ASSIGN_OR_RETURN(DimMap<int64_t> last, readDims(epilogue, "core", true, 1));
    return last == dsc.perCoreSize
               ? Status::success()
               : fault(epilogue, "epilogue sizes that differ from ss_ are not accepted yet");
  }

  /// A misspelt dimension must not pass as one more.
  Status checkSameDims(const JsonReader &config) const {
    const auto differs = [&](const DimMap<int64_t> &map) {
      return map.size() != dsc.size.size() ||
             std::any_of(map.begin(), map.end(),
                         [&](const auto &entry) { return !findDim(dsc.size, entry.first); });
    };
    if (differs(dsc.slices) || differs(dsc.perCoreSize) ||
        std::any_of(dsc.coreSlice.begin(), dsc.coreSlice.end(), differs)) {
      return fault(config, "N_, ss_, numWkSlicesPerDim_ and coreIdToWkSlice_ must name the same "
                           "dimensions");
    }
    return Status::success();
  }

  Status readMasking(const JsonReader &config) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader object, config.field("coordinateMasking_"));
    SPYRE_ASSIGN_OR_RETURN(auto members, object.members());
    for (const auto &[dim, ranges] : members) {
      SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> list, ranges.elements());
      if (!findDim(dsc.size, dim)) {
        return fault(ranges, "no such dimension in N_");
      }
      if (list.size() != 1) {
        return fault(ranges, "{} ranges; one is accepted", list.size());
      }
      SPYRE_ASSIGN_OR_RETURN(std::vector<int64_t> range, list.front().asIntList(0, kMaxSize));
      if (range.size() != 2) {
        return fault(list.front(), "a range is [start, count]");
      }
      dsc.masking.emplace_back(dim, std::pair(range[0], range[1]));
    }
    // The number is not always the mask's [spec: codegen-and-backend 2.3]; the name is.
    return expectInt(config, "maskingConstId_", -1, 255);
  }

  Status readLayouts(const JsonReader &config) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader object, config.field("primaryDsInfo_"));
    SPYRE_RETURN_IF_ERROR(object.onlyFields({"INPUT", "KERNEL", "OUTPUT", "KERNEL_IDX"}));
    SPYRE_ASSIGN_OR_RETURN(auto members, object.members());
    for (const auto &[label, value] : members) {
      SPYRE_RETURN_IF_ERROR(value.onlyFields({"layoutDimOrder_", "stickDimOrder_", "stickSize_"}));
      DscLayout layout;
      layout.label = label;
      SPYRE_ASSIGN_OR_RETURN(JsonReader order, value.field("layoutDimOrder_"));
      SPYRE_ASSIGN_OR_RETURN(layout.dimOrder, order.asStringList());
      SPYRE_ASSIGN_OR_RETURN(JsonReader sticks, value.field("stickDimOrder_"));
      SPYRE_ASSIGN_OR_RETURN(layout.stickDims, sticks.asStringList());
      SPYRE_ASSIGN_OR_RETURN(JsonReader stickSizes, value.field("stickSize_"));
      SPYRE_ASSIGN_OR_RETURN(layout.stickSizes, stickSizes.asIntList(1, kMaxStickLanes));
      if (layout.dimOrder.size() > kMaxDims || layout.stickDims.size() > kMaxDims ||
          layout.stickDims.size() != layout.stickSizes.size()) {
        return fault(value, "too many dimensions, or stick names and sizes of unequal number");
      }
      int64_t lanes = 1;
      for (int64_t size : layout.stickSizes) {
        if ((lanes *= size) > kMaxStickLanes) {
          return fault(stickSizes, "more than {} elements in a stick", kMaxStickLanes);
        }
      }
      dsc.layouts.push_back(std::move(layout));
    }
    return Status::success();
  }

  const DscLayout *findLayout(const std::string &label) const {
    for (const DscLayout &layout : dsc.layouts) {
      if (layout.label == label) {
        return &layout;
      }
    }
    return nullptr;
  }

  Status readTensors(const JsonReader &config) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader list, config.field("labeledDs_"));
    SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, list.elements());
    if (entries.size() > kMaxTensors) {
      return fault(list, "{} tensors; at most {} are accepted", entries.size(), kMaxTensors);
    }
    for (size_t i = 0; i < entries.size(); ++i) {
      SPYRE_RETURN_IF_ERROR(readTensor(entries[i], int64_t(i)));
    }
    return Status::success();
  }

  Status readTensor(const JsonReader &entry, int64_t index) {
    SPYRE_RETURN_IF_ERROR(entry.onlyFields(
        {"ldsIdx_", "dsName_", "dsType_", "scale_", "wordLength", "dataFormat_", "memOrg_"}));
    SPYRE_RETURN_IF_ERROR(expectInt(entry, "ldsIdx_", index, index));
    DscTensor tensor;
    SPYRE_ASSIGN_OR_RETURN(tensor.name, textField(entry, "dsName_"));
    SPYRE_ASSIGN_OR_RETURN(tensor.layout, textField(entry, "dsType_"));
    const DscLayout *layout = findLayout(tensor.layout);
    if (!layout) {
      return fault(entry, "dsType_ \"{}\" is not in primaryDsInfo_", tensor.layout.substr(0, 40));
    }
    SPYRE_ASSIGN_OR_RETURN(std::string format, textField(entry, "dataFormat_"));
    Expected<numerics::DataFormat> parsed = numerics::parseFormat(format);
    if (!parsed) {
      return fault(entry, "dataFormat_: {}", parsed.status().text());
    }
    tensor.format = *parsed;
    SPYRE_ASSIGN_OR_RETURN(JsonReader word, entry.field("wordLength"));
    SPYRE_ASSIGN_OR_RETURN(double bytes, word.asNumber());
    if (bytes != wordLengthBytes(tensor.format)) {
      return fault(word, "{} bytes; {} has {}", bytes, format, wordLengthBytes(tensor.format));
    }
    SPYRE_ASSIGN_OR_RETURN(JsonReader scales, entry.field("scale_"));
    SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> scaleList, scales.elements());
    if (scaleList.size() != layout->dimOrder.size()) {
      return fault(scales, "{} scales for the {} dimensions of {}", scaleList.size(),
                   layout->dimOrder.size(), tensor.layout);
    }
    for (size_t i = 0; i < scaleList.size(); ++i) {
      // The interface calls them doubles.
      SPYRE_ASSIGN_OR_RETURN(double scale, scaleList[i].asNumber());
      if (scale != 1 && scale != -1 && scale != -2) {
        return fault(scaleList[i], "{} is not 1, -1 or -2", scale);
      }
      tensor.scale.emplace_back(layout->dimOrder[i], int64_t(scale));
    }
    SPYRE_ASSIGN_OR_RETURN(JsonReader memory, entry.field("memOrg_"));
    SPYRE_RETURN_IF_ERROR(memory.onlyFields({"hbm", "lx"}));
    SPYRE_ASSIGN_OR_RETURN(auto places, memory.members());
    for (const auto &[place, presence] : places) {
      SPYRE_RETURN_IF_ERROR(presence.onlyFields({"isPresent"}));
      SPYRE_RETURN_IF_ERROR(expectInt(presence, "isPresent", 1, 1));
    }
    if (places.empty()) {
      return fault(memory, "names neither hbm nor lx");
    }
    tensor.inLx = !memory.has("hbm");
    dsc.tensors.push_back(std::move(tensor));
    return Status::success();
  }

  Status readConstants(const JsonReader &config) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader object, config.field("constantInfo_"));
    if (object.isString()) {
      SPYRE_ASSIGN_OR_RETURN(std::string text, object.asString());
      return text == "{}" ? Status::success()
                          : fault(object, "the only string accepted is \"{{}}\"");
    }
    SPYRE_ASSIGN_OR_RETURN(auto members, object.members());
    if (members.size() > kMaxConstants) {
      return fault(object, "{} constants; at most {} are accepted", members.size(), kMaxConstants);
    }
    for (size_t i = 0; i < members.size(); ++i) {
      SPYRE_ASSIGN_OR_RETURN(JsonReader entry, object.field(std::to_string(i)));
      SPYRE_RETURN_IF_ERROR(entry.onlyFields({"dataFormat_", "name_", "data_"}));
      DscConstant constant;
      SPYRE_ASSIGN_OR_RETURN(constant.name, textField(entry, "name_"));
      SPYRE_ASSIGN_OR_RETURN(std::string format, textField(entry, "dataFormat_"));
      SPYRE_ASSIGN_OR_RETURN(constant.format, numerics::parseFormat(format));
      SPYRE_ASSIGN_OR_RETURN(JsonReader fold, entry.field("data_"));
      SPYRE_RETURN_IF_ERROR(checkFold(fold, /*hasData=*/true));
      SPYRE_ASSIGN_OR_RETURN(JsonReader data, fold.field("data_"));
      SPYRE_RETURN_IF_ERROR(data.onlyFields({"[0, 0, 0]"}));
      SPYRE_ASSIGN_OR_RETURN(JsonReader values, data.field("[0, 0, 0]"));
      SPYRE_ASSIGN_OR_RETURN(std::vector<int64_t> bits, values.asIntList(0, UINT32_MAX));
      if (bits.size() != 1) {
        return fault(values, "{} values; a constant has one", bits.size());
      }
      constant.bits = uint32_t(bits.front());
      dsc.constants.push_back(std::move(constant));
    }
    return Status::success();
  }

  /// "Tensor3-idx3" -> 3
  Expected<int64_t> readOperand(const JsonReader &entry) {
    SPYRE_ASSIGN_OR_RETURN(std::string text, entry.asString());
    for (size_t i = 0; i < dsc.tensors.size(); ++i) {
      if (text == fmt::format("{}-idx{}", dsc.tensors[i].name, i)) {
        return int64_t(i);
      }
    }
    return fault(entry, "\"{}\" is no tensor of labeledDs_", text.substr(0, 40));
  }

  Status readOperands(const JsonReader &op, const char *key, std::vector<int64_t> &out) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader list, op.field(key));
    SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, list.elements());
    if (entries.size() > dsc.tensors.size()) {
      return fault(list, "{} entries for {} tensors", entries.size(), dsc.tensors.size());
    }
    for (const JsonReader &entry : entries) {
      SPYRE_ASSIGN_OR_RETURN(int64_t index, readOperand(entry));
      out.push_back(index);
    }
    return Status::success();
  }

  Status readComputeOp(const JsonReader &config) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader list, config.field("computeOp_"));
    SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, list.elements());
    if (entries.size() != 1) {
      return fault(list, "{} entries; one is accepted", entries.size());
    }
    const JsonReader &op = entries.front();
    SPYRE_RETURN_IF_ERROR(
        op.onlyFields({"exUnit", "opFuncName", "attributes_", "location", "inputLabeledDs",
                       "outputLabeledDs", "indirectAccessIndexLabeledDs"}));
    SPYRE_ASSIGN_OR_RETURN(dsc.exUnit, textField(op, "exUnit"));
    if (dsc.exUnit != "pt" && dsc.exUnit != "sfp") {
      return fault(op, "exUnit \"{}\" is neither pt nor sfp", dsc.exUnit.substr(0, 40));
    }
    SPYRE_RETURN_IF_ERROR(expectText(op, "opFuncName", dsc.op));
    SPYRE_RETURN_IF_ERROR(expectText(op, "location", "Inner"));
    SPYRE_ASSIGN_OR_RETURN(JsonReader attributes, op.field("attributes_"));
    SPYRE_RETURN_IF_ERROR(attributes.onlyFields({"dataFormat_", "fidelity_"}));
    SPYRE_RETURN_IF_ERROR(expectText(attributes, "fidelity_", "regular"));
    SPYRE_ASSIGN_OR_RETURN(std::string format, textField(attributes, "dataFormat_"));
    SPYRE_ASSIGN_OR_RETURN(dsc.format, numerics::parseFormat(format));
    SPYRE_RETURN_IF_ERROR(readOperands(op, "inputLabeledDs", dsc.inputs));
    if (op.has("indirectAccessIndexLabeledDs")) {
      SPYRE_RETURN_IF_ERROR(readOperands(op, "indirectAccessIndexLabeledDs", dsc.indexTensors));
    }
    SPYRE_ASSIGN_OR_RETURN(JsonReader outputs, op.field("outputLabeledDs"));
    SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> outputList, outputs.elements());
    if (outputList.size() != 1) {
      return fault(outputs, "{} outputs; one is accepted", outputList.size());
    }
    SPYRE_ASSIGN_OR_RETURN(dsc.output, readOperand(outputList.front()));
    return Status::success();
  }

  SuperDsc dsc;
  /// coreIdToDsc_.
  std::vector<int64_t> entryOfCore;
};

} // namespace

Expected<SuperDsc> readSuperDsc(const std::string &text) {
  Expected<JsonDocument> json = JsonDocument::parse(text, kMaxJsonBytes);
  if (!json) {
    return recode<5002>(json.status());
  }
  Expected<SuperDsc> dsc = Reader().run(JsonReader(*json));
  if (!dsc) {
    return recode<5002>(dsc.status());
  }
  return dsc;
}

} // namespace spyre::spec
