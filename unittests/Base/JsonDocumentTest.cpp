//===- JsonDocumentTest.cpp - the read-only tree against nlohmann-json's parser -------------===//
//
// JsonDocument has a parser of its own and parseJson() has the library's: every text must be taken
// or refused by both, with the same values and the same words.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Json.h"
#include "spyre/Base/Random.h"

#include "gtest/gtest.h"

namespace spyre {
namespace {

/// True when the text is accepted.
bool agree(const std::string &text, uint64_t limitBytes = kMaxJsonTextBytes) {
  Expected<Json> expected = parseJson(text, limitBytes);
  Expected<JsonDocument> document = JsonDocument::parse(text, limitBytes);
  EXPECT_EQ(document.ok(), expected.ok()) << text.substr(0, 200);
  if (!document.ok() || !expected.ok()) {
    EXPECT_EQ(document.status().message(), expected.status().message());
    return false;
  }
  const Json copy = JsonReader(*document).json();
  EXPECT_EQ(copy, *expected) << text.substr(0, 200);
  // Equality does not see the difference of 1 and 1.0, the printed form does.
  EXPECT_EQ(copy.dump(), expected->dump());
  return true;
}

TEST(JsonDocument, AcceptsWhatTheLibraryAccepts) {
  const std::string accepted[] = {
      "null",
      "true",
      " false\t",
      "\r\n7 ",
      "\"\"",
      "{}",
      "[]",
      "[ ]",
      "{ }",
      "\xEF\xBB\xBF[1]",
      R"({"b":1,"a":[true,null,-2,2.5,"x"],"c":{"d":{},"e":[[],[[]]]}})",
      "{ \"a\" : 1 ,\n\"b\" : [ 1 , 2 ] }",
      // Numbers at the borders of the three kinds.
      "[0,-0,9223372036854775807,-9223372036854775808,18446744073709551615]",
      "[9223372036854775808,-9223372036854775809,18446744073709551616,123456789012345678901234567]",
      "[0.0,-0.0,1e0,1E+2,1.5e-3,-2.25E2,1e308,4.9e-324,2.2250738585072014e-308]",
      "[1e-999,-1e-999,0e999,0.1,123456789.123456789]",
      // Every escape, characters of one to four bytes, plain and escaped, and their borders.
      R"(["\"\\\/\b\f\n\r\t","\u0000","\u0041\u00e9\u20AC\ud83d\uDE00x","\u007f\u0080\u07ff\u0800"])",
      R"(["\uFFFF\ud7ff\ue000","\ud800\udc00\udbff\udfff"])",
      "[\"\x7F\",\"\xC2\x80\xDF\xBF\","
      "\"\xE0\xA0\x80\xEC\xBF\xBF\xED\x80\x80\xED\x9F\xBF\xEF\xBF\xBF\"]",
      "[\"\xF0\x90\x80\x80\xF3\xBF\xBF\xBF\xF4\x8F\xBF\xBF tail\"]",
      R"({"\u0061\n":1,"a":2,"":3})",
  };
  for (const std::string &text : accepted) {
    EXPECT_TRUE(agree(text)) << text;
  }
}

TEST(JsonDocument, RefusesWhatTheLibraryRefuses) {
  const std::string refused[] = {
      "",
      " ",
      "{",
      "}",
      "[",
      "]",
      "[1",
      "[1,",
      "[1,]",
      "[,1]",
      "[1 2]",
      "{\"a\"}",
      "{\"a\":}",
      "{\"a\":1,}",
      "{\"a\" 1}",
      "{a:1}",
      "{1:2}",
      "{\"a\":1 \"b\":2}",
      "[1}",
      "{\"a\":1]",
      "{} {}",
      "1 2",
      "nul",
      "nulll",
      "tru",
      "True",
      "falsey",
      "nan",
      "Infinity",
      "// c\n1",
      "/**/1",
      "'a'",
      "-",
      "+1",
      "01",
      "-01",
      "00",
      "1.",
      ".5",
      "1.e3",
      "1e",
      "1e+",
      "1e999",
      "-1e999",
      "0x1",
      "1_0",
      std::string(400, '9'),
      "--1",
      "1.5.2",
      "\"",
      "\"a",
      "\"\\\"",
      "\"\\",
      "\"\\x\"",
      "\"\\u12\"",
      "\"\\u12g4\"",
      "\"\\ud800\"",
      "\"\\ud800x\"",
      "\"\\ud800\\n\"",
      "\"\\ud800\\ud800\"",
      "\"\\udc00\"",
      "\"\\u",
      "\"\\ud800\\u",
      "\"tab\there\"",
      "\"line\nbreak\"",
      "\"\x1F\"",
      "\"\x80\"",
      "\"\xBF\"",
      "\"\xC0\x80\"",
      "\"\xC1\xBF\"",
      "\"\xC2\"",
      "\"\xC2x\"",
      "\"\xE0\x9F\xBF\"",
      "\"\xE1\x80\"",
      "\"\xED\xA0\x80\"",
      "\"\xED\xBF\xBF\"",
      "\"\xF0\x8F\xBF\xBF\"",
      "\"\xF1\x80\x80\"",
      "\"\xF4\x90\x80\x80\"",
      "\"\xF5\x80\x80\x80\"",
      "\"\xFF\"",
      "\xEF\xBB",
      "\xEF\xBB\xBF",
      "\xEF",
      "\xFE\xFF",
      "{\"a\":1,\"a\":2}",
      "{\"a\":1,\"\\u0061\":2}",
      "{\"o\":{\"k\":1,\"x\":[],\"k\":null}}",
      std::string("{}\0{}", 5),
      std::string("{}\0", 3),
      std::string("\"\0\"", 3),
      std::string(1, '\0'),
  };
  for (const std::string &text : refused) {
    EXPECT_FALSE(agree(text)) << text;
  }
}

