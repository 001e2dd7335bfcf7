//===- BundleTest.cpp - bundle.mlir and whole bundles ---------------------------------------===//
#include "spyre/Spec/Bundle.h"

#include "SpecTestUtils.h"

using namespace spyre;
using namespace spyre::spec;
using namespace spyre::spec::test;

namespace {

const std::string kHead = "module {\n\tfunc.func @sdsc_bundle() {\n";
const std::string kTail = "\nreturn } }";
const std::string kCall = "sdscbundle.sdsc_execute () {sdsc_filename=\"a.json\"}\n";

Status failureOf(const std::string &text) { return parseBundleMlir(text).status(); }

/// A bundle with one argument whose body is \p body.
std::string withArgument(const std::string &body) {
  return "module { func.func @sdsc_bundle(%arg_0_base_addr: !sdscbundle.input_arg<index>) {\n%a = "
         "sdscbundle.input_arg_extract value from %arg_0_base_addr : "
         "!sdscbundle.input_arg<index> -> index\n" +
         body + kTail;
}

std::string executeOf(const std::string &operand) {
  return "sdscbundle.sdsc_execute (" + operand +
         ") {sdsc_filename=\"a.json\", \"symbol_ids\"=[-1]}\n";
}

/// The text of 4.3 for two operations over two cores, written out by hand.
const std::string kSymbolicText =
    "module {\n"
    "\tfunc.func @sdsc_bundle(%pool_base_addr: !sdscbundle.input_arg<index>, %arg_0_base_addr: "
    "!sdscbundle.input_arg<index>, %arg_1_base_addr: !sdscbundle.input_arg<index>) {\n"
    "\t\t%pool = sdscbundle.input_arg_extract value from %pool_base_addr : "
    "!sdscbundle.input_arg<index> -> index\n"
    "\t\t%arg_0 = sdscbundle.input_arg_extract value from %arg_0_base_addr : "
    "!sdscbundle.input_arg<index> -> index\n"
    "\t\t%arg_1 = sdscbundle.input_arg_extract value from %arg_1_base_addr : "
    "!sdscbundle.input_arg<index> -> index\n"
    "\t\t%arg_0_core_offset_512 = arith.constant 512 : index\n"
    "\t\t%arg_0_core_512 = arith.addi %arg_0, %arg_0_core_offset_512 : index\n"
    "\t\t%pool_offset_0 = arith.constant 0 : index\n"
    "\t\t%pool_addr_0 = arith.addi %pool, %pool_offset_0 : index\n"
    "\t\t%pool_offset_512 = arith.constant 512 : index\n"
    "\t\t%pool_addr_512 = arith.addi %pool, %pool_offset_512 : index\n"
    "\t\t%sym_0 = arith.constant 4096 : index\n"
    "\t\tsdscbundle.sdsc_execute (%arg_0, %arg_0_core_512, %pool_addr_0, %pool_addr_512) "
    "{sdsc_filename=\"sdsc_0.json\", \"symbol_ids\"=[-1, -2, -3, -4]}\n"
    "\t\tsdscbundle.sdsc_execute (%pool_addr_0, %sym_0, %arg_1) "
    "{sdsc_filename=\"sdsc_1.json\", \"symbol_ids\"=[-5, -6, -7]}\n"
    "\t\treturn\n\t}\n}\n";

const std::string kLoopText =
    "#map_0 = affine_map<(d0)[s0] -> (s0 + 1024*d0)>\n"
    "#map_1 = affine_map<(d0, d1)[s0] -> (s0 + 4096*d0 + 128*d1)>\n"
    "module {\n"
    "\tfunc.func @sdsc_bundle(%arg_0_base_addr: !sdscbundle.input_arg<index>) attributes "
    "{sdscbundle.non_terminal} {\n"
    "\t\t%arg_0 = sdscbundle.input_arg_extract value from %arg_0_base_addr : "
    "!sdscbundle.input_arg<index> -> index\n"
    "\t\t%c0 = arith.constant 0 : index\n"
    "\t\t%c1 = arith.constant 1 : index\n"
    "\t\t%loop_bound_0 = arith.constant 4 : index\n"
    "\t\t%loop_bound_1 = arith.constant 2 : index\n"
    "\t\t%sym_0 = arith.constant 0 : index\n"
    "\t\tscf.for %i_0 = %c0 to %loop_bound_0 step %c1 {\n"
    "\t\t\t%addr_0 = affine.apply #map_0(%i_0)[%arg_0]\n"
    "\t\t\tsdscbundle.sdsc_execute (%addr_0) {sdsc_filename=\"sdsc_0.json\", "
    "\"symbol_ids\"=[-1]}\n"
    "\t\t\tscf.for %i_1 = %c0 to %loop_bound_1 step %c1 {\n"
    "\t\t\t\t%addr_1 = affine.apply #map_1(%i_0, %i_1)[%sym_0]\n"
    "\t\t\t\tsdscbundle.sdsc_execute (%addr_1) {sdsc_filename=\"sdsc_1.json\", "
    "\"symbol_ids\"=[-2]}\n"
    "\t\t\t}\n"
    "\t\t}\n"
    "\t\treturn\n\t}\n}\n";

} // namespace

