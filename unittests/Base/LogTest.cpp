//===- LogTest.cpp - levels and sinks -------------------------------------------------------===//
#include "spyre/Base/Log.h"

#include "gtest/gtest.h"

#include <vector>

namespace spyre {
namespace {

TEST(Log, WritesOnlyUpToTheLevel) {
  std::vector<std::string> lines;
  setLogSink([&](LogLevel, const std::string &line) { lines.push_back(line); });
  EXPECT_EQ(logLevel(), LogLevel::Off);
  log(LogLevel::Error, "runtime", "nobody hears this");
  setLogLevel(LogLevel::Info);
  log(LogLevel::Debug, "runtime", "too fine");
  log(LogLevel::Info, "runtime", "launch bundle={} cycles={}", "bundle_0", 1234);
  log(LogLevel::Warning, "sim", "slow");
  setLogLevel(LogLevel::Off);
  setLogSink(nullptr);
  EXPECT_EQ(lines,
            (std::vector<std::string>{"spyre info runtime launch bundle=bundle_0 cycles=1234",
                                      "spyre warning sim slow"}));
}

} // namespace
} // namespace spyre
