//===- SuperDscJsonTest.cpp - strict reader and verifier of the SuperDSC JSON ---------------===//
#include "spyre/Base/Json.h"

#include "SpecTestUtils.h"

#include <functional>
#include <set>

using namespace spyre;
using namespace spyre::spec;
using namespace spyre::spec::test;

namespace {

OpSpec maskedMax() {
  return makeSpec("max", {{"c0", 96, 2}, {"c1", 100, 1}},
                  {tensor({2, 96, 64}, {tile("c1"), sym("c0"), lane("c1")}),
                   tensor({1, 96, 64}, {fixed(), sym("c0"), fixed()})},
                  true);
}

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

} // namespace

TEST(SuperDscJson, ReadsBackWhatItWrites) {
  for (const OpSpec &spec : {exampleA(), exampleB(), maskedMax()}) {
    const SuperDsc dsc = valueOf(emitSuperDsc(spec, 3));
    const std::string text = writeSuperDsc(dsc);
    EXPECT_EQ(valueOf(readSuperDsc(text)), dsc);
    EXPECT_EQ(writeSuperDsc(valueOf(readSuperDsc(text))), text);
  }
}

TEST(SuperDscJson, AcceptsConstantsAsEmptyStringOrObject) {
  const SuperDsc dsc = valueOf(emitSuperDsc(exampleA(), 0));
  const std::string text = writeSuperDsc(dsc);
  ASSERT_NE(text.find("\"constantInfo_\": \"{}\""), std::string::npos);
  EXPECT_EQ(
      valueOf(readSuperDsc(replaced(text, "\"constantInfo_\": \"{}\"", "\"constantInfo_\": {}"))),
      dsc);
}

TEST(SuperDscJson, FieldOrderDoesNotMatter) {
  const SuperDsc dsc = valueOf(emitSuperDsc(maskedMax(), 0));
  // nlohmann's plain json sorts the keys; the maps whose order is data have one order either way.
  const std::string sorted = nlohmann::json::parse(writeSuperDsc(dsc)).dump();
  EXPECT_EQ(valueOf(readSuperDsc(sorted)), dsc);
}

TEST(SuperDscJson, RefusesUnknownFieldsEverywhere) {
  const Json file = valueOf(parseJson(writeSuperDsc(valueOf(emitSuperDsc(maskedMax(), 0)))));
  // Every object in the document, by pointer; an added key must not be ignored in any of them.
  const Json flat = file.flatten();
  std::set<std::string> objects;
  for (const auto &item : flat.items()) {
    for (Json::json_pointer at(item.key()); !at.empty(); at = at.parent_pointer()) {
      if (file.at(at.parent_pointer()).is_object()) {
        objects.insert(at.parent_pointer().to_string());
      }
    }
  }
  EXPECT_GT(objects.size(), 50u);
  for (const std::string &where : objects) {
    // The data of the time fold is [0] -> 0 whatever it says.
    if (where.find("sdscFolds_/data_") != std::string::npos) {
      continue;
    }
    Json changed = file;
    changed[Json::json_pointer(where)]["surprise_"] = 1;
    const Expected<SuperDsc> read = readSuperDsc(changed.dump());
    EXPECT_EQ(read.status().code(), 5002) << where;
    EXPECT_NE(read.status().text().find("$"), std::string::npos) << read.status().message();
  }
}

TEST(SuperDscJson, RefusesMissingFields) {
  const Json file = valueOf(parseJson(writeSuperDsc(valueOf(emitSuperDsc(maskedMax(), 0)))));
  const Json::json_pointer body("/0_max"), config("/0_max/dscs_/0/max");
  for (const Json::json_pointer &where : {body, config}) {
    for (const auto &item : file.at(where).items()) {
      Json changed = file;
      changed[where].erase(item.key());
      EXPECT_ERROR(readSuperDsc(changed.dump()).status(), 5002, item.key());
    }
  }
}

