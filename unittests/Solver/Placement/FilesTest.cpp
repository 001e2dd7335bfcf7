//===- FilesTest.cpp - placement problems as CSV and JSON, the verifier, and explanations -----===//
#include "spyre/Solver/Placement/Files.h"

#include "spyre/Solver/Placement/Explain.h"

#include "BruteForce.h"
#include "gtest/gtest.h"

namespace spyre::solver::placement {
namespace {

TEST(PlacementCsv, ReadsAllColumns) {
  auto problem = parseCsv("id,begin,end,size,alignment,hint,offset,gaps,value,parents,forbidden\n"
                          "a,0,2,512,128,256,,1-2,,,\n"
                          "b,2,8,256,,,0,3-4 5-6@0:128,1024,a,1\r\n",
                          2048);
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  const Buffer &a = problem->buffers[0], &b = problem->buffers[1];
  EXPECT_EQ(a.upper, 3);
  EXPECT_EQ(a.alignment, 128);
  EXPECT_EQ(a.hint, 256);
  EXPECT_EQ(a.worth(), 512);
  EXPECT_EQ(a.gaps, (std::vector<Gap>{{1, 2, 0, 0}}));
  EXPECT_EQ(b.pinned, 0);
  EXPECT_EQ(b.gaps, (std::vector<Gap>{{3, 4, 0, 0}, {5, 6, 0, 128}}));
  EXPECT_EQ(b.worth(), 1024);
  EXPECT_EQ(b.parents, (std::vector<int>{0}));
  EXPECT_TRUE(b.forbidden);
}

TEST(PlacementCsv, FaultsNameTheLine) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "empty"},
      {"id,lower,upper\n", "line 1"},
      {"id,lower,upper,end,size\n", "line 1"},
      {"id,lower,upper,size,colour\n", "line 1: column 'colour'"},
      {"id,id,lower,upper,size\n", "twice"},
      {"id,lower,upper,size\na,0,3\n", "line 2: 3 fields"},
      {"id,lower,upper,size\na,0,3,1\n\nb,0,x,1\n", "line 4: upper is 'x'"},
      {"id,lower,upper,size\na,0,3,99999999999999999999\n", "line 2: size"},
      {"id,lower,upper,size\na,0,3,1\na,0,3,1\n", "line 3: id 'a'"},
      {"id,lower,upper,size\n,0,3,1\n", "line 2: id"},
      {"id,lower,upper,size,gaps\na,0,9,1,3\n", "line 2: gap '3'"},
      {"id,lower,upper,size,gaps\na,0,9,8,3-4@4:2\n", "line 2: gap"},
      {"id,lower,upper,size,parents\na,0,9,8,b\n", "line 2: parent 'b'"},
      {"id,lower,upper,size,forbidden\na,0,9,8,yes\n", "line 2: forbidden"},
  };
  for (const auto &[text, part] : cases) {
    auto problem = parseCsv(text, 100);
    ASSERT_FALSE(problem.ok()) << text;
    EXPECT_EQ(problem.status().code(), 3047) << text;
    EXPECT_NE(problem.status().message().find(part), std::string::npos)
        << problem.status().message();
  }
}

TEST(PlacementCsv, NumbersOutOfRangeAreRefused) {
  EXPECT_EQ(parseCsv("id,lower,upper,size\na,0,3,-1\n", 100).status().code(), 3040);
  EXPECT_EQ(parseCsv("id,lower,upper,size\na,3,3,1\n", 100).status().code(), 3040);
  EXPECT_EQ(parseCsv("id,lower,upper,size\na,0,3,9223372036854775807\n", 100).status().code(),
            3040);
  EXPECT_EQ(parseCsv("id,lower,upper,size\na,0,3,1\n", -5).status().code(), 3040);
  EXPECT_EQ(parseCsv("id,lower,upper,size,gaps\na,0,3,1,2-9\n", 100).status().code(), 3042);
}

Problem twoPins(int64_t second, int64_t from) {
  auto problem =
      parseCsv("id,lower,upper,size,offset\na,0,4,256,0\nb,3,6,256,0\nc,0,9,64,\n", 1024);
  EXPECT_TRUE(problem.ok()) << problem.status().message();
  problem->buffers[1].pinned = second;
  problem->buffers[1].lower = from;
  return *problem;
}

