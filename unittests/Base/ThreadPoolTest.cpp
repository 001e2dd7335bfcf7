//===- ThreadPoolTest.cpp - every index once, from any thread -------------------------------===//
#include "spyre/Base/ThreadPool.h"

#include "gtest/gtest.h"

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

namespace spyre {
namespace {

TEST(ThreadPool, RunsEachIndexOnce) {
  for (size_t threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (size_t count : {0, 1, 2, 3, 100, 1000}) {
      std::vector<std::atomic<int>> calls(count);
      pool.parallelFor(count, [&](size_t i) { calls[i].fetch_add(1); });
      for (const auto &call : calls) {
        ASSERT_EQ(call.load(), 1);
      }
    }
  }
  EXPECT_GE(ThreadPool().threads(), 1u);
}

TEST(ThreadPool, WritesAreVisibleAfterTheCall) {
  ThreadPool pool(4);
  std::vector<size_t> squares(500);
  for (int round = 0; round < 50; ++round) {
    pool.parallelFor(squares.size(), [&](size_t i) { squares[i] += i; });
  }
  for (size_t i = 0; i < squares.size(); ++i) {
    ASSERT_EQ(squares[i], 50 * i);
  }
}

TEST(ThreadPool, CallersFromSeveralThreadsTakeTurns) {
  ThreadPool pool(3);
  std::vector<std::atomic<int>> calls(64);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        pool.parallelFor(calls.size(), [&](size_t i) { calls[i].fetch_add(1); });
      }
    });
  }
  for (std::thread &caller : callers) {
    caller.join();
  }
  for (const auto &call : calls) {
    ASSERT_EQ(call.load(), 80);
  }
}

TEST(ThreadPool, NestedCallsRunInPlace) {
  ThreadPool pool(3);
  std::atomic<int> calls{0};
  pool.parallelFor(8, [&](size_t) { pool.parallelFor(8, [&](size_t) { calls.fetch_add(1); }); });
  EXPECT_EQ(calls.load(), 64);
}

} // namespace
} // namespace spyre
