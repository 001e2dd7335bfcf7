//===- Artifacts.cpp - files and directories that are never half-written --------------------===//
#include "spyre/Base/Artifacts.h"

#include "fmt/ranges.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <unistd.h>
#include <vector>

namespace fs = std::filesystem;

namespace spyre {

/// Bytes read at a time from a stream whose length is not known.
static constexpr size_t kReadChunkBytes = size_t(1) << 20;
/// Files that mark a directory as written by us; only such a directory is ever replaced.
static constexpr const char *kOwnMarkers[] = {"model.json", "bundle.mlir", "spyrecode.json"};

/// "<path>.tmp-<pid>-<n>": beside the target, so that the final rename stays on one file system.
static fs::path temporarySibling(const fs::path &path) {
  static std::atomic<uint64_t> counter{0};
  fs::path sibling = path;
  sibling += fmt::format(".tmp-{}-{}", getpid(), counter.fetch_add(1));
  return sibling;
}

static Expected<std::string> readStream(std::istream &stream, const std::string &name,
                                        uint64_t limitBytes) {
  std::string contents;
  std::string chunk(kReadChunkBytes, '\0');
  while (stream.good()) {
    stream.read(chunk.data(), std::streamsize(chunk.size()));
    contents.append(chunk, 0, size_t(stream.gcount()));
    if (contents.size() > limitBytes) {
      return error<9002>("{} is larger than the limit of {} bytes; give a smaller file", name,
                         limitBytes);
    }
  }
  if (stream.bad()) {
    return error<9001>("{} cannot be read: {}; check the file", name, std::strerror(errno));
  }
  return contents;
}

Expected<std::string> readFile(const fs::path &path, uint64_t limitBytes) {
  if (path == "-") {
    return readStream(std::cin, "standard input", limitBytes);
  }
  std::error_code fault;
  if (fs::is_directory(path, fault)) {
    return error<9001>("{} cannot be read: it is a directory; name a file", path.string());
  }
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  if (!stream) {
    return error<9001>("{} cannot be read: {}; check the path and its permissions", path.string(),
                       std::strerror(errno));
  }
  return readStream(stream, path.string(), limitBytes);
}

static Status cannotWrite(const fs::path &path, const std::string &reason) {
  return error<9003>("{} cannot be written: {}; check the path, its permissions and free space",
                     path.string(), reason);
}

/// Plain write, for new files below a temporary directory and for devices such as /dev/null.
static Status writeInPlace(const fs::path &path, const std::string &contents) {
  errno = 0;
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  stream.write(contents.data(), std::streamsize(contents.size()));
  stream.close();
  if (!stream) {
    return cannotWrite(path, std::strerror(errno));
  }
  return Status::success();
}

static Status writeStandardOutput(const std::string &contents) {
  std::cout.write(contents.data(), std::streamsize(contents.size()));
  std::cout.flush();
  if (!std::cout) {
    return cannotWrite("standard output", std::strerror(errno));
  }
  return Status::success();
}

Status writeFile(const fs::path &path, const std::string &contents) {
  if (path == "-") {
    return writeStandardOutput(contents);
  }
  std::error_code fault;
  fs::file_status target = fs::status(path, fault);
  if (fs::is_directory(target)) {
    return cannotWrite(path, "it is a directory");
  }
  bool isPlain = !fs::exists(target) || fs::is_regular_file(target);
  if (!isPlain || fs::is_symlink(fs::symlink_status(path, fault))) {
    // A rename would replace the device, the pipe, or the link (/dev/stdout is one).
    return writeInPlace(path, contents);
  }
  fs::path temporary = temporarySibling(path);
  Status written = writeInPlace(temporary, contents);
  if (written.ok()) {
    fs::rename(temporary, path, fault);
    if (fault) {
      written = cannotWrite(path, fault.message());
    }
  }
  if (!written.ok()) {
    fs::remove(temporary, fault);
  }
  return written;
}

Expected<Artifacts> readDirectory(const fs::path &directory) {
  std::error_code fault;
  if (!fs::is_directory(directory, fault)) {
    return error<9004>("{} is not a directory; name an existing directory", directory.string());
  }
  Artifacts artifacts;
  fs::recursive_directory_iterator it(directory, fault), end;
  while (!fault && it != end) {
    std::error_code statusFault;
    if (it->is_regular_file(statusFault)) {
      SPYRE_ASSIGN_OR_RETURN(std::string contents, readFile(it->path()));
      artifacts[it->path().lexically_relative(directory).generic_string()] = std::move(contents);
    }
    it.increment(fault);
  }
  if (fault) {
    return error<9001>("{} cannot be read: {}; check its permissions", directory.string(),
                       fault.message());
  }
  return artifacts;
}

/// A path from outside must not leave the directory it is written to.
static Status checkArtifactPath(const std::string &name) {
  fs::path path(name);
  bool sound = !name.empty() && name.find('\0') == std::string::npos && path.is_relative() &&
               path.has_filename();
  for (const fs::path &part : path) {
    sound = sound && part != ".." && part != ".";
  }
  if (!sound) {
    return error<9003>("the artifact path \"{}\" is not a plain relative path; use names without a "
                       "leading '/', '.' or '..'",
                       name);
  }
  return Status::success();
}

static Status writeNewDirectory(const Artifacts &artifacts, const fs::path &directory) {
  std::error_code fault;
  fs::create_directories(directory, fault);
  if (fault) {
    return cannotWrite(directory, fault.message());
  }
  for (const auto &[name, contents] : artifacts) {
    fs::path path = directory / name;
    fs::create_directories(path.parent_path(), fault);
    if (fault) {
      return cannotWrite(path, fault.message());
    }
    SPYRE_RETURN_IF_ERROR(writeInPlace(path, contents));
  }
  return Status::success();
}

static Status checkReplaceable(const fs::path &directory) {
  std::error_code fault;
  if (!fs::exists(directory, fault)) {
    return Status::success();
  }
  if (!fs::is_directory(directory, fault)) {
    return error<9004>("{} exists and is not a directory; choose another output directory",
                       directory.string());
  }
  if (fs::is_empty(directory, fault) && !fault) {
    return Status::success();
  }
  for (const char *marker : kOwnMarkers) {
    if (fs::exists(directory / marker, fault)) {
      return Status::success();
    }
  }
  return error<9005>("{} is not empty and holds none of {}; it was not written by this program, "
                     "choose another directory or empty it",
                     directory.string(), fmt::join(kOwnMarkers, ", "));
}

/// Puts \p fresh in the place of \p directory; what was there is afterwards at \p fresh or gone.
static std::error_code swapDirectories(const fs::path &fresh, const fs::path &directory) {
  std::error_code fault;
  if (!fs::exists(directory, fault)) {
    fs::rename(fresh, directory, fault);
    return fault;
  }
#ifdef RENAME_EXCHANGE
  if (renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, directory.c_str(), RENAME_EXCHANGE) == 0) {
    return {};
  }
#endif
  // File systems without exchange: there is an instant without the directory, never half of one.
  fs::path aside = temporarySibling(directory);
  fs::rename(directory, aside, fault);
  if (fault) {
    return fault;
  }
  fs::rename(fresh, directory, fault);
  std::error_code ignored;
  fs::rename(aside, fault ? directory : fresh, ignored);
  return fault;
}

