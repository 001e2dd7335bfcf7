//===- PlanCommand.h - what spyre-plan does, apart from main() ------------------------------===//
//
// Separate from main() so that tests call it with their own streams and environment.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

namespace spyre::tools {

/// What the environment says where the command line says nothing. A variable that is set to nothing
/// is set: SENCORES= is an error, as in the compiler.
struct PlanEnvironment {
  std::optional<std::string> cores, mode;
};

/// Exit code: 0 every operation has a plan, 1 one has none or the user's input is at fault, 2 a
/// fault of our own.
int planCommand(int argc, const char *const *argv, const PlanEnvironment &environment,
                std::ostream &out, std::ostream &err);

} // namespace spyre::tools
