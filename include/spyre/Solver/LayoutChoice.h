//===- LayoutChoice.h - which tensor is stored along which dimension, with the fewest copies ===//
//
// A tensor is written in one layout (option) and may be copied into others. An operation can be
// done in one of several ways (choices); each way writes its result in one option and accepts some
// options of each input. An input that is there in none of them has to be copied first: into an
// option of the whole tensor, which later operations can use too, or privately, for this operation
// alone. Chosen are the ways and the copies with the least cost in all.
//
//     t = a + b.t()     choices: lanes along dim 0 (a must be copied), along dim 1 (b must be)
//     u = t @ c         one choice: t with its lanes along K
//
// The search goes through the operations once and keeps the best way to every combination of
// options that later operations can see. It is exact while no more than `width` combinations exist
// at a time; the result says so. Beyond that it is compared with the plain beam of the documents
// [spec: front-end 5.8] and is never worse.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <cstdint>
#include <vector>

namespace spyre::solver {

/// A set of options: bit i is option i.
using OptionSet = uint32_t;
constexpr int kMaxLayoutOptions = 32;

struct LayoutProblem {
  struct Tensor {
    /// A copy of the whole tensor costs copyFrom of an option that is there and copyTo of the new
    /// one; -1: impossible. One entry per option in both.
    std::vector<int64_t> copyFrom, copyTo;
    /// Options it has before the first operation: one for inputs, none for results.
    OptionSet given = 0;
  };
  struct Need {
    /// Cost of reading the input in each of its options; -1: it cannot be used in it.
    std::vector<int64_t> readCost;
    /// Cost of a copy for this operation alone, and of reading it; -1: impossible.
    int64_t privateCost = -1;
    /// The operation writes into the tensor: a copy would not do, and copies that are there are
    /// out of date afterwards. Of a result the search cannot tell which is the copy: it has none.
    bool inPlace = false;
  };
  struct Choice {
    /// Option of the result; -1 when the operation writes into a tensor that is there already.
    int resultOption = -1;
    /// What the choice costs by itself.
    int64_t cost = 0;
    /// One per input.
    std::vector<Need> needs;
  };
  struct Operation {
    int result = -1;
    std::vector<int> inputs;
    /// In order of preference: the first of equal cost is taken.
    std::vector<Choice> choices;
  };
  std::vector<Tensor> tensors;
  /// In program order; a tensor is written once, before it is read.
  std::vector<Operation> operations;
};

struct LayoutPlan {
  struct Step {
    int choice = 0;
    /// Per input: the option that is read, or -1 for a private copy.
    std::vector<int> options;
    /// Whole copies made before this operation.
    struct Copy {
      int tensor = -1;
      int option = -1;
      bool operator==(const Copy &) const = default;
    };
    std::vector<Copy> copies;
  };
  std::vector<Step> steps;
  int64_t cost = 0;
  /// No combination was dropped: the cost is the least possible.
  bool exact = true;
};

struct LayoutSearch {
  size_t width = 256;
  /// Where combinations were dropped, try the beam of the documents, too.
  bool tryDocumentedBeam = true;
};

/// Errors: E3201 (a malformed problem), E3202 (an operation that no combination of copies makes
/// possible; the message has its number).
Expected<LayoutPlan> chooseLayouts(const LayoutProblem &problem, const LayoutSearch &search = {});

/// Cost of \p plan, or why it is none: an independent check. Error: E3201.
Expected<int64_t> costOfPlan(const LayoutProblem &problem, const LayoutPlan &plan);

} // namespace spyre::solver
