//===- ResultStrides.h - how torch lays out the results of an operation ----------------------===//
#pragma once

#include "ATen/core/Tensor.h"
#include "ATen/core/dispatch/Dispatcher.h"

#include <vector>

namespace spyre::plugin {

/// Strides that the CPU gives the results of \p op, whose shapes are those of \p metas. Row-major
/// where torch's own are not those of a dense tensor.
std::vector<std::vector<int64_t>> resultStrides(const c10::OperatorHandle &op,
                                                c10::ArrayRef<c10::IValue> arguments,
                                                const std::vector<at::Tensor> &metas);

} // namespace spyre::plugin
