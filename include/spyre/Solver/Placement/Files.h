//===- Files.h - placement problems as CSV and JSON -------------------------------------------===//
//
// CSV is the form placement problems are published in [spec: scratchpad 15]: a header line, one
// line per buffer.
//
//     id,lower,upper,size,alignment,hint,offset,gaps,value,parents,forbidden
//     a,0,3,512,,,,,,,
//     b,2,9,256,128,,0,4-6 7-8@0:128,1024,a,0
//
// id, lower (or start, begin), upper (or end, which is inclusive) and size are needed, the rest is
// optional, in any order. A gap is `lower-upper`, or `lower-upper@low:high` when the buffer keeps
// that window of its bytes. Ours are value (default: the size), parents (ids, separated by spaces)
// and forbidden (0 or 1). What is written has an offset column, empty for what has no place.
//
// JSON holds everything a Problem has, the capacity, uses, transients and the variant included.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Solver/Placement/MemoryPlanSolver.h"

namespace spyre::solver::placement {

/// The capacity is not in the file. Errors: E3047 (with the line), and those of validate() if
/// \p capacityBytes is not 0.
Expected<Problem> parseCsv(const std::string &text, int64_t capacityBytes);
/// \p offsets may be empty: then the offset column has the pins.
std::string writeCsv(const Problem &problem, const Offsets &offsets);

/// Errors: E9101-E9103 (JSON), E3048 (an unknown buffer or variant), and those of validate().
Expected<Problem> parseProblemJson(const std::string &text);
std::string writeProblemJson(const Problem &problem);
/// The plan with its certificate and one entry per buffer.
std::string writePlanJson(const Problem &problem, const Plan &plan);

/// Takes the pins of a problem for a plan: how a written CSV is checked.
Offsets takePinsAsPlan(Problem &problem);

} // namespace spyre::solver::placement
