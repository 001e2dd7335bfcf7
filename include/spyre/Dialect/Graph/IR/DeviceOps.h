//===- DeviceOps.h - element-wise device operations under their own names -------------------===//
//
// Users' lowerings name device operations directly: the callee "spyre.device.<name>" takes what the
// device operation takes, and its constants are attributes under the device's names. These rows
// stand apart from the op table: they are no operations of the framework.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Dialect/Graph/IR/OpTable.h"

namespace spyre::graph {

constexpr const char *kDeviceOpPrefix = "spyre.device.";

/// Sorted by name.
const std::vector<OpRow> &deviceOpTable();

} // namespace spyre::graph
