//===- Attributes.h - device layouts and element types between MLIR and our own structs -----===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Layout/DeviceLayout.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <vector>

namespace spyre::dialect {

/// {device_size = array<i64: ..>, format = "SEN169_FP16", stride_map = array<i64: ..>}, with
/// arrangement = ".." where it is not the standard one.
mlir::DictionaryAttr layoutToAttr(mlir::MLIRContext *context, const layout::DeviceLayout &layout);
/// Error: E2010 (not a layout dictionary, or an unsound layout).
Expected<layout::DeviceLayout> layoutFromAttr(mlir::Attribute attribute);

/// Element type of a tensor or memref. Error: E1003 for types without a device format.
Expected<numerics::HostType> hostTypeOf(mlir::Type elementType);
mlir::Type elementTypeOf(mlir::MLIRContext *context, numerics::HostType type);

std::vector<int64_t> toVector(llvm::ArrayRef<int64_t> values);

/// "model.py:12", the first line that \p location names; empty where it names none. Hints stand in
/// fused locations around it.
std::string sourceLine(mlir::Location location);

/// Reports \p status at \p op ("SPYRE-E1003: ...") and returns failure.
mlir::LogicalResult report(mlir::Operation *op, const Status &status);

} // namespace spyre::dialect