TEST(SuperDscJson, ErrorsNameThePlace) {
  const std::string text = writeSuperDsc(valueOf(emitSuperDsc(maskedMax(), 0)));
  const auto failure = [&](const std::string &from, const std::string &to) {
    return readSuperDsc(replaced(text, from, to)).status();
  };
  EXPECT_ERROR(readSuperDsc("{").status(), 5002, "parse error");
  EXPECT_ERROR(readSuperDsc("[]").status(), 5002, "$");
  EXPECT_ERROR(readSuperDsc("{}").status(), 5002, "one, \"<index>_<op>\"");
  EXPECT_ERROR(failure("0_max", "max"), 5002, "<index>_<op>");
  EXPECT_ERROR(failure("0_max", "x_max"), 5002, "not a number");
  EXPECT_ERROR(failure("\"opFuncName\": \"max\"", "\"opFuncName\": \"min\""), 5002, "opFuncName");
  EXPECT_ERROR(failure("\"mb_\": 96", "\"mb_\": \"96\""), 5002, "N_");
  EXPECT_ERROR(failure("\"[1, 0, 0]\"", "\"[2, 0, 0]\""), 5002, "[1, 0, 0]");
  EXPECT_ERROR(failure("\"wordLength\": 2", "\"wordLength\": 4"), 5002, "wordLength");
  EXPECT_ERROR(failure("\"no_indirection\"", "\"value_tensor\""), 5002,
               "relatedIndirectAccessAlloc_");
  EXPECT_ERROR(failure("\"no_indirection\"", "\"some\""), 5002, "known are no_indirection");
  EXPECT_ERROR(failure("\"ldsIdx_\": 0", "\"ldsIdx_\": 0, \"isStartAddrSymbolic_\": 1"), 5002,
               "ids of symbols are negative");
  EXPECT_ERROR(failure("\"[0, 0, 0]\": \"0\"", "\"[0, 0, 0]\": \"-1\""), 5002,
               "without isStartAddrSymbolic_");
  EXPECT_ERROR(failure("[[-1, 0, 0, 0]]", "[[0, 0, 0, 0]]"), 5002, "only [[-1, 0, 0, 0]]");
  EXPECT_ERROR(failure("\"isPresent\": 1", "\"isPresent\": 0"), 5002, "isPresent");
  EXPECT_ERROR(failure("\"maxDimSizes_\": [-1", "\"maxDimSizes_\": [1"), 5002,
               "indirectly addressed dimension");
  EXPECT_ERROR(failure("SEN169_FP16", "SEN_FP17"), 5002, "SEN_FP17");
  EXPECT_ERROR(failure("\"Tensor0-idx0\"", "\"Tensor9-idx9\""), 5002, "Tensor9");
  EXPECT_ERROR(failure("[[100, 28]]", "[[100]]"), 5002, "[start, count]");
}

// Files of others need not repeat our own arrangement, but must say the same.
TEST(SuperDscJson, AcceptsTheSpellingsOfTheInterface) {
  const SuperDsc dsc = valueOf(emitSuperDsc(exampleA(), 0));
  Json file = valueOf(parseJson(writeSuperDsc(dsc)));
  Json &node = file["0_add"]["dscs_"][0]["add"]["scheduleTree_"][0];
  node["allocateCoordinates_"] = node["coordinates_"];
  EXPECT_ERROR(readSuperDsc(file.dump()).status(), 5002, "two names of one field");
  node.erase("coordinates_");
  node["allocateCoordinates_"]["coreIdToWkSlice_"] = file["0_add"]["coreIdToWkSlice_"];
  Json &starts = node["startAddressCoreCorelet_"];
  starts["dim_prop_func"].erase(2);
  starts["dim_prop_attr"].erase(2);
  starts["data_"] = {{"[0, 0]", "0"}, {"[1, 0]", "512"}};
  Json &folds = node["allocateCoordinates_"]["coordInfo"]["mb"]["folds"];
  folds["dim_prop_attr"][0]["factor_"] = 1; // inert
  folds["dim_prop_attr"][1]["factor_"] = 2; // corelets
  EXPECT_EQ(valueOf(readSuperDsc(file.dump())), dsc);
  // Two folds of two instead of one of four.
  Json split = file;
  Json &entry = split["0_add"]["dscs_"][0]["add"]["scheduleTree_"][0]["allocateCoordinates_"]
                     ["coordInfo"]["mb"];
  entry["elemArr"] = 2;
  entry["folds"]["dim_prop_func"].push_back({{"Affine", {{"alpha_", 1}, {"beta_", 0}}}});
  entry["folds"]["dim_prop_func"][3]["Affine"]["alpha_"] = 2;
  entry["folds"]["dim_prop_attr"][3] = {{"factor_", 2}, {"label_", "elem_arr_1"}};
  entry["folds"]["dim_prop_attr"].push_back({{"factor_", 2}, {"label_", "elem_arr_0"}});
  EXPECT_EQ(valueOf(readSuperDsc(split.dump())), dsc);
  entry["folds"]["dim_prop_func"][3]["Affine"]["alpha_"] = 3;
  EXPECT_ERROR(readSuperDsc(split.dump()).status(), 5002, "must follow each other");
  folds["dim_prop_attr"][3]["factor_"] = 2;
  EXPECT_ERROR(readSuperDsc(file.dump()).status(), 5002, "the folds reach 2 elements of 'mb'");
  folds["dim_prop_attr"][3]["factor_"] = 4;
  folds["dim_prop_attr"][2]["factor_"] = 2;
  EXPECT_ERROR(readSuperDsc(file.dump()).status(), 5002, "corelets or rows");
  folds["dim_prop_attr"][2]["factor_"] = 1;
  folds["dim_prop_attr"][0]["factor_"] = 4;
  EXPECT_ERROR(readSuperDsc(file.dump()).status(), 5002, "core_fold 4 x 4; 'mb' has 2 slices of 4");
  folds["dim_prop_attr"][0]["label_"] = "corelet_fold";
  EXPECT_ERROR(readSuperDsc(file.dump()).status(), 5002, "expected core_fold");
  node["allocateCoordinates_"]["coreIdToWkSlice_"]["1"]["mb"] = 0;
  EXPECT_ERROR(readSuperDsc(file.dump()).status(), 5002, "not the slice the operation gives");
}