TEST(Pins, NoPlanKeepsTwoThatShareAByte) {
  const Problem clash = twoPins(128, 3);
  const Status status = checkPins(clash);
  ASSERT_EQ(status.code(), 3120);
  for (const char *part : {"'a' (bytes 0 to 255, ticks 0 to 3)",
                           "'b' (bytes 128 to 383, ticks 3 to 5)", "at tick 3", "move one"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
  }
  for (const char *name : {"exact", "greedy", "firstfit", "bestfit", "simulated_annealing"}) {
    for (Variant variant : {Variant::Fit, Variant::Min, Variant::Pick}) {
      EXPECT_EQ((*createSolver(name))->plan(clash, variant).status().code(), 3120) << name;
    }
  }
  // One of them out of the way: in time, in address, by its own wish.
  EXPECT_TRUE(checkPins(twoPins(128, 4)).ok());
  EXPECT_TRUE(checkPins(twoPins(256, 3)).ok());
  Problem forbidden = clash;
  forbidden.buffers[0].forbidden = true;
  EXPECT_TRUE(checkPins(forbidden).ok());
}

TEST(Pins, APlaceMayBeHandedOverOnce) {
  Problem problem = twoPins(0, 3);
  EXPECT_EQ(checkPins(problem).code(), 3120);
  problem.buffers[1].parents = {0};
  EXPECT_TRUE(checkPins(problem).ok());
  for (const char *name : {"exact", "greedy", "firstfit", "bestfit"}) {
    auto plan = (*createSolver(name))->plan(problem, Variant::Pick);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan->offsets[0], 0) << name;
    EXPECT_EQ(plan->offsets[1], 0) << name;
    EXPECT_TRUE(verifyPlan(problem, plan->offsets, Variant::Pick).ok()) << name;
  }
  problem.buffers.push_back(problem.buffers[1]);
  problem.buffers.back().name = "second";
  EXPECT_EQ(checkPins(problem).code(), 3120);
}

TEST(PlacementFiles, RandomProblemsSurviveBothForms) {
  Random random(21);
  const test::Features features{.buffers = 9,
                                .parents = true,
                                .pins = true,
                                .forbidden = true,
                                .windows = true,
                                .alignment = true};
  for (int i = 0; i < 200; ++i) {
    Problem problem = test::randomProblem(random, features);
    for (Buffer &buffer : problem.buffers) {
      buffer.alignment = std::max<int64_t>(1, buffer.alignment);
    }
    auto fromCsv = parseCsv(writeCsv(problem, {}), problem.capacityBytes);
    ASSERT_TRUE(fromCsv.ok()) << fromCsv.status().message();
    ASSERT_EQ(writeCsv(*fromCsv, {}), writeCsv(problem, {}));
    problem.transients = {{2, 1}, {4, 3}};
    problem.buffers[0].forbidden = true;
    problem.buffers[0].forbiddenReason = "a \"reason\"";
    problem.variant = Variant::Pick;
    auto fromJson = parseProblemJson(writeProblemJson(problem));
    ASSERT_TRUE(fromJson.ok()) << fromJson.status().message();
    ASSERT_EQ(*fromJson, problem);
  }
  const char *best =
      R"({"format":"openspyre-placement","version":1,"capacity":1,"variant":"best","buffers":[]})";
  EXPECT_EQ(parseProblemJson(best).status().code(), 3048);
}

TEST(PlacementJson, FaultsAreNumbered) {
  EXPECT_EQ(parseProblemJson("{").status().code(), 9101);
  EXPECT_EQ(parseProblemJson("{}").status().code(), 9102);
  EXPECT_EQ(
      parseProblemJson(R"({"format":"x","version":1,"capacity":1,"buffers":[]})").status().code(),
      3048);
  const char *parent = R"({"format":"openspyre-placement","version":1,"capacity":9,"buffers":[
      {"id":"a","lower":0,"upper":2,"size":1,"parents":["b"]}]})";
  EXPECT_EQ(parseProblemJson(parent).status().code(), 3048);
  const char *zero = R"({"format":"openspyre-placement","version":1,"capacity":0,"buffers":[]})";
  EXPECT_EQ(parseProblemJson(zero).status().code(), 3040);
}

