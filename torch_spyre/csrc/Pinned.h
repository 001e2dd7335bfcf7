//===- Pinned.h - page-locked host memory ---------------------------------------------------===//
//
// A transfer from such memory can go on while the caller does something else: nobody moves the
// pages, and only the owner of the tensor writes them.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "c10/core/Allocator.h"

namespace spyre::plugin {

c10::Allocator &pinnedAllocator();
/// Also true for pointers into the middle of a buffer.
bool isPinned(const void *pointer);

} // namespace spyre::plugin
