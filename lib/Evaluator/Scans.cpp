//===- Scans.cpp - running sums -------------------------------------------------------------===//
//
// x_cumsum: y[0] = 0 + x[0], y[s] = y[s - 1] + x[s] along the last symbol of the iteration space,
// in fp32 or in int32, which wraps (docs/adr/0022).
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Numerics/Functions.h"

#include "TensorView.h"

#include <cstring>

namespace spyre::evaluator {

using numerics::DataFormat;

bool isScanRule(const std::string &op) { return op == "x_cumsum"; }

Status checkScan(const spec::OpSpec &spec) {
  const DataFormat format = spec.args.front().deviceDtype;
  if (spec.args.back().deviceDtype != format ||
      (format != DataFormat::IeeeFp32 && format != DataFormat::IeeeInt32)) {
    return error<1401>("op '{}' on {} has no rule; it adds IEEE_FP32 or IEEE_INT32", spec.op,
                       numerics::formatName(format));
  }
  return Status::success();
}

static float add(float a, float b) { return numerics::addF32(a, b); }
static uint32_t add(uint32_t a, uint32_t b) { return a + b; }

template <typename T>
static void scan(const Operation &operation) {
  const TensorView &in = operation.views[0], &out = operation.output();
  const size_t scanned = operation.ranges.size() - 1;
  std::vector<size_t> others = outputSymbols(operation);
  std::erase(others, scanned);
  Point point(operation.ranges.size(), 0);
  forEachPoint(point, others, operation.extents, [&] {
    T sum = 0;
    for (int64_t at = 0; at < operation.ranges[scanned]; ++at) {
      point[scanned] = at;
      T element = 0;
      std::memcpy(&element, in.bits(in.offset(point)), sizeof(element));
      sum = add(sum, element);
      uint8_t bits[sizeof(sum)];
      std::memcpy(bits, &sum, sizeof(sum));
      out.storeBits(out.offset(point), bits);
    }
    point[scanned] = 0;
  });
}

void evaluateScan(const Operation &operation) {
  if (operation.views.front().format == DataFormat::IeeeInt32) {
    scan<uint32_t>(operation);
  } else {
    scan<float>(operation);
  }
}

} // namespace spyre::evaluator
