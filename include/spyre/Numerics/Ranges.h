//===- Ranges.h - which elements of a tensor are infinite -----------------------------------===//
//
// Reading decides (docs/adr/0083): an element on the device is infinite when its host type has
// infinity for it. Finite numbers of the host stay finite. Negative numbers mirror positive ones.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Numerics/Formats.h"

namespace spyre::numerics {

/// Elements of Float16, Bfloat16 and Float32 tensors from smallestInfinite on read back as
/// infinity, those up to largestFinite as finite numbers. No element is between the two.
double largestFinite(HostType type);
double smallestInfinite(HostType type);
/// The host rounds \p value to a finite number of \p type. False for NaN.
bool isFiniteIn(HostType type, double value);

/// float -> DLFloat16 of a Float16 or Bfloat16 element: floatToDl16, but what is finite in \p type
/// is at most largestFinite.
uint16_t floatToElement(HostType type, float value);
void floatsToElements(HostType type, const float *values, uint16_t *elements, int64_t count);

} // namespace spyre::numerics
