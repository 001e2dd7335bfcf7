//===- Fill.h - one value for all elements of a tensor --------------------------------------===//
#pragma once

#include "ATen/core/Tensor.h"

namespace spyre::plugin {

/// On the current stream of the device. The driver is told runs of equal sticks, which it may write
/// from the host, or a program reads one element again and again; only a view that neither can
/// write is copied from a host tensor of its size. Repeated dimensions are allowed, as on the CPU.
/// Numbers that do not fit the type are torch's error, complex ones a TypeError.
void fillWithScalar(const at::Tensor &tensor, const at::Scalar &value);

} // namespace spyre::plugin
