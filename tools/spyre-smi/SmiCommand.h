//===- SmiCommand.h - what spyre-smi does, apart from main() --------------------------------===//
//
// Separate from main() so that tests call it with their own streams and folder.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <iosfwd>
#include <string>

namespace spyre::tools {

/// \p cardFolder is runtime::cardFolder() unless the command line names another. Exit code: 0 done,
/// 1 the user's input is at fault, 2 a fault of our own.
int smiCommand(int argc, const char *const *argv, const std::string &cardFolder, std::ostream &out,
               std::ostream &err);

} // namespace spyre::tools
