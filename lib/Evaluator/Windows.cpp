//===- Windows.cpp - convolutions and pooling, one pixel at a time --------------------------===//
//
// At each output pixel the window elements are taken in the order ki, kj, the last one fastest, and
// in a convolution all input channels of an element before the next element (docs/adr/0021). One
// fp32 accumulator per output, one rounding at the end. The input is padded already.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Numerics/Functions.h"

#include "TensorView.h"

#include <bit>
#include <limits>

namespace spyre::evaluator {

static bool hasWeights(const std::string &op) {
  return op == "conv2d" || op == "depthwiseconv2dnative";
}

bool isWindowRule(const std::string &op) {
  return hasWeights(op) || op == "maxpoolfwd" || op == "avgpoolfwd";
}

Status checkWindow(const spec::OpSpec &spec) {
  const size_t inputs = hasWeights(spec.op) ? 2 : 1;
  if (spec.args.size() != inputs + 1) {
    return error<1401>("op '{}' with {} inputs has no rule; it takes {}", spec.op,
                       spec.args.size() - 1, inputs);
  }
  for (const spec::TensorArg &arg : spec.args) {
    if (arg.deviceDtype != numerics::DataFormat::Sen169Fp16 &&
        (arg.deviceDtype != numerics::DataFormat::IeeeFp32 || spec.op == "conv2d")) {
      return error<1401>("op '{}' on {} has no rule; convert first", spec.op,
                         numerics::formatName(arg.deviceDtype));
    }
  }
  return Status::success();
}

/// 1 / (window size), in the format of the input as all constants are.
static Expected<float> meanFactor(const Operation &operation) {
  const numerics::DataFormat format = operation.views.front().format;
  for (const auto &[name, value] : operation.spec->constants) {
    if (name == "nmap") {
      const uint32_t bits = numerics::encodeConstant(value, format);
      return format == numerics::DataFormat::IeeeFp32 ? std::bit_cast<float>(bits)
                                                      : numerics::dl16ToFloat(uint16_t(bits));
    }
  }
  return error<1401>("op '{}' has no constant 'nmap'; give it 1 / (window size)",
                     operation.spec->op);
}

Status evaluateWindow(const Operation &operation) {
  const std::string &op = operation.spec->op;
  if (op == "conv2d") {
    return evaluateMatmul(operation); // More reduced symbols; the order is that of the space.
  }
  float factor = 1;
  if (op == "avgpoolfwd") {
    SPYRE_ASSIGN_OR_RETURN(factor, meanFactor(operation));
  }
  const TensorView &in = operation.views[0], &out = operation.output();
  const std::vector<size_t> window = reducedSymbols(operation);
  Point point(operation.ranges.size(), 0);
  forEachPoint(point, outputSymbols(operation), operation.extents, [&] {
    float value = op == "maxpoolfwd" ? -std::numeric_limits<float>::infinity() : 0.0f;
    forEachPoint(point, window, operation.ranges, [&] {
      const float element = in.load(in.offset(point));
      if (op == "maxpoolfwd") {
        value = numerics::maxF32(value, element);
      } else if (op == "avgpoolfwd") {
        value = numerics::addF32(value, element);
      } else {
        const TensorView &weights = operation.views[1];
        value = numerics::fmaF32(element, weights.load(weights.offset(point)), value);
      }
    });
    out.store(out.offset(point), op == "avgpoolfwd" ? numerics::mulF32(value, factor) : value);
  });
  return Status::success();
}

} // namespace spyre::evaluator
