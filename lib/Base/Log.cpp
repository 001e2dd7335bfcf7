//===- Log.cpp - level and sink of the log --------------------------------------------------===//
#include "spyre/Base/Log.h"

#include <atomic>
#include <cstdio>
#include <mutex>

namespace spyre {

namespace {

using LogSink = std::function<void(LogLevel, const std::string &)>;

std::atomic<LogLevel> currentLevel{LogLevel::Off};

struct SinkHolder {
  std::mutex mutex;
  LogSink sink;
};

/// Never destroyed: threads may still log while static objects go away.
SinkHolder &sinkHolder() {
  static SinkHolder *holder = new SinkHolder;
  return *holder;
}

const char *levelName(LogLevel level) {
  switch (level) {
  case LogLevel::Off:
    return "off";
  case LogLevel::Error:
    return "error";
  case LogLevel::Warning:
    return "warning";
  case LogLevel::Info:
    return "info";
  case LogLevel::Debug:
    return "debug";
  }
  return "unknown";
}

} // namespace

void setLogLevel(LogLevel level) { currentLevel.store(level, std::memory_order_relaxed); }

LogLevel logLevel() { return currentLevel.load(std::memory_order_relaxed); }

void setLogSink(LogSink sink) {
  SinkHolder &holder = sinkHolder();
  std::lock_guard lock(holder.mutex);
  holder.sink = std::move(sink);
}

void detail::writeLog(LogLevel level, const char *component, const std::string &text) {
  std::string line = fmt::format("spyre {} {} {}", levelName(level), component, text);
  SinkHolder &holder = sinkHolder();
  LogSink sink;
  {
    std::lock_guard lock(holder.mutex);
    if (!holder.sink) {
      // Under the lock, so that lines of several threads stay whole.
      std::fprintf(stderr, "%s\n", line.c_str());
      return;
    }
    sink = holder.sink;
  }
  // Outside the lock: a sink may log or change the sink itself.
  sink(level, line);
}

} // namespace spyre
