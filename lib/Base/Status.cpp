//===- Status.cpp - the end of a process whose own invariant broke --------------------------===//
#include "spyre/Base/Status.h"

#include <cstdio>
#include <cstdlib>

namespace spyre {

void checkFailed(const char *file, int line, const char *condition, const char *why) {
  // stdio and not our log: the log may be what is broken.
  std::fprintf(stderr, "%s:%d: internal error: %s (condition: %s)\n", file, line, why, condition);
  std::fflush(stderr);
  std::abort();
}

} // namespace spyre
