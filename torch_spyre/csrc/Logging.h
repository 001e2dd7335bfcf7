//===- Logging.h - where the log lines of the libraries go ----------------------------------===//
//
// torch_spyre.logging decides levels per component and the file; lines are written here, without
// Python: a library may log while it holds a lock, and must not wait for the interpreter then.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Log.h"

#include <map>
#include <string>

namespace spyre::plugin {

/// \p levels by component of the line ("runtime", "compiler", ...), others get \p fallback. Lines
/// go to standard error and, unless \p path is empty, are appended to that file. Throws E6554 when
/// the file cannot be opened; then nothing changes.
void routeLog(std::map<std::string, LogLevel> levels, LogLevel fallback, const std::string &path);

} // namespace spyre::plugin