TEST(SuperDscJson, SymbolicAddressesRoundTrip) {
  for (const OpSpec &spec : {exampleA(), exampleB()}) {
    SuperDsc dsc = valueOf(emitSuperDsc(spec, 0));
    dsc.tensors[0].symbolic = true;
    dsc.tensors[0].startAddress = {-1, -2};
    const std::string text = writeSuperDsc(dsc);
    EXPECT_NE(text.find("\"component_\": \"hbm\",\n       \"isStartAddrSymbolic_\": 1,"),
              std::string::npos);
    EXPECT_EQ(valueOf(readSuperDsc(text)), dsc);
    EXPECT_EQ(writeSuperDsc(valueOf(readSuperDsc(text))), text);
    EXPECT_TRUE(verifySuperDsc(dsc, arch::DeviceDesc()).ok());
  }
  const std::string text = writeSuperDsc(valueOf(emitSuperDsc(exampleA(), 0)));
  EXPECT_ERROR(readSuperDsc(replaced(text, "\"component_\": \"lx\",",
                                     "\"component_\": \"lx\", \"isStartAddrSymbolic_\": 1,"))
                   .status(),
               5002, "never symbols");
}

TEST(SuperDscJson, IndirectAccessRoundTrips) {
  SuperDsc dsc = valueOf(emitSuperDsc(exampleA(), 0));
  dsc.tensors[0].indirection = DscTensor::Indirection::Index;
  dsc.tensors[0].indirectPartner = 1;
  dsc.tensors[1].indirection = DscTensor::Indirection::Value;
  dsc.tensors[1].indirectPartner = 0;
  dsc.tensors[1].indirectDims = {"mb"};
  dsc.inputs = {1};
  dsc.indexTensors = {0};
  for (bool addresses : {false, true}) {
    dsc.tensors[0].holdsAddresses = addresses;
    const std::string text = writeSuperDsc(dsc);
    EXPECT_NE(text.find("\"relatedIndirectAccessAlloc_\": \"allocate-Tensor1_hbm\""),
              std::string::npos);
    EXPECT_EQ(valueOf(readSuperDsc(text)), dsc);
    EXPECT_TRUE(verifySuperDsc(dsc, arch::DeviceDesc()).ok());
  }
  const std::string text = writeSuperDsc(dsc);
  EXPECT_ERROR(readSuperDsc(replaced(text, "allocate-Tensor1_hbm\",\n       \"indexT",
                                     "allocate-Tensor7_hbm\",\n       \"indexT"))
                   .status(),
               5002, "no allocate node");
  EXPECT_ERROR(readSuperDsc(replaced(text, "\"address\"", "\"name\"")).status(), 5002,
               "known are index and address");
}

