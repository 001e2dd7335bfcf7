//===- Decision.h - yes or no, with the reason ----------------------------------------------===//
//
// Planners answer "may I do this?" with a Decision instead of a bool: the reason is a short
// countable key ("stick-differs"), the detail holds the values. DecisionTrace collects decisions in
// program order and writes them as JSON, so every plan can be questioned.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "fmt/format.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace spyre {

class Decision {
public:
  template <typename... Args>
  static Decision yes(std::string reason, fmt::format_string<Args...> detail, Args &&...args) {
    return Decision(true, std::move(reason), fmt::format(detail, std::forward<Args>(args)...));
  }
  template <typename... Args>
  static Decision no(std::string reason, fmt::format_string<Args...> detail, Args &&...args) {
    return Decision(false, std::move(reason), fmt::format(detail, std::forward<Args>(args)...));
  }
  explicit operator bool() const { return taken; }
  /// Short kebab-case key; the same cause always has the same key.
  const std::string &reason() const { return reasonKey; }
  const std::string &detail() const { return detailText; }

private:
  Decision(bool taken, std::string reason, std::string detail)
      : taken(taken), reasonKey(std::move(reason)), detailText(std::move(detail)) {}
  bool taken;
  std::string reasonKey, detailText;
};

/// What a decision rests on, where there are numbers: bytes, times, counts.
struct Evidence {
  /// "file:line" of the user's program, or empty.
  std::string location;
  std::vector<std::pair<std::string, int64_t>> numbers;
};

/// Decisions of one compilation, in the order they were taken.
class DecisionTrace {
public:
  /// \p stage is the pass ("work-division"), \p subject the op or buffer the decision is about.
  void record(std::string stage, std::string subject, const Decision &decision,
              Evidence evidence = {}) {
    entries.push_back({std::move(stage), std::move(subject), decision, std::move(evidence)});
  }
  /// A JSON array, one object per decision: stage, subject, taken, reason, detail; location and
  /// numbers where there are any.
  std::string toJson() const;
  size_t size() const { return entries.size(); }

private:
  struct Entry {
    std::string stage, subject;
    Decision decision;
    Evidence evidence;
  };
  std::vector<Entry> entries;
};

} // namespace spyre
