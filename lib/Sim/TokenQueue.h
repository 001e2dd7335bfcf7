//===- TokenQueue.h - signals of one token that nobody has waited for yet -------------------===//
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace spyre::sim {

/// Signals of one token that may be outstanding: a program that signals in a loop and never waits
/// must not fill the host's memory.
constexpr size_t kMostSignals = size_t(1) << 16;

/// A queue that owns no memory while it has never been used: a device has thousands of them.
template <typename T>
class TokenQueue {
public:
  bool empty() const { return head == items.size(); }
  const T &front() const { return items[head]; }
  size_t size() const { return items.size() - head; }
  void push(const T &item) { items.push_back(item); }
  void pop() {
    ++head;
    // Each item is moved at most once on average, and what is behind the head never dominates.
    if (2 * head >= items.size()) {
      items.erase(items.begin(), items.begin() + std::ptrdiff_t(head));
      head = 0;
    }
  }
  /// Makes all items equal to \p item.
  void assign(const T &item) { std::fill(items.begin(), items.end(), item); }
  void clear() {
    items.clear();
    head = 0;
  }

private:
  std::vector<T> items;
  size_t head = 0;
};

} // namespace spyre::sim
