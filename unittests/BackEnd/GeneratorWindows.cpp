//===- GeneratorWindows.cpp - see GeneratorWindows.h ----------------------------------------===//
#include "GeneratorWindows.h"

#include "spyre/Base/Math.h"

#include <algorithm>

namespace spyre::backend::test {

using numerics::DataFormat;
using spec::Coordinate;
using spec::IterationDim;
using spec::OpSpec;
using spec::TensorArg;

const std::vector<std::string> &windowCases() {
  static const std::vector<std::string> names{"conv2d", "depthwiseconv2dnative", "maxpoolfwd",
                                              "avgpoolfwd", "x_cumsum"};
  return names;
}

bool isWindowCase(const std::string &op) {
  return std::find(windowCases().begin(), windowCases().end(), op) != windowCases().end();
}

namespace {

/// One outer dimension of a tensor.
struct Entry {
  int64_t size;
  Coordinate coordinate;
};

TensorArg tensorFrom(const std::vector<Entry> &entries, const std::string &stick,
                     DataFormat format) {
  TensorArg arg;
  arg.deviceDtype = format;
  for (const Entry &entry : entries) {
    arg.deviceSize.push_back(entry.size);
    arg.deviceCoordinates.push_back(entry.coordinate);
  }
  int64_t lanes = numerics::elemsPerStick(format);
  arg.deviceSize.push_back(lanes);
  arg.deviceCoordinates.push_back(stick.empty() ? Coordinate::constant(0)
                                                : Coordinate::mod(stick, lanes));
  return arg;
}

void finishArgs(OpSpec &spec) {
  size_t rank = 2;
  for (const TensorArg &arg : spec.args) {
    rank = std::max(rank, arg.deviceSize.size());
  }
  for (size_t i = 0; i < spec.args.size(); ++i) {
    TensorArg &arg = spec.args[i];
    size_t missing = rank - arg.deviceSize.size();
    arg.deviceSize.insert(arg.deviceSize.begin(), missing, 1);
    arg.deviceCoordinates.insert(arg.deviceCoordinates.begin(), missing, Coordinate::constant(0));
    arg.isInput = i + 1 < spec.args.size();
    arg.argIndex = int64_t(i);
    arg.address = arg.argIndex << 34;
  }
}

/// Another order of the outer dimensions of \p arg; some become slices of a larger buffer.
void shuffle(TensorArg &arg, Random &random) {
  size_t outer = arg.deviceSize.size() - 1;
  for (size_t i = outer; i > 1; --i) {
    size_t other = random.below(i);
    std::swap(arg.deviceSize[i - 1], arg.deviceSize[other]);
    std::swap(arg.deviceCoordinates[i - 1], arg.deviceCoordinates[other]);
  }
  for (size_t i = 0; i < outer; ++i) {
    if (arg.deviceCoordinates[i].kind != Coordinate::Kind::Constant && random.below(5) == 0) {
      int64_t more = random.between(1, 2);
      arg.deviceSize[i] += more;
      arg.deviceCoordinates[i].offset += random.between(0, more);
    }
  }
}

template <size_t n>
int64_t pick(Random &random, const int64_t (&values)[n]) {
  return values[random.below(n)];
}

/// A random divisor of \p pieces that leaves \p used cores within the machine.
int64_t randomSplit(int64_t pieces, int64_t &used, Random &random, const arch::DeviceDesc &device) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= pieces && d * used <= device.cores; ++d) {
    if (pieces % d == 0) {
      divisors.push_back(d);
    }
  }
  int64_t cores = divisors[random.below(divisors.size())];
  used *= cores;
  return cores;
}

RandomCase randomScan(Random &random, const arch::DeviceDesc &device, bool large) {
  RandomCase result;
  OpSpec &spec = result.spec;
  spec.op = "x_cumsum";
  DataFormat format = random.below(2) == 0 ? DataFormat::IeeeFp32 : DataFormat::IeeeInt32;
  int64_t lanes = numerics::elemsPerStick(format), used = 1;
  size_t rank = size_t(random.between(0, 4));
  size_t stickAt = random.below(rank + 1); // == rank: none.
  uint64_t sticks = 1;
  std::vector<Entry> entries, inputEntries;
  std::string stick;
  for (size_t i = 0; i < rank; ++i) {
    std::string name = fmt::format("c{}", i);
    bool isStick = i == stickAt;
    int64_t range =
        isStick ? pick(random, {1, 31, 32, 33, 64, 100, 160}) : pick(random, {1, 2, 3, 4, 5, 8});
    int64_t pieces = isStick ? ceilDiv(range, lanes) : range;
    spec.iterationSpace.push_back({name, range, randomSplit(pieces, used, random, device)});
    entries.push_back(
        {pieces, isStick ? Coordinate::floorDiv(name, lanes) : Coordinate::var(name)});
    stick = isStick ? name : stick;
    sticks *= uint64_t(pieces);
  }
  int64_t steps = large ? random.between(500, 1500) : pick(random, {1, 2, 3, 7, 16, 40, 150});
  spec.iterationSpace.push_back({"s", steps, 1});
  entries.push_back({steps, Coordinate::var("s")});
  for (const Entry &entry : entries) {
    if (random.below(6) != 0) {
      inputEntries.push_back(entry); // Else the input is the same along it.
    }
  }
  bool inputHasStick = std::any_of(inputEntries.begin(), inputEntries.end(), [](const Entry &e) {
    return e.coordinate.kind == Coordinate::Kind::Floor;
  });
  spec.args = {tensorFrom(inputEntries, inputHasStick ? stick : "", format),
               tensorFrom(entries, stick, format)};
  for (TensorArg &arg : spec.args) {
    shuffle(arg, random);
  }
  finishArgs(spec);
  result.laneOps = sticks * uint64_t(steps * lanes);
  return result;
}

} // namespace

