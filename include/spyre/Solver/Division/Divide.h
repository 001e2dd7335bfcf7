//===- Divide.h - the division of one operation, in one of three modes ----------------------===//
//
//   compat     the documented passes
//   compat-s1  the same with the later pass for matrix products
//   best       every division the machine can do, priced; the cheapest
//
// In every mode the result is then checked by a verifier that shares nothing with the planners. A
// hint replaces the choice and is checked alike.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Decision.h"
#include "spyre/Solver/Division/Compat.h"
#include "spyre/Solver/Division/Cost.h"
#include "spyre/Solver/Division/Mode.h"
#include "spyre/Solver/Division/Plan.h"
#include "spyre/Solver/Division/Tiling.h"

#include <optional>

namespace spyre::solver::division {

/// Whether work can be divided over \p cores of the device. Error: E3061 (fewer than one, or
/// more than the device has).
Status checkCores(int64_t cores, const arch::DeviceDesc &device);

/// A number of cores as SENCORES has it. Errors: E3061 (empty, no number, outside of 1..32 or of
/// what the device has).
Expected<int64_t> parseCores(const std::string &text, const arch::DeviceDesc &device);

struct Options {
  Mode mode = Mode::Best;
  int64_t cores = 32;
  /// Off: span reduction alone, for the documented modes.
  bool distribute = true;
  /// Dims may be padded where tensors have or can be given the room.
  bool padding = true;
  /// Slices of one dim may differ by a unit where that is cheaper than any equal ones; `best` only.
  bool uneven = false;
  bool ignoreHints = false;
  /// Keep all candidates with their prices.
  bool explain = false;
  /// Say how the documented plan compares.
  bool compare = true;
  /// A plan will do that no other undercuts by more than this part; 0: of equals the documented
  /// one.
  double slack = 0;
};

struct PricedSplits {
  Splits splits;
  double nanoseconds = 0;
};

/// Why no even division exists: every combination of divisors was tried.
struct NoDivision {
  int64_t combinations = 0;
  /// Per dim the fewest slices any legal division would need, were there cores without end; 0: no
  /// number of slices up to the cores suffices.
  Splits needed;
  struct Row {
    Splits splits;
    int tensor = 0;
    int64_t spanBytes = 0;
  };
  /// Combinations that cannot be refined within the cores, each with a tensor that is too large.
  std::vector<Row> maximal;
  std::string text;
};

struct Outcome {
  /// Neither pass divides it: no plan.
  bool skipped = false;
  /// The operation as it is divided: extents and layouts are larger where a dim was padded.
  Op op;
  Plan plan;
  /// What the verifier and the capability table say of the plan.
  Status verdict = Status::success();
  /// Stored form after the passes; for the documented modes.
  StoredSplits stored;
  double nanoseconds = 0;
  /// No candidate costs less: the price itself, or the least bound of those that were not priced.
  double leastNanoseconds = 0;
  /// Cheapest first; filled on request.
  std::vector<PricedSplits> candidates;
  int64_t candidatesTried = 0;
  std::optional<NoDivision> proof;
  std::optional<TilingPlan> tiling;
  std::vector<Decision> decisions;
};

/// Errors: those of the operation (E3060), of cores (E3061), of the passes (E3062, E3063), of hints
/// (E3066..E3069), of rules (E3071), and E3065 when neither a division nor a tiling exists. A plan
/// of the documented modes that breaks a rule is returned with its verdict.
Expected<Outcome> divide(const Op &op, const arch::DeviceDesc &device, const Options &options,
                         const CostModel &costs);

} // namespace spyre::solver::division