Buffer box(const char *name, int64_t size, int64_t lower, int64_t upper) {
  Buffer buffer;
  buffer.name = name;
  buffer.sizeBytes = size;
  buffer.lower = lower;
  buffer.upper = upper;
  return buffer;
}

Problem three() {
  Problem problem;
  problem.capacityBytes = 1024;
  problem.alignment = 128;
  problem.buffers = {box("p", 512, 0, 4), box("c", 256, 3, 8), box("o", 256, 0, 8)};
  problem.buffers[1].parents = {0};
  return problem;
}

std::string verdict(const Problem &problem, const Offsets &offsets,
                    Variant variant = Variant::Fit) {
  const Status status = verifyPlan(problem, offsets, variant);
  EXPECT_TRUE(status.ok() || status.code() == 3044);
  return status.text();
}

TEST(PlacementVerifier, AcceptsWhatIsRight) {
  EXPECT_EQ(verdict(three(), {0, 0, 512}), "");
  EXPECT_EQ(verdict(three(), {0, 768, 512}), "");
  EXPECT_EQ(verdict(three(), {0, {}, 512}, Variant::Pick), "");
}

TEST(PlacementVerifier, RejectsWhatIsWrong) {
  EXPECT_NE(verdict(three(), {0, 0, 256}).find("overlap"), std::string::npos);
  EXPECT_NE(verdict(three(), {0, 128, 512}).find("overlap"), std::string::npos);
  EXPECT_NE(verdict(three(), {64, 0, 640}).find("alignment"), std::string::npos);
  EXPECT_NE(verdict(three(), {0, 0, 896}).find("capacity"), std::string::npos);
  EXPECT_NE(verdict(three(), {0, 0, {}}).find("no place"), std::string::npos);
  Problem forbidden = three();
  forbidden.buffers[2].forbidden = true;
  EXPECT_NE(verdict(forbidden, {0, 0, 512}, Variant::Pick).find("forbidden"), std::string::npos);
  Problem pinned = three();
  pinned.buffers[2].pinned = 640;
  EXPECT_NE(verdict(pinned, {0, 0, 512}).find("pinned"), std::string::npos);
  Problem needy = three();
  needy.transients = {{5, 400}};
  EXPECT_NE(verdict(needy, {0, 0, 512}).find("tick 5"), std::string::npos);
  // Not a pair: same place, but the child does not name the parent.
  Problem strangers = three();
  strangers.buffers[1].parents.clear();
  EXPECT_NE(verdict(strangers, {0, 0, 512}).find("overlap"), std::string::npos);
  // A place is handed over once.
  Problem twins = three();
  twins.buffers.push_back(box("d", 128, 3, 4));
  twins.buffers[3].parents = {0};
  EXPECT_NE(verdict(twins, {0, 0, 512, 0}).find("both"), std::string::npos);
}

Plan pick(const Problem &problem) {
  return *(*createSolver("exact"))->plan(problem, Variant::Pick);
}

TEST(PlacementExplanation, NamesCompetitorsAndNumbers) {
  Problem problem;
  problem.capacityBytes = 10;
  problem.buffers = {box("a", 6, 0, 4), box("b", 6, 2, 6), box("c", 4, 0, 6), box("d", 11, 0, 1),
                     box("e", 1, 8, 9)};
  problem.buffers[0].value = 100;
  problem.buffers[2].value = 50;
  problem.buffers[4].value = 0;
  const Plan plan = pick(problem);
  const auto why = explainPlan(problem, plan);
  EXPECT_EQ(why[0].reason, "placed");
  EXPECT_EQ(why[1].reason, "no-room");
  EXPECT_FALSE(why[1].competitors.empty());
  EXPECT_NE(why[1].text.find("'a'"), std::string::npos) << why[1].text;
  EXPECT_EQ(why[3].reason, "too-large");
  EXPECT_NE(why[3].text.find("11"), std::string::npos);
  EXPECT_EQ(why[4].reason, "no-value");
}

