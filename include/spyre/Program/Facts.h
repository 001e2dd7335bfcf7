//===- Facts.h - what is known of a program without running it ------------------------------===//
#pragma once

#include "spyre/Program/Program.h"

#include <string_view>

namespace spyre::program {

/// Instructions that are executed and points of their nests, over all cores: what it takes to carry
/// the program out, whatever the machine's speed.
double stepsOf(const Program &program);
/// A program with more steps is refused. A host that does a billion steps in a second needs five
/// hours for 2^44 of them, and days where all are matmul points. A matmul of 16384 x 4096 x 12800
/// has 2^28; three nested loops of 65,535 have 2^48.
constexpr double kMostSteps = 0x1p44;
/// Error: E7019 when the program has more than kMostSteps.
Status checkWork(const Program &program);

/// Some instruction takes an address from data.
bool readsIndices(const Program &program);

/// Number of symbols that the header of a binary states, not verified; 0 for other bytes.
uint32_t symbolCount(std::string_view bytes);

} // namespace spyre::program