TEST(Bundle, WritesTheBakedForm) {
  const Bundle bundle = Bundle::baked({"sdsc_0.json", "sdsc_1.json"});
  const std::string text = writeBundleMlir(bundle);
  expectGolden("bundle/bundle.mlir", text);
  EXPECT_EQ(valueOf(parseBundleMlir(text)), bundle);
}

TEST(Bundle, TheDocumentedTextsComeBackByteForByte) {
  for (const std::string &text : {kSymbolicText, kLoopText}) {
    EXPECT_EQ(writeBundleMlir(valueOf(parseBundleMlir(text))), text);
  }
}

TEST(Bundle, SymbolicOperandsAreConstantPlusArgument) {
  const Bundle bundle = valueOf(parseBundleMlir(kSymbolicText));
  EXPECT_EQ(bundle.arguments, (std::vector<int64_t>{kPoolArgument, 0, 1}));
  ASSERT_EQ(bundle.body.size(), 2u);
  const BundleExecute &first = bundle.body[0].execute;
  EXPECT_EQ(first.symbolIds, (std::vector<int64_t>{-1, -2, -3, -4}));
  EXPECT_EQ(first.operands[1], (AddressExpr{512, {1}, {}}));
  EXPECT_EQ(first.operands[3], (AddressExpr{512, {0}, {}}));
  EXPECT_EQ(bundle.body[1].execute.operands[1], (AddressExpr{4096, {}, {}}));
}

