//===- LxBudget.h - how much of a machine's scratchpads plans may use ------------------------===//
//
//     0               planned buffers            lxPlannerBytes   back end, programs    lxBytes
//     +---------------------------------------------+----------------------------------+
//
// The documents give two borders [spec: scratchpad 1]: the pattern suite counts with
// DeviceDesc::lxPlannerBytes (1,677,721 of 2 MiB), programs with what is left after the part that
// holds programs (1,625,344): below the first, so that no program meets the back end.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"

namespace spyre::arch {

/// Share of LX that the documents leave to the back end (DXP_LX_FRAC_AVAIL).
constexpr double kBackEndLxShare = 0.2;

/// Bytes per core that plans of programs may use when the back end keeps \p backEndShare, in whole
/// sticks. At the documented share never beyond the machine's own border.
int64_t plannedLxBytes(const DeviceDesc &device, double backEndShare = kBackEndLxShare);

} // namespace spyre::arch
