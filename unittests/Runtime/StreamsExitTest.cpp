//===- StreamsExitTest.cpp - work on streams when a process ends or forks -------------------===//
#include "spyre/Runtime/Device.h"

#include "FakeDriver.h"
#include "gtest/gtest.h"

#include <chrono>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace spyre;
using namespace spyre::runtime;
using namespace spyre::test;

namespace {

void queueWork(const std::shared_ptr<Device> &device, int count) {
  for (int i = 0; i < count; ++i) {
    Operation operation;
    operation.name = "slow";
    operation.references.push_back(device);
    operation.body = [](OperationContext &) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return Status::success();
    };
    const Status submitted = device->streams().submit(StreamId(i % 65), std::move(operation));
    SPYRE_CHECK(submitted.ok(), "a fresh device takes work");
  }
}

// With the work that is queued the process would go on for a second.
TEST(StreamsExitDeathTest, AProcessMayEndWithWorkQueued) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static FakeState state;
        static std::shared_ptr<Device> device = makeDevice(state);
        queueWork(device, 1000);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

#if !defined(__SANITIZE_THREAD__)
// The worker does not exist in a forked child; neither leaving nor letting go may wait for it.
TEST(StreamsExit, AForkedChildDoesNotWaitForTheWorker) {
  FakeState state;
  std::shared_ptr<Device> device = makeDevice(state);
  queueWork(device, 20);
  for (bool letsGo : {false, true}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(20);
      if (letsGo) {
        device.reset();
      }
      std::exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << letsGo << ' ' << status;
    // The second child has the only handle.
    ASSERT_TRUE(device->streams().synchronizeAll().ok());
    ASSERT_EQ(device.use_count(), 1);
  }
}
#endif

} // namespace
