//===- SimCommand.h - what spyre-sim does, apart from main() --------------------------------===//
//
// Separate from main() so that tests can call it with their own streams.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <iosfwd>

namespace spyre::tools {

/// Exit code: 0 done, 1 the user's input or program is at fault, 2 a fault of our own.
int simCommand(int argc, const char *const *argv, std::ostream &out, std::ostream &err);

} // namespace spyre::tools
