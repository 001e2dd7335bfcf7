//===- OpListTest.cpp - lifetimes, eligibility, in-place pairs, copies and what they save -----===//
#include "spyre/Solver/Placement/OpList.h"

#include "spyre/Solver/Placement/MemoryPlanSolver.h"

#include "gtest/gtest.h"

#include <map>

namespace spyre::solver::placement {
namespace {

constexpr int64_t kProgramCapacity = 1625344;
constexpr int64_t kMatrix = 512 * 1024 * 2, kRow = 1024 * 2;

int addTensor(OpList &list, const char *name, int64_t bytes) {
  OpTensor tensor;
  tensor.name = name;
  tensor.coreBytes = tensor.totalBytes = bytes;
  list.tensors.push_back(tensor);
  return int(list.tensors.size()) - 1;
}

void addOp(OpList &list, const char *name, std::vector<int> reads, int write, bool pointwise) {
  OpStep op;
  op.name = name;
  op.reads = std::move(reads);
  op.writes = {write};
  op.pointwise = pointwise;
  list.ops.push_back(op);
}

/// softmax over dim 0 of a (512, 1024) fp16 tensor on one core [spec: scratchpad 8].
OpList softmax() {
  OpList list;
  const int x = addTensor(list, "x", kMatrix), m = addTensor(list, "m", kRow),
            s = addTensor(list, "s", kMatrix), e = addTensor(list, "e", kMatrix),
            d = addTensor(list, "d", kRow), y = addTensor(list, "y", kMatrix);
  list.tensors[x].isGraphInput = true;
  list.tensors[y].isGraphOutput = true;
  addOp(list, "max", {x}, m, false);
  addOp(list, "sub", {x, m}, s, true);
  addOp(list, "exp", {s}, e, true);
  addOp(list, "sum", {e}, d, false);
  addOp(list, "div", {e, d}, y, true);
  return list;
}

PlacementRules documentedRules(std::set<std::string> allowed, std::set<std::string> inPlace) {
  PlacementRules rules;
  rules.allowedOps = std::move(allowed);
  rules.inPlaceOps = std::move(inPlace);
  rules.pointwiseInPlace = false;
  rules.cores = 1;
  return rules;
}

struct Outcome {
  int64_t bytes = 0, highWater = 0;
};

Outcome planned(const OpList &list, const PlacementRules &rules, const std::string &solver) {
  auto made = makeProblem(list, rules, kProgramCapacity, 128);
  EXPECT_TRUE(made.ok()) << made.status().message();
  auto plan = (*createSolver(solver))->plan(made->problem, Variant::Pick);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_TRUE(verifyPlan(made->problem, plan->offsets, Variant::Pick).ok());
  return {memoryTraffic(list, *made, plan->offsets), heightOf(made->problem, plan->offsets)};
}

TEST(Softmax, StagesOfTheDocuments) {
  const OpList list = softmax();
  EXPECT_EQ(planned(list, documentedRules({"nothing"}, {}), "greedy").bytes, 8396800);
  EXPECT_EQ(planned(list, documentedRules({"max", "sum"}, {}), "greedy").bytes, 8388608);
  const std::set<std::string> all = {"max", "sum", "sub", "exp"};
  EXPECT_EQ(planned(list, documentedRules(all, {}), "greedy").bytes, 6291456);
  EXPECT_EQ(planned(list, documentedRules(all, {}), "exact").bytes, 5242880);
  EXPECT_EQ(planned(list, documentedRules(all, {"exp", "sub"}), "greedy").bytes, 3145728);
  OpList cloned = list;
  ASSERT_TRUE(createCloneInputsPass()->run(cloned, kProgramCapacity).ok());
  std::set<std::string> withClone = all;
  withClone.insert("clone");
  const Outcome last = planned(cloned, documentedRules(withClone, {"exp", "sub"}), "greedy");
  EXPECT_EQ(last.bytes, 2097152);
  EXPECT_EQ(last.highWater, 1050624);
}

/// The solver finds the copy of the input by its value.
TEST(Softmax, CopyOfTheInputChosenBySolver) {
  const OpList list = softmax();
  PlacementRules rules = documentedRules({}, {"exp", "sub"});
  EXPECT_EQ(planned(list, rules, "exact").bytes, 3145728);
  rules.inputClones = true;
  const Outcome outcome = planned(list, rules, "exact");
  EXPECT_EQ(outcome.bytes, 2097152);
  EXPECT_EQ(outcome.highWater, 1050624);
}

TEST(OpLists, AnInputReadOnceIsNotCopied) {
  OpList list;
  const int x = addTensor(list, "x", 1024), y = addTensor(list, "y", 1024);
  list.tensors[x].isGraphInput = true;
  list.tensors[y].isGraphOutput = true;
  addOp(list, "exp", {x}, y, true);
  PlacementRules rules;
  rules.inputClones = rules.outputClones = true;
  auto made = makeProblem(list, rules, 4096, 128);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->decisions[1].reason(), "read-once");
  EXPECT_EQ(made->decisions[0].reason(), "no-consumer");
  OpList cloned = list;
  ASSERT_TRUE(createCloneInputsPass()->run(cloned, 4096).ok());
  EXPECT_EQ(cloned.ops.size(), 1u);
}

/// y = exp(x) is an output and read again: keeping it saves the read, not the write.
TEST(OpLists, AnOutputThatIsReadMayStay) {
  OpList list;
  const int x = addTensor(list, "x", 1024), y = addTensor(list, "y", 1024),
            z = addTensor(list, "z", 1024);
  list.tensors[x].isGraphInput = true;
  list.tensors[y].isGraphOutput = list.tensors[z].isGraphOutput = true;
  addOp(list, "exp", {x}, y, true);
  addOp(list, "add", {y}, z, true);
  PlacementRules rules;
  auto off = makeProblem(list, rules, 4096, 128);
  EXPECT_EQ(off->decisions[0].reason(), "graph-output");
  rules.outputClones = true;
  auto on = makeProblem(list, rules, 4096, 128);
  EXPECT_EQ(on->problem.buffers[0].worth(), 1024);
  auto plan = (*createSolver("exact"))->plan(on->problem, Variant::Pick);
  EXPECT_EQ(memoryTraffic(list, *on, plan->offsets), 3 * 1024);
  EXPECT_EQ(memoryTraffic(list, *on, Offsets(on->webs.size())), 4 * 1024);
}

TEST(OpLists, TooLargeNamesBothSizes) {
  OpList list = softmax();
  for (OpTensor &tensor : list.tensors) {
    tensor.coreBytes = tensor.totalBytes = 4194304;
  }
  auto made = makeProblem(list, documentedRules({}, {}), kProgramCapacity, 128);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->decisions[0].reason(), "too-large");
  EXPECT_NE(made->problem.buffers[0].forbiddenReason.find("4194304"), std::string::npos);
  EXPECT_NE(made->problem.buffers[0].forbiddenReason.find("1625344"), std::string::npos);
}

