//===- BundleTest.cpp - bundle.mlir and whole bundles ---------------------------------------===//
#include "spyre/Spec/Bundle.h"

#include "SpecTestUtils.h"

using namespace spyre;
using namespace spyre::spec;
using namespace spyre::spec::test;

TEST(Bundle, WritesTheBakedForm) {
  const std::string text = writeBundleMlir({{"sdsc_0.json", "sdsc_1.json"}});
  expectGolden("bundle/bundle.mlir", text);
  EXPECT_EQ(valueOf(parseBundleMlir(text)).executes,
            (std::vector<std::string>{"sdsc_0.json", "sdsc_1.json"}));
}

TEST(Bundle, AcceptsCommentsAndAnyBlanks) {
  const Bundle bundle = valueOf(
      parseBundleMlir("// a bundle\nmodule{func.func @sdsc_bundle(){ // body\r\n"
                      "sdscbundle.sdsc_execute(){sdsc_filename = \"a.json\"}\n\n return } }//end"));
  EXPECT_EQ(bundle.executes, std::vector<std::string>{"a.json"});
  EXPECT_TRUE(valueOf(parseBundleMlir(writeBundleMlir({}))).executes.empty());
}

TEST(Bundle, ErrorsSayTheLine) {
  const auto failure = [](const std::string &text) { return parseBundleMlir(text).status(); };
  const std::string head = "module {\n\tfunc.func @sdsc_bundle() {\n";
  const std::string call = "sdscbundle.sdsc_execute () {sdsc_filename=";
  EXPECT_ERROR(failure(""), 5004, "line 1: expected 'module', found the end of the text");
  EXPECT_ERROR(failure("module {\n func.func @other() {"), 5004,
               "line 2: expected '@sdsc_bundle', found '@other'");
  EXPECT_ERROR(failure(head + call + "\"../a.json\"} return }}"), 5004, "line 3: '../a.json'");
  EXPECT_ERROR(failure(head + call + "\"d/a.json\"} return }}"), 5004, "plain file name");
  EXPECT_ERROR(failure(head + call + "a.json} return }}"), 5004, "a quoted file name");
  EXPECT_ERROR(failure(head + call + "\"a.json\n\"} return }}"), 5004, "a quoted file name");
  EXPECT_ERROR(failure(head + "return } } module"), 5004, "expected the end");
  EXPECT_ERROR(failure(head + "return }"), 5004, "found the end of the text");
  EXPECT_ERROR(failure(head + "scf.if"), 5004, "line 3");
}

// Constructs of the other modes are named, so that the user knows which option to change.
TEST(Bundle, NamesConstructsThatAreNotAcceptedYet) {
  const std::string head = "module {\n\tfunc.func @sdsc_bundle() {\n";
  for (const char *construct :
       {"scf.for", "arith.constant", "arith.addi", "affine.apply", "sdscbundle.input_arg_extract",
        "%c0 = arith.constant 0 : index", "sdscbundle.sdsc_execute (%arg_0)",
        "sdscbundle.sdsc_execute () {sdsc_filename=\"a.json\", \"symbol_ids\"=[-1]}"}) {
    EXPECT_ERROR(parseBundleMlir(head + construct).status(), 5004, "not accepted yet");
    EXPECT_ERROR(parseBundleMlir(head + construct).status(), 5004, "line 3");
  }
  EXPECT_ERROR(
      parseBundleMlir("module { func.func @sdsc_bundle(%a: !sdscbundle.input_arg<index>)").status(),
      5004, "function parameters");
  EXPECT_ERROR(parseBundleMlir("#map_0 = affine_map<(d0)[s0] -> (s0)>").status(), 5004, "#map_0");
}

TEST(Bundle, GeneratesAndReadsBackAKernel) {
  const Artifacts files = valueOf(generateBundle({exampleA(), exampleB()}));
  ASSERT_EQ(files.size(), 3u);
  EXPECT_TRUE(files.count("bundle.mlir"));
  const std::vector<SuperDsc> dscs = valueOf(readBundle(files));
  ASSERT_EQ(dscs.size(), 2u);
  EXPECT_EQ(dscs[0], valueOf(emitSuperDsc(exampleA(), 0)));
  EXPECT_EQ(dscs[1], valueOf(emitSuperDsc(exampleB(), 1)));
}

TEST(Bundle, ErrorsSayWhichOperationOrFile) {
  OpSpec bad = exampleA();
  bad.args[0].address = 1;
  EXPECT_ERROR(generateBundle({exampleA(), bad}).status(), 1302, "operation 1: ");
  Artifacts files = valueOf(generateBundle({exampleA()}));
  files["sdsc_0.json"] = "{}";
  EXPECT_ERROR(readBundle(files).status(), 5002, "sdsc_0.json: ");
  files.erase("sdsc_0.json");
  EXPECT_FALSE(readBundle(files).ok());
  files["bundle.mlir"] = "";
  EXPECT_ERROR(readBundle(files).status(), 5004, "bundle.mlir: ");
}
