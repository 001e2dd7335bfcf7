//===- TransposeTest.cpp - blocks against element by element --------------------------------===//
#include "Sim/Transpose.h"

#include "spyre/Base/Random.h"

#include "gtest/gtest.h"

#include <array>

namespace spyre::sim {
namespace {

TEST(Transpose, SticksTurnRowsIntoColumns) {
  std::array<std::array<uint16_t, 64>, 64> from, to;
  Random random(1);
  for (auto &row : from) {
    for (uint16_t &element : row) {
      element = uint16_t(random.next());
    }
  }
  transposeSticks(reinterpret_cast<const uint8_t *>(from.data()),
                  reinterpret_cast<uint8_t *>(to.data()));
  for (size_t row = 0; row < 64; ++row) {
    for (size_t column = 0; column < 64; ++column) {
      ASSERT_EQ(to[column][row], from[row][column]) << row << " " << column;
    }
  }
}

TEST(Transpose, BitsTurnRowsIntoColumns) {
  std::array<uint64_t, 64> from, to;
  Random random(2);
  for (uint64_t &row : from) {
    row = random.next();
  }
  transposeBits(from.data(), to.data());
  for (size_t row = 0; row < 64; ++row) {
    for (size_t column = 0; column < 64; ++column) {
      ASSERT_EQ(to[column] >> row & 1, from[row] >> column & 1) << row << " " << column;
    }
  }
}

} // namespace
} // namespace spyre::sim
