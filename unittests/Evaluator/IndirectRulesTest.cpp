//===- IndirectRulesTest.cpp - coordinates that are read from tensors -----------------------===//
#include "Machine.h"

using namespace spyre;
using namespace spyre::evaluator::test;
using evaluator::evaluate;

/// Indices over \p symbol, one stick of them.
static TensorArg indices(const char *name, const char *symbol) {
  TensorArg arg =
      tensor({1, 1, 32}, {fixed(), Coordinate::floorDiv(symbol, 32), Coordinate::mod(symbol, 32)},
             DataFormat::IeeeInt32);
  arg.name = name;
  return arg;
}

/// \p rows x 100, by the rows of the index tensor \p name.
static TensorArg table(const char *name, int64_t rows) {
  return tensor({2, rows, 64}, {tile("c1"), Coordinate::indirect(name), lane("c1")});
}

static void setIndices(Machine &machine, size_t argument, const std::vector<int32_t> &values) {
  std::memcpy(machine.memory.arguments[argument].data(), values.data(), values.size() * 4);
}

TEST(IndirectRules, CopiesTheRowsTheIndicesName) {
  Machine machine("identity", {{"c0", 4, 1}, {"c1", 100, 1}},
                  {indices("i", "c0"), table("i", 3), matrix(4, 100)});
  for (int64_t row = 0; row < 3; ++row) {
    machine.set(1, at(3, row, 0), float(row + 1));
    machine.set(1, at(3, row, 99), float(10 * (row + 1)));
  }
  const std::vector<int32_t> chosen{2, 0, 2, 1};
  setIndices(machine, 0, chosen);
  machine.run();
  for (int64_t row = 0; row < 4; ++row) {
    EXPECT_EQ(machine.result(at(4, row, 0)), float(chosen[size_t(row)] + 1));
    EXPECT_EQ(machine.result(at(4, row, 99)), float(10 * (chosen[size_t(row)] + 1)));
    EXPECT_EQ(machine.result(at(4, row, 50)), 0.0f);
  }
}

TEST(IndirectRules, EachInputHasItsOwnIndices) {
  Machine machine("sub", {{"c0", 2, 1}, {"c1", 64, 1}},
                  {indices("i", "c0"), indices("j", "c0"),
                   tensor({1, 5, 64}, {tile("c1"), Coordinate::indirect("j"), lane("c1")}),
                   tensor({1, 7, 64}, {tile("c1"), Coordinate::indirect("i"), lane("c1")}),
                   tensor({1, 2, 64}, {tile("c1"), sym("c0"), lane("c1")})});
  machine.set(2, 4 * 64 + 3, 8.0f);
  machine.set(3, 6 * 64 + 3, 2.0f);
  machine.set(3, 5 * 64 + 3, 3.0f);
  setIndices(machine, 0, {6, 5});
  setIndices(machine, 1, {4, 4});
  machine.run();
  EXPECT_EQ(machine.result(3), 6.0f);
  EXPECT_EQ(machine.result(64 + 3), 5.0f);
}

// x[b, i[b]]: a symbol of the table's own beside the index.
TEST(IndirectRules, TheTableMayFollowTheSymbolsOfItsIndices) {
  Machine machine("identity", {{"c0", 3, 1}, {"c1", 64, 1}},
                  {indices("i", "c0"),
                   tensor({3, 4, 64}, {sym("c0"), Coordinate::indirect("i"), lane("c1")}),
                   tensor({3, 1, 64}, {sym("c0"), tile("c1"), lane("c1")})});
  setIndices(machine, 0, {3, 0, 2});
  machine.set(1, (0 * 4 + 3) * 64, 1.0f);
  machine.set(1, (1 * 4 + 0) * 64, 2.0f);
  machine.set(1, (2 * 4 + 2) * 64, 3.0f);
  machine.run();
  for (int64_t row = 0; row < 3; ++row) {
    EXPECT_EQ(machine.result(row * 64), float(row + 1));
  }
}

// The indices are those from before the operation, also when it writes over them.
TEST(IndirectRules, TheOutputMayLieWhereTheIndicesAre) {
  Machine machine(
      "identity", {{"c0", 2, 1}, {"c1", 32, 1}},
      {indices("i", "c0"),
       tensor(
           {1, 9, 32},
           {Coordinate::floorDiv("c1", 32), Coordinate::indirect("i"), Coordinate::mod("c1", 32)},
           DataFormat::IeeeInt32),
       tensor({1, 2, 32}, {Coordinate::floorDiv("c1", 32), sym("c0"), Coordinate::mod("c1", 32)},
              DataFormat::IeeeInt32)});
  machine.spec.args[2].argIndex = 0;
  machine.memory.arguments[0].resize(256);
  std::vector<int32_t> words(9 * 32);
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = int32_t(i / 32 + 100);
  }
  setIndices(machine, 0, {8, 3});
  setIndices(machine, 1, words);
  machine.run();
  int32_t first = 0, second = 0;
  std::memcpy(&first, machine.memory.arguments[0].data(), 4);
  std::memcpy(&second, machine.memory.arguments[0].data() + 128, 4);
  EXPECT_EQ(first, 108);
  EXPECT_EQ(second, 103);
}

TEST(IndirectRules, RefusesIndicesWithoutARow) {
  Machine machine("identity", {{"c0", 4, 1}, {"c1", 100, 1}},
                  {indices("i", "c0"), table("i", 3), matrix(4, 100)});
  for (int32_t wrong : {3, -1, INT32_MAX, INT32_MIN}) {
    setIndices(machine, 0, {0, 1, 2, wrong});
    const Status status = evaluate({machine.spec}, machine.memory);
    EXPECT_EQ(status.code(), 1402) << status.message();
    EXPECT_NE(status.message().find("must be in 0..2"), std::string::npos) << status.message();
  }
  // What lies behind the last index is none.
  setIndices(machine, 0, {0, 1, 2, 0, -7});
  machine.run();
}

// One value per stick in the table; the lanes of the output would be chosen one by one, and those
// that only fill the stick have no index.
TEST(IndirectRules, RefusesIndicesAlongAPaddedStick) {
  Machine machine("identity", {{"c0", 2, 1}, {"c1", 20, 1}},
                  {indices("i", "c1"),
                   tensor({1, 5, 64}, {fixed(), Coordinate::indirect("i"), fixed()}),
                   tensor({1, 2, 64}, {tile("c1"), sym("c0"), lane("c1")})});
  const Status status = evaluate({machine.spec}, machine.memory);
  EXPECT_EQ(status.code(), 1402) << status.message();
}