/// Each reason why a tensor does not stay ends with what would change that.
TEST(OpLists, ReasonsSayWhatWouldHelp) {
  OpList list;
  const int x = addTensor(list, "x", 256), once = addTensor(list, "once", 256),
            barred = addTensor(list, "barred", 256), other = addTensor(list, "other", 256),
            target = addTensor(list, "target", 256), across = addTensor(list, "across", 256),
            unread = addTensor(list, "unread", 256), large = addTensor(list, "large", 8192),
            notListed = addTensor(list, "notListed", 256), y = addTensor(list, "y", 256);
  list.tensors[size_t(x)].isGraphInput = list.tensors[size_t(once)].isGraphInput = true;
  list.tensors[size_t(y)].isGraphOutput = true;
  list.tensors[size_t(barred)].barred = "partial/offset read or write; read all of it";
  list.tensors[size_t(large)].totalBytes = 16384;
  addOp(list, "exp", {x, once}, barred, true);
  addOp(list, "exp", {x, barred}, across, true);
  addOp(list, "host", {barred}, other, false);
  list.ops.back().opaque = true;
  addOp(list, "exp", {across, other}, target, true);
  addOp(list, "exp", {target}, target, true);
  list.ops.back().mutates = true;
  addOp(list, "exp", {target}, unread, true);
  addOp(list, "exp", {target}, large, true);
  addOp(list, "neg", {large}, notListed, true);
  addOp(list, "exp", {notListed}, y, true);
  addOp(list, "exp", {y}, unread, true);
  PlacementRules rules;
  rules.allowedOps = {"exp"};
  const auto decisionsWith = [&](bool clones) {
    rules.inputClones = clones;
    auto made = makeProblem(list, rules, 4096, 128);
    EXPECT_TRUE(made.ok()) << made.status().message();
    std::map<std::string, Decision> found;
    for (size_t i = 0; i < made->webs.size(); ++i) {
      found.emplace(list.tensors[size_t(made->webs[i].tensor)].name, made->decisions[i]);
    }
    return found;
  };
  const auto without = decisionsWith(false), with = decisionsWith(true);
  const std::tuple<const char *, const char *, const char *> expected[] = {
      {"barred", "barred", "read all of it"},
      {"other", "op-not-allowed", "an operation of the device could leave it"},
      {"across", "opaque-in-lifetime", "if that ran on the device, before its first or after"},
      {"target", "mutation-target", "a result of its own could stay"},
      {"unread", "no-consumer", "only a reader would change that"},
      {"large", "too-large", "divided over 4 cores or more, or with 4096 bytes more"},
      {"notListed", "op-not-allowed", "--lx-all-ops"},
      {"y", "graph-output", "no --no-lx-output-clones"},
      {"x", "graph-input", "no --no-lx-input-clones"},
  };
  for (const auto &[name, reason, help] : expected) {
    const Decision &decision = without.at(name);
    EXPECT_FALSE(bool(decision)) << name;
    EXPECT_EQ(decision.reason(), reason) << name;
    EXPECT_NE(decision.detail().find(help), std::string::npos) << decision.detail();
  }
  EXPECT_EQ(with.at("once").reason(), "read-once");
  EXPECT_NE(with.at("once").detail().find("only a second reader"), std::string::npos);
}

