//===- Fill.h - one value for all elements of a tensor --------------------------------------===//
#pragma once

#include "ATen/core/Tensor.h"

namespace spyre::plugin {

/// On the device and on its current stream: no element comes from the host, unless the tensor is a
/// view that neither runs of sticks nor a program can write. Repeated dimensions are allowed, as on
/// the CPU. Numbers that do not fit the type are torch's error, complex ones a TypeError.
void fillWithScalar(const at::Tensor &tensor, const at::Scalar &value);

} // namespace spyre::plugin