Status writeToDirectory(const Artifacts &artifacts, const fs::path &directory) {
  for (const auto &[name, contents] : artifacts) {
    SPYRE_RETURN_IF_ERROR(checkArtifactPath(name));
  }
  // Resolves "out/", "." and links: the rename must act on the directory itself.
  std::error_code fault;
  fs::path target = fs::weakly_canonical(directory, fault);
  if (fault) {
    return cannotWrite(directory, fault.message());
  }
  if (!target.has_filename()) {
    target = target.parent_path();
  }
  SPYRE_RETURN_IF_ERROR(checkReplaceable(target));
  fs::path fresh = temporarySibling(target);
  Status written = writeNewDirectory(artifacts, fresh);
  if (written.ok()) {
    if (std::error_code swapFault = swapDirectories(fresh, target)) {
      written = cannotWrite(target, swapFault.message());
    }
  }
  // On success this is the old directory, after a failure the unfinished new one.
  fs::remove_all(fresh, fault);
  return written;
}

Artifacts subArtifacts(const Artifacts &artifacts, const std::string &prefix) {
  Artifacts below;
  for (auto it = artifacts.lower_bound(prefix);
       it != artifacts.end() && it->first.starts_with(prefix); ++it) {
    below.emplace(it->first.substr(prefix.size()), it->second);
  }
  return below;
}

Expected<std::string> findArtifact(const Artifacts &artifacts, const std::string &path) {
  auto found = artifacts.find(path);
  if (found != artifacts.end()) {
    return found->second;
  }
  constexpr size_t kListed = 8;
  std::vector<std::string> names;
  for (auto it = artifacts.begin(); it != artifacts.end() && names.size() < kListed; ++it) {
    names.push_back(it->first);
  }
  return error<9006>("the file \"{}\" is missing; there are {} files: {}{}", path, artifacts.size(),
                     fmt::join(names, ", "), artifacts.size() > kListed ? ", ..." : "");
}

std::string contentHash(const std::string &bytes) {
  uint64_t hash = 0xCBF29CE484222325ull;
  for (unsigned char byte : bytes) {
    hash = (hash ^ byte) * 0x100000001B3ull;
  }
  return fmt::format("{:016x}", hash);
}

} // namespace spyre
