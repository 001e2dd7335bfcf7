//===- NpyTest.cpp - npy files, sound and damaged -------------------------------------------===//
#include "spyre/Runtime/Npy.h"

#include "spyre/Base/Random.h"

#include "gtest/gtest.h"

using namespace spyre;
using namespace spyre::runtime;

namespace {

std::string npyFile(const std::string &header, const std::string &data, char major = 1) {
  std::string file = "\x93NUMPY";
  file += major;
  file += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    file += char(header.size() >> (8 * i));
  }
  return file + header + data;
}

std::string dict(const std::string &descr, const std::string &shape,
                 const std::string &fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

void expectRefused(const std::string &file, const std::string &part = "") {
  Expected<NpyArray> array = parseNpy(file);
  ASSERT_FALSE(array.ok()) << part;
  EXPECT_EQ(array.status().code(), 6301);
  EXPECT_NE(array.status().text().find(part), std::string::npos) << array.status().text();
}

TEST(Npy, EveryTypeAndRankRoundTrips) {
  Random random(1);
  for (const char *type : {"f2", "f4", "u1", "u2", "i1", "i2", "i4", "i8", "b1"}) {
    for (const std::vector<int64_t> &shape :
         {std::vector<int64_t>{}, {0}, {7}, {3, 5}, {2, 0, 4}, {2, 3, 4, 5}}) {
      size_t bytes = size_t(type[1] - '0');
      for (int64_t size : shape) {
        bytes *= size_t(size);
      }
      NpyArray array{type, shape, std::string(bytes, '\0')};
      for (char &byte : array.data) {
        byte = char(random.below(type[0] == 'b' ? 2 : 256));
      }
      const std::string file = writeNpy(array);
      EXPECT_EQ((file.size() - array.data.size()) % 64, 0u);
      Expected<NpyArray> back = parseNpy(file);
      ASSERT_TRUE(back.ok()) << back.status().message();
      EXPECT_EQ(back->type, array.type);
      EXPECT_EQ(back->shape, array.shape);
      EXPECT_EQ(back->data, array.data);
    }
  }
}

// Byte for byte what numpy.save(np.arange(3, dtype='<i2')) writes.
TEST(Npy, WritesWhatNumpyWrites) {
  NpyArray array{"i2", {3}, std::string("\0\0\1\0\2\0", 6)};
  std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }";
  header += std::string(118 - 1 - header.size(), ' ') + "\n";
  EXPECT_EQ(writeNpy(array), npyFile(header, array.data));
}

TEST(Npy, ReadsVersionsTwoAndThreeAndLooseSpelling) {
  for (char major : {2, 3}) {
    Expected<NpyArray> array = parseNpy(npyFile(dict("|u1", "(2,)"), "ab", major));
    ASSERT_TRUE(array.ok()) << array.status().message();
    EXPECT_EQ(array->data, "ab");
  }
  Expected<NpyArray> array =
      parseNpy(npyFile("{\"shape\":(1,2),\"fortran_order\":False,\"descr\":\"<u1\"}", "ab"));
  ASSERT_TRUE(array.ok()) << array.status().message();
  EXPECT_EQ(array->shape, (std::vector<int64_t>{1, 2}));
}

TEST(Npy, FortranOrderIsConverted) {
  // Columns (1 4) (2 5) (3 6) of the matrix 1 2 3 / 4 5 6.
  Expected<NpyArray> matrix = parseNpy(npyFile(dict("|u1", "(2, 3)", "True"), "\1\4\2\5\3\6"));
  ASSERT_TRUE(matrix.ok());
  EXPECT_EQ(matrix->data, "\1\2\3\4\5\6");
  // Element (i, j, k) of size (2, 3, 2) lies at i + 2 j + 6 k.
  std::string data;
  for (int n = 0; n < 12; ++n) {
    data += char(n);
    data += '\7';
  }
  Expected<NpyArray> cube = parseNpy(npyFile(dict("<u2", "(2, 3, 2)", "True"), data));
  ASSERT_TRUE(cube.ok());
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 2; ++k) {
        EXPECT_EQ(cube->data[size_t((i * 3 + j) * 2 + k) * 2], char(i + 2 * j + 6 * k));
      }
    }
  }
  EXPECT_TRUE(parseNpy(npyFile(dict("<f4", "(0, 3)", "True"), "")).ok());
}

TEST(Npy, RefusesWithAdvice) {
  expectRefused("", "not an npy file");
  expectRefused("\x93NUMPY", "not an npy file");
  expectRefused(npyFile(dict("<f4", "(1,)"), "abcd", 4), "version 4.0");
  expectRefused(npyFile(dict(">f4", "(1,)"), "abcd"),
                "is big-endian; convert it with array.astype('<f4')");
  expectRefused(npyFile(dict("=f4", "(1,)"), "abcd"), "byte order");
  expectRefused(npyFile(dict("|f4", "(1,)"), "abcd"), "byte order");
  expectRefused(npyFile(dict("<f8", "(1,)"), "abcdefgh"), "astype");
  expectRefused(npyFile(dict("", "(1,)"), ""), "not supported");
  expectRefused(npyFile(dict("|b1", "(2,)"), "\1\2"), "element 1");
  expectRefused(npyFile(dict("<f4", "(1,)"), "abc"), "3 data bytes");
  expectRefused(npyFile(dict("<f4", "(1,)"), "abcde"), "5 data bytes");
}

TEST(Npy, RefusesMalformedHeaders) {
  for (const char *header :
       {"", "{", "{}", "{'descr'}", "{'descr': '<f4'}", "{'descr': '<f4', 'descr': '<f4'}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x",
        "{'descr': '<f4, 'fortran_order': False, 'shape': ()}",
        "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': ()}"}) {
    SCOPED_TRACE(header);
    expectRefused(npyFile(header, "abcd"));
  }
  std::string deep = "(";
  for (int i = 0; i < 33; ++i) {
    deep += "1, ";
  }
  expectRefused(npyFile(dict("|u1", deep + ")"), "a"), "more than 32 dimensions");
  expectRefused(npyFile(std::string(70000, ' '), "", 2), "header claims 70000");
}

// Any damage gives an array that is consistent in itself or E6301; a sanitizer build sees the rest.
TEST(Npy, DamagedFilesNeverEscape) {
  const std::string good = writeNpy({"i2", {3, 4}, std::string(24, '\5')});
  for (size_t length = 0; length < good.size(); ++length) {
    expectRefused(good.substr(0, length));
  }
  Random random(7);
  const std::string alphabet = "{}()'\",: 0123456789TrueFalsdcshp<>|\n\xff";
  for (int round = 0; round < 20000; ++round) {
    std::string file = good;
    for (uint64_t i = 0, changes = 1 + random.below(4); i < changes; ++i) {
      const size_t position = random.below(file.size());
      switch (random.below(3)) {
      case 0:
        file[position] = char(random.below(256));
        break;
      case 1:
        file[position] = alphabet[random.below(alphabet.size())];
        break;
      default:
        file.erase(position, 1 + random.below(3));
        break;
      }
    }
    Expected<NpyArray> array = parseNpy(file);
    if (!array.ok()) {
      ASSERT_EQ(array.status().code(), 6301);
      continue;
    }
    size_t bytes = size_t(array->type[1] - '0');
    for (int64_t size : array->shape) {
      bytes *= size_t(size);
    }
    ASSERT_EQ(array->data.size(), bytes);
  }
}

} // namespace
