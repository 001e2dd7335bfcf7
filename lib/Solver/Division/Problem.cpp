//===- Problem.cpp - what an operation must be before it is divided -------------------------===//
#include "spyre/Solver/Division/Problem.h"

#include "spyre/Base/Math.h"

#include <algorithm>
#include <array>

namespace spyre::solver::division {

const char *kindName(Kind kind) {
  constexpr std::array<const char *, 13> kNames = {
      "pointwise", "reduction",     "matmul", "restickify",     "gather", "scatter", "scatter_add",
      "topk",      "keep_by_index", "conv",   "depthwise_conv", "pool",   "other"};
  return kNames[size_t(kind)];
}

const char *roleName(Role role) {
  constexpr std::array<const char *, 10> kNames = {
      "plain",           "kernel", "spatial", "search",       "results",
      "encloses_search", "window", "carried", "second_stick", "scan"};
  return kNames[size_t(role)];
}

std::string describe(const Op &op) {
  std::string text;
  for (const Dim &dim : op.dims) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", dim.name, dim.extent);
  }
  return text;
}

static Status checkDim(const Op &op, const Dim &dim) {
  if (dim.name.empty() || dim.name.size() > 64) {
    return error<3060>("'{}': a dim has a name of {} bytes; give 1 to 64", op.name,
                       dim.name.size());
  }
  if (dim.extent < 1 || dim.extent > kMaxCount) {
    return error<3060>("'{}': dim {} has extent {}; give 1 to {}", op.name, dim.name, dim.extent,
                       kMaxCount);
  }
  if (dim.tiles < 1 || dim.extent % dim.tiles != 0) {
    return error<3060>("'{}': {} tiles of dim {} with extent {}: not evenly divisible; give a "
                       "divisor",
                       op.name, dim.tiles, dim.name, dim.extent);
  }
  if (dim.granularity < 0 ||
      (dim.granularity > 0 && (dim.extent / dim.tiles) % dim.granularity != 0)) {
    return error<3060>("'{}': granularity {} of dim {} does not divide its largest size {}; give a "
                       "divisor of it",
                       op.name, dim.granularity, dim.name, dim.extent / dim.tiles);
  }
  if (dim.walked != 0 && (dim.walked < dim.extent / dim.tiles || dim.walked > kMaxCount)) {
    return error<3060>("'{}': {} elements of dim {} are walked, which has {}; give 0 or at least "
                       "as many",
                       op.name, dim.walked, dim.name, dim.extent / dim.tiles);
  }
  int64_t stored = 1;
  if (!dim.segments.empty() &&
      (!checkedProduct(dim.segments, stored) || stored != dim.extent / dim.tiles)) {
    return error<3060>("'{}': segments [{}] of dim {} do not make up its extent {}", op.name,
                       fmt::join(dim.segments, ", "), dim.name, dim.extent / dim.tiles);
  }
  if (dim.requiredSplit < 0 || (dim.role == Role::Carried) != (dim.requiredSplit > 0)) {
    return error<3060>("'{}': dim {} requires a split of {}; give one to carried rows, and only "
                       "to them",
                       op.name, dim.name, dim.requiredSplit);
  }
  return Status::success();
}

/// Before it is divided; sums of a few of them fit 64 bits.
static constexpr int64_t kMaxScaled = int64_t(1) << 60;

/// Where a coordinate ends up at most; -1 when numbers leave their range.
static int64_t largestValue(const Op &op, const Coordinate &coordinate) {
  int64_t most = coordinate.offset;
  for (const Term &term : coordinate.terms) {
    int64_t scaled = 0;
    if (__builtin_mul_overflow(op.dims[size_t(term.dim)].extent, term.step, &scaled) ||
        scaled > kMaxScaled) {
      return -1;
    }
    scaled -= term.step;
    scaled = term.wrap > 0 ? std::min(scaled, term.wrap - 1) : scaled;
    if (__builtin_add_overflow(most, scaled / term.divisor, &most)) {
      return -1;
    }
  }
  return most;
}

static Status checkTerms(const Op &op, const Tensor &tensor, const Coordinate &coordinate) {
  for (const Term &term : coordinate.terms) {
    if (term.dim < 0 || size_t(term.dim) >= op.dims.size()) {
      return error<3060>("'{}': tensor {} refers to dim {} of {}", op.name, tensor.name, term.dim,
                         op.dims.size());
    }
    if (term.step < 1 || term.step > kMaxCount || term.divisor < 1 || term.divisor > kMaxCount ||
        term.wrap < 0 || term.wrap > kMaxCount) {
      return error<3060>("'{}': tensor {} has a term with step {}, wrap {}, divisor {}; steps and "
                         "divisors are 1 or more, wraps 0 or more, all up to {}",
                         op.name, tensor.name, term.step, term.wrap, term.divisor, kMaxCount);
    }
  }
  for (size_t i = 0; i < coordinate.terms.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (coordinate.terms[i].dim == coordinate.terms[j].dim) {
        return error<3060>("'{}': tensor {} has dim {} twice in one coordinate; each dim may have "
                           "one term",
                           op.name, tensor.name, op.dims[size_t(coordinate.terms[i].dim)].name);
      }
    }
  }
  return Status::success();
}

