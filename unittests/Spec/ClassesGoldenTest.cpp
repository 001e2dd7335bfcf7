//===- ClassesGoldenTest.cpp - one golden OpSpec and SuperDSC per class of operations -------===//
//
// The rows of [spec: codegen-and-backend 2.9], with the sizes given there. Each has its OpSpec in
// golden/opspec and its JSON in golden/superdsc; both are read again, so that a golden file is also
// something the readers accept. Where a row says what is to be seen in the JSON, it is asserted: a
// file that was rewritten without thought does not pass.
//===--------------------------------------------------------------------------------------------===//
#include "SpecTestUtils.h"

#include <functional>

namespace spyre::spec::test {

namespace {

using numerics::DataFormat;
using Names = std::vector<std::string>;
using Numbers = DimMap<int64_t>;

struct Row {
  const char *name;
  OpSpec spec;
  std::function<void(const SuperDsc &)> check;
};

/// [rows, columns] over c0, c1 with sticks of columns.
TensorArg matrix(int64_t rows, int64_t columns) {
  return tensor({(columns + 63) / 64, rows, 64}, {tile("c1"), sym("c0"), lane("c1")});
}

OpSpec binary(const TensorArg &second, int64_t columns = 192) {
  return makeSpec("add", {{"c0", 96, 4}, {"c1", columns, 1}},
                  {matrix(96, columns), second, matrix(96, columns)});
}

OpSpec stickSum(int64_t columns, int64_t cores) {
  return makeSpec("sum", {{"c0", 96, 1}, {"c1", columns, cores}},
                  {matrix(96, columns), tensor({1, 96, 64}, {fixed(), sym("c0"), fixed()})}, true);
}

OpSpec product(int64_t k) {
  const int64_t sticks = (k + 63) / 64;
  return makeSpec("batchmatmul", {{"c0", 96, 4}, {"c1", 128, 2}, {"c2", k, 1}},
                  {tensor({sticks, 96, 64}, {tile("c2"), sym("c0"), lane("c2")}),
                   tensor({2, sticks * 64, 64}, {tile("c1"), sym("c2"), lane("c1")}),
                   tensor({2, 96, 64}, {tile("c1"), sym("c0"), lane("c1")})},
                  true);
}

OpSpec batchProduct() {
  const auto batched = [](int64_t rows, const char *row, const char *stick) {
    return tensor({3, 2, rows, 64}, {sym("b"), tile(stick), sym(row), lane(stick)});
  };
  return makeSpec("batchmatmul", {{"b", 3, 3}, {"m", 16, 1}, {"n", 128, 1}, {"k", 128, 1}},
                  {batched(16, "m", "k"), batched(128, "k", "n"), batched(16, "m", "n")}, true);
}

OpSpec conversion(const char *op, bool widens) {
  const auto arg = [](bool single) {
    const int64_t lanes = single ? 32 : 64;
    TensorArg result = tensor({128 / lanes, 8, lanes}, {Coordinate::floorDiv("c1", lanes),
                                                        sym("c0"), Coordinate::mod("c1", lanes)});
    result.deviceDtype = single ? DataFormat::IeeeFp32 : DataFormat::Sen169Fp16;
    return result;
  };
  return makeSpec(op, {{"c0", 8, 2}, {"c1", 128, 1}}, {arg(!widens), arg(widens)});
}

OpSpec integerCopy() {
  const std::vector<Coordinate> coordinates = {Coordinate::floorDiv("c1", 32), sym("c0"),
                                               Coordinate::mod("c1", 32)};
  OpSpec spec = makeSpec("identity", {{"c0", 8, 2}, {"c1", 64, 1}},
                         {tensor({2, 8, 32}, coordinates), tensor({2, 8, 32}, coordinates)});
  for (TensorArg &arg : spec.args) {
    arg.deviceDtype = DataFormat::IeeeInt32;
  }
  return spec;
}

/// The flattened sum of the documents: x [50, 10, 200] + y [500, 200] [spec: front-end F6].
OpSpec flattened() {
  const TensorArg y = tensor({4, 50, 10, 64}, {tile("s"), sym("q"), sym("p"), lane("s")});
  return makeSpec("add", {{"q", 50, 2}, {"p", 10, 1}, {"s", 200, 1}},
                  {tensor({10, 4, 50, 64}, {sym("p"), tile("s"), sym("q"), lane("s")}), y, y});
}

void expectScale(const SuperDsc &dsc, size_t tensor, const Numbers &scale) {
  EXPECT_EQ(dsc.tensors.at(tensor).scale, scale);
}

std::vector<Row> elementWiseRows() {
  return {
      {"pointwise", binary(matrix(96, 192)),
       [](const SuperDsc &dsc) {
         EXPECT_EQ(dsc.size, (Numbers{{"mb", 96}, {"out", 192}}));
         EXPECT_EQ(dsc.layouts.size(), 1u);
         EXPECT_EQ(dsc.layouts[0].dimOrder, (Names{"mb", "out"}));
         EXPECT_EQ(dsc.tensors[0].startAddress, (std::vector<int64_t>{0, 3072, 6144, 9216}));
       }},
      {"row-operand", binary(tensor({1, 3, 64}, {fixed(), tile("c1"), lane("c1")})),
       [](const SuperDsc &dsc) {
         EXPECT_EQ(dsc.tensors[1].dimOrder, (Names{"out", "mb"}));
         expectScale(dsc, 1, {{"mb", -1}, {"out", 1}});
         EXPECT_EQ(dsc.tensors[1].startAddress, std::vector<int64_t>(4, kSegment));
       }},
      {"column-operand", binary(tensor({1, 96, 64}, {fixed(), sym("c0"), fixed()})),
       [](const SuperDsc &dsc) { expectScale(dsc, 1, {{"mb", 1}, {"out", -2}}); }},
      {"scalar-operand", binary(tensor({1, 1, 64}, {fixed(), fixed(), fixed()})),
       [](const SuperDsc &dsc) { expectScale(dsc, 1, {{"mb", -1}, {"out", -2}}); }},
      {"pointwise-unaligned", binary(matrix(96, 100), 100),
       [](const SuperDsc &dsc) {
         EXPECT_EQ(dsc.size, (Numbers{{"mb", 96}, {"out", 128}}));
         EXPECT_TRUE(dsc.masking.empty());
       }},
      {"flatten", flattened(),
       [](const SuperDsc &dsc) {
         EXPECT_EQ(dsc.tensors[0].dimOrder, (Names{"mb", "out", "x"}));
         EXPECT_EQ(dsc.tensors[1].dimOrder, (Names{"x", "mb", "out"}));
         EXPECT_EQ(dsc.layouts.size(), 1u);
       }},
  };
}

std::vector<Row> reductionRows() {
  return {
      {"sum-stick", stickSum(192, 1),
       [](const SuperDsc &dsc) {
         EXPECT_EQ(dsc.op, "sum");
         EXPECT_EQ(dsc.inputs, (std::vector<int64_t>{0, 1}));
         expectScale(dsc, 1, {{"mb", 1}, {"out", -2}});
       }},
      {"sum-nonstick",
       makeSpec("sum", {{"c1", 192, 3}, {"c0", 96, 1}},
                {matrix(96, 192), tensor({1, 3, 64}, {fixed(), tile("c1"), lane("c1")})}, true),
       [](const SuperDsc &dsc) {
         EXPECT_EQ(dsc.op, "sumnonstick");
         EXPECT_EQ(dsc.layouts.at(0).dimOrder, (Names{"out", "mb"}));
         expectScale(dsc, 1, {{"out", -1}, {"mb", 1}});
       }},
      {"sum-unaligned", stickSum(100, 1),
       [](const SuperDsc &dsc) {
         EXPECT_EQ(dsc.masking, (DimMap<std::pair<int64_t, int64_t>>{{"out", {100, 28}}}));
         EXPECT_EQ(dsc.constants.at(0).name, "samv-maskvalue");
       }},
      {"sum-split", stickSum(256, 4),
       [](const SuperDsc &dsc) {
         EXPECT_EQ(dsc.tensors[1].startAddress, std::vector<int64_t>(4, kSegment));
       }},
      {"topk",
       makeSpec("topkvalue", {{"k", 4, 1}, {"c1", 128, 2}, {"c0", 96, 1}},
                {matrix(96, 128), tensor({2, 4, 64}, {tile("c1"), sym("k"), lane("c1")})}, true),
       [](const SuperDsc &dsc) {
         EXPECT_EQ(dsc.size, (Numbers{{"mb", 4}, {"x", 128}, {"out", 96}}));
         EXPECT_EQ(dsc.layouts.size(), 2u);
         EXPECT_EQ(dsc.inputs, std::vector<int64_t>{0});
         EXPECT_EQ(dsc.tensors[0].dimOrder, (Names{"out", "x"}));
       }},
  };
}

std::vector<Row> productRows() {
  return {
      {"matmul", product(192),
       [](const SuperDsc &dsc) {
         ASSERT_EQ(dsc.layouts.size(), 3u);
         EXPECT_EQ(dsc.layouts[0].label, "INPUT");
         EXPECT_EQ(dsc.layouts[0].dimOrder, (Names{"mb", "in"}));
         EXPECT_EQ(dsc.layouts[1].label, "KERNEL");
         EXPECT_EQ(dsc.layouts[1].dimOrder, (Names{"in", "out"}));
         EXPECT_EQ(dsc.layouts[2].label, "OUTPUT");
         EXPECT_EQ(dsc.inputs, (std::vector<int64_t>{0, 1}));
         EXPECT_EQ(dsc.exUnit, "pt");
       }},
      {"matmul-unaligned-k", product(67),
       [](const SuperDsc &dsc) { EXPECT_EQ(dsc.size.back().second, 128); }},
      {"bmm", batchProduct(),
       [](const SuperDsc &dsc) {
         EXPECT_EQ(dsc.layouts.at(0).dimOrder, (Names{"mb", "in", "x"}));
         EXPECT_EQ(dsc.layouts.at(1).dimOrder, (Names{"in", "out", "x"}));
         EXPECT_EQ(dsc.layouts.at(2).dimOrder, (Names{"mb", "out", "x"}));
       }},
  };
}

std::vector<Row> moveRows() {
  return {
      {"restickify",
       makeSpec("ReStickifyOpHBM", {{"c0", 128, 2}, {"c1", 192, 3}},
                {matrix(128, 192), tensor({2, 192, 64}, {tile("c0"), sym("c1"), lane("c0")})}),
       [](const SuperDsc &dsc) {
         EXPECT_EQ(dsc.layouts.at(0).label, "OUTPUT");
         EXPECT_EQ(dsc.layouts.at(0).stickDims, Names{"out"});
         EXPECT_EQ(dsc.layouts.at(1).label, "KERNEL");
         EXPECT_EQ(dsc.exUnit, "sfp");
       }},
      {"slice",
       makeSpec(
           "identity", {{"c0", 32, 2}, {"c1", 128, 1}},
           {tensor({5, 200, 64}, {tile("c1", 2), sym("c0", 64), lane("c1")}), matrix(32, 128)}),
       [](const SuperDsc &dsc) {
         EXPECT_EQ(dsc.tensors[0].backGap, (Numbers{{"mb", 168}, {"out", 192}}));
         EXPECT_EQ(dsc.tensors[0].startAddress[0], 128 * (2 * 200 + 64));
       }},
      {"expand",
       makeSpec("identity", {{"c0", 96, 4}, {"c1", 192, 1}},
                {tensor({1, 3, 64}, {fixed(), tile("c1"), lane("c1")}), matrix(96, 192)}),
       [](const SuperDsc &dsc) { expectScale(dsc, 0, {{"out", 1}, {"mb", -1}}); }},
      {"int32-copy", integerCopy(),
       [](const SuperDsc &dsc) { EXPECT_EQ(dsc.tensors[0].format, DataFormat::IeeeFp32); }},
      {"dl16tofp32", conversion("dl16tofp32", true),
       [](const SuperDsc &dsc) {
         EXPECT_EQ(dsc.layouts.at(0).stickSizes, std::vector<int64_t>{64});
         EXPECT_EQ(dsc.layouts.at(1).stickSizes, std::vector<int64_t>{32});
         EXPECT_EQ(dsc.format, DataFormat::Sen169Fp16);
       }},
      {"fp32todl16", conversion("fp32todl16", false),
       [](const SuperDsc &dsc) { EXPECT_EQ(dsc.format, DataFormat::IeeeFp32); }},
  };
}

void expectRows(const std::vector<Row> &rows) {
  for (const Row &row : rows) {
    SCOPED_TRACE(row.name);
    const std::string text = writeOpSpecs({row.spec});
    expectGolden(fmt::format("opspec/{}.txt", row.name), text);
    EXPECT_EQ(valueOf(parseOpSpecs(text)), std::vector<OpSpec>{row.spec});
    const SuperDsc dsc = valueOf(emitSuperDsc(row.spec, 0));
    const std::string json = writeSuperDsc(dsc);
    expectGolden(fmt::format("superdsc/{}.json", row.name), json);
    EXPECT_EQ(writeSuperDsc(valueOf(readSuperDsc(json))), json);
    row.check(dsc);
  }
}

} // namespace

TEST(ClassesGolden, ElementWise) { expectRows(elementWiseRows()); }
TEST(ClassesGolden, Reductions) { expectRows(reductionRows()); }
TEST(ClassesGolden, Products) { expectRows(productRows()); }
TEST(ClassesGolden, Moves) { expectRows(moveRows()); }

} // namespace spyre::spec::test