TEST(JsonDocument, HasTheSameLimits) {
  auto nested = [](size_t depth, const char *open, const char *close) {
    std::string text;
    for (size_t i = 0; i < depth; ++i) {
      text += open;
    }
    text += "1";
    for (size_t i = 0; i < depth; ++i) {
      text += close;
    }
    return text;
  };
  EXPECT_TRUE(agree(nested(128, "[", "]")));
  EXPECT_FALSE(agree(nested(129, "[", "]")));
  EXPECT_TRUE(agree(nested(128, "{\"k\":", "}")));
  EXPECT_FALSE(agree(nested(129, "{\"k\":", "}")));
  EXPECT_FALSE(agree(std::string(1000000, '[')));
  EXPECT_TRUE(agree("[1]", 3));
  EXPECT_FALSE(agree("[1]", 2));
  EXPECT_TRUE(agree("[1]", UINT64_MAX));
}

// Few keys are compared with each other, many are sorted, and keys in ascending order are neither.
TEST(JsonDocument, FindsDuplicateKeysInObjectsOfAnySize) {
  Random random(11);
  for (uint64_t size : {1, 2, 15, 16, 17, 18, 40, 3000}) {
    for (bool ascends : {true, false}) {
      std::vector<std::string> keys;
      for (uint64_t i = 0; i < size; ++i) {
        keys.push_back(fmt::format("k{}", ascends ? 10000 + i : 9999 - i));
      }
      auto text = [&] {
        std::string object = "{";
        for (const std::string &key : keys) {
          object += fmt::format("{}\"{}\":[{{}}]", object.size() == 1 ? "" : ",", key);
        }
        return object + "}";
      };
      EXPECT_TRUE(agree(text())) << size;
      const std::string copied = keys[random.below(keys.size())];
      keys.insert(keys.begin() + ptrdiff_t(random.below(keys.size() + 1)), copied);
      EXPECT_FALSE(agree(text())) << size;
    }
  }
}

TEST(JsonDocument, AgreesOnMutatedText) {
  const std::string bases[] = {
      R"({"a":[1,2,{"b":"\u00e9x\ud83d\ude00","c":-1.5e3}],"d":{"e":true,"f":null},"":[0,-0,18446744073709551615]})",
      "{\"k1\":\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\",\"k2\":false,\"k3\":[[],{},\"\\\\\\\"\"], "
      "\"k4\" : 1e-5 }",
      R"({"coreIdToWkSlice_":{"0":{"mb":0},"1":{"mb":1},"10":{"mb":2}},"data_":{"[0, 0, 0]":"17179869184"}})",
  };
  const std::string pieces[] = {
      "\"", "\\", "{", "}", "[",  "]",  ",",    ":",    "\\u",      "\\ud83d", "e",        ".",
      "-",  "0",  "1", " ", "\n", "k1", "\xC3", "\xA9", "\xED\xA0", "null",    "\"k1\":1,"};
  Random random(7);
  size_t accepted = 0;
  for (int round = 0; round < 60000 && !HasFailure(); ++round) {
    std::string text = bases[random.below(std::size(bases))];
    for (uint64_t edits = 1 + random.below(3); edits > 0 && !text.empty(); --edits) {
      const size_t at = random.below(text.size());
      switch (random.below(4)) {
      case 0:
        text[at] = char(random.below(256));
        break;
      case 1:
        text.erase(at, 1 + random.below(3));
        break;
      case 2:
        text.insert(at, pieces[random.below(std::size(pieces))]);
        break;
      default:
        text.insert(at, text.substr(random.below(text.size()), 5));
      }
    }
    accepted += agree(text);
  }
  EXPECT_GT(accepted, 1000u);
}

