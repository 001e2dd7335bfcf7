//===- SpecTestUtils.h - examples and comparisons the Spec tests share ----------------------===//
//
// The two worked examples of the interface text, and comparison with the golden files. To rewrite
// those after a wanted change, run golden/regenerate.sh and review the difference.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Artifacts.h"
#include "spyre/Spec/SuperDsc.h"

#include "gtest/gtest.h"

#include <cstdlib>

namespace spyre::spec::test {

constexpr int64_t kSegment = int64_t(1) << 34;

inline TensorArg makeArg(std::vector<int64_t> size, std::vector<Coordinate> coordinates,
                         bool isInput, int64_t argIndex, int64_t address) {
  TensorArg arg;
  arg.isInput = isInput;
  arg.argIndex = argIndex;
  arg.deviceSize = std::move(size);
  arg.deviceCoordinates = std::move(coordinates);
  arg.address = address;
  return arg;
}

/// Fills in what does not matter to a test: the last argument is the output, each has a segment.
inline OpSpec makeSpec(std::string op, std::vector<IterationDim> space, std::vector<TensorArg> args,
                       bool isReduction = false) {
  OpSpec spec;
  spec.op = std::move(op);
  spec.isReduction = isReduction;
  spec.iterationSpace = std::move(space);
  for (size_t i = 0; i < args.size(); ++i) {
    args[i].isInput = i + 1 < args.size();
    args[i].argIndex = int64_t(i);
    args[i].address = int64_t(i) * kSegment;
  }
  spec.args = std::move(args);
  return spec;
}

inline TensorArg tensor(std::vector<int64_t> size, std::vector<Coordinate> coordinates) {
  return makeArg(std::move(size), std::move(coordinates), true, 0, 0);
}

inline Coordinate sym(const char *name, int64_t offset = 0) {
  return Coordinate::var(name, offset);
}
inline Coordinate tile(const char *name, int64_t offset = 0) {
  return Coordinate::floorDiv(name, 64, offset);
}
inline Coordinate lane(const char *name) { return Coordinate::mod(name, 64); }
inline Coordinate fixed(int64_t value = 0) { return Coordinate::constant(value); }

/// Example A [spec: codegen-and-backend 2.11]: add of [8, 64] on two cores, result in LX at 256.
inline OpSpec exampleA() {
  std::vector<Coordinate> coordinates = {tile("c1"), sym("c0"), lane("c1")};
  OpSpec spec;
  spec.op = "add";
  spec.iterationSpace = {{"c0", 8, 2}, {"c1", 64, 1}};
  spec.args = {makeArg({1, 8, 64}, coordinates, true, 0, 0),
               makeArg({1, 8, 64}, coordinates, true, 1, kSegment),
               makeArg({1, 8, 64}, coordinates, false, -1, 256)};
  spec.args[0].strideMap = spec.args[1].strideMap = {64, 64, 1};
  spec.args[2].residency = Residency::Lx;
  return spec;
}

/// Example B [spec: codegen-and-backend 2.12]: [16,128] x [128,64], K split over two cores.
inline OpSpec exampleB() {
  OpSpec spec;
  spec.op = "batchmatmul";
  spec.isReduction = true;
  spec.iterationSpace = {{"c0", 16, 1}, {"c1", 64, 1}, {"c2", 128, 2}};
  spec.args = {makeArg({2, 16, 64}, {tile("c2"), sym("c0"), lane("c2")}, true, -1, 0),
               makeArg({1, 128, 64}, {tile("c1"), sym("c2"), lane("c1")}, true, 0, kSegment),
               makeArg({1, 16, 64}, {tile("c1"), sym("c0"), lane("c1")}, false, 1, 2 * kSegment)};
  spec.args[0].residency = Residency::Pool;
  return spec;
}

/// Byte comparison with golden/<path>; SPYRE_UPDATE_GOLDEN rewrites the file instead.
inline void expectGolden(const std::string &path, const std::string &text) {
  const std::string file = std::string(SPYRE_SOURCE_DIR) + "/golden/" + path;
  if (std::getenv("SPYRE_UPDATE_GOLDEN")) {
    const Status written = writeFile(file, text);
    ASSERT_TRUE(written.ok()) << written.message();
    return;
  }
  Expected<std::string> golden = readFile(file);
  ASSERT_TRUE(golden.ok()) << golden.status().message();
  EXPECT_EQ(text, *golden) << "golden/" << path;
}

/// The value of an Expected that must hold one.
template <typename T>
T valueOf(Expected<T> expected) {
  EXPECT_TRUE(expected.ok()) << expected.status().message();
  return expected.ok() ? *std::move(expected) : T();
}

/// EXPECT_ERROR(status, 5002, "part of the text")
#define EXPECT_ERROR(status, expectedCode, part)                                                   \
  do {                                                                                             \
    const ::spyre::Status failed = (status);                                                       \
    EXPECT_EQ(failed.code(), expectedCode) << failed.message();                                    \
    EXPECT_NE(failed.text().find(part), std::string::npos) << failed.message();                    \
  } while (false)

} // namespace spyre::spec::test
