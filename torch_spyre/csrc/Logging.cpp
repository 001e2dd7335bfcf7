//===- Logging.cpp - levels per component, standard error and a file ------------------------===//
#include "Logging.h"

#include "Errors.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>

namespace spyre::plugin {

namespace {

struct Route {
  std::map<std::string, LogLevel, std::less<>> levels;
  LogLevel fallback = LogLevel::Off;
  std::shared_ptr<std::FILE> file;
};

/// "spyre debug runtime launch ...": the third word.
std::string_view componentOf(std::string_view line) {
  for (int word = 0; word < 2; ++word) {
    line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
  }
  return line.substr(0, line.find(' '));
}

void write(const Route &route, LogLevel level, const std::string &line) {
  static std::mutex mutex;
  auto found = route.levels.find(componentOf(line));
  if (level > (found != route.levels.end() ? found->second : route.fallback)) {
    return;
  }
  std::lock_guard<std::mutex> lock(mutex);
  std::fprintf(stderr, "%s\n", line.c_str());
  if (route.file) {
    std::fprintf(route.file.get(), "%s\n", line.c_str());
    std::fflush(route.file.get());
  }
}

std::shared_ptr<std::FILE> openLog(const std::string &path) {
  if (path.empty()) {
    return nullptr;
  }
  std::FILE *file = std::fopen(path.c_str(), "ae");
  if (file == nullptr) {
    raise(error<6554>("the log file '{}' cannot be opened ({}); give another path", path,
                      std::strerror(errno)));
  }
  return {file, &std::fclose};
}

} // namespace

void routeLog(std::map<std::string, LogLevel> levels, LogLevel fallback, const std::string &path) {
  auto route = std::make_shared<Route>();
  route->file = openLog(path);
  route->fallback = fallback;
  LogLevel highest = fallback;
  for (const auto &[component, level] : levels) {
    route->levels.emplace(component, level);
    highest = std::max(highest, level);
  }
  setLogSink([route](LogLevel level, const std::string &line) { write(*route, level, line); });
  setLogLevel(highest);
}

} // namespace spyre::plugin
