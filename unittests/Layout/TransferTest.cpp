//===- TransferTest.cpp - every element once, whatever the order, type and host strides -----===//
#include "spyre/Layout/Transfer.h"

#include "spyre/Base/Math.h"
#include "spyre/Base/Random.h"
#include "spyre/Base/ThreadPool.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

namespace spyre::layout {
namespace {

using numerics::HostType;
using Ints = std::vector<int64_t>;
using Bytes = std::vector<uint8_t>;

constexpr HostType kHostTypes[] = {
    HostType::Float16,      HostType::Bfloat16,       HostType::Float32, HostType::Bool,
    HostType::Int8,         HostType::Int16,          HostType::Int32,   HostType::Int64,
    HostType::Float8E4m3fn, HostType::Float8E5m2fnuz, HostType::Uint8,
};

struct Sample {
  HostType type;
  Ints size, order, matchStride, hostStride;
  int64_t hostElems = 0;
};

Ints shuffled(size_t count, Random &random) {
  Ints order(count);
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = count; i-- > 1;) {
    std::swap(order[i], order[random.below(i + 1)]);
  }
  return order;
}

/// Strides of a tensor whose dimensions lie in memory in a random order, sometimes with gaps.
Ints randomStrides(const Ints &size, Random &random, int64_t &elems) {
  Ints stride(size.size());
  elems = 1;
  for (int64_t dim : shuffled(size.size(), random)) {
    if (random.below(4) == 0) {
      elems += int64_t(random.below(3));
    }
    stride[size_t(dim)] = elems;
    elems *= std::max<int64_t>(size[size_t(dim)], 1);
  }
  return stride;
}

Sample randomSample(Random &random) {
  const int64_t sizes[] = {1, 1, 2, 3, 5, 17, 64, 65, 130, 200};
  Sample sample;
  sample.type = kHostTypes[random.below(std::size(kHostTypes))];
  size_t rank = random.below(9);
  int64_t elems = 1;
  for (size_t i = 0; i < rank; ++i) {
    sample.size.push_back(sizes[random.below(elems < 200 ? 10 : elems < 3000 ? 5 : 3)]);
    elems *= sample.size.back();
    if (random.below(100) == 0) {
      sample.size.back() = 0;
    }
  }
  sample.order = shuffled(rank, random);
  if (random.below(5) == 0) {
    sample.order.push_back(-1);
  }
  int64_t ignored = 0;
  sample.matchStride = random.below(2) == 0 ? rowMajorStrides(sample.size)
                                            : randomStrides(sample.size, random, ignored);
  sample.hostStride = randomStrides(sample.size, random, sample.hostElems);
  return sample;
}

/// Device element index of host index \p at, straight from the meaning of a dimension order: row
/// major over entries 1, 2, ..., then entry 0, then the lane.
int64_t devicePosition(const Sample &sample, const DeviceLayout &layout, const Ints &at) {
  size_t entries = sample.order.size();
  int64_t elems = layout.elemsPerStick();
  int64_t position = 0;
  int64_t lane = 0;
  for (size_t slot = 0; slot < entries; ++slot) {
    size_t entry = (slot + 1) % entries;
    int64_t coordinate = sample.order[entry] == -1 ? 0 : at[size_t(sample.order[entry])];
    if (entry + 1 == entries) {
      lane = coordinate % elems;
      coordinate /= elems;
    }
    position = position * layout.deviceSize[slot] + coordinate;
  }
  return position * elems + lane;
}

/// Calls body(index vector, offset in host memory) for each element.
template <typename Body>
void forEachElement(const Sample &sample, const Body &body) {
  Ints at(sample.size.size(), 0);
  if (std::find(sample.size.begin(), sample.size.end(), 0) != sample.size.end()) {
    return;
  }
  while (true) {
    int64_t offset = 0;
    for (size_t i = 0; i < at.size(); ++i) {
      offset += at[i] * sample.hostStride[i];
    }
    body(at, offset);
    size_t i = at.size();
    while (i > 0 && ++at[i - 1] == sample.size[i - 1]) {
      at[--i] = 0;
    }
    if (i == 0) {
      return;
    }
  }
}

/// Device bytes by the definition, one element at a time.
Bytes slowPack(const Sample &sample, const DeviceLayout &layout, const Bytes &host) {
  Bytes device(size_t(layout.bytes()), 0);
  int64_t hostBytes = numerics::hostTypeBytes(sample.type);
  int64_t deviceBytes = numerics::elementBytes(layout.format);
  forEachElement(sample, [&](const Ints &at, int64_t offset) {
    numerics::convertHostToDevice(sample.type, host.data() + offset * hostBytes,
                                  device.data() + devicePosition(sample, layout, at) * deviceBytes,
                                  1);
  });
  return device;
}

Bytes randomBytes(int64_t count, Random &random) {
  Bytes bytes(static_cast<size_t>(count));
  for (uint8_t &byte : bytes) {
    byte = uint8_t(random.next());
  }
  return bytes;
}

std::string describe(const Sample &sample) {
  return fmt::format("{} size [{}] order [{}] match [{}] host [{}]",
                     numerics::hostTypeName(sample.type), fmt::join(sample.size, ","),
                     fmt::join(sample.order, ","), fmt::join(sample.matchStride, ","),
                     fmt::join(sample.hostStride, ","));
}

/// Both directions piece by piece give the same bytes.
void checkPieces(const Sample &sample, const DeviceLayout &layout, const HostTensorRef &ref,
                 const Bytes &device, const Bytes &unpacked, ThreadPool *pool) {
  Bytes pieces(device.size(), 0x77), back(unpacked.size(), 0xA5);
  std::atomic<int64_t> moved = 0;
  auto write = [&](int64_t offset, const void *data, int64_t bytes) {
    EXPECT_TRUE(offset % 128 == 0 && bytes % 128 == 0 && bytes > 0);
    std::memcpy(pieces.data() + offset, data, size_t(bytes));
    moved += bytes;
    return Status::success();
  };
  ASSERT_TRUE(packPieces(ref, sample.matchStride, layout, write, pool).ok());
  ASSERT_EQ(moved, layout.bytes());
  ASSERT_EQ(pieces, device);
  auto read = [&](int64_t offset, void *data, int64_t bytes) {
    std::memcpy(data, device.data() + offset, size_t(bytes));
    return Status::success();
  };
  HostTensorRef target{back.data(), sample.type, sample.size, sample.hostStride};
  ASSERT_TRUE(unpackPieces(read, layout, sample.matchStride, target, pool).ok());
  ASSERT_EQ(back, unpacked);
}

void checkSample(const Sample &sample, Random &random, ThreadPool *pool = nullptr) {
  SCOPED_TRACE(describe(sample));
  auto layout = DeviceLayout::make(sample.size, sample.matchStride, sample.type, sample.order);
  ASSERT_TRUE(layout.ok()) << layout.status().message();
  int64_t hostBytes = numerics::hostTypeBytes(sample.type);
  Bytes host = randomBytes(sample.hostElems * hostBytes, random);
  HostTensorRef ref{host.data(), sample.type, sample.size, sample.hostStride};
  Bytes device(size_t(layout->bytes()), 0xEE);
  Status status = packToDevice(ref, sample.matchStride, *layout, device.data());
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(device, slowPack(sample, *layout, host));

  // Back into other bytes: exactly the elements change, to what the device holds.
  Bytes back(host.size(), 0xA5), expected = back;
  forEachElement(sample, [&](const Ints &at, int64_t offset) {
    numerics::convertDeviceToHost(sample.type,
                                  device.data() + devicePosition(sample, *layout, at) *
                                                      numerics::elementBytes(layout->format),
                                  expected.data() + offset * hostBytes, 1);
  });
  HostTensorRef backRef{back.data(), sample.type, sample.size, sample.hostStride};
  status = unpackFromDevice(device.data(), *layout, sample.matchStride, backRef);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(back, expected);
  checkPieces(sample, *layout, ref, device, back, pool);
}

TEST(Transfer, RandomTensorsFollowTheDefinition) {
  Random random(21);
  ThreadPool pool(2);
  for (int round = 0; round < 1000; ++round) {
    ThreadPool *threads = round % 4 == 0 ? &pool : nullptr;
    ASSERT_NO_FATAL_FAILURE(checkSample(randomSample(random), random, threads))
        << "round " << round;
    if (testing::Test::HasFailure()) {
      return;
    }
  }
}

TEST(Transfer, EveryTypeAndOrderOfOneTensor) {
  Random random(22);
  Ints order = {0, 1, 2};
  do {
    for (HostType type : kHostTypes) {
      Sample sample{type, {3, 70, 130}, order, {9100, 130, 1}, {1, 3, 210}, 3 * 70 * 130};
      checkSample(sample, random);
      sample.order.push_back(-1);
      checkSample(sample, random);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Transfer, OverlappingAndExpandedMatchStridesAreExact) {
  Random random(23);
  // The tile index of dimension 1 and dimension 0 have the same stride 64; then a stride of 0.
  checkSample({HostType::Int16, {3, 100}, {0, 1}, {64, 1}, {100, 1}, 300}, random);
  checkSample({HostType::Int16, {3, 100}, {0, 1}, {0, 1}, {100, 1}, 300}, random);
  checkSample({HostType::Int16, {3, 100}, {1, 0}, {1, 0}, {100, 1}, 300}, random);
}

// A matrix with more rows and stick columns than one task takes, and tiles that are transposed.
TEST(Transfer, BlocksOfLargeMatrices) {
  Random random(26);
  ThreadPool pool(3);
  for (HostType type : {HostType::Float16, HostType::Int64, HostType::Int8}) {
    for (const Ints &order : {Ints{0, 1}, Ints{1, 0}}) {
      Sample sample{type, {521, 1300}, order, {1300, 1}, {1303, 1}, 521 * 1303};
      ASSERT_NO_FATAL_FAILURE(checkSample(sample, random, &pool));
    }
  }
  Sample batch{HostType::Float16, {300, 3, 600}, {0, 1, 2}, {1800, 600, 1}, {1800, 600, 1}, 540000};
  ASSERT_NO_FATAL_FAILURE(checkSample(batch, random, &pool));
  Sample flat{HostType::Float16, {200001}, {0}, {1}, {1}, 200001};
  ASSERT_NO_FATAL_FAILURE(checkSample(flat, random, &pool));
}

// Host tensors made by expand: one element read for many positions.
TEST(Transfer, ExpandedHostTensorsAreReadRepeatedly) {
  Random random(27);
  for (int round = 0; round < 200; ++round) {
    Sample sample = randomSample(random);
    sample.type = HostType::Int16;
    for (int64_t &stride : sample.hostStride) {
      stride = random.below(3) == 0 ? 0 : stride;
    }
    SCOPED_TRACE(describe(sample));
    auto layout = DeviceLayout::make(sample.size, sample.matchStride, sample.type, sample.order);
    ASSERT_TRUE(layout.ok());
    Bytes host = randomBytes(sample.hostElems * 2, random), device(size_t(layout->bytes()), 0xEE);
    HostTensorRef ref{host.data(), sample.type, sample.size, sample.hostStride};
    ASSERT_TRUE(packToDevice(ref, sample.matchStride, *layout, device.data()).ok());
    ASSERT_EQ(device, slowPack(sample, *layout, host));
  }
}

TEST(Transfer, AFailedPieceIsReported) {
  Ints size = {200000};
  auto layout = DeviceLayout::makeDefault(size, HostType::Int16);
  ASSERT_TRUE(layout.ok());
  std::vector<int16_t> host(200000, 5), before = host;
  HostTensorRef ref{host.data(), HostType::Int16, size, {1}};
  ThreadPool pool(4);
  auto fail = [](int64_t offset) { return Status(6103, fmt::format("at {}", offset)); };
  auto write = [&](int64_t offset, const void *, int64_t) {
    return offset >= 128000 ? fail(offset) : Status::success();
  };
  Status status = packPieces(ref, {1}, *layout, write, &pool);
  EXPECT_EQ(status.code(), 6103);
  EXPECT_EQ(status.text(), "at 131072"); // The lowest one, whichever thread was first.
  auto read = [&](int64_t offset, void *, int64_t) { return fail(offset); };
  EXPECT_EQ(unpackPieces(read, *layout, {1}, ref, &pool).text(), "at 0");
  EXPECT_EQ(host, before);
  int calls = 0;
  auto count = [&](int64_t, const void *, int64_t) { return ++calls, Status::success(); };
  ref.size = {199990};
  EXPECT_EQ(packPieces(ref, {1}, *layout, count).code(), 0);
  EXPECT_GT(calls, 1);
  calls = 0;
  ref.size = {300000};
  EXPECT_EQ(packPieces(ref, {1}, *layout, count).code(), 2009);
  EXPECT_EQ(calls, 0);
}

TEST(Transfer, NegativeHostStridesReadBackwards) {
  Ints size = {200};
  auto layout = DeviceLayout::makeDefault(size, HostType::Int32);
  ASSERT_TRUE(layout.ok());
  std::vector<int32_t> host(200);
  std::iota(host.begin(), host.end(), 0);
  std::vector<int32_t> device(size_t(layout->bytes() / 4), -1);
  HostTensorRef reversed{host.data() + 199, HostType::Int32, size, {-1}};
  ASSERT_TRUE(packToDevice(reversed, {1}, *layout, device.data()).ok());
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(device[size_t(i)], 199 - i);
  }
}

TEST(Transfer, FoldedDimensionsOfATransposedHost) {
  // Host [40, 60] folded into one run of 2400 elements, read from column-major memory.
  DeviceLayout layout{{38, 64}, {64, 1}, numerics::DataFormat::SenInt16};
  std::vector<int16_t> host(2400), device(38 * 64, -1), back(2400, -1);
  std::iota(host.begin(), host.end(), int16_t(0));
  HostTensorRef columns{host.data(), HostType::Int16, {40, 60}, {1, 40}};
  ASSERT_TRUE(packToDevice(columns, {60, 1}, layout, device.data()).ok());
  for (int i = 0; i < 38 * 64; ++i) {
    ASSERT_EQ(device[size_t(i)], i < 2400 ? i / 60 + i % 60 * 40 : 0);
  }
  HostTensorRef target{back.data(), HostType::Int16, {40, 60}, {1, 40}};
  ASSERT_TRUE(unpackFromDevice(device.data(), layout, {60, 1}, target).ok());
  EXPECT_EQ(back, host);
}

TEST(Transfer, ExpandedLaneFillsTheStick) {
  DeviceLayout layout{{3, 64}, {1, 0}, numerics::DataFormat::SenInt16};
  std::vector<int16_t> host = {5, 6, 7}, device(3 * 64, -1), back(3, -1);
  HostTensorRef ref{host.data(), HostType::Int16, {3}, {1}};
  ASSERT_TRUE(packToDevice(ref, {1}, layout, device.data()).ok());
  for (int i = 0; i < 3 * 64; ++i) {
    ASSERT_EQ(device[size_t(i)], 5 + i / 64);
  }
  HostTensorRef target{back.data(), HostType::Int16, {3}, {1}};
  ASSERT_TRUE(unpackFromDevice(device.data(), layout, {1}, target).ok());
  EXPECT_EQ(back, host);
}

TEST(Transfer, ThreadsGiveTheSameBytes) {
  const std::vector<std::pair<Ints, Ints>> cases = {
      {{5000, 70}, {0, 1}},
      {{5000, 70}, {1, 0}},
      {{3, 1025, 130}, {0, 1, 2}},
      {{3, 1025, 130}, {1, 2, 0}},
      {{200000}, {0}},
      {{40, 300}, {0, 1, -1}},
      {{2, 3, 4, 5, 70}, {4, 0, 2, 1, 3}},
      {{}, {}},
      {{3, 0}, {0, 1}},
  };
  Random random(25);
  ThreadPool pool(4);
  for (const auto &[size, order] : cases) {
    Ints stride = rowMajorStrides(size);
    auto layout = DeviceLayout::make(size, stride, HostType::Float16, order);
    ASSERT_TRUE(layout.ok());
    SCOPED_TRACE(layout->toString());
    int64_t elems = 1;
    ASSERT_TRUE(checkedProduct(size, elems));
    Bytes host = randomBytes(elems * 2, random), back(host.size(), 1), threadBack(host.size(), 2);
    Bytes device(size_t(layout->bytes()), 3), threadDevice(device.size(), 4);
    HostTensorRef ref{host.data(), HostType::Float16, size, stride};
    ASSERT_TRUE(packToDevice(ref, stride, *layout, device.data()).ok());
    ASSERT_TRUE(packToDevice(ref, stride, *layout, threadDevice.data(), &pool).ok());
    ASSERT_EQ(device, threadDevice);
    ref.data = back.data();
    ASSERT_TRUE(unpackFromDevice(device.data(), *layout, stride, ref).ok());
    ref.data = threadBack.data();
    ASSERT_TRUE(unpackFromDevice(device.data(), *layout, stride, ref, &pool).ok());
    ASSERT_EQ(back, threadBack);
  }
}

TEST(Transfer, ElementsThatShareMemoryAreWrittenInOrder) {
  // Host stride 0: the last row wins, also with threads.
  Ints size = {5000, 64};
  auto layout = DeviceLayout::makeDefault(size, HostType::Int16);
  ASSERT_TRUE(layout.ok());
  std::vector<int16_t> device(5000 * 64), back(64, -1);
  for (size_t i = 0; i < device.size(); ++i) {
    device[i] = int16_t(i / 64);
  }
  ThreadPool pool(4);
  HostTensorRef ref{back.data(), HostType::Int16, size, {0, 1}};
  ASSERT_TRUE(unpackFromDevice(device.data(), *layout, {64, 1}, ref, &pool).ok());
  EXPECT_EQ(back, std::vector<int16_t>(64, 4999));
}

TEST(Transfer, EmptyTensorsMoveNothing) {
  for (const Ints &size : {Ints{0}, Ints{3, 0}, Ints{0, 70}}) {
    auto layout = DeviceLayout::makeDefault(size, HostType::Float16);
    ASSERT_TRUE(layout.ok());
    HostTensorRef ref{nullptr, HostType::Float16, size, rowMajorStrides(size)};
    EXPECT_TRUE(packToDevice(ref, ref.stride, *layout, nullptr).ok());
    EXPECT_TRUE(unpackFromDevice(nullptr, *layout, ref.stride, ref).ok());
  }
}

TEST(Transfer, ALayoutMayHaveRoomForATensorWithoutElements) {
  for (const DeviceLayout &layout :
       {DeviceLayout{{64}, {1}, numerics::DataFormat::SenInt16},
        DeviceLayout{{2, 3, 64}, {0, 64, 1}, numerics::DataFormat::SenInt16}}) {
    std::vector<int16_t> device(size_t(layout.bytes() / 2), 7);
    HostTensorRef ref{nullptr, HostType::Int16, {0}, {1}};
    ASSERT_TRUE(packToDevice(ref, {1}, layout, device.data()).ok());
    EXPECT_EQ(device, std::vector<int16_t>(device.size(), 0));
    EXPECT_TRUE(unpackFromDevice(device.data(), layout, {1}, ref).ok());
  }
}

TEST(Transfer, LayoutsOfOtherTensorsAreRefused) {
  auto format = numerics::DataFormat::SenInt16;
  std::vector<int16_t> host(100000, 1), device(100000, 2);
  auto code = [&](const DeviceLayout &layout, const Ints &size, const Ints &match) {
    HostTensorRef ref{host.data(), HostType::Int16, size, rowMajorStrides(size)};
    int unpacked = unpackFromDevice(device.data(), layout, match, ref).code();
    int packed = packToDevice(ref, match, layout, device.data()).code();
    EXPECT_EQ(packed, unpacked);
    return packed;
  };
  EXPECT_EQ(code({{2, 64}, {64, 1}, format}, {129}, {1}), 2009);                   // too small
  EXPECT_EQ(code({{2, 39, 64}, {64, 120, 1}, format}, {40, 120}, {120, 1}), 2009); // a row missing
  EXPECT_EQ(code({{2, 40, 64}, {64, 119, 1}, format}, {40, 120}, {120, 1}), 2009); // wrong stride
  EXPECT_EQ(code({{2, 64}, {65, 1}, format}, {120}, {1}), 2009);                   // a hole at 64
  EXPECT_EQ(code({{2, 64}, {64, 2}, format}, {120}, {1}), 2009);                // odd ones missing
  EXPECT_EQ(code({{2, 64}, {-1, -1}, format}, {120}, {1}), 2009);               // one element only
  EXPECT_EQ(code({{2, 40, 64}, {64, 120, 1}, format}, {40, 120}, {120}), 2009); // strides missing
  EXPECT_EQ(code({{2, 32}, {32, 1}, format}, {60}, {1}), 2009);                 // unsound stick
  EXPECT_EQ(code({{2, 64}, {64, 1}, numerics::DataFormat::Sen169Fp16}, {120}, {1}), 2009);
  EXPECT_EQ(code({{2, 64}, {64, 1}, format, ElementArrangement::Exx2}, {120}, {1}), 2009);
  EXPECT_EQ(code({{2, 64}, {64, 1}, format}, {-5}, {1}), 2009);
  EXPECT_EQ(code({{2, 64}, {64, 1}, format}, {INT64_MAX, INT64_MAX}, {1, 1}), 2009);
  EXPECT_EQ(code({{0, 64}, {-1, -1}, format}, {}, {}), 2009); // no stick at all
  EXPECT_EQ(code({{1, 0, 64}, {64, 0, 1}, format}, {60}, {1}), 2009);
  EXPECT_EQ(code({{2, 64}, {64, 1}, format}, {120}, {1}), 0);
}

/// Host offset of a device element by the identity of the header: sum of coordinate * stride.
int64_t offsetByIdentity(const DeviceLayout &layout, int64_t position) {
  int64_t offset = 0;
  for (size_t i = layout.deviceSize.size(); i-- > 0;) {
    int64_t coordinate = position % layout.deviceSize[i];
    position /= layout.deviceSize[i];
    offset += coordinate * std::max<int64_t>(layout.strideMap[i], 0);
  }
  return offset;
}

DeviceLayout randomLayout(Random &random) {
  const int64_t sizes[] = {1, 2, 3, 6, 12, 60};
  const int64_t strides[] = {-1, 0, 1, 2, 3, 6, 12, 30, 32, 36, 61, 120};
  DeviceLayout layout{{}, {}, numerics::DataFormat::IeeeInt32};
  for (uint64_t i = random.below(4); i > 0; --i) {
    layout.deviceSize.push_back(sizes[random.below(6)]);
    layout.strideMap.push_back(strides[random.below(12)]);
  }
  layout.deviceSize.push_back(32);
  layout.strideMap.push_back(strides[random.below(12)]);
  return layout;
}

// Any numbers in a layout give an error, or a transfer that follows the identity and round-trips.
TEST(Transfer, RandomLayoutsAreRefusedOrFollowTheIdentity) {
  const int64_t sizes[] = {1, 2, 3, 6, 12, 60};
  Random random(24);
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    Ints size(random.below(3) + 1);
    for (int64_t &extent : size) {
      extent = sizes[random.below(6)];
    }
    DeviceLayout layout = randomLayout(random);
    Ints stride = rowMajorStrides(size);
    std::vector<int32_t> host(static_cast<size_t>(stride[0] * size[0])), back(host.size(), -1);
    std::iota(host.begin(), host.end(), 1);
    std::vector<int32_t> device(size_t(layout.bytes() / 4), -1);
    HostTensorRef ref{host.data(), HostType::Int32, size, stride};
    Status status = packToDevice(ref, stride, layout, device.data());
    if (!status.ok()) {
      ASSERT_EQ(status.code(), 2009);
      continue;
    }
    ++accepted;
    SCOPED_TRACE(layout.toString() + fmt::format(" host {}", fmt::join(size, ",")));
    for (size_t i = 0; i < device.size(); ++i) {
      if (device[i] != 0) {
        ASSERT_EQ(device[i] - 1, offsetByIdentity(layout, int64_t(i)));
      }
    }
    HostTensorRef target{back.data(), HostType::Int32, size, stride};
    ASSERT_TRUE(unpackFromDevice(device.data(), layout, stride, target).ok());
    ASSERT_EQ(back, host);
  }
  EXPECT_GT(accepted, 1000);
}

} // namespace
} // namespace spyre::layout