/// Whatever keeps a buffer out, the words end with what would let it in.
TEST(PlacementExplanation, SaysWhatWouldHelp) {
  Problem problem;
  problem.capacityBytes = 10;
  problem.buffers = {box("kept", 6, 0, 4), box("beside", 6, 2, 6), box("large", 11, 0, 1),
                     box("free", 1, 8, 9), box("barred", 1, 8, 9), box("asked", 1, 8, 9),
                     box("high", 4, 8, 9)};
  problem.buffers[0].value = 100;
  problem.buffers[3].value = 0;
  problem.buffers[4].forbidden = problem.buffers[5].forbidden = true;
  problem.buffers[5].forbiddenReason = "asked-for: it is not to stay; take that wish back";
  problem.buffers[6].pinned = 8;
  const auto why = explainPlan(problem, pick(problem));
  const std::pair<size_t, const char *> helps[] = {
      {1, "2 bytes more, or one of them left out, would do"},
      {2, "1 bytes more would do"},
      {3, "only a further reader would change that"},
      {4, "allow it"},
      {5, "take that wish back"},
      {6, "2 bytes more, or a lower address, would do"}};
  for (const auto &[index, help] : helps) {
    EXPECT_FALSE(why[index].placed);
    EXPECT_NE(why[index].text.find(help), std::string::npos) << why[index].text;
  }
}

/// [spec: scratchpad 7.1] Greedy has no place for C beside B, though there is one.
TEST(PlacementExplanation, NamesTheSolverThatWouldFindAPlace) {
  Problem problem;
  problem.capacityBytes = 3;
  problem.buffers = {box("A", 1, 0, 3), box("B", 1, 1, 5), box("C", 2, 3, 5)};
  auto plan = (*createSolver("greedy"))->plan(problem, Variant::Pick);
  ASSERT_TRUE(plan.ok() && !plan->offsets[2]);
  const Explanation why = explainPlan(problem, *plan)[2];
  EXPECT_EQ(why.competitors, std::vector<int>{1});
  EXPECT_NE(why.text.find("beside 'B'"), std::string::npos) << why.text;
  EXPECT_NE(why.text.find("the exact solver finds these"), std::string::npos) << why.text;
}

TEST(PlacementExplanation, AConflictIsSaidInWords) {
  Problem problem;
  problem.capacityBytes = 10;
  problem.buffers = {box("a", 6, 0, 4), box("b", 6, 2, 6), box("c", 4, 5, 9)};
  auto plan = (*createSolver("exact"))->plan(problem, Variant::Fit);
  ASSERT_TRUE(plan->impossible);
  EXPECT_EQ(plan->conflict, (std::vector<int>{0, 1}));
  EXPECT_EQ(explainConflict(problem, plan->conflict),
            "'a', 'b' cannot be placed together: at tick 2 they need 12 of 10 bytes");
}

TEST(PlacementDrawing, HasTheDocumentedColours) {
  Problem problem = three();
  problem.buffers[2].firstUseIsRead = true;
  problem.buffers.push_back(box("<big>", 4096, 0, 3));
  const Plan plan = pick(problem);
  const std::string svg = drawSvg(problem, plan);
  for (const char *colour : {"#5cb85c", "#f0c840", "#4a90d9", "#d9534f"}) {
    EXPECT_NE(svg.find(colour), std::string::npos) << colour;
  }
  EXPECT_EQ(svg.find("<big>"), std::string::npos);
  EXPECT_NE(drawHtml(problem, plan).find("&lt;big&gt;"), std::string::npos);
}

/// Hints are followed where nothing stands in the way.
TEST(ExactPlacement, FollowsHints) {
  Problem problem;
  problem.capacityBytes = 100;
  problem.buffers = {box("a", 10, 0, 4), box("b", 10, 0, 4)};
  problem.buffers[0].hint = 50;
  problem.buffers[1].hint = 55;
  const Plan plan = pick(problem);
  EXPECT_EQ(plan.offsets[0], 50);
  EXPECT_NE(plan.offsets[1], 55);
  EXPECT_TRUE(verifyPlan(problem, plan.offsets, Variant::Pick).ok());
}

} // namespace
} // namespace spyre::solver::placement
