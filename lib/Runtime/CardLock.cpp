//===- CardLock.cpp - one process per card, or many -----------------------------------------===//
#include "spyre/Runtime/Cards.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utility>

namespace spyre::runtime {

namespace {

constexpr mode_t kFolderMode = 0700, kFileMode = 0600;

/// Processes that hold a lock on the file, as the kernel lists them:
/// "1: FLOCK  ADVISORY  WRITE 29014 fe:00:2149284 0 EOF".
std::vector<long> ownersByKernel(const struct stat &file) {
  const std::string place = fmt::format("{:02x}:{:02x}:{}", major(file.st_dev), minor(file.st_dev),
                                        uint64_t(file.st_ino));
  std::vector<long> owners;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, where;
    long process = 0;
    if (words >> number >> kind >> advisory >> access >> process >> where && where == place) {
      owners.push_back(process);
    }
  }
  return owners;
}

/// What the owner wrote, for systems whose kernel does not say.
std::vector<long> ownersByFile(int descriptor) {
  char text[32] = {};
  const ssize_t length = pread(descriptor, text, sizeof text - 1, 0);
  const long process = length > 0 ? std::strtol(text, nullptr, 10) : 0;
  return process > 0 ? std::vector<long>{process} : std::vector<long>{};
}

Status busy(int descriptor, int card, CardMode mode) {
  struct stat file = {};
  std::vector<long> owners;
  if (fstat(descriptor, &file) == 0) {
    owners = ownersByKernel(file);
  }
  if (owners.empty()) {
    owners = ownersByFile(descriptor);
  }
  const std::string who =
      owners.empty() ? "another process" : fmt::format("process {}", fmt::join(owners, ", "));
  const char *advice = mode == CardMode::Exclusive
                           ? "choose another card with SPYRE_DEVICES, end that process, or share "
                             "cards with FLEX_DEVICE=VF in all processes"
                           : "choose another card with SPYRE_DEVICES, or wait until the process in "
                             "PF mode ends";
  return error<6144>("device busy: card {} is in use by {} and cannot be opened in {} mode; {}",
                     card, who, cardModeName(mode), advice);
}

Status unusable(const std::string &path, int fault) {
  return error<6145>("the folder of card locks: {}: {}; give a folder of your own in "
                     "SPYRE_CARD_DIR",
                     path, std::strerror(fault));
}

} // namespace

Status prepareCardFolder(const std::string &folder) {
  if (mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST) {
    return unusable(folder, errno);
  }
  struct stat found = {};
  if (lstat(folder.c_str(), &found) != 0) {
    return unusable(folder, errno);
  }
  // In a temporary folder for everybody, somebody may have been there first.
  if (!S_ISDIR(found.st_mode) || found.st_uid != geteuid()) {
    return unusable(folder, S_ISDIR(found.st_mode) ? EPERM : ENOTDIR);
  }
  return Status::success();
}

CardLock::CardLock(CardLock &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}

CardLock &CardLock::operator=(CardLock &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  return *this;
}

CardLock::~CardLock() { abandon(); }

void CardLock::abandon() noexcept {
  // Closing gives the lock back only where no other process has the same open file.
  if (const int open = std::exchange(descriptor, -1); open >= 0) {
    close(open);
  }
}

Expected<CardLock> CardLock::acquire(const std::string &folder, int card, CardMode mode) {
  if (mode == CardMode::Private) {
    return CardLock();
  }
  SPYRE_RETURN_IF_ERROR(prepareCardFolder(folder));
  const std::string path = fmt::format("{}/card{}.lock", folder, card);
  CardLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  if (!lock.held()) {
    return unusable(path, errno);
  }
  const int kind = mode == CardMode::Exclusive ? LOCK_EX : LOCK_SH;
  if (flock(lock.descriptor, kind | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK ? busy(lock.descriptor, card, mode) : unusable(path, errno);
  }
  // Only a note for busy(): that it cannot be written does not matter.
  const std::string note = fmt::format("{}\n", getpid());
  if (ftruncate(lock.descriptor, 0) != 0 ||
      pwrite(lock.descriptor, note.data(), note.size(), 0) != ssize_t(note.size())) {
    return lock;
  }
  return lock;
}

} // namespace spyre::runtime
