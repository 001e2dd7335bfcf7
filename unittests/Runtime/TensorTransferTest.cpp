//===- TensorTransferTest.cpp - bytes, padding and failures of tensor transfers -------------===//
#include "spyre/Runtime/TensorTransfer.h"

#include "spyre/Base/Math.h"
#include "spyre/Base/ThreadPool.h"
#include "spyre/Layout/Padding.h"

#include "gtest/gtest.h"

#include <cstring>
#include <numeric>

using namespace spyre;
using namespace spyre::runtime;

namespace {

constexpr uint64_t kMemoryBytes = 8 << 20;
constexpr uint64_t kStickBytes = 128;

struct CardState {
  std::vector<char> memory = std::vector<char>(kMemoryBytes);
  /// One per stick of the memory, as the last transfer gave them.
  std::vector<uint64_t> writePadding = std::vector<uint64_t>(kMemoryBytes / kStickBytes);
  std::vector<uint64_t> readPadding = writePadding;
  bool followsPadding = true;
  std::atomic<bool> sawPadding{false};
  bool failWrites = false;
};

class CardDriver final : public Driver {
public:
  explicit CardDriver(CardState &state) : state(state) { deviceDesc.ddrBytes = kMemoryBytes; }
  const char *name() const override { return "card"; }
  const arch::DeviceDesc &desc() const override { return deviceDesc; }
  Status write(uint64_t address, const void *data, uint64_t bytes) override {
    if (state.failWrites) {
      return Status(6106, "told to fail");
    }
    std::memcpy(state.memory.data() + address, data, bytes);
    return Status::success();
  }
  Status read(uint64_t address, void *data, uint64_t bytes) override {
    std::memcpy(data, state.memory.data() + address, bytes);
    return Status::success();
  }
  bool wantsPadding() const override { return state.followsPadding; }
  Status writeSticks(uint64_t address, const void *data, uint64_t bytes,
                     const uint64_t *padding) override {
    record(state.writePadding, address, bytes, padding);
    return write(address, data, bytes);
  }
  Status readSticks(uint64_t address, void *data, uint64_t bytes,
                    const uint64_t *padding) override {
    record(state.readPadding, address, bytes, padding);
    return read(address, data, bytes);
  }
  Status discard(uint64_t, uint64_t) override { return Status::success(); }
  Status launch(uint64_t, uint64_t, const std::vector<SegmentBinding> &, uint32_t) override {
    return Status::success();
  }
  DeviceCounters counters() const override { return {}; }
  void resetCounters() override {}

private:
  void record(std::vector<uint64_t> &masks, uint64_t address, uint64_t bytes,
              const uint64_t *padding) {
    if (padding != nullptr) {
      state.sawPadding = true;
    }
    for (uint64_t i = 0; i < bytes / kStickBytes; ++i) {
      masks[address / kStickBytes + i] = padding != nullptr ? padding[i] : 0;
    }
  }

  CardState &state;
  arch::DeviceDesc deviceDesc;
};

struct Tensor {
  explicit Tensor(std::vector<int64_t> shape)
      : size(std::move(shape)), stride(rowMajorStrides(size)),
        layout(*layout::DeviceLayout::makeDefault(size, numerics::HostType::Int16)),
        values(size_t(stride[0] * size[0])) {
    std::iota(values.begin(), values.end(), int16_t(1));
  }
  layout::HostTensorRef ref() { return {values.data(), numerics::HostType::Int16, size, stride}; }

