//===- JsonTest.cpp - the strict JSON reader ------------------------------------------------===//
#include "spyre/Base/Json.h"

#include "spyre/Base/Random.h"

#include "gtest/gtest.h"

namespace spyre {
namespace {

Json parsed(const std::string &text) {
  Expected<Json> json = parseJson(text);
  EXPECT_TRUE(json.ok()) << json.status().message();
  return json.ok() ? *json : Json();
}

JsonDocument document(const std::string &text) {
  Expected<JsonDocument> parsed = JsonDocument::parse(text);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? *std::move(parsed) : *JsonDocument::parse("null");
}

TEST(Json, KeepsKeyOrderAndValues) {
  std::string text = R"({"b":1,"a":[true,null,-2,2.5,"x"],"c":{"d":{}}})";
  EXPECT_EQ(parsed(text).dump(), text);
  EXPECT_EQ(parsed("  7 ").dump(), "7");
}

TEST(Json, RefusesWhatIsNotOneCleanDocument) {
  const std::string refused[] = {
      "",
      "{",
      "{\"a\":1,}",
      "[1 2]",
      "{} {}",
      "// c\n1",
      "nan",
      "1e999",
      "{\"a\":1,\"a\":2}",
      "{\"o\":{\"k\":1,\"x\":[],\"k\":null}}",
      std::string("{}\0{}", 5),
      "\"\xFF\"",
      "\"\xC0\x80\"",
      "\"\xED\xA0\x80\"",
      "\"tab\there\"",
  };
  for (const std::string &text : refused) {
    Expected<Json> json = parseJson(text);
    EXPECT_FALSE(json.ok()) << text;
    EXPECT_EQ(json.status().code(), 9101) << text;
    EXPECT_FALSE(json.status().text().empty());
  }
  EXPECT_NE(parseJson("{\"a\":1,\"a\":2}").status().text().find("\"a\" appears twice"),
            std::string::npos);
}

TEST(Json, LimitsNestingAndSize) {
  auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(parseJson(nested(128)).ok());
  EXPECT_EQ(parseJson(nested(129)).status().code(), 9101);
  EXPECT_EQ(parseJson(std::string(1000000, '[')).status().code(), 9101);
  EXPECT_TRUE(parseJson("[1]", 3).ok());
  EXPECT_EQ(parseJson("[1]", 2).status().code(), 9101);
}

// An object of many keys must not cost the square of their number.
TEST(Json, ReadsLargeObjects) {
  std::string text = "{";
  for (int i = 0; i < 100000; ++i) {
    text += fmt::format("{}\"k{}\":{}", i == 0 ? "" : ",", i, i);
  }
  EXPECT_EQ(parsed(text + "}").size(), 100000u);
  EXPECT_FALSE(parseJson(text + ",\"k500\":1}").ok());
}

TEST(Json, SurvivesMutatedText) {
  const std::string base = R"({"a":[1,2,{"b":"\u00e9x","c":-1.5e3}],"d":{"e":true,"f":null}})";
  Random random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string text = base;
    for (uint64_t edits = 1 + random.below(4); edits > 0; --edits) {
      size_t at = random.below(text.size());
      switch (random.below(3)) {
      case 0:
        text[at] = char(random.below(256));
        break;
      case 1:
        text.erase(at, 1 + random.below(3));
        break;
      default:
        text.insert(at, text.substr(random.below(text.size()), 5));
      }
    }
    Expected<Json> json = parseJson(text);
    if (json.ok()) {
      ASSERT_TRUE(parseJson(json->dump()).ok()) << text;
    } else {
      ASSERT_EQ(json.status().code(), 9101);
    }
  }
}

TEST(JsonReader, NamesThePlaceOfAFault) {
  JsonDocument json = document(R"({"dscs_":[{"add":{"N_":{"mb_":"x"}}}]})");
  Expected<JsonReader> list = JsonReader(json).field("dscs_");
  ASSERT_TRUE(list.ok());
  JsonReader sizes = *(*(*list->element(0)).field("add")).field("N_");
  Status status = (*sizes.field("mb_")).asInt().status();
  EXPECT_EQ(status.code(), 9103);
  EXPECT_EQ(status.text(), "$.dscs_[0].add.N_.mb_: expected an integer, found string \"x\"");
  EXPECT_EQ(sizes.field("out_").status().code(), 9102);
  EXPECT_EQ(sizes.field("out_").status().text(),
            "$.dscs_[0].add.N_: the field \"out_\" is missing");
  EXPECT_EQ(list->element(1).status().code(), 9102);
  EXPECT_EQ(list->field("x").status().code(), 9103);
  EXPECT_EQ(sizes.element(0).status().code(), 9103);
  EXPECT_TRUE(sizes.has("mb_"));
  EXPECT_FALSE(list->has("mb_"));
}

TEST(JsonReader, ChecksTypesAndRanges) {
  JsonDocument json =
      document(R"({"i":-3,"u":9223372036854775807,"big":9223372036854775808,"f":2.5,"b":true,
    "s":"17179869184","n":"-5","bad":["","+1"," 1","1 ","0x1","9223372036854775808","1.0"],
    "ints":[1,2,3],"strings":["a","b"],"mixed":[1,"a"],"null":null})");
  JsonReader root(json);
  auto at = [&](const char *key) { return *root.field(key); };
  EXPECT_EQ(*at("i").asInt(), -3);
  EXPECT_EQ(at("i").asInt(0, 10).status().text(), "$.i: -3 is outside [0, 10]");
  EXPECT_EQ(*at("u").asInt(), INT64_MAX);
  EXPECT_EQ(at("big").asInt().status().code(), 9103);
  EXPECT_EQ(at("f").asInt().status().code(), 9103);
  EXPECT_EQ(*at("f").asNumber(), 2.5);
  EXPECT_EQ(*at("i").asNumber(), -3.0);
  EXPECT_EQ(at("s").asNumber().status().code(), 9103);
  EXPECT_EQ(*at("b").asBool(), true);
  EXPECT_EQ(at("i").asBool().status().code(), 9103);
  EXPECT_EQ(*at("s").asString(), "17179869184");
  EXPECT_EQ(at("null").asString().status().code(), 9103);
  EXPECT_EQ(*at("s").asDecimalString(), 17179869184);
  EXPECT_EQ(*at("n").asDecimalString(), -5);
  EXPECT_EQ(at("n").asDecimalString(0).status().code(), 9103);
  EXPECT_EQ(at("i").asDecimalString().status().code(), 9103);
  Expected<std::vector<JsonReader>> bad = at("bad").elements();
  ASSERT_TRUE(bad.ok());
  for (const JsonReader &reader : *bad) {
    EXPECT_EQ(reader.asDecimalString().status().code(), 9103) << reader.json();
  }
  EXPECT_EQ(*at("ints").asIntList(), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(at("ints").asIntList(0, 2).status().text(), "$.ints[2]: 3 is outside [0, 2]");
  EXPECT_EQ(*at("strings").asStringList(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(at("mixed").asIntList().status().code(), 9103);
  EXPECT_EQ(at("mixed").asStringList().status().code(), 9103);
  EXPECT_EQ(at("i").elements().status().code(), 9103);
}

TEST(JsonReader, ListsMembersInWrittenOrderAndRefusesUnknownOnes) {
  JsonDocument json = document(R"({"z":1,"a":2})");
  JsonReader root(json);
  auto members = root.members();
  ASSERT_TRUE(members.ok());
  ASSERT_EQ(members->size(), 2u);
  EXPECT_EQ((*members)[0].first, "z");
  EXPECT_EQ((*members)[1].second.path(), "$.a");
  EXPECT_TRUE(root.onlyFields({"a", "b", "z"}).ok());
  Status status = root.onlyFields({"a", "b"});
  EXPECT_EQ(status.code(), 9103);
  EXPECT_EQ(status.text(), "$: unknown field \"z\"; known fields: a, b");
  EXPECT_EQ((*root.field("a")).members().status().code(), 9103);
  EXPECT_EQ((*root.field("a")).onlyFields({}).code(), 9103);
}

TEST(JsonReader, KeepsMessagesShort) {
  JsonDocument json =
      document("{\"" + std::string(100000, 'k') + "\":\"" + std::string(100000, 'v') + "\"}");
  EXPECT_LT(JsonReader(json).onlyFields({}).text().size(), 300u);
  auto members = JsonReader(json).members();
  EXPECT_LT((*members)[0].second.asInt().status().text().size(), 400u);
}

} // namespace
} // namespace spyre
