//===- JsonWriterTest.cpp - text written as it comes is the text of the tree ----------------===//
#include "Spec/JsonWriter.h"

#include "spyre/Base/Random.h"

#include "Spec/JsonText.h"
#include "gtest/gtest.h"

#include <limits>

using namespace spyre;
using namespace spyre::spec;

namespace {

std::string randomText(Random &random) {
  static const char *const texts[] = {"",
                                      "plain",
                                      "two words",
                                      "quote \" slash \\",
                                      "\n\t\x01",
                                      "\xc3\xa4\xe2\x82\xac",
                                      "broken \xff utf",
                                      "0"};
  return texts[random.below(8)];
}

/// The same value in both forms.
Json randomValue(Random &random, int depth, JsonWriter &writer) {
  switch (random.below(depth > 4 ? 2 : 4)) {
  case 0: {
    const int64_t number = random.below(8) == 0 ? std::numeric_limits<int64_t>::min()
                                                : random.between(-100000, 100000);
    writer.value(number);
    return number;
  }
  case 1: {
    if (random.below(8) == 0) {
      const bool flag = random.below(2) == 0;
      writer.boolean(flag);
      return flag;
    }
    if (random.below(8) == 0) {
      const int64_t number = random.between(-100000, 100000);
      writer.numberText(number);
      return std::to_string(number);
    }
    if (random.below(4) == 0) {
      const double half = double(random.between(-100000, 100000)) + 0.5;
      writer.real(half);
      return half;
    }
    const std::string text = randomText(random);
    writer.value(text);
    return text;
  }
  case 2: {
    Json array = Json::array();
    writer.beginArray();
    for (int64_t count = random.between(0, 6); count > 0; --count) {
      array.push_back(randomValue(random, depth + 1, writer));
    }
    writer.end();
    return array;
  }
  default: {
    Json object = Json::object();
    writer.beginObject();
    for (int64_t count = random.between(0, 6); count > 0; --count) {
      const bool isNumber = random.below(4) == 0;
      const std::string number = std::to_string(count);
      const std::string key = isNumber ? "[" + number + ", 0]" : randomText(random) + number;
      if (isNumber) {
        writer.numberKey(count, "[", ", 0]");
      } else {
        writer.key(key);
      }
      object[key] = randomValue(random, depth + 1, writer);
    }
    writer.end();
    return object;
  }
  }
}

} // namespace

TEST(JsonWriter, PrintsWhatTheTreePrints) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const size_t inlineChars = random.below(120);
    JsonWriter writer(inlineChars);
    const Json tree = randomValue(random, 0, writer);
    ASSERT_EQ(writer.print(2), printJson(tree, 2, inlineChars)) << "seed " << seed;
  }
}

TEST(JsonWriter, TextAroundANumberIsOneValue) {
  JsonWriter writer(40);
  writer.beginArray();
  for (int64_t number : {0, -1, 123456}) {
    writer.raw("{\"n\": ", number, "}").raw("[[]]");
  }
  writer.end();
  EXPECT_EQ(writer.print(1),
            "[\n {\"n\": 0},\n [[]],\n {\"n\": -1},\n [[]],\n {\"n\": 123456},\n [[]]\n]\n");
}
