//===- Log.h - structured log lines: level, component, key=value ----------------------------===//
//
// Off unless somebody sets a level (the plug-in and the tools' main do, from TORCH_SPYRE_DEBUG).
// One line per event on the sink: "spyre debug runtime launch bundle=bundle_0 cycles=1234".
// Libraries never read the environment.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "fmt/format.h"

#include <functional>
#include <string>

namespace spyre {

enum class LogLevel { Off = 0, Error = 1, Warning = 2, Info = 3, Debug = 4 };

void setLogLevel(LogLevel level);
LogLevel logLevel();
/// Where lines go; the default is standard error. Passing nullptr restores the default.
void setLogSink(std::function<void(LogLevel, const std::string &line)> sink);

namespace detail {
void writeLog(LogLevel level, const char *component, const std::string &text);
}

template <typename... Args>
void log(LogLevel level, const char *component, fmt::format_string<Args...> format,
         Args &&...args) {
  if (level <= logLevel()) {
    detail::writeLog(level, component, fmt::format(format, std::forward<Args>(args)...));
  }
}

} // namespace spyre
