//===- Tolerance.h - how far a result of the device may be from the host's ------------------===//
//
// The C++ reader of test/tolerances.json, the one table of formulas by format and operation; the
// Python tests read the same file. A test does not bring a number of its own.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace spyre::testing {

/// Relative to the result; for operations that sum, to the sum of the magnitudes. \p dtype is the
/// host's name ("float16"), \p terms what is summed. Throws std::runtime_error, which fails the
/// test, when the table has no such entry.
double tolerance(const std::string &operation, const std::string &dtype, int64_t terms = 1);

/// What any value can lose, however small it is, on its way through the host's fp16.
double hostAbsoluteTolerance();

/// The same from the text of a table, for tests of the table itself.
double toleranceFrom(const std::string &json, const std::string &operation,
                     const std::string &dtype, int64_t terms);

} // namespace spyre::testing
