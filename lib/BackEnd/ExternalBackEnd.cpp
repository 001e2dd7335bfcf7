//===- ExternalBackEnd.cpp - run another back end on a bundle -------------------------------===//
#include "spyre/BackEnd/ExternalBackEnd.h"

#include "spyre/Spec/SpyreCode.h"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <vector>

extern char **environ; // NOLINT(readability-redundant-declaration): POSIX leaves it to the user

namespace spyre::backend {

namespace fs = std::filesystem;

Expected<Artifacts> readBundleDirectory(const fs::path &directory) {
  std::error_code failure;
  Artifacts files;
  fs::directory_iterator entries(directory, failure);
  if (failure) {
    return error<9004>("cannot list '{}': {}; give the directory that holds bundle.mlir",
                       directory.string(), failure.message());
  }
  for (const fs::directory_entry &entry : entries) {
    std::string name = entry.path().filename().string();
    bool wanted =
        name == "bundle.mlir" || name == "op_spec.txt" || entry.path().extension() == ".json";
    if (wanted && entry.is_regular_file(failure)) {
      SPYRE_ASSIGN_OR_RETURN(files[name], readFile(entry.path()));
    }
  }
  return files;
}

namespace {

/// A directory that is gone with its contents when this is.
class ScratchDirectory {
public:
  static Expected<ScratchDirectory> create(const fs::path &parent) {
    std::string pattern = (parent / "spyre-bundle-XXXXXX").string();
    if (!mkdtemp(pattern.data())) {
      return error<5312>("cannot make a directory in '{}': {}; give a place that can be written",
                         parent.string(), std::strerror(errno));
    }
    return ScratchDirectory(pattern);
  }
  ScratchDirectory(ScratchDirectory &&other) noexcept : path(std::move(other.path)) {
    other.path.clear();
  }
  ScratchDirectory(const ScratchDirectory &) = delete;
  ScratchDirectory &operator=(const ScratchDirectory &) = delete;
  ScratchDirectory &operator=(ScratchDirectory &&) = delete;
  ~ScratchDirectory() {
    std::error_code ignored;
    if (!path.empty()) {
      fs::remove_all(path, ignored);
    }
  }

  fs::path path;

private:
  explicit ScratchDirectory(fs::path path) : path(std::move(path)) {}
};

std::vector<std::string> splitWords(const std::string &text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    words.push_back(word);
  }
  return words;
}

/// The last of what the command printed; enough for its error message.
std::string tailOf(const fs::path &log) {
  constexpr size_t kMostChars = 2000;
  Expected<std::string> text = readFile(log);
  if (!text || text->empty()) {
    return "it printed nothing";
  }
  std::string shown =
      text->size() > kMostChars ? "..." + text->substr(text->size() - kMostChars) : *text;
  while (!shown.empty() && shown.back() == '\n') {
    shown.pop_back();
  }
  return "it printed:\n" + shown;
}

/// Runs the words with both outputs in \p log; the wait status.
Expected<int> runCommand(std::vector<std::string> words, const fs::path &log) {
  std::vector<char *> argv;
  for (std::string &word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  int failure = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    return error<5312>("cannot start '{}': {}; check the command of the back end", words[0],
                       std::strerror(failure));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return error<5312>("lost '{}': {}", words[0], std::strerror(errno));
    }
  }
  return status;
}

Status checkExit(const std::string &command, int status, const fs::path &log) {
  if (WIFSIGNALED(status)) {
    return error<5312>("the back end '{}' was ended by signal {}; {}", command, WTERMSIG(status),
                       tailOf(log));
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return error<5312>("the back end '{}' gave exit code {}; {}", command, WEXITSTATUS(status),
                       tailOf(log));
  }
  return Status::success();
}

/// The plan must be one the runtime can carry out, with all binaries it names.
Status checkCode(const std::string &command, const Artifacts &code) {
  auto plan = code.find("spyrecode.json");
  if (plan == code.end()) {
    return error<5312>("the back end '{}' left no spyreCodeDir/spyrecode.json; it must write one "
                       "into the directory that -d names",
                       command);
  }
  Expected<spec::SpyreCode> parsed = spec::readSpyreCode(plan->second);
  if (!parsed) {
    return error<5312>("the back end '{}' left a spyrecode.json that cannot be read: {}", command,
                       parsed.status().text());
  }
  for (const spec::InitTransfer &transfer : parsed->transfers) {
    if (!code.count(transfer.file)) {
      return error<5312>("the back end '{}' left no '{}', which its spyrecode.json names", command,
                         transfer.file);
    }
  }
  return Status::success();
}

} // namespace

Expected<Artifacts> compileBundle(const Artifacts &bundle, const ExternalBackEnd &backEnd) {
  std::vector<std::string> words = splitWords(backEnd.command);
  if (words.empty()) {
    return error<5312>("the command of the back end is empty");
  }
  SPYRE_ASSIGN_OR_RETURN(ScratchDirectory scratch, ScratchDirectory::create(backEnd.scratch));
  const fs::path directory = scratch.path / "bundle";
  const fs::path log = scratch.path / "output.txt";
  SPYRE_RETURN_IF_ERROR(writeToDirectory(bundle, directory));
  for (const char *word : {"--bundle", "-d"}) {
    words.emplace_back(word);
  }
  words.push_back(directory.string());
  SPYRE_ASSIGN_OR_RETURN(int status, runCommand(words, log));
  SPYRE_RETURN_IF_ERROR(checkExit(backEnd.command, status, log));
  std::error_code ignored;
  Artifacts code;
  if (fs::is_directory(directory / "spyreCodeDir", ignored)) {
    SPYRE_ASSIGN_OR_RETURN(code, readDirectory(directory / "spyreCodeDir"));
  }
  SPYRE_RETURN_IF_ERROR(checkCode(backEnd.command, code));
  Artifacts out;
  for (auto &[name, contents] : code) {
    out["spyreCodeDir/" + name] = std::move(contents);
  }
  return out;
}

} // namespace spyre::backend
