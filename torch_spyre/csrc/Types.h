//===- Types.h - torch's element types in the project's terms -------------------------------===//
#pragma once

#include "spyre/Layout/DeviceLayout.h"

#include "c10/core/ScalarType.h"
#include "c10/util/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace spyre::plugin {

std::optional<numerics::HostType> hostTypeOf(c10::ScalarType type);
/// Throws E6502 for types without a device format.
numerics::HostType requireHostType(c10::ScalarType type);
c10::ScalarType scalarTypeOf(numerics::HostType type);

/// MLIR's name of an element type the device does not hold ("f64"). Throws E6506 for types the
/// compiler cannot name.
std::string hostElementOf(c10::ScalarType type);

/// An integer type as wide as one element on the device. Moving elements as such integers keeps
/// their bits: a DLFloat16 beyond the range of fp16 survives, which it would not as an fp16.
struct RawType {
  numerics::HostType host;
  numerics::DataFormat format;
  c10::ScalarType scalar;
};
RawType rawTypeOf(numerics::DataFormat format);

inline std::vector<int64_t> toVector(c10::IntArrayRef values) { return values.vec(); }

/// Host elements between the first and the last one of a tensor, both included.
int64_t hostExtent(c10::IntArrayRef size, c10::IntArrayRef stride);

} // namespace spyre::plugin