TEST(OpLists, NothingLivesAcrossAnotherProgram) {
  OpList list = softmax();
  list.ops[2].opaque = true;
  auto made = makeProblem(list, documentedRules({}, {}), kProgramCapacity, 128);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->decisions[1].reason(), "opaque-in-lifetime");
  EXPECT_EQ(made->decisions[2].reason(), "op-not-allowed");
  EXPECT_TRUE(made->decisions[0]);
}

CoreView rows(int cores) {
  CoreView view;
  view.cores = cores;
  view.slices = {{1, cores}};
  for (int i = 0; i < cores; ++i) {
    view.sliceOfCore.push_back(i);
  }
  return view;
}

OpList twoOps(const CoreView &write, const CoreView &read) {
  OpList list;
  const int x = addTensor(list, "x", 4096), t = addTensor(list, "t", 4096),
            y = addTensor(list, "y", 4096);
  list.tensors[x].isGraphInput = true;
  list.tensors[y].isGraphOutput = true;
  addOp(list, "exp", {x}, t, true);
  addOp(list, "exp", {t}, y, true);
  list.ops[0].readViews = {write};
  list.ops[0].writeViews = {write};
  list.ops[1].readViews = {read};
  list.ops[1].writeViews = {read};
  return list;
}

TEST(CoreViews, DifferentDivisionsKeepTheBufferInMemory) {
  CoreView columns = rows(4);
  columns.slices = {{0, 4}};
  CoreView turned = rows(4);
  turned.sliceOfCore = {3, 2, 1, 0};
  CoreView broadcast;
  broadcast.cores = 4;
  CoreView unknown;
  unknown.known = false;
  EXPECT_TRUE(divisionsAgree(twoOps(rows(4), rows(4)), 1));
  EXPECT_FALSE(divisionsAgree(twoOps(rows(4), columns), 1));
  EXPECT_FALSE(divisionsAgree(twoOps(rows(4), turned), 1));
  EXPECT_FALSE(divisionsAgree(twoOps(unknown, unknown), 1));
  EXPECT_FALSE(divisionsAgree(twoOps(CoreView(), broadcast), 1));
  EXPECT_FALSE(divisionsAgree(twoOps(broadcast, broadcast), 1));
  EXPECT_TRUE(divisionsAgree(twoOps(CoreView(), CoreView()), 1));
  EXPECT_EQ(divisionsAgree(twoOps(rows(4), columns), 1).reason(), "core-div-mismatch");
  OpList partial = twoOps(rows(4), rows(4));
  partial.ops[0].splitsReduction = true;
  EXPECT_FALSE(divisionsAgree(partial, 1));
}

