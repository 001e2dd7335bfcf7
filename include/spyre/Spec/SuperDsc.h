//===- SuperDsc.h - the SuperDSC JSON: one operation for the back end -----------------------===//
//
// SuperDsc is what the JSON says, field by field where the back end needs it; the emitter builds it
// from an OpSpec by the twelve steps of codegen-and-backend 2.1, the writer prints the documented
// JSON, the reader accepts any field order and refuses what it does not know.
//
// Address rule for a reader [spec: codegen-and-backend 2.8]: for tensor order d0 (inner) .. dk,
// stick dim S of size w,
//     ext(d) = 1 if scale(d) < 0, else size(d) + gap(d), divided by w (rounded up) when d == S
//     (in a stick of several dimensions: each of them by its own elements in the stick)
//     size(d) = N_[d] for hbm, the part of one core for lx (ss_[d], or that of the division by
//     which the tensor lies there);  for ReStickifyOpHBM ext(d) = size(d) - gap(d) (there a
//     negative gap means a buffer bigger than the iteration, a positive one a padded tail)
//     strideSticks(d0) = 1, strideSticks(d_{i+1}) = strideSticks(d_i) * ext(d_i)
//     address(stick) = start[core] + 128 * sum idx(d) * strideSticks(d)
// Indirect access (docs/adr/0020): the indirect dims of a value tensor hold its rows, as many as
// the product of their ext (their gap may be negative), at the stride of the first of them. The
// start of a core is that of the core with slice 0 in these dims: valueStart().
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Spec/OpSpec.h"

#include <map>
#include <string>
#include <vector>

namespace spyre::spec {

/// Values keyed by dimension label, in written order.
template <typename T>
using DimMap = std::vector<std::pair<std::string, T>>;

template <typename T>
const T *findDim(const DimMap<T> &map, const std::string &dim) {
  for (const auto &[name, value] : map) {
    if (name == dim) {
      return &value;
    }
  }
  return nullptr;
}

struct DscLayout {
  std::string label;                  ///< INPUT, KERNEL, OUTPUT, KERNEL_IDX
  std::vector<std::string> dimOrder;  ///< inner to outer, stick counted by its outer part
  std::vector<std::string> stickDims; ///< one entry unless quantised
  std::vector<int64_t> stickSizes;

  bool operator==(const DscLayout &) const = default;
};

struct DscTensor {
  std::string name;                  ///< "Tensor0"
  std::string layout;                ///< label of a DscLayout
  bool inLx = false;                 ///< component_ "lx"
  std::vector<std::string> dimOrder; ///< this tensor's own order, inner to outer
  DimMap<int64_t> scale;             ///< 1, -1 (broadcast or reduced), -2 (and it is the stick)
  DimMap<int64_t> backGap;           ///< elements; only dims with a gap
  numerics::DataFormat format = numerics::DataFormat::Sen169Fp16;
  /// Per core: bytes, or the negative id of a symbol of the bundle when `symbolic`.
  std::vector<int64_t> startAddress;
  bool symbolic = false; ///< isStartAddrSymbolic_; never in LX
  /// Part in an indirect access: an index tensor says which entries of the value tensor are meant.
  enum class Indirection : uint8_t { None, Index, Value };
  Indirection indirection = Indirection::None;
  /// relatedIndirectAccessAlloc_: tensor at the other end of the access, or -1.
  int64_t indirectPartner = -1;
  bool holdsAddresses = false;           ///< indexTensorType_ "address" instead of "index"
  std::vector<std::string> indirectDims; ///< maxDimSizes_ 1: dims whose entries are chosen
  /// coordinates_.coreIdToWkSlice_ of an input in LX, by core, when it is not the operation's: the
  /// slice of each held dim that the core's LX holds; nothing for a core that holds none.
  std::vector<DimMap<int64_t>> ownerSlice;

  bool operator==(const DscTensor &) const = default;
};

struct DscConstant {
  std::string name;
  numerics::DataFormat format = numerics::DataFormat::Sen169Fp16;
  uint32_t bits = 0;

  bool operator==(const DscConstant &) const = default;
};

/// Slices of two sizes along one dimension (docs/adr/0055).
struct DscUneven {
  std::string dim;         ///< empty: all slices are alike
  int64_t largeSlices = 0; ///< the first ones, of perCoreSize elements
  int64_t smallSize = 0;   ///< elements of each of the others

  bool operator==(const DscUneven &) const = default;
};

struct SuperDsc {
  int64_t index = 0;
  std::string op;     ///< opFuncName, with "nonstick" where it applies
  std::string exUnit; ///< "pt" or "sfp"
  numerics::DataFormat format = numerics::DataFormat::Sen169Fp16;
  int64_t cores = 1;
  DimMap<int64_t> slices;                 ///< numWkSlicesPerDim_
  std::vector<DimMap<int64_t>> coreSlice; ///< coreIdToWkSlice_, by core
  DimMap<int64_t> size;                   ///< N_, padded, iteration order
  DimMap<int64_t> perCoreSize;            ///< dataStageParam_ ss_; of two, that of dscs_[0]
  DscUneven uneven;                       ///< two entries of dscs_, by coreIdToDsc_
  /// dim -> (first masked element, number of masked elements)
  DimMap<std::pair<int64_t, int64_t>> masking;
  std::vector<DscLayout> layouts;
  std::vector<DscTensor> tensors;
  std::vector<DscConstant> constants;
  std::vector<int64_t> inputs;       ///< indices into tensors
  std::vector<int64_t> indexTensors; ///< indirectAccessIndexLabeledDs
  int64_t output = 0;

  bool operator==(const SuperDsc &) const = default;
};

/// In how many slices along \p dim the tensor lies in the cores' LX, or is worked on when it is in
/// HBM.
int64_t slicesOf(const SuperDsc &dsc, const DscTensor &tensor, const std::string &dim);
/// Start address of a value tensor for \p core, without what a file may add for its slice of the
/// indirect dims. \p dsc has a complete core map.
int64_t valueStart(const SuperDsc &dsc, const DscTensor &tensor, size_t core);

/// First element of slice \p slice along \p dim, whose slices have \p size elements (the large
/// ones, where there are two sizes).
int64_t firstOfSlice(const SuperDsc &dsc, const std::string &dim, int64_t size, int64_t slice);
/// The entries of dscs_: the operation itself, or for uneven work the cores with large slices, then
/// those with small ones, each a SuperDSC of its cores in ascending order with the whole N_.
std::vector<SuperDsc> partsOf(const SuperDsc &dsc);
/// Cores of each part, ascending. \p dsc has a complete core map.
std::vector<std::vector<int64_t>> partCores(const SuperDsc &dsc);

struct EmitOptions {
  /// Step 11: the cores that share an output slice of a matmul have consecutive numbers. Without
  /// it the first dimension is the fastest, as for all other operations.
  bool kFastCores = true;
};
/// The twelve steps. Errors: E5001 (a rule of the interface cannot be met; names it).
Expected<SuperDsc> emitSuperDsc(const OpSpec &spec, int64_t index, const EmitOptions &options = {});

/// The JSON text, with the field order and spacing the golden files show.
std::string writeSuperDsc(const SuperDsc &dsc);
/// Errors: E5002 with the JSON path.
Expected<SuperDsc> readSuperDsc(const std::string &text);
/// Consistency of what was read: dims known, sizes divide, addresses aligned, core counts within
/// the machine, labels present. Error: E5003.
Status verifySuperDsc(const SuperDsc &dsc, const arch::DeviceDesc &device);

} // namespace spyre::spec
