//===- SuperDscNodes.cpp - scheduleTree_: where the tensors of a SuperDSC lie ---------------===//
//
// Start addresses, gaps, indirect access and coordinates. Coordinates repeat what sizes, slices and
// scales say; they are compared with those, since a file in which they differ means something this
// project does not know. [spec: codegen-and-backend 2.4, 2.10]
//===--------------------------------------------------------------------------------------------===//
#include "SuperDscFields.h"

#include <algorithm>

namespace spyre::spec {

namespace {

/// "[7, 0, 0]": core, corelet, time. There are hundreds per file, so without a format string.
std::string startKey(int64_t core, bool hasTime) {
  return '[' + std::to_string(core) + (hasTime ? ", 0, 0]" : ", 0]");
}

/// One entry of a coordinate's folds.
struct Fold {
  int64_t alpha = 0, beta = 0, factor = 0;
  std::string label;
};

Expected<std::vector<Fold>> readFolds(const JsonReader &folds) {
  SPYRE_RETURN_IF_ERROR(checkFold(folds, /*hasData=*/false));
  SPYRE_ASSIGN_OR_RETURN(JsonReader functions, folds.field("dim_prop_func"));
  SPYRE_ASSIGN_OR_RETURN(JsonReader factors, folds.field("dim_prop_attr"));
  SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> functionList, functions.elements());
  SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> factorList, factors.elements());
  std::vector<Fold> out(functionList.size());
  for (size_t i = 0; i < out.size(); ++i) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader affine, functionList[i].field("Affine"));
    SPYRE_ASSIGN_OR_RETURN(out[i].alpha, intField(affine, "alpha_", 0, kMaxSize));
    SPYRE_ASSIGN_OR_RETURN(out[i].beta, intField(affine, "beta_", 0, kMaxSize));
    SPYRE_ASSIGN_OR_RETURN(out[i].factor, intField(factorList[i], "factor_", 1, kMaxSize));
    SPYRE_ASSIGN_OR_RETURN(out[i].label, textField(factorList[i], "label_"));
  }
  return out;
}

/// "allocate-Tensor0_hbm" -> 0, or -1.
int64_t findNode(const std::vector<std::string> &names, const std::string &name) {
  auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : found - names.begin();
}

class NodeReader {
public:
  NodeReader(SuperDsc &dsc, const std::vector<std::string> &names) : dsc(dsc), names(names) {}

  Status read(const JsonReader &node, size_t index) {
    SPYRE_RETURN_IF_ERROR(node.onlyFields(
        {"nodeType_", "name_", "prev_", "ldsIdx_", "component_", "isStartAddrSymbolic_",
         "layoutDimOrder_", "maxDimSizes_", "indirectAllocType_", "relatedIndirectAccessAlloc_",
         "indexTensorType_", "startAddressCoreCorelet_", "backGapCore_", "coordinates_",
         "allocateCoordinates_"}));
    DscTensor &tensor = dsc.tensors[index];
    SPYRE_RETURN_IF_ERROR(expectText(node, "nodeType_", "allocate"));
    SPYRE_RETURN_IF_ERROR(expectText(node, "prev_", ""));
    SPYRE_RETURN_IF_ERROR(expectInt(node, "ldsIdx_", int64_t(index), int64_t(index)));
    SPYRE_RETURN_IF_ERROR(expectText(node, "component_", tensor.inLx ? "lx" : "hbm"));
    SPYRE_ASSIGN_OR_RETURN(JsonReader order, node.field("layoutDimOrder_"));
    SPYRE_ASSIGN_OR_RETURN(tensor.dimOrder, order.asStringList());
    if (tensor.dimOrder.size() > kMaxDims) {
      return fault(order, "{} dimensions; at most {} are accepted", tensor.dimOrder.size(),
                   kMaxDims);
    }
    SPYRE_RETURN_IF_ERROR(readSymbolic(node, tensor));
    SPYRE_RETURN_IF_ERROR(readIndirection(node, tensor));
    SPYRE_RETURN_IF_ERROR(readLimits(node, tensor));
    SPYRE_RETURN_IF_ERROR(readStarts(node, tensor));
    SPYRE_RETURN_IF_ERROR(readGaps(node, tensor));
    return checkCoordinates(node, tensor);
  }

private:
  Status readSymbolic(const JsonReader &node, DscTensor &tensor) {
    if (!node.has("isStartAddrSymbolic_")) {
      return Status::success();
    }
    SPYRE_ASSIGN_OR_RETURN(int64_t symbolic, intField(node, "isStartAddrSymbolic_", 0, 1));
    tensor.symbolic = symbolic == 1;
    return tensor.symbolic && tensor.inLx
               ? fault(node, "isStartAddrSymbolic_: addresses in LX are never symbols")
               : Status::success();
  }

