//===- Elements.h - where the elements of a small view lie ----------------------------------===//
//
// Reading one row of a large tensor, or writing one number into it, must not move the tensor. A
// view of few elements is a list of places in the sticks of its storage; only those sticks are
// touched.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Memory.h"

#include <optional>

namespace spyre::plugin {

/// Views of more elements are worth a transfer of the storage, or a program.
constexpr int64_t kMostElements = 1 << 14;

struct ElementPlaces {
  /// Sticks that hold elements, by number from the start of the buffer, ascending.
  std::vector<int64_t> sticks;
  /// Byte of each element, in row-major order of the view, as if those sticks lay side by side.
  std::vector<size_t> bytes;
};

/// Nothing when the view has too many elements, or a layout in which an element may lie in several
/// places.
std::optional<ElementPlaces> placesOf(const at::Tensor &view);
/// The same where touching the sticks costs less than moving the whole storage.
std::optional<ElementPlaces> placesIfFewer(const at::Tensor &view);

} // namespace spyre::plugin
