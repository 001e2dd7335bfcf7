//===- Artifacts.h - a set of named files held in memory ------------------------------------===//
//
// Every contract between stages is bytes. Inside one process the bytes are an Artifacts map from
// relative path ("bundle_0/sdsc_0.json") to contents; on disk it is a directory with the same
// paths. Nothing is half-written: writeToDirectory writes a temporary sibling and renames it.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <filesystem>
#include <map>
#include <string>

namespace spyre {

/// Ordered, so that whoever walks it does so in the same order everywhere.
using Artifacts = std::map<std::string, std::string>;

/// Reads all of a file; "-" is standard input. Errors: E9001 (cannot be read), E9002 (too large).
Expected<std::string> readFile(const std::filesystem::path &path, uint64_t limitBytes = uint64_t(1)
                                                                                        << 32);
/// Writes through a temporary file and a rename. "-" is standard output. Error: E9003.
Status writeFile(const std::filesystem::path &path, const std::string &contents);

/// All regular files below \p directory, by relative path. Errors: E9001, E9004 (not a directory).
Expected<Artifacts> readDirectory(const std::filesystem::path &directory);
/// Makes \p directory hold exactly \p artifacts; an older directory of ours is replaced as a whole,
/// a non-empty directory that is not ours (no model.json, bundle.mlir or spyrecode.json) is refused
/// (E9005).
Status writeToDirectory(const Artifacts &artifacts, const std::filesystem::path &directory);

/// The entries below prefix "bundle_0/" with the prefix removed.
Artifacts subArtifacts(const Artifacts &artifacts, const std::string &prefix);
/// The file, or E9006 naming what is missing.
Expected<std::string> findArtifact(const Artifacts &artifacts, const std::string &path);

/// FNV-1a 64 over the bytes, as 16 hex digits. Stable on every host.
std::string contentHash(const std::string &bytes);

} // namespace spyre
