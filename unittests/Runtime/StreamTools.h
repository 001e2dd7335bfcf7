//===- StreamTools.h - operations that hold, trace and fail, for tests of streams -----------===//
#pragma once

#include "spyre/Runtime/Device.h"

#include "gtest/gtest.h"

#include <latch>
#include <mutex>

namespace spyre::test {

using namespace spyre::runtime;

inline std::shared_ptr<Device> makeNullDevice(const StreamOptions &options = {}) {
  Expected<arch::DeviceDesc> desc = arch::DeviceDesc::preset("tiny");
  SPYRE_CHECK(desc.ok(), "the preset exists");
  Expected<std::unique_ptr<Driver>> driver = createDriver("null", *desc);
  SPYRE_CHECK(driver.ok(), "the null driver always opens");
  return Device::create(*std::move(driver), 1, options);
}

inline Operation makeOperation(const char *name, std::function<Status()> body,
                               Engine engine = Engine::Compute) {
  Operation operation;
  operation.name = name;
  operation.engine = engine;
  operation.body = [body = std::move(body)](OperationContext &) { return body(); };
  return operation;
}

/// An operation that takes \p nanoseconds of simulated time.
inline Operation takes(const char *name, uint64_t nanoseconds, Engine engine = Engine::Compute) {
  Operation operation;
  operation.name = name;
  operation.engine = engine;
  operation.body = [nanoseconds](OperationContext &context) {
    context.addNanoseconds(nanoseconds);
    return Status::success();
  };
  return operation;
}

/// Holds whoever passes until it is opened.
struct Gate {
  std::latch opened{1};
  std::latch reached{1};
  Operation operation() {
    return makeOperation("gate", [this] {
      reached.count_down();
      opened.wait();
      return Status::success();
    });
  }
  void open() { opened.count_down(); }
};

/// Values in the order in which operations ran.
struct Trace {
  std::mutex mutex;
  std::vector<int> values;
  Operation add(int value) {
    return makeOperation("add", [this, value] {
      std::lock_guard lock(mutex);
      values.push_back(value);
      return Status::success();
    });
  }
};

inline Operation failing(int code = 6106) {
  return makeOperation("bad_kernel", [code] { return Status(code, "told to fail"); });
}

#define ASSERT_OK(expression)                                                                      \
  do {                                                                                             \
    const Status status = (expression);                                                            \
    ASSERT_TRUE(status.ok()) << status.message();                                                  \
  } while (false)

} // namespace spyre::test
