//===- FitCommand.h - the command line of spyre-fit -----------------------------------------===//
#pragma once

#include <iosfwd>

namespace spyre::tools {

/// Exit code: 0 done, 1 input or options are at fault, 2 the tool is.
int fitCommand(int argc, char **argv, std::ostream &out, std::ostream &err);

} // namespace spyre::tools
