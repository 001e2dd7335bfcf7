//===- PlanCommand.h - what spyre-plan does, apart from main() ------------------------------===//
//
// Separate from main() so that tests call it with their own streams.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <iosfwd>

namespace spyre::tools {

/// Exit code: 0 there is a plan, 1 there is none or the user's input is at fault, 2 a fault of our
/// own.
int planCommand(int argc, const char *const *argv, std::ostream &out, std::ostream &err);

} // namespace spyre::tools
