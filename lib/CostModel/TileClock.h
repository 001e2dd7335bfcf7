//===- TileClock.h - the time of a sketch ---------------------------------------------------===//
//
// Five units, each busy until it is free again, as on the device (docs/timing.md): a unit waits for
// its own queue, and for the unit that touched its buffer before it. Loads and stores share the
// core's part of DDR, whose gaps later requests may fill; bytes that cross the border the other way
// turn the bus. Loops run until two iterations in a row take what the two before them took; the
// rest is multiplied.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/CostModel/KernelPricer.h"

#include "Sketch.h"

#include <limits>

namespace spyre::costmodel {

/// Loops are followed until they repeat but for so much, and then multiplied: what a bound knows of
/// their work may be off by it.
constexpr double kRepeats = 0.995;

/// What runSketch() answers at least, by the work that there is.
double leastCycles(const Sketch &sketch, const arch::Timing &timing);
/// Cycles from the first instruction to the last result. \p breakdown may be null. \p enough: when
/// it is known to be more, any number beyond is an answer.
double runSketch(const Sketch &sketch, const arch::Timing &timing, Breakdown *breakdown,
                 double enough = std::numeric_limits<double>::infinity());

} // namespace spyre::costmodel
