//===- ProblemFile.h - operations to divide, as a file --------------------------------------===//
//
// Strict JSON: unknown fields are refused, so that a misspelt one is not silently ignored. The
// format is described in docs/division-problems.md.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Division/Problem.h"

namespace spyre::solver::division {

/// Errors: E3073 (malformed text or fields), E3066 (a hint that is no positive integer), E3060 (an
/// operation that cannot be).
Expected<std::vector<Op>> readProblem(const std::string &text);
/// Layouts in full: reading it back gives equal operations.
std::string writeProblem(const std::vector<Op> &ops);

} // namespace spyre::solver::division
