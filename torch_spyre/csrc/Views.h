//===- Views.h - views of a storage as calls of the graph -----------------------------------===//
//
// A program gets storages, the user has views of them. Instead of copying a view first, the program
// reads it: the storage's dimensions are joined, cut, split and permuted. What sizes and strides do
// not say in these terms (windows that overlap) is one walk through the storage.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/CAPI/Compiler.h"

#include "Memory.h"

#include <vector>

namespace spyre::plugin {

/// How a view lies in its storage.
struct ViewPlan {
  /// Joined dimensions of the storage, outermost first, and the part of each.
  struct Part {
    int64_t extent = 1;
    int64_t start = 0, count = 1, step = 1;
  };
  /// Dimensions of the storage by falling stride.
  std::vector<int64_t> order;
  std::vector<Part> parts;
  /// What the parts are split into, and where each dimension of the view (without those of one
  /// element and repeated ones) is among them.
  std::vector<int64_t> split, permutation;
  /// Sizes of the view with 1 for repeated dimensions; sizes of the view.
  std::vector<int64_t> plain, size;
  /// None of the above holds: strides and offset say it all.
  bool isWalk = false;
  std::vector<int64_t> stride;
  int64_t offset = 0;
};

ViewPlan planView(const StorageGeometry &storage, const at::Tensor &view);

/// The value of the view, given that of its storage.
capi::ValueId readView(capi::GraphBuilder &builder, capi::ValueId storage,
                       const StorageGeometry &geometry, numerics::HostType dtype,
                       const ViewPlan &plan);
/// The value of the storage with \p contents in the place of the view.
capi::ValueId writeView(capi::GraphBuilder &builder, capi::ValueId storage,
                        const StorageGeometry &geometry, numerics::HostType dtype,
                        const ViewPlan &plan, capi::ValueId contents);
/// writeView knows a way: no element has two places, and there are no gaps.
bool canWrite(const ViewPlan &plan);

} // namespace spyre::plugin
