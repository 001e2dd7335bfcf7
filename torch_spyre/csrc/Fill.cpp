//===- Fill.cpp - one value for all elements of a tensor ------------------------------------===//
//
// A tensor that is all of its storage is one run of equal sticks. A small view is the lanes of its
// elements, which the card writes without touching their neighbours. A large view is a program that
// reads one element again and again.
//===--------------------------------------------------------------------------------------------===//
#include "Fill.h"

#include "spyre/Base/Log.h"
#include "spyre/Layout/Coordinates.h"
#include "spyre/Runtime/TensorTransfer.h"

#include "ATen/ops/scalar_tensor.h"
#include "ATen/record_function.h"
#include "Copy.h"
#include "DeviceCopy.h"
#include "Errors.h"
#include "Guard.h"
#include "Memory.h"
#include "RuntimeState.h"
#include "Types.h"

#include <cstring>
#include <map>
#include <numeric>

namespace spyre::plugin {

namespace {

/// Views of more elements are worth a program.
constexpr int64_t kMostLanes = 1 << 14;

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

/// Host indices of a storage, from offsets in host elements.
class IndexOf {
public:
  explicit IndexOf(const StorageGeometry &geometry)
      : geometry(geometry), order(geometry.size.size()) {
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return geometry.stride[a] > geometry.stride[b]; });
  }
  std::vector<int64_t> operator()(int64_t offset) const {
    std::vector<int64_t> index(order.size());
    for (size_t dim : order) {
      if (geometry.size[dim] > 1) {
        index[dim] = offset / geometry.stride[dim];
        offset %= geometry.stride[dim];
      }
    }
    return index;
  }

private:
  const StorageGeometry &geometry;
  std::vector<size_t> order;
};

template <typename Visit>
void forEachOffset(const at::Tensor &tensor, int64_t dim, int64_t offset, const Visit &visit) {
  if (dim == tensor.dim()) {
    visit(offset);
    return;
  }
  for (int64_t i = 0; i < tensor.size(dim); ++i) {
    forEachOffset(tensor, dim + 1, offset + i * tensor.stride(dim), visit);
  }
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

/// False when the layout is not one in which every element has one place of whole bytes.
bool fillLanes(const at::Tensor &tensor, const at::Tensor &element) {
  const StorageGeometry &geometry = geometryOf(tensor);
  if (tensor.numel() > kMostLanes ||
      geometry != makeGeometry(geometry.size, geometry.stride, tensor.scalar_type())) {
    return false;
  }
  const auto map =
      check(layout::CoordinateMap::make(geometry.layout, geometry.size, geometry.stride));
  const IndexOf indexOf(geometry);
  const auto width = element.element_size();
  std::map<int64_t, Stick> masks;
  forEachOffset(tensor, 0, tensor.storage_offset(), [&](int64_t offset) {
    const std::vector<int64_t> place = check(map.deviceCoordinatesOf(indexOf(offset)));
    const int64_t byte = check(layout::deviceByteOffsetOf(geometry.layout, place));
    Stick &mask = masks.try_emplace(byte / int64_t(sizeof(Stick)), Stick{}).first->second;
    std::memset(mask.data() + byte % int64_t(sizeof(Stick)), 0xFF, size_t(width));
  });
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
  TORCH_CHECK_TYPE(!value.isComplex(), "a tensor on spyre cannot be filled with a complex number; "
                                       "fill it with the real part");
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