// Quantised families interleave two dimensions in a stick.
TEST(SuperDscVerifier, AcceptsSeveralStickDimensions) {
  SuperDsc dsc = valueOf(emitSuperDsc(exampleA(), 0));
  dsc.layouts[0].stickDims = {"mb", "out"};
  dsc.layouts[0].stickSizes = {2, 32};
  const Status status = verifySuperDsc(dsc, arch::DeviceDesc());
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(SuperDscVerifier, AcceptsTheExamples) {
  const arch::DeviceDesc device;
  for (const OpSpec &spec : {exampleA(), exampleB(), maskedMax()}) {
    const Status status = verifySuperDsc(valueOf(emitSuperDsc(spec, 0)), device);
    EXPECT_TRUE(status.ok()) << status.message();
  }
}

TEST(SuperDscVerifier, EveryRuleIsChecked) {
  struct Case {
    const char *text;
    std::function<void(SuperDsc &)> change;
  };
  const std::vector<Case> cases = {
      {"the machine has 32", [](SuperDsc &d) { d.cores = 33; }},
      {"must agree", [](SuperDsc &d) { d.slices.pop_back(); }},
      {"not in numWkSlicesPerDim_", [](SuperDsc &d) { d.size[0].first = "q"; }},
      {"is not 2 slices of", [](SuperDsc &d) { d.perCoreSize[0].second = 3; }},
      {"pieces for", [](SuperDsc &d) { d.cores = 1; }},
      {"64 bits",
       [](SuperDsc &d) {
         d.size = d.perCoreSize = {{"mb", INT64_MAX}, {"out", 64}};
         d.slices[0].second = 1;
       }},
      {"entries for 2 cores", [](SuperDsc &d) { d.coreSlice.pop_back(); }},
      {"no slice in", [](SuperDsc &d) { d.coreSlice[1][0].second = 2; }},
      {"that of another core", [](SuperDsc &d) { d.coreSlice[1] = d.coreSlice[0]; }},
      {"repeated or not in N_", [](SuperDsc &d) { d.layouts[0].dimOrder.push_back("z"); }},
      {"the stick must be one of", [](SuperDsc &d) { d.layouts[0].stickDims = {"z"}; }},
      {"the stick must be one of", [](SuperDsc &d) { d.layouts[0].stickDims = {"mb", "out"}; }},
      {"no segment holds",
       [](SuperDsc &d) {
         d.tensors[0].symbolic = true;
         d.tensors[0].backGap = {{"mb", int64_t(1) << 40}};
       }},
      {"must be negative",
       [](SuperDsc &d) {
         d.tensors[0].symbolic = true;
         d.tensors[0].startAddress = {-1, 0};
       }},
      {"but not both", [](SuperDsc &d) { d.indexTensors = {0}; }},
      {"is no index tensor",
       [](SuperDsc &d) { d.tensors[0].indirection = DscTensor::Indirection::Value; }},
      {"without indirect access", [](SuperDsc &d) { d.tensors[0].indirectDims = {"mb"}; }},
      {"no layout", [](SuperDsc &d) { d.tensors[0].layout = "KERNEL"; }},
      {"do not fit format", [](SuperDsc &d) { d.layouts[0].stickSizes = {32}; }},
      {"are not those of layout", [](SuperDsc &d) { d.tensors[0].dimOrder.pop_back(); }},
      {"scale -2 of 'mb'", [](SuperDsc &d) { d.tensors[0].scale[0].second = -2; }},
      {"a gap of 8", [](SuperDsc &d) { d.tensors[1].backGap = {{"out", 8}}; }},
      {"leaves no memory", [](SuperDsc &d) { d.tensors[0].backGap = {{"mb", -200}}; }},
      {"not whole sticks", [](SuperDsc &d) { d.size[1].second = d.perCoreSize[1].second = 100; }},
      {"start addresses for", [](SuperDsc &d) { d.tensors[0].startAddress.pop_back(); }},
      {"multiple of 128", [](SuperDsc &d) { d.tensors[0].startAddress[0] = 64; }},
      {"data segments", [](SuperDsc &d) { d.tensors[0].startAddress[1] = 7 * kSegment - 128; }},
      {"part of LX",
       [](SuperDsc &d) {
         d.tensors[0].inLx = true;
         d.tensors[0].startAddress = {0, int64_t(2) << 20};
       }},
      {"must be the tail", [](SuperDsc &d) { d.masking[0].second.second = 1; }},
      {"without a constant", [](SuperDsc &d) { d.constants.clear(); }},
      {"among its 2 tensors", [](SuperDsc &d) { d.output = 2; }},
      {"neither pt nor sfp", [](SuperDsc &d) { d.exUnit = "gpu"; }},
  };
  const arch::DeviceDesc device;
  for (const Case &c : cases) {
    SuperDsc dsc = valueOf(emitSuperDsc(maskedMax(), 0));
    c.change(dsc);
    EXPECT_ERROR(verifySuperDsc(dsc, device), 5003, c.text);
  }
}

TEST(SuperDscJson, LimitsWhatIsSearchedForEachOperandAndConstant) {
  Json file = valueOf(parseJson(writeSuperDsc(valueOf(emitSuperDsc(maskedMax(), 0)))));
  Json &config = file["0_max"]["dscs_"][0]["max"];
  const Json constant = config["constantInfo_"]["0"];
  for (int i = 0; i < 256; ++i) {
    config["constantInfo_"][std::to_string(i)] = constant;
  }
  EXPECT_TRUE(readSuperDsc(file.dump()).ok());
  config["constantInfo_"]["256"] = constant;
  EXPECT_ERROR(readSuperDsc(file.dump()).status(), 5002, "257 constants; at most 256");
  while (config["labeledDs_"].size() <= 64) {
    config["labeledDs_"].push_back(config["labeledDs_"][0]);
  }
  EXPECT_ERROR(readSuperDsc(file.dump()).status(), 5002, "65 tensors; at most 64");
}

TEST(SuperDscJson, RefusesAbsurdTextBeforeItIsParsed) {
  EXPECT_ERROR(readSuperDsc(std::string((16 << 20) + 1, '[')).status(), 5002, "the limit is");
}
