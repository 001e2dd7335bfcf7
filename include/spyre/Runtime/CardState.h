//===- CardState.h - what a process says about its use of a card ----------------------------===//
//
// One small JSON file per process and card, for spyre-smi: processes have nothing else in common.
// A file appears by rename, so that a reader never sees half of one, and names the start time of
// its process, so that the file of a dead process is not taken for that of a new one with the same
// number.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Runtime/Cards.h"
#include "spyre/Runtime/Device.h"

#include <string>
#include <vector>

namespace spyre::runtime {

struct CardState {
  int card = 0;
  CardMode mode = CardMode::Private;
  int64_t process = 0;
  /// Kernel's number for when the process started; 0 where there is none.
  int64_t processStart = 0;
  std::string processName, machine;
  int64_t reservedBytes = 0, activeBytes = 0, totalBytes = 0;
  int64_t launches = 0, ddrReadBytes = 0, ddrWriteBytes = 0;
  int64_t ptMacs = 0, cycles = 0, simulatedNs = 0;
  /// Since the process opened the card.
  int64_t wallNs = 0;
  /// Multiply-adds the card could do in a cycle, all cores together.
  double ptMacsPerCycle = 0;

  /// Share of the wall time for which the simulated card was busy; above 1 where the simulator is
  /// faster than its card.
  double busyShare() const { return wallNs > 0 ? double(simulatedNs) / double(wallNs) : 0; }
  /// Share of the multiply-adds that the busy cycles had room for, 0 to 1.
  double ptUtilisation() const {
    const double possible = double(cycles) * ptMacsPerCycle;
    return possible > 0 ? double(ptMacs) / possible : 0;
  }
  std::string toJson() const;
  static Expected<CardState> fromJson(const std::string &text);
};

/// Fills in process, start and name of the caller.
void describeThisProcess(CardState &state);

/// The folder of state files inside cardFolder(). Processes publish when it exists.
std::string stateFolder(const std::string &cardFolder);
/// Nothing that is wrong with the folder is the caller's business: false then.
bool publishState(const std::string &folder, const CardState &state);
void withdrawState(const std::string &folder, int card, int64_t process);
/// States of living processes, by card and process. Files of dead ones are removed.
std::vector<CardState> readStates(const std::string &folder);

} // namespace spyre::runtime
