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
    if (user.op->opaque) {
      return Decision::no("core-div-mismatch", "operation {} ('{}') is another program", user.index,
                          user.op->name);
    }
    if (!user.view.known) {
      return Decision::no("core-div-mismatch",
                          "the split of operation {} ('{}') is no split of the tensor", user.index,
                          user.op->name);
    }
    if (user.writes && user.op->splitsReduction) {
      return Decision::no("core-div-mismatch", "operation {} ('{}') leaves partial sums on cores",
                          user.index, user.op->name);
    }
    if (!user.writes && user.view.cores > 1 && sliceCount(user.view) != user.view.cores) {
      return Decision::no("core-div-mismatch",
                          "operation {} ('{}') reads it on {} cores, {} slices are there",
                          user.index, user.op->name, user.view.cores, sliceCount(user.view));
    }
  }
  for (const User &user : users) {
    if (user.view != users.front().view) {
      return Decision::no("core-div-mismatch",
                          "operations {} ('{}') and {} ('{}') divide it differently",
                          users.front().index, users.front().op->name, user.index, user.op->name);
    }
  }
  return Decision::yes("divided-alike", "{} accesses on {} cores", users.size(),
                       users.front().view.cores);
}

} // namespace spyre::solver::placement
