//===- Fill.cpp - one value for all elements of a tensor ------------------------------------===//
//
// A tensor that is all of its storage is one run of equal sticks. A small view is the lanes of its
// elements, which the driver changes without touching their neighbours. A large view is a program
// that reads one element again and again.
//===--------------------------------------------------------------------------------------------===//
#include "Fill.h"

#include "spyre/Base/Log.h"
#include "spyre/Runtime/TensorTransfer.h"

#include "ATen/ops/scalar_tensor.h"
#include "ATen/record_function.h"
#include "Copy.h"
#include "DeviceCopy.h"
#include "Elements.h"
#include "Errors.h"
#include "Guard.h"
#include "Memory.h"
#include "RuntimeState.h"
#include "Types.h"

#include <array>
#include <cstring>
#include <map>

namespace spyre::plugin {

namespace {

/// The tensor with one element in the place of repeated ones.
at::Tensor withoutRepeats(const at::Tensor &tensor) {
  std::vector<int64_t> size = toVector(tensor.sizes());
  for (size_t i = 0; i < size.size(); ++i) {
    size[i] = tensor.stride(int64_t(i)) == 0 ? 1 : size[i];
  }
  return tensor.sizes() == c10::IntArrayRef(size)
             ? tensor
             : tensor.as_strided(size, tensor.strides(), tensor.storage_offset());
}

using Stick = std::array<uint8_t, sizeof(runtime::StickFill::value)>;

Stick repeated(const at::Tensor &element) {
  Stick stick{};
  const auto width = size_t(element.element_size());
  for (size_t at = 0; at < stick.size(); at += width) {
    std::memcpy(stick.data() + at, element.const_data_ptr(), width);
  }
  return stick;
}

void submitFill(const at::Tensor &tensor, std::vector<runtime::FillRun> runs) {
  RECORD_FUNCTION("launch::Memset", c10::ArrayRef<const c10::IValue>{});
  const StorageGeometry &geometry = geometryOf(tensor);
  if (logLevel() >= LogLevel::Debug) {
    log(LogLevel::Debug, "execution", "fill runs={} size=[{}] layout={}", runs.size(),
        fmt::join(geometry.size, ","), geometry.layout.toTuple());
  }
  runtime::Operation operation;
  operation.name = "launch::Memset";
  operation.engine = runtime::Engine::OnDevice;
  operation.target = bufferOf(tensor);
  operation.body = [buffer = bufferOf(tensor), layout = geometry.layout, size = geometry.size,
                    stride = geometry.stride, runs = std::move(runs)](runtime::OperationContext &) {
    return runtime::fillTensor(buffer, layout, size, stride, runs);
  };
  const c10::DeviceIndex index = tensor.device().index();
  check(device(index)->streams().submit(currentStream(index), std::move(operation)));
}

void fillStorage(const at::Tensor &tensor, const at::Tensor &element) {
  runtime::FillRun run;
  run.sticks = geometryOf(tensor).layout.bytes() / int64_t(sizeof(Stick));
  run.fill.value = repeated(element);
  run.fill.mask.fill(0xFF);
  submitFill(tensor, {run});
}

std::vector<runtime::FillRun> joined(const std::map<int64_t, Stick> &masks, const Stick &value) {
  std::vector<runtime::FillRun> runs;
  for (const auto &[stick, mask] : masks) {
    if (!runs.empty() && runs.back().firstStick + runs.back().sticks == stick &&
        runs.back().fill.mask == mask) {
      ++runs.back().sticks;
      continue;
    }
    runs.push_back({stick, 1, {value, mask}});
  }
  return runs;
}

/// False when there is no list of places.
bool fillLanes(const at::Tensor &tensor, const at::Tensor &element) {
  const std::optional<ElementPlaces> places = placesOf(tensor);
  if (!places) {
    return false;
  }
  std::map<int64_t, Stick> masks;
  for (size_t byte : places->bytes) {
    Stick &mask = masks[places->sticks[byte / sizeof(Stick)]];
    std::memset(mask.data() + byte % sizeof(Stick), 0xFF, size_t(element.element_size()));
  }
  submitFill(tensor, joined(masks, repeated(element)));
  return true;
}

bool fillByProgram(const at::Tensor &tensor, const at::Tensor &element) {
  const at::Tensor one = makeDefaultTensor({}, tensor.scalar_type(), tensor.device());
  if (geometryOf(one).layout.format != geometryOf(tensor).layout.format) {
    return false;
  }
  fillStorage(one, element);
  return copyByProgram(one.expand(tensor.sizes()), tensor);
}

} // namespace

void fillWithScalar(const at::Tensor &given, const at::Scalar &value) {
  if (!isSpyre(given)) {
    raise(error<6505>("fill_tensor wants a tensor on spyre, got one on {}; move it with "
                      ".to(\"spyre\")",
                      given.device().str()));
  }
  TORCH_CHECK_TYPE(!value.isComplex(), "SPYRE-E6502: a tensor on spyre cannot be filled with a "
                                       "complex number; fill it with the real part");
  const at::Tensor one =
      at::scalar_tensor(value, given.options().device(c10::DeviceType::CPU).requires_grad(false));
  if (given.numel() == 0) {
    return;
  }
  const at::Tensor tensor = withoutRepeats(given);
  const at::Tensor element = deviceBits(one, tensor);
  const bool isPlain =
      geometryOf(tensor).layout.arrangement == layout::ElementArrangement::Standard;
  if (isPlain && coversStorage(tensor)) {
    fillStorage(tensor, element);
  } else if (!isPlain || (!fillLanes(tensor, element) && !fillByProgram(tensor, element))) {
    storeBits(tensor, element.expand(tensor.sizes()));
  }
}

} // namespace spyre::plugin