TEST(Bundle, LoopsUnrollInOrder) {
  const Bundle bundle = valueOf(parseBundleMlir(kLoopText));
  EXPECT_TRUE(bundle.nonTerminal);
  const std::vector<BundleCall> calls = valueOf(expandBundle(bundle));
  ASSERT_EQ(calls.size(), 12u);
  EXPECT_EQ(calls[3].execute->file, "sdsc_0.json");
  EXPECT_EQ(calls[3].loopIndices, (std::vector<int64_t>{1}));
  EXPECT_EQ(valueOf(constantPart(calls[3].execute->operands[0], calls[3].loopIndices)), 1024);
  EXPECT_EQ(calls[11].loopIndices, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(valueOf(constantPart(calls[11].execute->operands[0], calls[11].loopIndices)),
            3 * 4096 + 128);
  EXPECT_ERROR(constantPart(calls[11].execute->operands[0], {}).status(), 5004, "not around it");
}

TEST(Bundle, AcceptsCommentsAndAnyBlanks) {
  const Bundle bundle = valueOf(
      parseBundleMlir("// a bundle\nmodule{func.func @sdsc_bundle(){ // body\r\n"
                      "sdscbundle.sdsc_execute(){sdsc_filename = \"a.json\"}\n\n return } }//end"));
  EXPECT_EQ(bundle, Bundle::baked({"a.json"}));
  EXPECT_TRUE(valueOf(parseBundleMlir(writeBundleMlir({}))).body.empty());
}

// Names, the way to a value, bounds and steps: other spellings of the same bundle.
TEST(Bundle, OtherSpellingsMeanTheSame) {
  const std::string text =
      "#m = affine_map<(a, b) -> ((a - 1) * 2 + b * 1024 + 2 - a * 2)>\n"
      "module { func.func @sdsc_bundle(%x : !sdscbundle.input_arg<index>) {\n"
      "%v = sdscbundle.input_arg_extract value from %x : !sdscbundle.input_arg<index> -> index\n"
      "%two = arith.constant 2 : index %ten = arith.constant 10 : index\n"
      "scf.for %k = %two to %ten step %two : index {\n"
      "  %half = affine.apply affine_map<(d0)[s0] -> (s0 + d0 * 512 + -1024)>(%k)[%v]\n"
      "  %other = affine.apply #m(%k, %two)\n"
      "  sdscbundle.sdsc_execute (%half, %other) "
      "{symbol_ids = [-1, -9], \"sdsc_filename\" = \"sdsc_0.json\"}\n"
      "  scf.yield }\n"
      "func.return } }";
  const Bundle bundle = valueOf(parseBundleMlir(text));
  EXPECT_EQ(bundle.arguments, std::vector<int64_t>{0});
  ASSERT_EQ(bundle.body.size(), 1u);
  EXPECT_EQ(bundle.body[0].count, 4);
  const BundleExecute &execute = bundle.body[0].body.at(0).execute;
  EXPECT_EQ(execute.operands[0], (AddressExpr{0, {0}, {{0, 1024}}}));
  EXPECT_EQ(execute.operands[1], (AddressExpr{2048, {}, {}}));
  EXPECT_EQ(valueOf(parseBundleMlir(writeBundleMlir(bundle))), bundle);
}

TEST(Bundle, NegativeNumbersAndSumsOfArgumentsComeBack) {
  const std::string head =
      "module { func.func @sdsc_bundle(%pool_base_addr: !sdscbundle.input_arg<index>, "
      "%arg_7_base_addr: !sdscbundle.input_arg<index>) {\n"
      "%p = sdscbundle.input_arg_extract value from %pool_base_addr : "
      "!sdscbundle.input_arg<index> -> index\n"
      "%q = sdscbundle.input_arg_extract value from %arg_7_base_addr : "
      "!sdscbundle.input_arg<index> -> index\n"
      "%m = arith.constant -128 : index %b = arith.addi %p, %q : index\n"
      "%s = arith.addi %b, %m : index %t = arith.addi %q, %m : index\n";
  for (const char *operand : {"%b", "%s", "%t", "%m", "%p"}) {
    const Bundle bundle = valueOf(parseBundleMlir(head + executeOf(operand) + kTail));
    EXPECT_EQ(bundle.arguments, (std::vector<int64_t>{kPoolArgument, 7}));
    EXPECT_EQ(valueOf(parseBundleMlir(writeBundleMlir(bundle))), bundle) << operand;
  }
  EXPECT_ERROR(failureOf(head + "%d = arith.addi %p, %p : index\n" + kTail), 5004, "factor 1");
}

TEST(Bundle, ErrorsSayLineAndColumn) {
  const std::string call = "sdscbundle.sdsc_execute () {sdsc_filename=";
  EXPECT_ERROR(failureOf(""), 5004,
               "line 1, column 1: expected 'module', found the end of the text");
  EXPECT_ERROR(failureOf("module {\n func.func @other() {"), 5004,
               "line 2, column 12: expected '@sdsc_bundle', found '@other'");
  EXPECT_ERROR(failureOf(kHead + call + "\"../a.json\"} return }}"), 5004,
               "line 3, column 43: '../a.json'");
  EXPECT_ERROR(failureOf(kHead + call + "\"d/a.json\"} return }}"), 5004, "plain file name");
  EXPECT_ERROR(failureOf(kHead + call + "a.json} return }}"), 5004, "a quoted file name");
  EXPECT_ERROR(failureOf(kHead + call + "\"a.json\n\"} return }}"), 5004, "a quoted file name");
  EXPECT_ERROR(failureOf(kHead + "return } } module"), 5004, "expected the end");
  EXPECT_ERROR(failureOf(kHead + "return }"), 5004, "found the end of the text");
  EXPECT_ERROR(failureOf(kHead + "scf.if"), 5004, "line 3, column 1: expected a value");
}

TEST(Bundle, EveryRuleOfTheTextIsChecked) {
  const std::string constant = "%c = arith.constant 1 : index\n";
  const std::string symbols = "sdscbundle.sdsc_execute (%c) {sdsc_filename=\"a.json\"";
  struct Case {
    const char *part;
    std::string text;
  };
  const std::vector<Case> cases = {
      {"%x is not defined here", kHead + executeOf("%x") + kTail},
      {"%c is defined twice", kHead + constant + constant + kTail},
      {"1 operands for 0 symbol ids", kHead + constant + symbols + "}" + kTail},
      {"ids are negative", kHead + constant + symbols + ", \"symbol_ids\"=[1]}" + kTail},
      {"each stands once", kHead + constant + symbols + ", \"symbol_ids\"=[-1, -1]}" + kTail},
      {"each once", kHead + constant + symbols + ", other=1}" + kTail},
      {"expected sdsc_filename", kHead + "sdscbundle.sdsc_execute () {symbol_ids=[]}" + kTail},
      {"a parameter is no number", withArgument(executeOf("%arg_0_base_addr"))},
      {"only parameters", withArgument("%b = sdscbundle.input_arg_extract value from %a : ")},
      {"bounds and steps of a loop must be constants", withArgument("scf.for %i = %a to %a")},
      {"a loop steps by 0",
       kHead + "%z = arith.constant 0 : index scf.for %i = %z to %z step %z {" + kTail},
      {"2^60", kHead + "%z = arith.constant 1152921504606846977 : index" + kTail},
      {"no number is beyond 2^60",
       kHead + "%z = arith.constant 1152921504606846976 : index %y = arith.addi %z, %z : index" +
           kTail},
      {"factor 1", withArgument("%b = affine.apply affine_map<(d0) -> (2*d0)>(%a)")},
      {"multiplies two inputs", withArgument("%b = affine.apply affine_map<(d0) -> (d0*d0)>(%a)")},
      {"maps have +, - and * only",
       withArgument("%b = affine.apply affine_map<(d0) -> (mod)>(%a)")},
      {"expected ')'", withArgument("%b = affine.apply affine_map<(d0) -> (d0 mod 2)>(%a)")},
      {"another name of the map's inputs",
       withArgument("%b = affine.apply affine_map<(d0, d0) -> (d0)>(%a)")},
      {"#m is not defined", withArgument("%b = affine.apply #m(%a)")},
      {"#m is defined twice", "#m = affine_map<()->(1)>\n#m = affine_map<()->(1)>\n" + kHead},
      {"do not fit 64 bits",
       withArgument("%b = affine.apply affine_map<(d0) -> (1152921504606846976*d0*16)>(%a)")},
      {"parentheses more than 16 deep",
       withArgument("%b = affine.apply affine_map<(d0) -> (" + std::string(20, '('))},
      {"which is there already",
       "module { func.func @sdsc_bundle(%arg_0_base_addr: !sdscbundle.input_arg<index>, "
       "%arg_0_base_addr: !sdscbundle.input_arg<index>)"},
      {"beyond the last one",
       "module { func.func @sdsc_bundle(%a: !sdscbundle.input_arg<index>, %arg_0_base_addr: "},
      {"expected 'sdscbundle.non_terminal'",
       "module { func.func @sdsc_bundle() attributes {fast} {" + kTail},
      {"arith.constant, arith.addi", kHead + "%c = arith.muli %c, %c : index" + kTail},
  };
  for (const Case &c : cases) {
    EXPECT_ERROR(failureOf(c.text), 5004, c.part);
  }
}

TEST(Bundle, LoopsAreBounded) {
  const auto nest = [](size_t depth, int64_t count) {
    std::string text = kHead + "%z = arith.constant 0 : index %o = arith.constant 1 : index " +
                       fmt::format("%n = arith.constant {} : index\n", count);
    for (size_t i = 0; i < depth; ++i) {
      text += fmt::format("scf.for %i{} = %z to %n step %o {{\n", i);
    }
    return text + kCall + std::string(depth, '}') + kTail;
  };
  EXPECT_EQ(valueOf(expandBundle(valueOf(parseBundleMlir(nest(14, 2))))).size(), 16384u);
  EXPECT_ERROR(failureOf(nest(15, 2)), 5004, "more than 16384 operations");
  EXPECT_ERROR(failureOf(nest(16, 1000000)), 5004, "more than 16384 operations");
  EXPECT_ERROR(failureOf(nest(17, 1)), 5004, "loops more than 16 deep");
  // A loop that does nothing is none.
  EXPECT_TRUE(valueOf(parseBundleMlir(nest(3, 0))).body.empty());
  Bundle loops;
  loops.body.resize(1);
  loops.body[0].isLoop = true;
  loops.body[0].count = INT64_MAX;
  EXPECT_TRUE(valueOf(expandBundle(loops)).empty());
  loops.body[0].body.resize(1);
  EXPECT_ERROR(expandBundle(loops).status(), 5004, "more than 16384");
}

TEST(Bundle, ValuesOfALoopEndWithIt) {
  const std::string head = kHead + "%z = arith.constant 0 : index %o = arith.constant 1 : index\n";
  const std::string loop = "scf.for %i = %z to %o step %o {\n" + executeOf("%i") + "}\n";
  const Bundle bundle = valueOf(parseBundleMlir(head + loop + loop + kTail));
  EXPECT_EQ(bundle.body.size(), 2u);
  EXPECT_ERROR(failureOf(head + loop + executeOf("%i") + kTail), 5004, "%i is not defined here");
}

TEST(Bundle, ArgumentNames) {
  EXPECT_EQ(valueOf(parseBundleArgument("pool")), kPoolArgument);
  EXPECT_EQ(valueOf(parseBundleArgument("arg_16383")), 16383);
  for (const char *name : {"", "arg_", "arg_16384", "arg_01", "arg_-1", "arg_1x", "out"}) {
    EXPECT_ERROR(parseBundleArgument(name).status(), 5004, "no argument of a bundle");
  }
}

// [spec: codegen-and-backend 4.3]: ids in order of tensors and cores, parameters by first use.
TEST(Bundle, GeneratesTheSymbolicMode) {
  const Artifacts files =
      valueOf(generateBundle({exampleA(), exampleB()}, {.symbolicArguments = true}));
  const BundleContents contents = valueOf(readBundle(files));
  EXPECT_EQ(contents.bundle.arguments, (std::vector<int64_t>{kPoolArgument, 0, 1}));
  const BundleExecute &add = contents.bundle.body[0].execute;
  EXPECT_EQ(add.symbolIds, (std::vector<int64_t>{-1, -2, -3, -4}));
  EXPECT_EQ(add.operands,
            (std::vector<AddressExpr>{{0, {1}, {}}, {512, {1}, {}}, {0, {2}, {}}, {512, {2}, {}}}));
  const BundleExecute &matmul = contents.bundle.body[1].execute;
  EXPECT_EQ(matmul.symbolIds, (std::vector<int64_t>{-5, -6, -7, -8, -9}));
  EXPECT_EQ(matmul.operands[1], (AddressExpr{2048, {0}, {}}));
  EXPECT_EQ(matmul.operands[4], (AddressExpr{0, {2}, {}}));
  const SuperDsc &dsc = contents.operations.at("sdsc_1.json");
  EXPECT_TRUE(dsc.tensors[2].symbolic);
  EXPECT_EQ(dsc.tensors[2].startAddress, (std::vector<int64_t>{-9, -9}));
  EXPECT_FALSE(contents.operations.at("sdsc_0.json").tensors[2].symbolic);
  for (const auto &[name, read] : contents.operations) {
    EXPECT_EQ(writeSuperDsc(read), files.at(name));
  }
  EXPECT_EQ(writeBundleMlir(contents.bundle), files.at("bundle.mlir"));
  OpSpec unnamed = exampleA();
  unnamed.args[0].argIndex = kMaxBundleArgument + 1;
  EXPECT_ERROR(generateBundle({unnamed}, {.symbolicArguments = true}).status(), 5001, "16384");
}

TEST(Bundle, GeneratesAndReadsBackAKernel) {
  const Artifacts files = valueOf(generateBundle({exampleA(), exampleB()}));
  ASSERT_EQ(files.size(), 3u);
  EXPECT_TRUE(files.count("bundle.mlir"));
  const BundleContents contents = valueOf(readBundle(files));
  ASSERT_EQ(contents.operations.size(), 2u);
  EXPECT_EQ(contents.bundle, Bundle::baked({"sdsc_0.json", "sdsc_1.json"}));
  EXPECT_EQ(contents.operations.at("sdsc_0.json"), valueOf(emitSuperDsc(exampleA(), 0)));
  EXPECT_EQ(contents.operations.at("sdsc_1.json"), valueOf(emitSuperDsc(exampleB(), 1)));
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
