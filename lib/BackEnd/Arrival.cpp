//===- Arrival.cpp - who has which piece of an operand --------------------------------------===//
#include "Arrival.h"

#include "Geometry.h"

#include <algorithm>

namespace spyre::backend {

using spec::DimMap;
using spec::DscTensor;
using spec::SuperDsc;

const Arrival::Cut *Arrival::find(const std::string &dim) const {
  auto found =
      std::find_if(cuts.begin(), cuts.end(), [&](const Cut &cut) { return cut.dim == dim; });
  return found == cuts.end() ? nullptr : &*found;
}

SuperDsc dividedLike(const SuperDsc &dsc, const DscTensor &tensor) {
  SuperDsc divided = dsc;
  divided.coreSlice = tensor.ownerSlice;
  for (auto &[dim, slices] : divided.slices) {
    slices = spec::slicesOf(dsc, tensor, dim);
    const int64_t *size = spec::findDim(dsc.size, dim);
    for (auto &[name, perCore] : divided.perCoreSize) {
      if (name == dim && size) {
        perCore = *size / slices;
      }
    }
  }
  return divided;
}

namespace {

/// One dimension of the tensor: its slices in the operation and in the owners.
struct Relation {
  std::string dim;
  int64_t own = 1, owners = 1;
  int64_t strideBytes = 0;
  int64_t ownerSteps = 1;

  int64_t pieces() const { return std::max<int64_t>(owners / own, 1); }
  /// Slices of the operation in one of the owners'.
  int64_t parts() const { return std::max<int64_t>(own / owners, 1); }
};

} // namespace

static int64_t sliceOf(const DimMap<int64_t> &slices, const std::string &dim) {
  const int64_t *slice = spec::findDim(slices, dim);
  return slice ? *slice : 0;
}

static Expected<std::vector<Relation>> relate(const Kernel &kernel, const DscTensor &tensor,
                                              const TensorMap &map) {
  std::vector<Relation> relations;
  for (const TensorMap::Dim &dim : map.dims) {
    Relation relation{dim.name, kernel.slices(dim.name),
                      spec::slicesOf(*kernel.dsc, tensor, dim.name), dim.strideBytes, dim.steps};
    if (relation.own % relation.owners != 0 && relation.owners % relation.own != 0) {
      return error<5302>("{}: {} lies in LX in {} slices of '{}', the operation has {}; one number "
                         "must divide the other, divide one of the two operations differently",
                         kernel.name, tensor.name, relation.owners, dim.name, relation.own);
    }
    relations.push_back(std::move(relation));
  }
  return relations;
}

/// The core that holds \p wanted: \p core itself, or the next one around the ring; -1 for none.
static int64_t findOwner(const std::vector<DimMap<int64_t>> &ownerSlice,
                         const DimMap<int64_t> &wanted, size_t core) {
  for (size_t i = 0; i < ownerSlice.size(); ++i) {
    const size_t candidate = (core + i) % ownerSlice.size();
    const DimMap<int64_t> &held = ownerSlice[candidate];
    bool holds = wanted.empty() || !held.empty();
    for (const auto &[dim, slice] : wanted) {
      holds = holds && sliceOf(held, dim) == slice;
    }
    if (holds) {
      return int64_t(candidate);
    }
  }
  return -1;
}

Expected<Arrival> planArrival(const Kernel &kernel, const DscTensor &tensor, const TensorMap &map) {
  if (!tensor.backGap.empty() || !map.inLx) {
    return error<5302>("{}: {} is divided differently and {}; use a whole tensor in LX",
                       kernel.name, tensor.name, map.inLx ? "has gaps" : "not in LX");
  }
  const size_t cores = size_t(kernel.dsc->cores);
  if (tensor.ownerSlice.size() != cores || kernel.dsc->coreSlice.size() != cores) {
    return error<5302>("{}: {} says of {} cores what they hold, {} of {} have work; name all",
                       kernel.name, tensor.name, tensor.ownerSlice.size(),
                       kernel.dsc->coreSlice.size(), cores);
  }
  SPYRE_ASSIGN_OR_RETURN(std::vector<Relation> relations, relate(kernel, tensor, map));
  Arrival arrival;
  int64_t rounds = 1;
  for (const Relation &relation : relations) {
    if (relation.pieces() > 1) {
      arrival.cuts.push_back({relation.dim, relation.pieces(), relation.ownerSteps});
      rounds = std::min(rounds * relation.pieces(), int64_t(cores) + 1);
    }
  }
  if (rounds > int64_t(cores)) {
    return error<5302>("{}: {} lies in LX in more slices than {} cores hold", kernel.name,
                       tensor.name, cores);
  }
  arrival.offsetBytes.assign(cores, 0);
  arrival.owners.assign(size_t(rounds), std::vector<int64_t>(cores, -1));
  for (size_t core = 0; core < cores; ++core) {
    for (int64_t round = 0; round < rounds; ++round) {
      DimMap<int64_t> wanted;
      int64_t rest = round;
      for (const Relation &relation : relations) {
        const int64_t slice = sliceOf(kernel.dsc->coreSlice[core], relation.dim);
        if (slice < 0 || slice >= relation.own) {
          return error<5302>("{}: core {} has slice {} of '{}', of which there are {}", kernel.name,
                             core, slice, relation.dim, relation.own);
        }
        const int64_t piece = rest % relation.pieces();
        rest /= relation.pieces();
        wanted.emplace_back(relation.dim, slice / relation.parts() * relation.pieces() + piece);
        if (round == 0) {
          arrival.offsetBytes[core] += slice % relation.parts() *
                                       (relation.ownerSteps / relation.parts()) *
                                       relation.strideBytes;
        }
      }
      const int64_t owner = findOwner(tensor.ownerSlice, wanted, core);
      if (owner < 0) {
        return error<5302>("{}: no core holds the piece of {} that core {} needs; "
                           "coreIdToWkSlice_ must give every slice to a core",
                           kernel.name, tensor.name, core);
      }
      arrival.owners[size_t(round)][core] = owner;
    }
  }
  return arrival;
}

Status checkArrivals(const Kernel &kernel) {
  for (const TensorMap &input : kernel.inputs) {
    if (!input.arrival) {
      continue;
    }
    // They read sticks in groups, which may have several owners.
    if (kernel.op.opClass == OpClass::Restickify || kernel.op.opClass == OpClass::Conversion) {
      return error<5302>("{}: its input lies in LX by another division; copy it (identity) into "
                         "the division of the operation first",
                         kernel.name);
    }
    if (!kernel.output.inLx) {
      continue;
    }
    auto [low, high] = std::minmax_element(input.startAddress.begin(), input.startAddress.end());
    for (int64_t start : kernel.output.startAddress) {
      if (start < *high + input.spanBytes() && *low < start + kernel.output.spanBytes()) {
        return error<5302>("{}: the output in LX is at {}, where the input that other cores read "
                           "is, too; such an operation cannot work in place",
                           kernel.name, start);
      }
    }
  }
  return Status::success();
}

} // namespace spyre::backend