/// Lanes are one variable, counted from the beginning of a stick.
static Status checkLanes(const Op &op, const Tensor &tensor) {
  const Coordinate &lanes = tensor.coordinates.back();
  if (lanes.terms.empty()) {
    return Status::success();
  }
  const Term &term = lanes.terms.front();
  if (lanes.terms.size() > 1 || term.step != 1 || term.divisor != 1 ||
      (term.wrap != 0 && term.wrap != tensor.elemsPerStick())) {
    return error<3060>("'{}': lanes of tensor {} must be one dim as it is, or modulo {}", op.name,
                       tensor.name, tensor.elemsPerStick());
  }
  return Status::success();
}

static Status checkTensor(const Op &op, const Tensor &tensor, int64_t stickBytes) {
  if (tensor.deviceSize.empty() || tensor.deviceSize.size() > kMaxDeviceDims ||
      tensor.coordinates.size() != tensor.deviceSize.size()) {
    return error<3060>("'{}': tensor {} has {} device dimensions and {} coordinates; give 1 to {} "
                       "of both, as many of one as of the other",
                       op.name, tensor.name, tensor.deviceSize.size(), tensor.coordinates.size(),
                       kMaxDeviceDims);
  }
  int64_t all = 0;
  if (!checkedProduct(tensor.deviceSize, all) || all < 1 || all > kMaxCount) {
    return error<3060>("'{}': tensor {} has device size [{}]; sizes are 1 or more and their "
                       "product at most {}",
                       op.name, tensor.name, fmt::join(tensor.deviceSize, ", "), kMaxCount);
  }
  if (stickBytes % tensor.elemsPerStick() != 0) {
    return error<3060>("'{}': tensor {} has {} elements in a stick of {} bytes; give a divisor",
                       op.name, tensor.name, tensor.elemsPerStick(), stickBytes);
  }
  if (tensor.hostItemBytes < 0 || tensor.hostItemBytes > stickBytes) {
    return error<3060>("'{}': tensor {} has elements of {} bytes; give 1 to {}", op.name,
                       tensor.name, tensor.hostItemBytes, stickBytes);
  }
  if (!tensor.index.empty() && tensor.index.size() != op.dims.size()) {
    return error<3060>("'{}': tensor {} has {} index coefficients for {} dims", op.name,
                       tensor.name, tensor.index.size(), op.dims.size());
  }
  for (size_t d = 0; d < tensor.deviceSize.size(); ++d) {
    const Coordinate &coordinate = tensor.coordinates[d];
    SPYRE_RETURN_IF_ERROR(checkTerms(op, tensor, coordinate));
    const int64_t most = largestValue(op, coordinate);
    if (coordinate.offset < 0 || most < 0 || most >= tensor.deviceSize[d]) {
      return error<3060>("'{}': coordinate {} of tensor {} reaches {}, its size is {}", op.name, d,
                         tensor.name, most, tensor.deviceSize[d]);
    }
  }
  return checkLanes(op, tensor);
}

Status checkOp(const Op &op) {
  if (op.dims.size() > kMaxDims || op.tensors.empty() || op.tensors.size() > kMaxTensors) {
    return error<3060>("'{}' has {} dims and {} tensors; at most {} and 1 to {} are supported",
                       op.name, op.dims.size(), op.tensors.size(), kMaxDims, kMaxTensors);
  }
  for (size_t i = 0; i < op.dims.size(); ++i) {
    SPYRE_RETURN_IF_ERROR(checkDim(op, op.dims[i]));
    for (size_t j = 0; j < i; ++j) {
      if (op.dims[i].name == op.dims[j].name) {
        return error<3060>("'{}' has two dims {}; names must differ", op.name, op.dims[i].name);
      }
    }
  }
  for (size_t i = 0; i < op.tensors.size(); ++i) {
    SPYRE_RETURN_IF_ERROR(checkTensor(op, op.tensors[i], kStickBytes));
    if (op.tensors[i].output != (i + 1 == op.tensors.size())) {
      return error<3060>("'{}': tensor {} of {} is {} output; the last one is, and no other",
                         op.name, op.tensors[i].name, op.tensors.size(),
                         op.tensors[i].output ? "an" : "no");
    }
  }
  if (op.windowStride < 1 || op.loopTrips < 1) {
    return error<3060>("'{}' has window stride {} and {} loop trips; both are 1 or more", op.name,
                       op.windowStride, op.loopTrips);
  }
  return Status::success();
}

} // namespace spyre::solver::division
