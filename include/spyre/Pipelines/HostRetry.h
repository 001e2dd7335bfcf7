//===- HostRetry.h - calls that a planner refuses run on the CPU ----------------------------===//
//
// The gates see one call at a time and know nothing of spans, tiles or staging areas. Where a later
// phase finds no way to run an operation, the graph is compiled again with the call it came from
// on the CPU. Locations carry the node numbers of calls through all passes, only then: text that
// compiles at once has none.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <string>

namespace spyre::pipelines {

/// Node whose operation an error is about.
struct Culprit {
  static constexpr int64_t kUnknown = -1;
  int64_t node = kUnknown;
  /// The operation follows a hint, so the error belongs to the user.
  bool isHinted = false;
};

/// True for errors that say that a legal operation cannot be planned or emitted: no division, no
/// tiles, no layouts, no program of the back end.
bool isPlannerRefusal(const Status &status);
/// The part of them that the back end says.
bool isBackEndRefusal(const Status &status);

/// Graph text whose calls have their node numbers in their locations; calls with hints keep theirs.
/// Error: E1001.
Expected<std::string> withNodeLocations(const std::string &graphText);

/// Graph text with more calls refused for \p why: spyre-graph-split-host gives them back to the
/// caller. These are the culprit and all calls equal to it; where it is refused already, the calls
/// whose results it reads; else every call with a node number. The text itself where there is none.
/// Error: E1001.
Expected<std::string> refusingCalls(const std::string &graphText, const Culprit &culprit,
                                    const Status &why);

} // namespace spyre::pipelines
