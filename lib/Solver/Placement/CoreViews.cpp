//===- CoreViews.cpp - do all users of a tensor divide it alike? ------------------------------===//
//
// A buffer that stays on the core is where its writer's cores put it: a core that reads a part it
// does not hold would read something else. [spec: scratchpad 5.2, with the later corrections]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Solver/Placement/OpList.h"

#include <numeric>

namespace spyre::solver::placement {
namespace {

struct User {
  const OpStep *op;
  int64_t index;
  CoreView view;
  bool writes;
};

std::vector<User> usersOf(const OpList &list, int tensor, const std::vector<int64_t> &uses) {
  std::vector<User> users;
  for (int64_t i : uses) {
    const OpStep &op = list.ops[size_t(i)];
    for (size_t j = 0; j < op.writes.size(); ++j) {
      if (op.writes[j] == tensor) {
        users.push_back({&op, i, op.writeViews.empty() ? CoreView() : op.writeViews[j], true});
      }
    }
    for (size_t j = 0; j < op.reads.size(); ++j) {
      if (op.reads[j] == tensor) {
        users.push_back({&op, i, op.readViews.empty() ? CoreView() : op.readViews[j], false});
      }
    }
  }
  return users;
}

int64_t sliceCount(const CoreView &view) {
  int64_t count = 1;
  for (const auto &[dim, factor] : view.slices) {
    count *= factor;
  }
  return count;
}

} // namespace

Decision mayHold(const OpStep &op, int64_t index, const CoreView &view, bool writes) {
  constexpr const char *kReason = "core-div-mismatch";
  if (op.opaque) {
    return Decision::no(kReason,
                        "operation {} ('{}') is another program; one of the device would do", index,
                        op.name);
  }
  if (!view.known) {
    return Decision::no(kReason,
                        "the split of operation {} ('{}') is no split of the tensor; divide it by "
                        "whole dimensions of the tensor",
                        index, op.name);
  }
  if (writes && op.splitsReduction) {
    return Decision::no(kReason,
                        "operation {} ('{}') leaves partial sums on cores; divide its output "
                        "instead of what it sums (a hint, --lx-move-splits)",
                        index, op.name);
  }
  if (!writes && view.cores > 1 && sliceCount(view) != view.cores) {
    return Decision::no(
        kReason,
        "operation {} ('{}') reads it on {} cores, {} slices are there; divide that "
        "operation by dimensions that the tensor has",
        index, op.name, view.cores, sliceCount(view));
  }
  return Decision::yes("own-part", "each core has its part");
}

Decision divisionsAgree(const OpList &list, int tensor) {
  std::vector<int64_t> all(list.ops.size());
  std::iota(all.begin(), all.end(), 0);
  return divisionsAgree(list, tensor, all);
}

Decision divisionsAgree(const OpList &list, int tensor, const std::vector<int64_t> &uses) {
  const std::vector<User> users = usersOf(list, tensor, uses);
  if (users.size() < 2) {
    return Decision::yes("one-user", "one access");
  }
  for (const User &user : users) {
    if (Decision holds = mayHold(*user.op, list.numberOf(user.index), user.view, user.writes);
        !holds) {
      return holds;
    }
  }
  for (const User &user : users) {
    if (user.view != users.front().view) {
      return Decision::no("core-div-mismatch",
                          "operations {} ('{}') and {} ('{}') divide it differently; divided alike "
                          "(a hint for one of them, --lx-move-splits, one core) it could stay",
                          list.numberOf(users.front().index), users.front().op->name,
                          list.numberOf(user.index), user.op->name);
    }
  }
  return Decision::yes("divided-alike", "{} accesses on {} cores", users.size(),
                       users.front().view.cores);
}

} // namespace spyre::solver::placement
