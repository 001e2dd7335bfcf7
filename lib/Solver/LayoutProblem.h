//===- LayoutProblem.h - checks shared by the solver and its verifier -----------------------===//
#pragma once

#include "spyre/Solver/LayoutChoice.h"

namespace spyre::solver {

/// Every index in range, every tensor written before it is read. Error: E3201.
Status checkProblem(const LayoutProblem &problem);

/// Cost of a copy of a tensor that is \p there into \p option, or -1.
int64_t copyCost(const LayoutProblem::Tensor &tensor, OptionSet there, int option);

/// The option a tensor has without its copies, or -1 where \p there does not tell.
int ownOption(const LayoutProblem::Tensor &tensor, OptionSet there);

} // namespace spyre::solver
