//===- Cards.h - which cards a process sees, and who may open them --------------------------===//
//
// Pure functions of what the caller read from the environment, so that every case can be tested in
// one process and no library asks the environment itself. Nothing here opens a card.
//
// A card in PF mode belongs to one process, one in VF mode to any number of them, and the two
// exclude each other: an exclusive or shared flock on a file per card. The kernel gives it back
// when the owner dies, however it dies.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <optional>
#include <string>
#include <vector>

namespace spyre::runtime {

/// Cards of one host.
constexpr int kMaxCards = 8;

enum class CardMode {
  /// FLEX_DEVICE unset or MOCK: simulated cards of the process's own, without locks.
  Private,
  /// PF: one process per card.
  Exclusive,
  /// VF: any number of processes; LX does not outlive a bundle.
  Shared,
};
/// "private", "PF" or "VF".
const char *cardModeName(CardMode mode);

/// Values of the variables of the same names; not set and empty mean the same.
struct CardVariables {
  std::string flexDevice, aiuWorldSize, spyreDevices, localRank;
};

struct CardList {
  CardMode mode = CardMode::Private;
  /// Card number of every visible device, in the order of device indices.
  std::vector<int> cards;
};

/// Errors: E6140 (FLEX_DEVICE), E6141 (AIU_WORLD_SIZE), E6142 (SPYRE_DEVICES). A list of which
/// nothing is left is no error: there are no devices then.
Expected<CardList> enumerateCards(const CardVariables &variables);
/// The device a process uses unless told otherwise: LOCAL_RANK, or 0. Error: E6143.
Expected<int> defaultDeviceIndex(const CardVariables &variables, size_t deviceCount);

/// Where locks and state files are: \p chosen if not empty, else "openspyre" below
/// \p userRuntimeFolder, else "openspyre-UID" below \p temporaryFolder.
std::string cardFolder(const std::string &chosen, const std::string &userRuntimeFolder,
                       const std::string &temporaryFolder, unsigned userId);
/// Makes the folder for this user alone. Error: E6145 (cannot be made, or is somebody else's).
Status prepareCardFolder(const std::string &folder);

/// The right to use a card; given back when it goes.
class CardLock {
public:
  CardLock() = default;
  CardLock(CardLock &&other) noexcept;
  CardLock &operator=(CardLock &&other) noexcept;
  ~CardLock();

  /// No lock in private mode. Errors: E6144 (busy; names card and owners), E6145 (folder).
  static Expected<CardLock> acquire(const std::string &folder, int card, CardMode mode);
  /// For a forked child: forgets the lock without giving back the parent's. Safe in a fork handler.
  void abandon() noexcept;
  bool held() const { return descriptor >= 0; }

private:
  explicit CardLock(int descriptor) : descriptor(descriptor) {}
  int descriptor = -1;
};

} // namespace spyre::runtime
