//===- SuperDscIndirect.cpp - index tensors and owners in the emitter -----------------------===//
#include "SuperDscPlan.h"

#include <algorithm>

namespace spyre::spec {

void planIndirect(const std::vector<ArgPlan> &args, const std::string &name, int64_t deviceDim,
                  ArgPlan &plan) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].arg->name == name) {
      plan.index = int64_t(i);
    }
  }
  const ArgPlan &index = args[size_t(plan.index)];
  plan.rowDim = deviceDim;
  plan.firstIndirect = plan.order.size();
  plan.indirectDims = index.ownDims;
  plan.order.insert(plan.order.end(), index.order.begin(),
                    index.order.begin() + int64_t(index.ownDims));
}

static Status checkValue(const std::string &op, const std::vector<Dim> &dims,
                         const std::vector<ArgPlan> &args, size_t number) {
  const ArgPlan &plan = args[number];
  if (plan.indirectDims == 0) {
    return error<5001>("op '{}': argument {}: index tensor '{}' has no symbol; give it one of "
                       "range 1",
                       op, number, args[size_t(plan.index)].arg->name);
  }
  std::vector<size_t> own(plan.order.begin(), plan.order.begin() + int64_t(plan.ownDims));
  std::sort(own.begin(), own.end());
  if (std::adjacent_find(own.begin(), own.end()) != own.end()) {
    return error<5001>("op '{}': argument {} has a symbol of its own that its indices have, too; "
                       "the interface cannot say that",
                       op, number);
  }
  const int64_t stick = args.back().stick;
  for (size_t k = 0; k < plan.indirectDims; ++k) {
    if (int64_t(plan.order[plan.firstIndirect + k]) == stick) {
      return error<5001>("op '{}': argument {}: the index changes along the stick {}; restickify "
                         "first",
                         op, number, dims[size_t(stick)].symbol);
    }
  }
  return Status::success();
}

Status checkIndirect(const std::string &op, OpClass opClass, const std::vector<Dim> &dims,
                     const std::vector<ArgPlan> &args) {
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].index < 0) {
      continue;
    }
    if (opClass != OpClass::Pointwise) {
      return error<5001>("op '{}': argument {} is indirectly accessed; only element-wise "
                         "operations and copies may do that, gather it first",
                         op, i);
    }
    SPYRE_RETURN_IF_ERROR(checkValue(op, dims, args, i));
  }
  return Status::success();
}

void emitIndirection(const std::vector<Dim> &dims, const std::vector<ArgPlan> &args, size_t index,
                     DscTensor &tensor) {
  const ArgPlan &plan = args[index];
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].index == int64_t(index)) {
      tensor.indirection = DscTensor::Indirection::Index;
      tensor.indirectPartner = int64_t(i);
    }
  }
  if (plan.index < 0) {
    return;
  }
  tensor.indirection = DscTensor::Indirection::Value;
  tensor.indirectPartner = plan.index;
  for (const auto &[label, scale] : tensor.scale) {
    for (size_t k = 0; k < plan.indirectDims; ++k) {
      if (dims[plan.order[plan.firstIndirect + k]].label == label) {
        tensor.indirectDims.push_back(label);
      }
    }
  }
}

/// Slices of the dims \p held of a tensor that core number \p core holds; none when there are more
/// cores than slices.
static DimMap<int64_t> ownedBy(int64_t core, const DimMap<int64_t> &division,
                               const std::vector<std::string> &held) {
  DimMap<int64_t> owned;
  for (const std::string &label : held) {
    owned.emplace_back(label, 0);
  }
  for (const auto &[label, slices] : division) {
    for (auto &[dim, slice] : owned) {
      slice = dim == label ? core % slices : slice;
    }
    core /= slices;
  }
  return core > 0 ? DimMap<int64_t>() : owned;
}

void emitOwners(const std::vector<Dim> &dims, const ArgPlan &plan, const SuperDsc &dsc,
                DscTensor &tensor) {
  if (plan.arg->lxDivision.empty()) {
    return;
  }
  DimMap<int64_t> division;
  for (const auto &[symbol, slices] : plan.arg->lxDivision) {
    for (const Dim &dim : dims) {
      if (dim.symbol == symbol) {
        division.emplace_back(dim.label, slices);
      }
    }
  }
  std::vector<std::string> held;
  for (const auto &[label, scale] : tensor.scale) {
    if (scale == 1) {
      held.push_back(label);
    }
  }
  bool differs = false;
  for (int64_t core = 0; core < dsc.cores; ++core) {
    DimMap<int64_t> owned = ownedBy(core, division, held);
    differs |= owned.empty();
    for (const auto &[dim, slice] : owned) {
      differs |= *findDim(dsc.coreSlice[size_t(core)], dim) != slice;
    }
    tensor.ownerSlice.push_back(std::move(owned));
  }
  if (!differs) {
    tensor.ownerSlice.clear();
  }
}

} // namespace spyre::spec
