//===- LayoutProblem.h - checks shared by the solver and its verifier -----------------------===//
#pragma once

#include "spyre/Solver/LayoutChoice.h"

namespace spyre::solver {

/// Every index in range, every tensor written before it is read. Error: E3201.
Status checkProblem(const LayoutProblem &problem);

} // namespace spyre::solver
