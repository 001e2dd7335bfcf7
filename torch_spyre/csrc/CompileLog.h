//===- CompileLog.h - records of the compilations of one thread -----------------------------===//
//
// A log is stored in the part of torch's thread state that autograd hands to its own threads, so
// backward passes write into the log of the thread that started them, and other threads do not.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Programs.h"

#include <memory>
#include <mutex>
#include <vector>

namespace spyre::plugin {

class CompileLog {
public:
  void add(std::shared_ptr<const CompileRecord> record);
  /// In the order in which the compilations ended.
  std::vector<std::shared_ptr<const CompileRecord>> records() const;

private:
  mutable std::mutex mutex;
  std::vector<std::shared_ptr<const CompileRecord>> kept;
};

/// The innermost log that is open in this thread; null without one.
std::shared_ptr<CompileLog> currentCompileLog();

} // namespace spyre::plugin