  Status readIndirection(const JsonReader &node, DscTensor &tensor) {
    using Indirection = DscTensor::Indirection;
    SPYRE_ASSIGN_OR_RETURN(std::string kind, textField(node, "indirectAllocType_"));
    if (kind == "no_indirection") {
      const bool isPlain =
          !node.has("relatedIndirectAccessAlloc_") && !node.has("indexTensorType_");
      return isPlain ? Status::success()
                     : fault(node, "fields of an indirect access with \"no_indirection\"");
    }
    if (kind != "index_tensor" && kind != "value_tensor") {
      return fault(node,
                   "indirectAllocType_ \"{}\"; known are no_indirection, index_tensor and "
                   "value_tensor",
                   kind.substr(0, 40));
    }
    tensor.indirection = kind == "index_tensor" ? Indirection::Index : Indirection::Value;
    SPYRE_ASSIGN_OR_RETURN(JsonReader related, node.field("relatedIndirectAccessAlloc_"));
    SPYRE_ASSIGN_OR_RETURN(std::string partner, related.asString());
    tensor.indirectPartner = findNode(names, partner);
    if (tensor.indirectPartner < 0) {
      return fault(related, "\"{}\" is no allocate node", partner.substr(0, 40));
    }
    if (tensor.indirection == Indirection::Value) {
      return node.has("indexTensorType_") ? fault(node, "indexTensorType_ of a value tensor")
                                          : Status::success();
    }
    SPYRE_ASSIGN_OR_RETURN(std::string type, textField(node, "indexTensorType_"));
    tensor.holdsAddresses = type == "address";
    return type == "index" || type == "address"
               ? Status::success()
               : fault(node, "indexTensorType_ \"{}\"; known are index and address",
                       type.substr(0, 40));
  }

