//===- ArtifactCache.cpp - compiled artifacts that outlive the process ----------------------===//
//
// An entry is a header and a payload:
//
//   "SPYCACH1"  payload bytes  bytes before compression  1 if compressed, else 0  digest (32 bytes)
//
// with 64-bit little-endian numbers. The digest covers the key, the numbers and the payload, so an
// entry under another name is as bad as a changed one. The payload lists the files: length of name,
// length of contents, name, contents.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Pipelines/ArtifactCache.h"

#include "spyre/Base/Log.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Error.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <vector>

namespace fs = std::filesystem;

namespace spyre::pipelines {

namespace {

constexpr std::string_view kMagic = "SPYCACH1";
constexpr const char *kExtension = ".spyre";
constexpr size_t kNumberBytes = 8, kDigestBytes = 32;
constexpr size_t kHeaderBytes = 8 + 3 * kNumberBytes + kDigestBytes;
/// More than any model: what claims to be larger is not one of ours.
constexpr uint64_t kLargestRawBytes = uint64_t(1) << 32;
/// A temporary file this old was left by a process that died.
constexpr auto kAbandoned = std::chrono::hours(1);

llvm::ArrayRef<uint8_t> bytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

std::string number(uint64_t value) {
  std::string bytes(kNumberBytes, '\0');
  llvm::support::endian::write64le(bytes.data(), value);
  return bytes;
}

/// Takes values off the front of a text; everything fails once something is missing.
class Reader {
public:
  explicit Reader(std::string_view text) : rest(text) {}
  std::optional<std::string_view> take(uint64_t bytes) {
    if (bytes > rest.size()) {
      return std::nullopt;
    }
    std::string_view front = rest.substr(0, bytes);
    rest.remove_prefix(bytes);
    return front;
  }
  std::optional<uint64_t> takeNumber() {
    std::optional<std::string_view> bytes = take(kNumberBytes);
    return bytes ? std::optional(llvm::support::endian::read64le(bytes->data())) : std::nullopt;
  }
  bool empty() const { return rest.empty(); }

private:
  std::string_view rest;
};

std::string digestOf(const std::string &key, std::string_view numbers, std::string_view payload) {
  llvm::BLAKE3 hasher;
  hasher.update(bytesOf(key));
  hasher.update(bytesOf(numbers));
  hasher.update(bytesOf(payload));
  auto digest = hasher.final<kDigestBytes>();
  return std::string(digest.begin(), digest.end());
}

std::string serialise(const Artifacts &artifacts) {
  size_t total = 0;
  for (const auto &[name, contents] : artifacts) {
    total += 2 * kNumberBytes + name.size() + contents.size();
  }
  std::string raw;
  raw.reserve(total);
  for (const auto &[name, contents] : artifacts) {
    raw.append(number(name.size())).append(number(contents.size()));
    raw.append(name).append(contents);
  }
  return raw;
}

std::optional<Artifacts> deserialise(std::string_view raw) {
  Artifacts artifacts;
  Reader reader(raw);
  while (!reader.empty()) {
    auto nameBytes = reader.takeNumber(), contentBytes = reader.takeNumber();
    if (!nameBytes || !contentBytes) {
      return std::nullopt;
    }
    auto name = reader.take(*nameBytes), contents = reader.take(*contentBytes);
    if (!name || !contents) {
      return std::nullopt;
    }
    artifacts.emplace_hint(artifacts.end(), *name, *contents);
  }
  return artifacts;
}

std::string encode(const std::string &key, const Artifacts &artifacts) {
  const std::string raw = serialise(artifacts);
  llvm::SmallVector<uint8_t, 0> packed;
  const bool compressed = llvm::compression::zstd::isAvailable();
  if (compressed) {
    llvm::compression::zstd::compress(bytesOf(raw), packed, /*Level=*/1);
  }
  std::string_view payload =
      compressed ? std::string_view(reinterpret_cast<const char *>(packed.data()), packed.size())
                 : std::string_view(raw);
  std::string numbers = number(payload.size()) + number(raw.size()) + number(compressed ? 1 : 0);
  std::string entry(kMagic);
  entry.append(numbers).append(digestOf(key, numbers, payload)).append(payload);
  return entry;
}

std::optional<Artifacts> decode(const std::string &key, const std::string &entry) {
  Reader reader(entry);
  auto magic = reader.take(kMagic.size());
  auto payloadBytes = reader.takeNumber(), rawBytes = reader.takeNumber();
  auto compressed = reader.takeNumber();
  auto digest = reader.take(kDigestBytes);
  if (!digest || *magic != kMagic || entry.size() - kHeaderBytes != *payloadBytes ||
      *rawBytes > kLargestRawBytes || *compressed > 1) {
    return std::nullopt;
  }
  std::string_view numbers = std::string_view(entry).substr(kMagic.size(), 3 * kNumberBytes);
  std::string_view payload = *reader.take(*payloadBytes);
  if (digestOf(key, numbers, payload) != *digest) {
    return std::nullopt;
  }
  if (*compressed == 0) {
    return deserialise(payload);
  }
  if (!llvm::compression::zstd::isAvailable()) {
    return std::nullopt;
  }
  llvm::SmallVector<uint8_t, 0> raw;
  if (llvm::Error fault = llvm::compression::zstd::decompress(bytesOf(payload), raw, *rawBytes)) {
    llvm::consumeError(std::move(fault));
    return std::nullopt;
  }
  return deserialise({reinterpret_cast<const char *>(raw.data()), raw.size()});
}

/// Bytes this process wrote to a folder since it last looked at the folder's size.
struct Written {
  std::mutex mutex;
  std::map<fs::path, uint64_t> bytes;
};

Written &written() {
  static Written *instance = new Written();
  return *instance;
}

/// True when it is time to look at the size of \p root: at first, then after 1/64 of the limit.
bool countWritten(const fs::path &root, uint64_t bytes, uint64_t limitBytes) {
  std::lock_guard<std::mutex> lock(written().mutex);
  auto [entry, isFirst] = written().bytes.emplace(root, 0);
  entry->second += bytes;
  if (!isFirst && entry->second < limitBytes / 64) {
    return false;
  }
  entry->second = 0;
  return true;
}

struct Entry {
  fs::file_time_type used;
  fs::path path;
  uint64_t bytes;
  bool operator<(const Entry &other) const {
    return std::tie(used, path) < std::tie(other.used, other.path);
  }
};

/// Files of ours below \p root; temporary ones that nobody will finish are removed.
std::vector<Entry> listEntries(const fs::path &root) {
  std::vector<Entry> entries;
  std::error_code fault;
  fs::recursive_directory_iterator it(root, fault), end;
  const fs::file_time_type now = fs::file_time_type::clock::now();
  while (!fault && it != end) {
    std::error_code ignored;
    const fs::path path = it->path();
    const fs::file_time_type used = it->last_write_time(ignored);
    if (!ignored && path.extension() == kExtension) {
      const uint64_t bytes = it->file_size(ignored);
      if (!ignored) {
        entries.push_back({used, path, bytes});
      }
    } else if (!ignored && path.filename().string().find(".spyre.tmp-") != std::string::npos &&
               now - used > kAbandoned) {
      fs::remove(path, ignored);
    }
    it.increment(fault);
  }
  return entries;
}

} // namespace

struct CacheKey::State {
  llvm::BLAKE3 hasher;
};

CacheKey::CacheKey() : state(std::make_unique<State>()) {}
CacheKey::~CacheKey() = default;

void CacheKey::add(std::string_view name, std::string_view bytes) {
  state->hasher.update(bytesOf(number(name.size()) + number(bytes.size())));
  state->hasher.update(bytesOf(name));
  state->hasher.update(bytesOf(bytes));
}

std::string CacheKey::text() const {
  llvm::BLAKE3 copy = state->hasher;
  auto digest = copy.final<kDigestBytes>();
  return llvm::toHex(llvm::ArrayRef<uint8_t>(digest.data(), digest.size()), /*LowerCase=*/true);
}

ArtifactCache::ArtifactCache(fs::path directory, uint64_t limitBytes)
    : root(std::move(directory) / "v1"), limitBytes(limitBytes) {}

fs::path ArtifactCache::pathOf(const std::string &key) const {
  return root / key.substr(0, 2) / (key.substr(2) + kExtension);
}

std::optional<Artifacts> ArtifactCache::find(const std::string &key) const {
  const fs::path path = pathOf(key);
  std::error_code fault;
  if (!fs::is_regular_file(path, fault)) {
    return std::nullopt;
  }
  Expected<std::string> entry = readFile(path);
  std::optional<Artifacts> artifacts;
  if (entry.ok()) {
    artifacts = decode(key, *entry);
  }
  if (!artifacts) {
    log(LogLevel::Debug, "cache", "removed bad entry={}", path.string());
    fs::remove(path, fault);
    return std::nullopt;
  }
  fs::last_write_time(path, fs::file_time_type::clock::now(), fault);
  log(LogLevel::Debug, "cache", "hit key={} bytes={}", key, entry->size());
  return artifacts;
}

void ArtifactCache::store(const std::string &key, const Artifacts &artifacts) const {
  const std::string entry = encode(key, artifacts);
  if (entry.size() > limitBytes) {
    return;
  }
  const fs::path path = pathOf(key);
  std::error_code ignored; // the write says it better
  fs::create_directories(path.parent_path(), ignored);
  if (Status status = writeFile(path, entry); !status.ok()) {
    log(LogLevel::Debug, "cache", "not kept: {}", status.message());
    return;
  }
  if (countWritten(root, entry.size(), limitBytes)) {
    evict();
  }
}

void ArtifactCache::evict() const {
  std::vector<Entry> entries = listEntries(root);
  std::sort(entries.begin(), entries.end());
  uint64_t total = 0;
  for (const Entry &entry : entries) {
    total += entry.bytes;
  }
  for (const Entry &entry : entries) {
    if (total <= limitBytes) {
      return;
    }
    std::error_code ignored;
    fs::remove(entry.path, ignored);
    total -= entry.bytes;
  }
}

} // namespace spyre::pipelines
