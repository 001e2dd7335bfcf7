//===- LayoutCache.h - what the layout attributes of buffers mean ---------------------------===//
//
// Every pass asks the same buffers for their layouts and the roles of their dimensions, and the
// answer follows from the attributes alone, which live as long as their context. The dialect keeps
// the answers.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Layout/DeviceLayout.h"

#include "llvm/ADT/DenseMap.h"

#include <mutex>
#include <tuple>

namespace spyre::loop {

/// The host dimension each device dimension comes from, -1 for the synthetic stick pair of a sparse
/// layout. The last two entries that name the stick dimension are its tile index and its lanes.
struct DimRoles {
  std::vector<int64_t> order; ///< dimOrder; last entry is the stick dimension or -1
  int64_t stick() const { return order.empty() ? -1 : order.back(); }
  /// Host dimension of each device dimension but the lanes, where the layout is none of a dimOrder:
  /// -1 for one of size 1 that stands for nothing.
  std::vector<int64_t> given = {};
  /// The same for every layout: all but the first of the order, then the first.
  std::vector<int64_t> slots() const;
};

/// Results of a function of attributes, by their addresses; errors are not kept. Several threads
/// may ask: a context may verify functions side by side.
template <typename Key, typename T>
class AttributeCache {
public:
  template <typename Fn>
  Expected<T> find(const Key &key, Fn &&compute) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (auto found = entries.find(key); found != entries.end()) {
        return found->second;
      }
    }
    Expected<T> result = compute();
    if (result.ok()) {
      std::lock_guard<std::mutex> lock(mutex);
      entries.try_emplace(key, *result);
    }
    return result;
  }

private:
  std::mutex mutex;
  llvm::DenseMap<Key, T> entries;
};

struct LayoutCache {
  AttributeCache<const void *, layout::DeviceLayout> layouts;
  /// By layout, type and strides.
  AttributeCache<std::tuple<const void *, const void *, const void *>, DimRoles> roles;
};

} // namespace spyre::loop
