//===- Problem.h - buffers, their times, and a scratchpad to put them in --------------------===//
//
// What placement works on: no operations, no IR, only buffers with lifetimes and a capacity.
//
//     address
//       ^   +-----+                    b [2,6)
//       |   |  b  |  +--+
//       |+--+-----+  |c |              c [8,10), in the place that a had
//       ||  a        |  |
//       |+-----------+--+---> time
//
// Lifetimes are half-open. A buffer is read and written at ticks, the numbers of operations; its
// lifetime ends one after its last use, so the result of an operation overlaps the operation's
// inputs for one tick. Only an in-place parent may share its place for that tick. Three questions
// can be asked [spec: scratchpad 14.1]: do all fit (Fit), what is the least height for all (Min),
// and which of them are worth most together (Pick).
//
// Clones are buffers like others: the copy of a graph input saves one read less than it has, so
// its value says whether it pays. A buffer that leaves and comes back is one buffer per stay; what
// the way costs is taken off the value of the later stay.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spyre::solver::placement {

/// In [lower, upper) the buffer uses only [low, high) of its bytes; none of them if low == high.
struct Gap {
  int64_t lower = 0, upper = 0;
  int64_t low = 0, high = 0;
  bool operator==(const Gap &) const = default;
};

struct Buffer {
  std::string name;
  /// Ticks, half-open.
  int64_t lower = 0, upper = 0;
  int64_t sizeBytes = 0;
  /// 0: that of the problem.
  int64_t alignment = 0;
  /// What it is worth to have it placed (Pick); unset: its size.
  std::optional<int64_t> value;
  /// An offset to prefer where it costs nothing.
  std::optional<int64_t> hint;
  /// The offset it must have if it is placed. Pick may still leave it out.
  std::optional<int64_t> pinned;
  /// Never placed (Pick); an error in Fit and Min.
  bool forbidden = false;
  /// Why; shown by explain.
  std::string forbiddenReason;
  /// Ascending and disjoint, inside the lifetime.
  std::vector<Gap> gaps;
  /// Indices of buffers whose place it may take over: each ends one tick after this one begins and
  /// is no smaller.
  std::vector<int> parents;
  /// Ticks at which it is read or written, ascending; empty: its first and last tick. Only the
  /// documented solvers look at them.
  std::vector<int64_t> uses;
  /// A graph input: its first use is a read.
  bool firstUseIsRead = false;

  int64_t worth() const { return value.value_or(sizeBytes); }
  bool operator==(const Buffer &) const = default;
};

/// An operation needs bytes of its own at one tick, at the top of the scratchpad.
struct Transient {
  int64_t tick = 0;
  int64_t bytes = 0;
  bool operator==(const Transient &) const = default;
};

enum class Variant { Fit, Min, Pick };

/// "fit", "min" or "pick".
std::string_view nameOf(Variant variant);
/// Error: E3050, which lists the names.
Expected<Variant> parseVariant(std::string_view name);

struct Problem {
  int64_t capacityBytes = 0;
  int64_t alignment = 1;
  std::vector<Buffer> buffers;
  std::vector<Transient> transients;
  /// The question the problem was made for; unset: the solver's caller chooses.
  std::optional<Variant> variant = std::nullopt;

  int64_t alignmentOf(const Buffer &buffer) const {
    return buffer.alignment > 0 ? buffer.alignment : alignment;
  }
  bool operator==(const Problem &) const = default;
};

/// Limits that keep sums of sizes and values inside 64 bits.
constexpr int64_t kMaxBytes = int64_t(1) << 46;
constexpr int64_t kMaxTick = int64_t(1) << 46;
constexpr int64_t kMaxValue = int64_t(1) << 46;
constexpr int64_t kMaxSum = int64_t(1) << 54;
constexpr int64_t kMaxBuffers = 1 << 20;

/// Errors: E3040 (a number out of range), E3041 (names), E3042 (gaps), E3043 (in-place parents).
Status validate(const Problem &problem);

/// Do two pinned buffers claim the same byte at the same tick? An in-place child may have its
/// parent's place. All solvers ask this first. Error: E3120, which names both.
Status checkPins(const Problem &problem);

/// Each entry an offset, or none: the buffer stays in memory.
using Offsets = std::vector<std::optional<int64_t>>;

/// Do the two overlap in time (whether or not gaps keep them apart)?
inline bool overlapInTime(const Buffer &a, const Buffer &b) {
  return a.lower < b.upper && b.lower < a.upper;
}

/// The value of what is placed.
int64_t valueOf(const Problem &problem, const Offsets &offsets);
/// The highest address in use.
int64_t heightOf(const Problem &problem, const Offsets &offsets);

/// Is \p offsets a plan? Independent of all solvers: it looks at rectangles only. Error: E3044,
/// which names the buffers, the addresses and the tick.
Status verifyPlan(const Problem &problem, const Offsets &offsets, Variant variant);

} // namespace spyre::solver::placement
