//===- SuperDscPlan.h - an OpSpec in terms of labelled dims, on the way to a SuperDSC -------===//
//
// What the twelve steps of the emitter work on, and the parts of them that are about indirect
// access and about tensors that lie in LX by another division (docs/adr/0020).
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Spec/SuperDsc.h"

#include "SuperDscNormalize.h"

namespace spyre::spec {

struct Dim {
  std::string symbol; ///< empty for the virtual stick
  std::string label;
  int64_t range = 1;
  int64_t size = 1; ///< range, padded
  int64_t slices = 1;
  bool uneven = false, fastest = false;
};

/// An argument in terms of the op's dims.
struct ArgPlan {
  const TensorArg *arg = nullptr;
  int64_t lanes = 0;
  int64_t stick = -1;        ///< dim with most of the lanes; -1: one value per stick
  std::vector<int64_t> unit; ///< per dim: elements of it in one stick
  /// The stick from its inner to its outer part: dim and elements.
  std::vector<std::pair<size_t, int64_t>> parts;
  int64_t layoutStick = -1;          ///< stick of its layout, also when the tensor lacks it
  std::vector<int64_t> deviceDim;    ///< per dim: the device dimension it walks, or -1
  std::vector<int64_t> strideSticks; ///< per device dimension
  std::vector<size_t> order;         ///< dims inner to outer; the tensor's own first
  size_t ownDims = 0;                ///< how many of order are the tensor's own
  int64_t index = -1;                ///< argument that chooses its rows; -1: none does
  int64_t rowDim = -1;               ///< device dimension of these rows
  size_t firstIndirect = 0;          ///< positions in order of the dims of the index tensor
  size_t indirectDims = 0;

  bool isIndirect(size_t position) const {
    return position >= firstIndirect && position < firstIndirect + indirectDims;
  }
};

/// \p plan is chosen by the index tensor \p name, among \p args, along device dimension
/// \p deviceDim: the dims of the index tensor stand for it.
void planIndirect(const std::vector<ArgPlan> &args, const std::string &name, int64_t deviceDim,
                  ArgPlan &plan);
/// What the interface can say. Error: E5001.
Status checkIndirect(const std::string &op, OpClass opClass, const std::vector<Dim> &dims,
                     const std::vector<ArgPlan> &args);
void emitIndirection(const std::vector<Dim> &dims, const std::vector<ArgPlan> &args, size_t index,
                     DscTensor &tensor);
/// By which division the tensor lies in LX; nothing when it is the operation's.
void emitOwners(const std::vector<Dim> &dims, const ArgPlan &plan, const SuperDsc &dsc,
                DscTensor &tensor);

} // namespace spyre::spec