  std::vector<int64_t> size, stride;
  layout::DeviceLayout layout;
  std::vector<int16_t> values;
};

TEST(TensorTransfer, MovesTheBytesOfTheLayoutAndBack) {
  // Several pieces, with and without padding.
  for (const std::vector<int64_t> &size :
       {std::vector<int64_t>{700, 1000}, {700, 1024}, {300000}, {5000, 1}, {3, 300, 130}}) {
    CardState card;
    auto device = Device::create(std::make_unique<CardDriver>(card), 3);
    EXPECT_EQ(device->threadPool().threads(), 3u);
    Tensor tensor(size);
    BufferRef buffer = *device->allocate(uint64_t(tensor.layout.bytes()));
    ASSERT_TRUE(uploadTensor(buffer, tensor.layout, tensor.stride, tensor.ref()).ok());
    std::vector<char> packed(size_t(tensor.layout.bytes()));
    ASSERT_TRUE(packToDevice(tensor.ref(), tensor.stride, tensor.layout, packed.data()).ok());
    const char *memory = card.memory.data() + buffer->physicalAddress();
    EXPECT_EQ(std::memcmp(memory, packed.data(), packed.size()), 0);

    Tensor back(size);
    std::fill(back.values.begin(), back.values.end(), int16_t(-1));
    ASSERT_TRUE(downloadTensor(buffer, back.layout, back.stride, back.ref()).ok());
    EXPECT_EQ(back.values, tensor.values);

    auto masks = layout::stickPadding(tensor.layout, size, tensor.stride);
    ASSERT_TRUE(masks.ok());
    EXPECT_EQ(card.sawPadding, !masks->empty());
    masks->resize(size_t(tensor.layout.sticks()), 0);
    const uint64_t first = buffer->physicalAddress() / kStickBytes;
    for (size_t i = 0; i < masks->size(); ++i) {
      ASSERT_EQ(card.writePadding[first + i], (*masks)[i]) << "stick " << i;
      ASSERT_EQ(card.readPadding[first + i], (*masks)[i]) << "stick " << i;
    }
  }
}

TEST(TensorTransfer, PaddingIsOnlyFoundForDriversThatFollowIt) {
  CardState card;
  card.followsPadding = false;
  auto device = Device::create(std::make_unique<CardDriver>(card));
  Tensor tensor({10, 70});
  BufferRef buffer = *device->allocate(uint64_t(tensor.layout.bytes()));
  ASSERT_TRUE(uploadTensor(buffer, tensor.layout, tensor.stride, tensor.ref()).ok());
  EXPECT_FALSE(card.sawPadding);
}

/// Which thread moves which piece is chance, what the operation takes is not.
TEST(TensorTransfer, AllPiecesCountForTheOperation) {
  StreamOptions options;
  options.hostLinkBytesPerNanosecond = 1;
  options.hostLinkLatencyNanoseconds = 0;
  CardState card;
  auto device = Device::create(std::make_unique<CardDriver>(card), 3, options);
  Tensor tensor({700, 1000});
  const auto bytes = uint64_t(tensor.layout.bytes());
  BufferRef buffer = *device->allocate(bytes);
  for (uint64_t round = 1; round <= 10; ++round) {
    Operation upload, download;
    upload.engine = Engine::HostToDevice;
    upload.body = [&](OperationContext &) {
      return uploadTensor(buffer, tensor.layout, tensor.stride, tensor.ref());
    };
    download.engine = Engine::DeviceToHost;
    download.body = [&](OperationContext &) {
      return downloadTensor(buffer, tensor.layout, tensor.stride, tensor.ref());
    };
    ASSERT_TRUE(device->streams().run(kDefaultStream, std::move(upload)).ok());
    ASSERT_TRUE(device->streams().run(kDefaultStream, std::move(download)).ok());
    EXPECT_EQ(device->streams().deviceNanoseconds(), 2 * bytes * round);
  }
}

TEST(TensorTransfer, FaultsAreNumbered) {
  CardState card;
  auto device = Device::create(std::make_unique<CardDriver>(card));
  Tensor tensor({100, 70});
  BufferRef buffer = *device->allocate(uint64_t(tensor.layout.bytes()));
  BufferRef small = *device->allocate(128);
  auto code = [&](const BufferRef &target, const layout::DeviceLayout &layout) {
    int up = uploadTensor(target, layout, tensor.stride, tensor.ref()).code();
    EXPECT_EQ(up, downloadTensor(target, layout, tensor.stride, tensor.ref()).code());
    return up;
  };
  EXPECT_EQ(code(buffer, tensor.layout), 0);
  EXPECT_EQ(code(nullptr, tensor.layout), 6105);
  EXPECT_EQ(code(small, tensor.layout), 6203);
  EXPECT_EQ(code(buffer, layout::DeviceLayout()), 2008);
  EXPECT_EQ(code(buffer, Tensor({100, 60}).layout), 2009);
  card.failWrites = true;
  EXPECT_EQ(uploadTensor(buffer, tensor.layout, tensor.stride, tensor.ref()).code(), 6106);
}

} // namespace