  Status readLimits(const JsonReader &node, DscTensor &tensor) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader limits, node.field("maxDimSizes_"));
    SPYRE_ASSIGN_OR_RETURN(std::vector<int64_t> list, limits.asIntList(-1, 1));
    if (list.size() != tensor.scale.size()) {
      return fault(limits, "{} entries for the {} dimensions of {}", list.size(),
                   tensor.scale.size(), tensor.layout);
    }
    for (size_t i = 0; i < list.size(); ++i) {
      const bool isValue = tensor.indirection == DscTensor::Indirection::Value;
      if (list[i] == 0 || (list[i] == 1 && !isValue)) {
        return fault(limits,
                     "{}; -1 means no limit, 1 an indirectly addressed dimension of a "
                     "value tensor",
                     list[i]);
      }
      if (list[i] == 1) {
        tensor.indirectDims.push_back(tensor.scale[i].first);
      }
    }
    return Status::success();
  }

  /// Folds over (core, corelet, time); the interface text has them without time.
  Status readStarts(const JsonReader &node, DscTensor &tensor) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader fold, node.field("startAddressCoreCorelet_"));
    SPYRE_RETURN_IF_ERROR(checkFold(fold, /*hasData=*/true));
    SPYRE_ASSIGN_OR_RETURN(JsonReader factors, fold.field("dim_prop_attr"));
    SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> factorList, factors.elements());
    const bool hasTime = factorList.size() == 3;
    if (!hasTime && factorList.size() != 2) {
      return fault(factors, "{} folds; start addresses have core, corelet and time",
                   factorList.size());
    }
    SPYRE_RETURN_IF_ERROR(expectInt(factorList[0], "factor_", dsc.cores, dsc.cores));
    SPYRE_ASSIGN_OR_RETURN(JsonReader data, fold.field("data_"));
    SPYRE_ASSIGN_OR_RETURN(JsonMembers starts, data.eachMember());
    if (int64_t(starts.size()) != dsc.cores) {
      return fault(data, "{} start addresses for {} cores", starts.size(), dsc.cores);
    }
    tensor.startAddress.reserve(size_t(dsc.cores));
    JsonMembers::Iterator inOrder = starts.begin();
    for (int64_t core = 0; core < dsc.cores; ++core, ++inOrder) {
      const std::string key = startKey(core, hasTime);
      auto [name, start] = *inOrder;
      if (name != key) {
        SPYRE_ASSIGN_OR_RETURN(start, data.field(key));
      }
      SPYRE_ASSIGN_OR_RETURN(int64_t address, start.asDecimalString(-kMaxSize, kMaxSize));
      if ((address < 0) != tensor.symbolic) {
        return fault(start, "{}; {}", address,
                     tensor.symbolic ? "the ids of symbols are negative"
                                     : "an address is not negative without isStartAddrSymbolic_");
      }
      tensor.startAddress.push_back(address);
    }
    return Status::success();
  }

  Status readGaps(const JsonReader &node, DscTensor &tensor) {
    if (!node.has("backGapCore_")) {
      return Status::success();
    }
    SPYRE_ASSIGN_OR_RETURN(JsonReader object, node.field("backGapCore_"));
    SPYRE_ASSIGN_OR_RETURN(auto members, object.members());
    if (members.empty()) {
      return fault(object, "is empty; leave it out");
    }
    for (const auto &[dim, perCore] : members) {
      // One number for the whole memory, or the same number for each core's own scratchpad.
      SPYRE_ASSIGN_OR_RETURN(auto gaps, perCore.members());
      if (int64_t(gaps.size()) != (tensor.inLx ? dsc.cores : 1)) {
        return fault(perCore, "{} gaps", gaps.size());
      }
      SPYRE_ASSIGN_OR_RETURN(int64_t gap, gaps.front().second.asDecimalString(-kMaxSize, kMaxSize));
      for (size_t i = 0; i < gaps.size(); ++i) {
        SPYRE_ASSIGN_OR_RETURN(int64_t other, gaps[i].second.asDecimalString(-kMaxSize, kMaxSize));
        const std::string key = tensor.inLx ? std::to_string(i) : "-1";
        if (gaps[i].first != key || other != gap) {
          return fault(perCore, "expected the same gap under each key, \"-1\" (hbm) or the core");
        }
      }
      tensor.backGap.emplace_back(dim, gap);
    }
    return Status::success();
  }

  /// Empty, what the operation says already, or which slice of an input each core's LX holds.
  Status readOwners(const JsonReader &coordinates, DscTensor &tensor) {
    SPYRE_ASSIGN_OR_RETURN(JsonReader mapping, coordinates.field("coreIdToWkSlice_"));
    SPYRE_ASSIGN_OR_RETURN(auto members, mapping.members());
    if (members.empty()) {
      return Status::success();
    }
    bool differs = false;
    std::vector<DimMap<int64_t>> owners(size_t(dsc.cores), DimMap<int64_t>());
    SPYRE_RETURN_IF_ERROR(readPerCore(
        coordinates, "coreIdToWkSlice_", dsc.cores,
        [&](int64_t core, const JsonReader &value) -> Status {
          SPYRE_ASSIGN_OR_RETURN(DimMap<int64_t> slices, readDims(value, nullptr, false, 0));
          differs |= slices.empty();
          for (const auto &[dim, slice] : slices) {
            const int64_t *own = findDim(dsc.coreSlice[size_t(core)], dim);
            const int64_t *scale = findDim(tensor.scale, dim);
            if (!own || !scale || slice >= kMaxCores) {
              return fault(value, "'{}' is no dimension of the tensor, or slice {} of it is none",
                           dim.substr(0, 40), slice);
            }
            if (*own != slice && !tensor.inLx) {
              return fault(value, "'{}' is not the slice the operation gives this core", dim);
            }
            // Of a dimension it does not hold, a tensor has no slices.
            if (*scale == 1) {
              differs |= *own != slice;
              owners[size_t(core)].emplace_back(dim, slice);
            }
          }
          return Status::success();
        }));
    if (differs) {
      tensor.ownerSlice = std::move(owners);
    }
    return Status::success();
  }

  Status checkCoordinates(const JsonReader &node, DscTensor &tensor) {
    const char *key = node.has("coordinates_") ? "coordinates_" : "allocateCoordinates_";
    if (node.has("coordinates_") && node.has("allocateCoordinates_")) {
      return fault(node, "coordinates_ and allocateCoordinates_; they are two names of one field");
    }
    if (!node.has(key)) {
      return node.field("coordinates_").status();
    }
    SPYRE_ASSIGN_OR_RETURN(JsonReader coordinates, node.field(key));
    SPYRE_RETURN_IF_ERROR(coordinates.onlyFields({"coordInfo", "coreIdToWkSlice_"}));
    SPYRE_RETURN_IF_ERROR(readOwners(coordinates, tensor));
    SPYRE_ASSIGN_OR_RETURN(JsonReader info, coordinates.field("coordInfo"));
    std::vector<std::string> known;
    for (const auto &entry : tensor.scale) {
      known.push_back(entry.first);
    }
    SPYRE_RETURN_IF_ERROR(info.onlyFields(known));
    for (const auto &[dim, scale] : tensor.scale) {
      SPYRE_ASSIGN_OR_RETURN(JsonReader entry, info.field(dim));
      SPYRE_RETURN_IF_ERROR(
          entry.onlyFields({"spatial", "temporal", "elemArr", "padding", "folds"}));
      SPYRE_RETURN_IF_ERROR(expectInt(entry, "spatial", 3, 3));
      SPYRE_RETURN_IF_ERROR(expectInt(entry, "temporal", 0, 0));
      SPYRE_RETURN_IF_ERROR(expectText(entry, "padding", "nopad"));
      SPYRE_RETURN_IF_ERROR(checkDimFolds(entry, tensor, dim, scale));
    }
    return Status::success();
  }

  /// Lanes of the tensor's sticks along \p dim; 1 when it is no stick dimension.
  int64_t lanesOf(const DscTensor &tensor, const std::string &dim) const {
    int64_t lanes = 1;
    for (const DscLayout &layout : dsc.layouts) {
      for (size_t i = 0; layout.label == tensor.layout && i < layout.stickDims.size(); ++i) {
        lanes *= layout.stickDims[i] == dim ? layout.stickSizes[i] : 1;
      }
    }
    return lanes;
  }

  /// core_fold, corelet_fold, row_fold, then elem_arr_<n-1> .. elem_arr_0: together they must
  /// reach each element of a core once, in order.
  Status checkDimFolds(const JsonReader &entry, const DscTensor &tensor, const std::string &dim,
                       int64_t scale) const {
    SPYRE_ASSIGN_OR_RETURN(JsonReader at, entry.field("folds"));
    SPYRE_ASSIGN_OR_RETURN(std::vector<Fold> folds, readFolds(at));
    constexpr size_t kOuter = 3, kMaxElementFolds = 8;
    if (folds.size() <= kOuter || folds.size() > kOuter + kMaxElementFolds) {
      return fault(at, "{} folds; there are core_fold, corelet_fold, row_fold and 1..{} elem_arr",
                   folds.size(), kMaxElementFolds);
    }
    const size_t elements = folds.size() - kOuter;
    SPYRE_RETURN_IF_ERROR(expectInt(entry, "elemArr", int64_t(elements), int64_t(elements)));
    const char *outer[] = {"core_fold", "corelet_fold", "row_fold"};
    for (size_t i = 0; i < folds.size(); ++i) {
      const std::string label =
          i < kOuter ? outer[i] : fmt::format("elem_arr_{}", folds.size() - 1 - i);
      if (folds[i].label != label || folds[i].beta != 0) {
        return fault(at, "fold {} is \"{}\" with beta {}; expected {} with beta 0", i,
                     folds[i].label.substr(0, 40), folds[i].beta, label);
      }
    }
    const int64_t *perCore = findDim(dsc.perCoreSize, dim);
    const int64_t *whole = findDim(dsc.size, dim);
    const int64_t slices = scale == 1 ? slicesOf(dsc, tensor, dim) : 1;
    int64_t size = scale == 1 && perCore ? *perCore : 1;
    if (scale == 1 && whole && !tensor.ownerSlice.empty()) {
      size = *whole / slices;
    }
    // The interface text leaves the core fold of HBM inert; emitters write the real split.
    const bool isInert = folds[0].factor == 1;
    if (!isInert && (folds[0].factor != slices || folds[0].alpha != size)) {
      return fault(at, "core_fold {} x {}; '{}' has {} slices of {}", folds[0].factor,
                   folds[0].alpha, dim, slices, size);
    }
    if (folds[1].alpha != 0 || folds[1].factor > 2 || folds[2].alpha != 0 || folds[2].factor != 1) {
      return fault(at, "corelets or rows that divide '{}' are not known", dim);
    }
    return checkElementFolds(at, folds, kOuter, scale, std::max(size, int64_t(1)),
                             lanesOf(tensor, dim), dim);
  }

  Status checkElementFolds(const JsonReader &at, const std::vector<Fold> &folds, size_t first,
                           int64_t scale, int64_t size, int64_t lanes,
                           const std::string &dim) const {
    const bool isSparse = scale == -2;
    // Of a stick dimension whole sticks are there, also of one that is broadcast.
    const int64_t wanted = lanes > 1 ? std::max(size / lanes, int64_t(1)) * lanes : size;
    int64_t reached = 1;
    for (size_t i = folds.size(); i-- > first;) {
      const bool isInnermost = i + 1 == folds.size();
      const int64_t alpha = isSparse && isInnermost ? 0 : reached;
      const bool runs = folds[i].alpha == alpha || (folds[i].factor == 1 && !isInnermost);
      if (!runs || folds[i].factor > wanted / reached) {
        return fault(at, "{} x {} in {}; the elements of '{}' must follow each other, {} per core",
                     folds[i].factor, folds[i].alpha, folds[i].label, dim, wanted);
      }
      reached *= folds[i].factor;
    }
    return reached == wanted ? Status::success()
                             : fault(at, "the folds reach {} elements of '{}'; a core has {}",
                                     reached, dim, wanted);
  }

  SuperDsc &dsc;
  const std::vector<std::string> &names;
};

} // namespace

Status readAllocateNodes(const JsonReader &config, SuperDsc &dsc) {
  SPYRE_ASSIGN_OR_RETURN(JsonReader list, config.field("scheduleTree_"));
  SPYRE_ASSIGN_OR_RETURN(std::vector<JsonReader> entries, list.elements());
  if (entries.size() != dsc.tensors.size()) {
    return fault(list, "{} allocate nodes for {} tensors", entries.size(), dsc.tensors.size());
  }
  std::vector<std::string> names;
  for (const JsonReader &entry : entries) {
    SPYRE_ASSIGN_OR_RETURN(std::string name, textField(entry, "name_"));
    names.push_back(std::move(name));
  }
  NodeReader reader(dsc, names);
  for (size_t i = 0; i < entries.size(); ++i) {
    SPYRE_RETURN_IF_ERROR(reader.read(entries[i], i));
  }
  return Status::success();
}

} // namespace spyre::spec
