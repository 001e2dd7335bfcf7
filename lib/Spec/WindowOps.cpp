//===- WindowOps.cpp - rules of convolutions and pooling ------------------------------------===//
#include "spyre/Spec/Windows.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace spyre::spec {

bool isWindowOp(const std::string &op) {
  return op == "conv2d" || op == "depthwiseconv2dnative" || op == "maxpoolfwd" ||
         op == "avgpoolfwd";
}

namespace {

class Finder {
public:
  explicit Finder(const OpSpec &spec) : spec(spec) {}

  Expected<WindowSymbols> run() {
    const bool hasWeights = spec.op == "conv2d" || spec.op == "depthwiseconv2dnative";
    if (spec.args.size() != (hasWeights ? 3u : 2u) || !spec.isReduction) {
      return fault("it is a reduction with {} inputs", hasWeights ? 2 : 1);
    }
    SPYRE_RETURN_IF_ERROR(findWindows());
    SPYRE_RETURN_IF_ERROR(findChannels());
    SPYRE_RETURN_IF_ERROR(checkOrder());
    for (const std::string &symbol : {found.pixel[0], found.pixel[1], found.channels}) {
      if (!symbol.empty() && !holds(spec.args.back(), symbol)) {
        return fault("the output has no coordinate with {}", symbol);
      }
    }
    if (holds(spec.args.front(), found.inChannels.empty() ? "" : found.channels)) {
      return fault("the input has a coordinate with the output channels {}", found.channels);
    }
    if (hasWeights) {
      SPYRE_RETURN_IF_ERROR(checkWeights());
    }
    return found;
  }

private:
  template <typename... Args>
  Status fault(fmt::format_string<Args...> format, Args &&...args) const {
    return error<1302>("op '{}': {}", spec.op, fmt::format(format, std::forward<Args>(args)...));
  }

  size_t positionOf(const std::string &symbol) const {
    size_t at = 0;
    while (at < spec.iterationSpace.size() && spec.iterationSpace[at].symbol != symbol) {
      ++at;
    }
    return at;
  }

  static bool holds(const TensorArg &arg, const std::string &symbol) {
    return !symbol.empty() &&
           std::any_of(arg.deviceCoordinates.begin(), arg.deviceCoordinates.end(),
                       [&](const Coordinate &c) {
                         return (c.kind != Coordinate::Kind::Constant && c.symbol == symbol) ||
                                (c.kind == Coordinate::Kind::Window && c.windowSymbol == symbol);
                       });
  }

  /// The window that comes first in the iteration space is that of y.
  Status findWindows() {
    std::vector<const Coordinate *> windows;
    for (const Coordinate &coordinate : spec.args.front().deviceCoordinates) {
      if (coordinate.kind == Coordinate::Kind::Window) {
        windows.push_back(&coordinate);
      }
    }
    if (windows.empty() || windows.size() > 2) {
      return fault("{} coordinates of the input are windows (2*y + ki); one or two are", //
                   windows.size());
    }
    std::sort(windows.begin(), windows.end(), [&](const Coordinate *a, const Coordinate *b) {
      return positionOf(a->windowSymbol) < positionOf(b->windowSymbol);
    });
    for (size_t i = 0; i < windows.size(); ++i) {
      found.pixel[i] = windows[i]->symbol;
      found.window[i] = windows[i]->windowSymbol;
      if (spec.iterationSpace[positionOf(found.window[i])].cores != 1) {
        return fault("window symbol {} is split over cores; split pixels or channels",
                     found.window[i]);
      }
    }
    return Status::success();
  }

  Status findChannels() {
    for (const TensorArg &arg : spec.args) {
      if (arg.deviceCoordinates.back().kind != Coordinate::Kind::Mod) {
        return fault("every tensor has a stick of channels, none has one value per stick");
      }
    }
    const std::string &inputStick = spec.args.front().deviceCoordinates.back().symbol;
    found.channels = spec.args.back().deviceCoordinates.back().symbol;
    if (spec.op == "conv2d") {
      found.inChannels = inputStick;
    }
    if ((spec.op == "conv2d") == (inputStick == found.channels)) {
      return fault("sticks along {} (input) and {} (output); conv2d has input and output channels, "
                   "the others the same channels",
                   inputStick, found.channels);
    }
    return Status::success();
  }

