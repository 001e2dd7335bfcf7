//===- BadBundlesTest.cpp - what is wrong with a bundle is said with number and place -------===//
//
// One test per class of fault a producer makes, on the bytes of a whole bundle: each starts from a
// bundle that compiles, spoils one thing, and asks for the code, the place and the reason.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Spec/Bundle.h"

#include "Harness.h"
#include "Specs.h"
#include "gtest/gtest.h"

#include <nlohmann/json.hpp>

namespace spyre::backend::test {

namespace {

using Json = nlohmann::ordered_json;

const Shape kFull{{"c1", "c0"}, "c1"};

OpSpec plainAdd() { return opOf("add", {{"c0", 8, 2}, {"c1", 128, 1}}, {kFull, kFull, kFull}); }
OpSpec plainSum() { return opOf("sum", {{"c0", 8, 2}, {"c1", 128, 1}}, {kFull, {{"c0"}, ""}}); }
OpSpec plainMatmul() {
  return opOf("batchmatmul", {{"c0", 64, 2}, {"c1", 64, 1}, {"c2", 64, 1}},
              {{{"c2", "c0"}, "c2"}, {{"c1", "c2"}, "c1"}, {{"c1", "c0"}, "c1"}});
}

Artifacts bundleOf(const OpSpec &spec) {
  Expected<Artifacts> bundle = spec::generateBundle({spec});
  SPYRE_CHECK(bundle.ok(), "the plain operations can be bundled");
  SPYRE_CHECK(compileBundle(*bundle, presetDevice("openspyre")).ok(), "and compiled");
  return *bundle;
}

Status failureOf(const Artifacts &bundle, const char *device = "openspyre") {
  return compileBundle(bundle, presetDevice(device)).status();
}

void expectFailure(const Status &status, int code, const std::string &part) {
  ASSERT_FALSE(status.ok()) << "expected E" << code << " with '" << part << "'";
  EXPECT_EQ(status.code(), code) << status.message();
  EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
}

/// The bundle with \p change made to the body of its one operation.
template <typename Change>
Artifacts spoiled(const OpSpec &spec, Change change) {
  Artifacts bundle = bundleOf(spec);
  Json json = Json::parse(bundle["sdsc_0.json"]);
  change(json.begin().value());
  bundle["sdsc_0.json"] = json.dump();
  return bundle;
}

Json &configOf(Json &body) { return body["dscs_"][0].begin().value(); }

/// All objects inside \p json with the way to them.
void collectObjects(Json &json, std::vector<Json *> &found) {
  if (json.is_object() && !json.empty()) {
    found.push_back(&json);
  }
  if (json.is_structured()) {
    for (Json &element : json) {
      collectObjects(element, found);
    }
  }
}

} // namespace

// Each field of each object of the file, one after the other.
TEST(BadBundle, MissingFields) {
  const Artifacts good = bundleOf(plainSum());
  size_t refused = 0;
  for (size_t object = 0;; ++object) {
    Json json = Json::parse(good.at("sdsc_0.json"));
    std::vector<Json *> objects;
    collectObjects(json, objects);
    if (object == objects.size()) {
      break;
    }
    for (size_t field = 0; field < objects[object]->size(); ++field) {
      Json copy = json;
      std::vector<Json *> copies;
      collectObjects(copy, copies);
      copies[object]->erase(std::next(copies[object]->begin(), int64_t(field)));
      Artifacts bundle = good;
      bundle["sdsc_0.json"] = copy.dump();
      const Status status = failureOf(bundle);
      if (status.ok()) {
        continue; // A field that may be absent.
      }
      ++refused;
      EXPECT_GE(status.code(), 5002) << status.message();
      EXPECT_LE(status.code(), 5399) << status.message();
      EXPECT_NE(status.message().find("sdsc_0.json"), std::string::npos) << status.message();
    }
  }
  EXPECT_GT(refused, 100u);
  expectFailure(failureOf(spoiled(plainAdd(), [](Json &body) { body.erase("numCoresUsed_"); })),
                5002, "numCoresUsed_");
}

TEST(BadBundle, WrongTypes) {
  const std::vector<Json> values = {Json("text"),   Json(7.5),     Json::array(),
                                    Json::object(), Json(nullptr), Json(true)};
  for (const char *field : {"numCoresUsed_", "coreIdToDsc_", "numWkSlicesPerDim_",
                            "coreIdToWkSlice_", "dscs_", "sdscFolds_"}) {
    for (const Json &value : values) {
      if (value.type() ==
          Json::parse(bundleOf(plainAdd()).at("sdsc_0.json")).front()[field].type()) {
        continue;
      }
      expectFailure(failureOf(spoiled(plainAdd(), [&](Json &body) { body[field] = value; })), 5002,
                    field);
    }
  }
  expectFailure(failureOf(spoiled(
                    plainAdd(),
                    [](Json &body) { configOf(body)["scheduleTree_"][1]["layoutDimOrder_"] = 5; })),
                5002, "scheduleTree_[1].layoutDimOrder_");
}

TEST(BadBundle, ValuesThatDependOnThemselves) {
  Artifacts bundle = bundleOf(plainAdd());
  bundle["bundle.mlir"] = "module {\n\tfunc.func @sdsc_bundle() {\n"
                          "\t\t%a = arith.addi %b, %b : index\n"
                          "\t\t%b = arith.addi %a, %a : index\n"
                          "\t\treturn\n\t}\n}\n";
  expectFailure(failureOf(bundle), 5004, "line 3");
}

// Index and value tensors name each other; a ring of three of them is no access.
TEST(BadBundle, IndirectAccessThatGoesInACircle) {
  Artifacts bundle = spoiled(plainAdd(), [](Json &body) {
    Json &nodes = configOf(body)["scheduleTree_"];
    for (size_t i = 0; i < nodes.size(); ++i) {
      nodes[i]["indirectAllocType_"] = "value_tensor";
      nodes[i]["relatedIndirectAccessAlloc_"] = nodes[(i + 1) % nodes.size()]["name_"];
    }
  });
  const Status status = failureOf(bundle);
  ASSERT_FALSE(status.ok());
  EXPECT_GE(status.code(), 5002);
  EXPECT_LE(status.code(), 5399);
}

TEST(BadBundle, SpanOverTheLimit) {
  // 65 sticks of columns, 33,000 rows: 274 MB for the one core.
  OpSpec wide = opOf("exp", {{"c0", 33000, 1}, {"c1", 65 * 64, 1}}, {kFull, kFull});
  Expected<Artifacts> bundle = spec::generateBundle({wide});
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  expectFailure(failureOf(*bundle), 5304, "the limit is 268435456");
}

TEST(BadBundle, PartialStickSplits) {
  Artifacts bundle = spoiled(plainAdd(), [](Json &body) {
    // Columns instead of rows over the two cores: 96 of 192 elements each.
    configOf(body)["N_"]["out_"] = 192;
    for (const char *stage : {"ss_", "el_"}) {
      configOf(body)["dataStageParam_"]["0"][stage]["mb_"] = 8;
      configOf(body)["dataStageParam_"]["0"][stage]["out_"] = 96;
    }
    body["numWkSlicesPerDim_"] = {{"mb", 1}, {"out", 2}};
    body["coreIdToWkSlice_"] = {{"0", {{"mb", 0}, {"out", 0}}}, {"1", {{"mb", 0}, {"out", 1}}}};
  });
  const Status status = failureOf(bundle);
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(status.code() == 5002 || status.code() == 5003 || status.code() == 5302)
      << status.message();
}

namespace {
/// Gives the layout called \p label another stick dimension.
Artifacts withStick(const OpSpec &spec, const char *label, const char *dim) {
  return spoiled(
      spec, [&](Json &body) { configOf(body)["primaryDsInfo_"][label]["stickDimOrder_"] = {dim}; });
}
} // namespace

// [spec: codegen-and-backend 3.3]; conversions and windows have their own tests.
TEST(BadBundle, LayoutsThatBreakTheStickRules) {
  for (auto [label, dim] : {std::pair{"INPUT", "mb"}, {"KERNEL", "in"}, {"OUTPUT", "mb"}}) {
    const Status status = failureOf(withStick(plainMatmul(), label, dim));
    ASSERT_FALSE(status.ok()) << label;
    EXPECT_GE(status.code(), 5002);
    EXPECT_LE(status.code(), 5302) << status.message();
  }
  // Sums over the stick whose stick is another dimension, and the reverse.
  for (const char *op : {"sum", "sumnonstick"}) {
    OpSpec spec = op == std::string("sum") ? plainSum()
                                           : opOf("sum", {{"c0", 128, 1}, {"c1", 8, 1}},
                                                  {{{"c0", "c1"}, "c0"}, {{"c0"}, "c0"}});
    Artifacts bundle = bundleOf(spec);
    std::string &text = bundle["sdsc_0.json"];
    const std::string from = fmt::format("{}\"", op);
    const std::string to = op == std::string("sum") ? "sumnonstick\"" : "sum\"";
    for (size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
    expectFailure(failureOf(bundle), 5302, "stick");
  }
}

} // namespace spyre::backend::test