RandomCase windowCase(const WindowShape &shape) {
  RandomCase result;
  OpSpec &spec = result.spec;
  const bool isConv = shape.op == "conv2d";
  const bool hasWeights = isConv || shape.op == "depthwiseconv2dnative";
  const int64_t lanes = numerics::elemsPerStick(shape.format);
  spec.op = shape.op;
  spec.isReduction = true;
  spec.iterationSpace = {{"b", shape.batch, 1},      {"y", shape.pixels[0], 1},
                         {"x", shape.pixels[1], 1},  {"c", shape.channels, 1},
                         {"ki", shape.window[0], 1}, {"kj", shape.window[1], 1}};
  if (isConv) {
    spec.iterationSpace.push_back({"k", shape.inChannels, 1});
  }
  for (const auto &[symbol, cores] : shape.cores) {
    for (IterationDim &dim : spec.iterationSpace) {
      dim.cores = dim.symbol == symbol ? cores : dim.cores;
    }
  }
  auto inputEntry = [&](size_t w, const char *pixel, const char *window) {
    int64_t reach =
        (shape.pixels[w] - 1) * shape.stride[w] + (shape.window[w] - 1) * shape.dilation[w] + 1;
    return Entry{
        shape.before[w] + reach + shape.behind[w],
        Coordinate::window(pixel, shape.stride[w], window, shape.dilation[w], shape.before[w])};
  };
  const std::string summed = isConv ? "k" : "c";
  const int64_t channelSticks = ceilDiv(shape.channels, lanes);
  const int64_t inSticks = isConv ? ceilDiv(shape.inChannels, lanes) : channelSticks;
  spec.args.push_back(tensorFrom({{shape.batch, Coordinate::var("b")},
                                  inputEntry(0, "y", "ki"),
                                  {inSticks, Coordinate::floorDiv(summed, lanes)},
                                  inputEntry(1, "x", "kj")},
                                 summed, shape.format));
  if (hasWeights) {
    std::vector<Entry> entries{{shape.window[0], Coordinate::var("ki")},
                               {shape.window[1], Coordinate::var("kj")},
                               {channelSticks, Coordinate::floorDiv("c", lanes)}};
    if (isConv) {
      entries.push_back({inSticks * lanes, Coordinate::var("k")});
    }
    spec.args.push_back(tensorFrom(entries, "c", shape.format));
  }
  spec.args.push_back(tensorFrom({{shape.batch, Coordinate::var("b")},
                                  {shape.pixels[0], Coordinate::var("y")},
                                  {channelSticks, Coordinate::floorDiv("c", lanes)},
                                  {shape.pixels[1], Coordinate::var("x")}},
                                 "c", shape.format));
  finishArgs(spec);
  if (shape.op == "avgpoolfwd") {
    spec.constants = {{"nmap", 1.0 / double(shape.window[0] * shape.window[1])}};
  }
  uint64_t points = uint64_t(shape.batch * shape.pixels[0] * shape.pixels[1] * shape.window[0] *
                             shape.window[1] * channelSticks);
  result.macs = isConv ? points * uint64_t(inSticks) * 64 * 64 : 0;
  result.laneOps = isConv ? 0 : points * uint64_t(lanes);
  return result;
}

RandomCase randomWindow(const std::string &op, Random &random, const arch::DeviceDesc &device,
                        bool large) {
  if (op == "x_cumsum") {
    return randomScan(random, device, large);
  }
  static constexpr int64_t kWindows[][2] = {{1, 1}, {2, 2}, {3, 3}, {5, 1}, {1, 4}};
  WindowShape shape;
  shape.op = op;
  bool isConv = op == "conv2d";
  shape.format = !isConv && random.below(4) == 0 ? DataFormat::IeeeFp32 : DataFormat::Sen169Fp16;
  int64_t lanes = numerics::elemsPerStick(shape.format), used = 1;
  const auto &window = kWindows[random.below(std::size(kWindows))];
  shape.batch = pick(random, {1, 2, 3});
  shape.channels = pick(random, {1, 40, 64, 100, 128, 192});
  shape.inChannels = pick(random, {3, 64, 70, 130});
  for (size_t w = 0; w < 2; ++w) {
    shape.pixels[w] = pick(random, {1, 2, 3, 4, 6});
    shape.window[w] = window[w];
    shape.stride[w] = pick(random, {1, 1, 2, 3});
    shape.dilation[w] = pick(random, {1, 1, 2});
    shape.before[w] = random.below(4) == 0 ? random.between(0, 2) : 0;
    shape.behind[w] = random.below(3) == 0 ? random.between(0, 2) : 0;
  }
  if (large) {
    shape.pixels = {random.between(20, 30), random.between(20, 30)};
    shape.channels = isConv ? 64 : 300;
    shape.inChannels = 130;
  }
  auto split = [&](const char *symbol, int64_t pieces) {
    shape.cores.emplace_back(symbol, randomSplit(pieces, used, random, device));
  };
  split("y", shape.pixels[0]);
  split("k", isConv ? ceilDiv(shape.inChannels, lanes) : 1);
  split("c", ceilDiv(shape.channels, lanes));
  split("b", shape.batch);
  split("x", shape.pixels[1]);
  RandomCase result = windowCase(shape);
  for (size_t i = 0; i < result.spec.args.size(); ++i) {
    shuffle(result.spec.args[i], random);
  }
  return result;
}

} // namespace spyre::backend::test