TEST(JsonReader, FindsThePathOfAnyValue) {
  const std::string longKey(100, 'x');
  Expected<JsonDocument> document = JsonDocument::parse(
      R"({"a":[[],[1,{"b":2,"\u0063":[true]}],3],"":{"0":"x"},")" + longKey + R"(":null})");
  ASSERT_TRUE(document.ok());
  const JsonReader root(*document);
  EXPECT_EQ(root.path(), "$");
  const JsonReader object = *(*root.field("a")->element(1)).element(1);
  EXPECT_EQ(object.path(), "$.a[1][1]");
  EXPECT_EQ(object.field("b")->path(), "$.a[1][1].b");
  EXPECT_EQ(object.field("c")->element(0)->path(), "$.a[1][1].c[0]");
  EXPECT_EQ(root.field("a")->element(2)->path(), "$.a[2]");
  EXPECT_EQ(root.field("")->field("0")->path(), "$..0");
  EXPECT_EQ(root.field(longKey)->path(), "$." + std::string(80, 'x') + "...");
  EXPECT_EQ(object.field("c")->asInt().status().text(),
            "$.a[1][1].c: expected an integer, found array value");
  EXPECT_EQ(root.field(longKey)->asBool().status().text(),
            "$." + std::string(80, 'x') + "...: expected true or false, found null null");
}

TEST(JsonReader, OutlivesTheMoveOfItsDocument) {
  Expected<JsonDocument> document = JsonDocument::parse(R"({"a":"short"})");
  ASSERT_TRUE(document.ok());
  const JsonReader field = *JsonReader(*document).field("a");
  const JsonDocument moved = *std::move(document);
  EXPECT_EQ(*field.asStringView(), "short");
  EXPECT_EQ(field.path(), "$.a");
}

TEST(JsonReader, LoopsWithoutCopies) {
  Expected<JsonDocument> document = JsonDocument::parse(R"({"z":[1,[2,2],3],"a":{},"e":[]})");
  ASSERT_TRUE(document.ok());
  const JsonReader root(*document);
  std::string seen;
  const Expected<JsonMembers> members = root.eachMember();
  ASSERT_TRUE(members.ok());
  EXPECT_EQ(members->size(), 3u);
  for (const auto [key, value] : *members) {
    seen += fmt::format("{}={} ", key, value.size());
  }
  EXPECT_EQ(seen, "z=3 a=0 e=0 ");
  const Expected<JsonElements> elements = root.field("z")->eachElement();
  ASSERT_TRUE(elements.ok());
  seen.clear();
  for (const JsonReader &element : *elements) {
    seen += element.json().dump() + " ";
  }
  EXPECT_EQ(seen, "1 [2,2] 3 ");
  EXPECT_EQ(root.eachElement().status().text(), "$: expected an array, found object value");
  EXPECT_EQ(root.field("z")->eachMember().status().code(), 9103);
  const Expected<JsonElements> none = root.field("e")->eachElement();
  EXPECT_FALSE(none->begin() != none->end());
}

TEST(JsonReader, KnowsFieldsInAnyOrder) {
  Expected<JsonDocument> document = JsonDocument::parse(R"({"c":1,"a":2,"d":3,"b":4})");
  ASSERT_TRUE(document.ok());
  const JsonReader root(*document);
  EXPECT_TRUE(root.onlyFields({"a", "b", "c", "d"}).ok());
  EXPECT_TRUE(root.onlyFields({"b", "d", "a", "c", "x"}).ok());
  EXPECT_TRUE(root.onlyFields(std::vector<std::string>{"d", "c", "b", "a"}).ok());
  for (const char *missing : {"a", "b", "c", "d"}) {
    std::vector<std::string> known;
    for (const char *name : {"a", "b", "c", "d"}) {
      if (std::string(name) != missing) {
        known.emplace_back(name);
      }
    }
    EXPECT_EQ(
        root.onlyFields(known).text(),
        fmt::format("$: unknown field \"{}\"; known fields: {}", missing, fmt::join(known, ", ")));
  }
}

} // namespace
} // namespace spyre