TEST(CoreViews, OneCoreNeverDisagrees) {
  OpList list = twoOps(rows(4), rows(2));
  PlacementRules rules;
  auto many = makeProblem(list, rules, 8192, 128);
  EXPECT_EQ(many->decisions[0].reason(), "core-div-mismatch");
  rules.cores = 1;
  auto one = makeProblem(list, rules, 8192, 128);
  EXPECT_TRUE(one->decisions[0]);
}

TEST(CoreViews, BytesPerCore) {
  EXPECT_EQ(bytesPerCore(4194304, 4), 1048576);
  EXPECT_EQ(bytesPerCore(1048576, 1), 1048576);
}

/// An operation that touches a tensor twice counts once.
TEST(OpLists, UsesAreListedOnce) {
  OpList list;
  const int x = addTensor(list, "x", 128), y = addTensor(list, "y", 128);
  addOp(list, "add", {x, x}, y, true);
  addOp(list, "add", {y, x}, y, true);
  const auto uses = usesOf(list);
  EXPECT_EQ(uses[x], (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(uses[y], (std::vector<int64_t>{0, 1}));
}

/// The smallest pass somebody could add: it bars one tensor.
class BarPass : public ScratchpadOptimizationPass {
public:
  std::string_view name() const override { return "bar"; }
  Status run(OpList &list, int64_t) const override {
    list.tensors[1].barred = "by order of the test";
    return Status::success();
  }
};

TEST(ScratchpadPasses, ChangeTheListBeforePlanning) {
  OpList list = softmax();
  ASSERT_TRUE(BarPass().run(list, kProgramCapacity).ok());
  auto made = makeProblem(list, documentedRules({}, {}), kProgramCapacity, 128);
  EXPECT_EQ(made->problem.buffers[0].forbiddenReason, "barred: by order of the test");
}

/// A plan made for one list, checked against a changed one.
TEST(OpListVerifier, RejectsWhatChangedAfterPlanning) {
  const OpList list = softmax();
  const PlacementRules rules = documentedRules({}, {"exp", "sub"});
  auto made = makeProblem(list, rules, kProgramCapacity, 128);
  const Offsets offsets = (*createSolver("exact"))->plan(made->problem, Variant::Pick)->offsets;
  auto verdict = [&](const OpList &now, int cores = 1) {
    PlacementRules asked = rules;
    asked.cores = cores;
    const Status status = verifyOpListPlan(now, asked, *made, offsets);
    return status.ok() ? std::string() : fmt::format("{} {}", status.code(), status.text());
  };
  EXPECT_EQ(verdict(list), "");
  OpList opaque = list;
  opaque.ops[2].opaque = true;
  EXPECT_NE(verdict(opaque).find("3044 's' is on the core while operation 2"), std::string::npos)
      << verdict(opaque);
  OpList swapped = list;
  std::swap(swapped.ops[2], swapped.ops[3]);
  EXPECT_NE(verdict(swapped).find("other operations"), std::string::npos) << verdict(swapped);
  OpList grown = list;
  grown.tensors[2].coreBytes *= 2;
  EXPECT_NE(verdict(grown).find("was planned with"), std::string::npos) << verdict(grown);
  OpList barred = list;
  barred.tensors[1].barred = "view with an offset";
  EXPECT_NE(verdict(barred).find("view with an offset"), std::string::npos) << verdict(barred);
  OpList divided = list;
  divided.ops[1].writeViews = {rows(4)};
  EXPECT_EQ(verdict(divided), "");
  EXPECT_NE(verdict(divided, 4).find("divide it differently"), std::string::npos)
      << verdict(divided, 4);
  OpList partial = list;
  partial.ops[0].splitsReduction = true;
  EXPECT_NE(verdict(partial, 4).find("partial sums"), std::string::npos) << verdict(partial, 4);
}

TEST(OpLists, BadListsAreErrors) {
  OpList list = softmax();
  list.ops[1].reads.push_back(99);
  EXPECT_EQ(makeProblem(list, {}, 4096, 128).status().code(), 3049);
  list = softmax();
  list.tensors[0].coreBytes = -1;
  EXPECT_EQ(makeProblem(list, {}, 4096, 128).status().code(), 3049);
}

} // namespace
} // namespace spyre::solver::placement
