//===- Evaluated.h - launches that the evaluator repeats ------------------------------------===//
//
// On request every run of a program is repeated by the evaluator from the same bytes, and what lies
// in device memory afterwards is compared bit for bit. Each run is waited for.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Programs.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace spyre::plugin {

/// What the evaluator says of the runs since it was last asked.
struct EvaluatorReport {
  uint64_t agreed = 0;
  /// Runs with more bytes than it was told to repeat.
  uint64_t tooLarge = 0;
  /// One line per run: which tensor, where, and both values.
  std::vector<std::string> differing;
  /// One line per run that it could not repeat: the reason.
  std::vector<std::string> notRun;
};

/// Repeats runs whose inputs and outputs have at most \p mostBytes; 0: none, which is how it
/// begins. Programs that were loaded before cannot be repeated.
void evaluateLaunches(uint64_t mostBytes);
EvaluatorReport takeEvaluatorReport();

/// For Programs.cpp: remembers what the evaluator needs of a program, if it is on.
void rememberForEvaluator(const Program &program, const Artifacts &artifacts,
                          const std::string &name);
/// Calls \p run, which queues the program on the current stream, and repeats it, if that is on.
void runEvaluated(const Program &program, const std::vector<runtime::BufferRef> &inputs,
                  const std::vector<runtime::BufferRef> &outputs, const std::function<void()> &run);

} // namespace spyre::plugin
