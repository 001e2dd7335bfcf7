//===- DeviceAccess.h - one operand in device coordinates -----------------------------------===//
#pragma once

#include "spyre/Dialect/Loop/Transforms/Stick.h"
#include "spyre/Spec/OpSpec.h"

namespace spyre {

/// Name of the variable of extent 1 that stands for the lanes of a one-element-per-stick side of a
/// restickify.
constexpr const char *kUnitSymbol = "u0";

/// How the sparse side of a restickify is written.
enum class UnitSymbol {
  None,  ///< not a restickify with a sparse side
  Stick, ///< this operand is the sparse side: the unit symbol runs through its lanes
  Outer, ///< the other operand is: this one has it as an outer dimension of size 1
};

/// Fills deviceSize, deviceCoordinates, strideMap and deviceDtype. A dimension indexed by several
/// variables becomes one device dimension per variable. \p stickVar names the lanes where they
/// matter although their extent is 1 (matmul). \p indices is the name of the index tensor that
/// chooses entries of the indirect dimension. Error: E1203.
Expected<spec::TensorArg> deviceAccess(const loop::Access &access,
                                       const std::vector<std::string> &varNames, UnitSymbol unit,
                                       std::optional<unsigned> stickVar,
                                       const std::string &indices = "");

/// Adds outer dimensions of size 1 so that all arguments have the same rank.
void equalizeRanks(std::vector<spec::TensorArg> &args);

} // namespace spyre
