//===- DeviceCopy.h - copies between device tensors without the host ------------------------===//
//
// Views, layouts and element types are changed by a program that reads the one storage and writes
// the other. What the compiler refuses (gaps, pairs of types) goes through host images (Copy.h);
// what is too large for its planners is said and counted as a fallback.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "ATen/core/Tensor.h"

namespace spyre::plugin {

/// Copies the elements of \p from, converted, to \p to, which has the same sizes. False when there
/// is no program for it; nothing has happened then.
bool copyByProgram(const at::Tensor &from, const at::Tensor &to);

/// Programs kept, and how many may be.
size_t copyProgramCount();
void limitCopyPrograms(size_t most);
void forgetCopyPrograms();

} // namespace spyre::plugin
