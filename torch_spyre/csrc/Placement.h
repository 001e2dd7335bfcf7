//===- Placement.h - the device a call belongs to -------------------------------------------===//
//
// Programs are loaded on one device and find all their tensors there. Who calls has to say so
// before anything is moved or compiled: the error of a mixed call is torch's, not one of the
// runtime's.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "ATen/core/Tensor.h"
#include "ATen/core/ivalue.h"

#include <vector>

namespace spyre::plugin {

/// The device of a device argument, or of the spyre tensors, or the current one. Throws E6523 when
/// tensors are on two of them.
c10::Device placementOf(c10::ArrayRef<c10::IValue> arguments);
/// The device of the spyre tensors, or \p otherwise.
c10::Device placementOf(const std::vector<at::Tensor> &tensors, c10::Device otherwise);

} // namespace spyre::plugin
