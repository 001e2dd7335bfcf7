//===- MutationTest.cpp - damaged text never crashes a reader -------------------------------===//
//
// Random cuts, copies and byte changes of valid texts. A reader may accept or refuse the result,
// but it must return, and what it accepts must survive the next stage as well.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Json.h"
#include "spyre/Spec/Bundle.h"
#include "spyre/Spec/SpyreCode.h"

#include "SpecExamples.h"
#include "SpecGenerator.h"
#include "SpecTestUtils.h"

#include <functional>

using namespace spyre;
using namespace spyre::spec;
using namespace spyre::spec::test;

namespace {

constexpr int kMutations = 4000;

std::string mutate(std::string text, Random &random) {
  for (uint64_t edits = 1 + random.below(4); edits > 0 && !text.empty(); --edits) {
    const size_t at = random.below(text.size());
    const size_t length = 1 + random.below(12);
    switch (random.below(6)) {
    case 0:
      text.erase(at, length);
      break;
    case 1:
      text.insert(at, text.substr(random.below(text.size()), length));
      break;
    case 2:
      text[at] = char(random.below(256));
      break;
    case 3:
      text[at] = "0123456789-.{}[]()\"':,=+/%#_ \n"[random.below(31)];
      break;
    case 4: // Numbers at the edges of their ranges.
      text.insert(at, random.below(2) ? "9223372036854775807" : "-9223372036854775808");
      break;
    default:
      text.resize(at);
      break;
    }
  }
  return text;
}

/// Calls \p read on mutations of each text; it says whether the text was accepted.
void mutateAll(const std::vector<std::string> &texts,
               const std::function<bool(const std::string &)> &read) {
  int accepted = 0, refused = 0;
  for (int i = 0; i < kMutations; ++i) {
    Random random(uint64_t(i) + 1);
    const std::string text = mutate(texts[random.below(texts.size())], random);
    ++(read(text) ? accepted : refused);
  }
  // Both happen: the mutations are neither harmless nor hopeless.
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, kMutations / 4);
}

} // namespace

TEST(Mutation, OpSpecText) {
  std::vector<std::string> texts = {writeOpSpecs({exampleA(), exampleB()})};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    texts.push_back(writeOpSpecs({generateSpec(random, {.kind = SpecKind(seed % 5)})}));
  }
  mutateAll(texts, [](const std::string &text) {
    Expected<std::vector<OpSpec>> specs = parseOpSpecs(text);
    for (size_t i = 0; specs.ok() && i < specs->size(); ++i) {
      // Whatever was parsed can be printed, verified and emitted without a crash.
      EXPECT_EQ(valueOf(parseOpSpecs(writeOpSpecs({(*specs)[i]}))).size(), 1u);
      if (Expected<SuperDsc> dsc = emitSuperDsc((*specs)[i], 0); dsc.ok()) {
        EXPECT_TRUE(readSuperDsc(writeSuperDsc(*dsc)).ok());
      }
    }
    return specs.ok();
  });
}

TEST(Mutation, SuperDscJson) {
  std::vector<std::string> texts;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const OpSpec spec = generateSpec(random, {.kind = SpecKind(seed % 5)});
    // Without blanks: more of the mutations hit something.
    texts.push_back(valueOf(parseJson(writeSuperDsc(valueOf(emitSuperDsc(spec, 0))))).dump());
  }
  const arch::DeviceDesc device;
  mutateAll(texts, [&](const std::string &text) {
    Expected<SuperDsc> dsc = readSuperDsc(text);
    if (dsc.ok()) {
      (void)verifySuperDsc(*dsc, device);
      EXPECT_EQ(valueOf(readSuperDsc(writeSuperDsc(*dsc))), *dsc);
    } else {
      EXPECT_EQ(dsc.status().code(), 5002) << dsc.status().message();
    }
    return dsc.ok();
  });
}

TEST(Mutation, BundleMlir) {
  Bundle looped;
  looped.arguments = {kPoolArgument, 3};
  looped.nonTerminal = true;
  looped.body.resize(1);
  looped.body[0].isLoop = true;
  looped.body[0].count = 5;
  looped.body[0].body.resize(1);
  looped.body[0].body[0].execute = {
      "a.json", {{0, {}, {}}, {128, {0}, {}}, {0, {1}, {{0, 64}}}}, {-1, -2, -3}};
  mutateAll({writeBundleMlir(Bundle::baked({"sdsc_0.json", "sdsc_1.json", "sdsc_2.json"})),
             writeBundleMlir(looped)},
            [](const std::string &text) {
              Expected<Bundle> bundle = parseBundleMlir(text);
              if (bundle.ok()) {
                EXPECT_EQ(valueOf(parseBundleMlir(writeBundleMlir(*bundle))), *bundle);
              }
              return bundle.ok();
            });
}

TEST(Mutation, SpyreCodeJson) {
  SpyreCode code;
  code.allocateBytes = 51200;
  code.transfers = {{"init.bin", kProgramOffsetBase, 32768}};
  code.jobs = {kProgramOffsetBase};
  SpyreCode corrected = code;
  corrected.correction = {64, kProgramOffsetBase + 128, {{0, kPoolArgument}, {56, 3}}};
  mutateAll({writeSpyreCode(code), writeSpyreCode(corrected)}, [](const std::string &text) {
    Expected<SpyreCode> read = readSpyreCode(text);
    if (read.ok()) {
      EXPECT_EQ(valueOf(readSpyreCode(writeSpyreCode(*read))), *read);
    }
    return read.ok();
  });
}

TEST(Mutation, ModelJson) {
  mutateAll({writeModel(exampleModel())}, [](const std::string &text) {
    Expected<Model> model = readModel(text);
    if (model.ok()) {
      (void)verifyModel(*model);
      EXPECT_TRUE(readModel(writeModel(*model)).ok());
    }
    return model.ok();
  });
}