  /// What is reduced is last: windows, then input channels. One symbol more is the batch.
  Status checkOrder() {
    std::vector<std::string> reduced;
    for (const std::string &symbol : {found.window[0], found.window[1], found.inChannels}) {
      if (!symbol.empty()) {
        reduced.push_back(symbol);
      }
    }
    const size_t first = spec.iterationSpace.size() - std::min(reduced.size(), //
                                                               spec.iterationSpace.size());
    for (size_t i = 0; i < reduced.size(); ++i) {
      if (positionOf(reduced[i]) != first + i || holds(spec.args.back(), reduced[i])) {
        return fault("{} must not be in the output and end the iteration space, in this order",
                     fmt::join(reduced, ", "));
      }
    }
    for (size_t i = 0; i < first; ++i) {
      const std::string &symbol = spec.iterationSpace[i].symbol;
      if (symbol == found.pixel[0] || symbol == found.pixel[1] || symbol == found.channels) {
        continue;
      }
      if (!found.batch.empty()) {
        return fault("{} and {} are neither pixel nor channels; there is one batch symbol, merge "
                     "them",
                     found.batch, symbol);
      }
      found.batch = symbol;
    }
    return Status::success();
  }

  Status checkWeights() const {
    const TensorArg &weights = spec.args[1];
    if (weights.deviceCoordinates.back().symbol != found.channels ||
        (!found.inChannels.empty() && !holds(weights, found.inChannels))) {
      return fault("the weights have their stick along {}{}", found.channels,
                   found.inChannels.empty() ? "" : " and a row per " + found.inChannels);
    }
    for (const std::string &symbol : {found.pixel[0], found.pixel[1], found.batch}) {
      if (holds(weights, symbol)) {
        return fault("the weights have a coordinate with {}, but all pixels share them", symbol);
      }
    }
    return Status::success();
  }

  const OpSpec &spec;
  WindowSymbols found;
};

} // namespace

Expected<WindowSymbols> findWindowSymbols(const OpSpec &spec) { return Finder(spec).run(); }

int64_t windowReach(const WindowStep &step, int64_t pixels, int64_t elements) {
  int64_t moved = 0, spread = 0, reach = 0;
  if (pixels < 1 || elements < 1 || __builtin_mul_overflow(pixels - 1, step.stride, &moved) ||
      __builtin_mul_overflow(elements - 1, step.dilation, &spread) ||
      __builtin_add_overflow(moved, spread, &reach) || reach == INT64_MAX) {
    return -1;
  }
  return reach + 1;
}

static Expected<int64_t> readStep(const SuperDsc &dsc, const char *name) {
  for (const DscConstant &constant : dsc.constants) {
    if (constant.name != name) {
      continue;
    }
    const float value = constant.format == numerics::DataFormat::IeeeFp32
                            ? std::bit_cast<float>(constant.bits)
                            : numerics::dl16ToFloat(uint16_t(constant.bits));
    if (!(value >= 1 && value <= float(kMaxWindowStep)) || value != std::floor(value)) {
      return error<5003>("{}_{}: constant '{}' is {}; it is a whole number in 1..{}", dsc.index,
                         dsc.op, name, value, kMaxWindowStep);
    }
    return int64_t(value);
  }
  return int64_t(1);
}

Expected<WindowSteps> windowSteps(const SuperDsc &dsc) {
  WindowSteps steps;
  if (!isWindowOp(dsc.op)) {
    return steps;
  }
  for (size_t i = 0; i < steps.size(); ++i) {
    SPYRE_ASSIGN_OR_RETURN(steps[i].stride, readStep(dsc, kWindowNames[i].stride));
    SPYRE_ASSIGN_OR_RETURN(steps[i].dilation, readStep(dsc, kWindowNames[i].dilation));
  }
  return steps;
}

int64_t windowPerCore(const SuperDsc &dsc, const WindowSteps &steps, const std::string &dim) {
  for (size_t i = 0; i < steps.size() && isWindowOp(dsc.op); ++i) {
    const int64_t *pixels = findDim(dsc.perCoreSize, kWindowNames[i].pixel);
    const int64_t *elements = findDim(dsc.perCoreSize, kWindowNames[i].window);
    if (dim == kWindowNames[i].input && pixels && elements) {
      return windowReach(steps[i], *pixels, *elements);
    }
  }
  const int64_t *size = findDim(dsc.perCoreSize, dim);
  return size ? *size : 1;
}

} // namespace spyre::spec
