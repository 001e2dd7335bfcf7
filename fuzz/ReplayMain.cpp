//===- ReplayMain.cpp - a fuzz target without libFuzzer -------------------------------------===//
//
//   FuzzXReplay [--mutations N] FILE-OR-FOLDER...
//
// Feeds every file, then N seeded mutations of them, to the target. It needs no Clang, so `make
// test` runs it in every build, and the coverage build measures with it. An input that stops the
// process is kept as crash-<target> in the working directory.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Artifacts.h"

#include "FuzzInput.h"
#include "Mutations.h"
#include "fmt/format.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static constexpr bool kIsSanitized = true;
#elif defined(__has_feature)
static constexpr bool kIsSanitized =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
static constexpr bool kIsSanitized = false;
#endif

// A sanitizer ends with abort(), which keepInput() sees; no single allocation above 512 MB.
extern "C" const char *__asan_default_options() {
  return "abort_on_error=1:handle_abort=0:max_allocation_size_mb=512";
}
extern "C" const char *__ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSeed = 1;
constexpr size_t kMaxInputBytes = 65536;
/// Inputs have some kilobytes; a reader that takes this much has believed a number in them.
constexpr rlim_t kMaxDataBytes = rlim_t(1) << 30;

/// What keepInput() writes; plain pointers, since it runs in a signal handler.
const char *currentBytes = nullptr;
size_t currentSize = 0;
std::string crashFile;

void keepInput(int signal) {
  const int file = open(crashFile.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0) {
    [[maybe_unused]] ssize_t written = write(file, currentBytes, currentSize);
    close(file);
    written = write(2, "input kept in ", 14);
    written = write(2, crashFile.c_str(), crashFile.size());
    written = write(2, "\n", 1);
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void guardProcess(const std::string &target) {
  crashFile = "crash-" + target;
  for (int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGBUS, SIGILL}) {
    std::signal(signal, keepInput);
  }
  if (!kIsSanitized) { // sanitizers reserve far more than they use
    const rlimit limit{kMaxDataBytes, kMaxDataBytes};
    setrlimit(RLIMIT_DATA, &limit);
  }
}

void runOne(const std::string &bytes) {
  currentBytes = bytes.data();
  currentSize = bytes.size();
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
}

/// All files below the paths, in a fixed order.
std::vector<fs::path> listFiles(const std::vector<fs::path> &paths) {
  std::vector<fs::path> files;
  for (const fs::path &path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto &entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_regular_file()) {
        files.push_back(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

int usage(std::string_view why) {
  fmt::print(stderr, "{}\nusage: [--mutations N] FILE-OR-FOLDER...\n", why);
  return 2;
}

void runMutations(const std::vector<std::string> &seeds, uint64_t count) {
  spyre::Random random(kSeed);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string &seed = seeds[i % seeds.size()];
    std::string input;
    if (random.below(2) == 0) {
      input = spyre::fuzz::mutateJson(seed, random);
    }
    runOne(input.empty() ? spyre::fuzz::mutateBytes(seed, random) : input);
  }
}

int replay(const std::vector<fs::path> &paths, uint64_t mutations) {
  std::vector<std::string> seeds;
  for (const fs::path &file : listFiles(paths)) {
    spyre::Expected<std::string> bytes = spyre::readFile(file);
    if (!bytes.ok()) {
      return usage(bytes.status().message());
    }
    runOne(*bytes);
    if (bytes->size() <= kMaxInputBytes) {
      seeds.push_back(*std::move(bytes));
    }
  }
  if (seeds.empty()) {
    return usage("no seeds found: a test without input proves nothing");
  }
  runMutations(seeds, mutations);
  fmt::print("{} seeds and {} mutations of them: no crash\n", seeds.size(), mutations);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  guardProcess(fs::path(argv[0]).filename());
  uint64_t mutations = 0;
  std::vector<fs::path> paths;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--mutations") {
      paths.emplace_back(argv[i]);
      continue;
    }
    const std::string_view number = ++i < argc ? argv[i] : "";
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), mutations);
    if (parsed.ec != std::errc() || parsed.ptr != number.data() + number.size()) {
      return usage("--mutations takes a number");
    }
  }
  return replay(paths, mutations);
}
