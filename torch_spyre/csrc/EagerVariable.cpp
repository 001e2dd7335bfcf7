//===- EagerVariable.cpp - numbers as tensors -----------------------------------------------===//
#include "EagerVariable.h"

#include "spyre/Numerics/Ranges.h"

#include "ATen/ops/add.h"
#include "ATen/ops/div.h"
#include "ATen/ops/mul.h"
#include "ATen/ops/scalar_tensor.h"
#include "ATen/ops/sub.h"
#include "Copy.h"
#include "Memory.h"
#include "Types.h"

#include <algorithm>
#include <cmath>
#include <mutex>

namespace spyre::plugin {

namespace {

/// Different numbers an operation may come with before they are thought to change always.
constexpr int kMostPrograms = 8;
/// Refusals after which the compiler is not asked again.
constexpr int kMostRefusals = 4;

/// In fp32: rounded to the type of the operation when it is used, as a constant would be.
at::Tensor numberTensor(const at::Scalar &number, c10::Device device) {
  at::Tensor tensor = makeDefaultTensor({}, c10::ScalarType::Float, device);
  copyTensor(at::scalar_tensor(number, at::TensorOptions(c10::ScalarType::Float)), tensor);
  return tensor;
}

/// Argument \p index as a tensor of the device; undefined if it cannot be one.
at::Tensor operand(c10::ArrayRef<c10::IValue> arguments, size_t index, c10::Device device) {
  const c10::IValue &value = arguments[index];
  if (value.isTensor()) {
    const at::Tensor &tensor = value.toTensor();
    if (!tensor.defined() || isSpyre(tensor)) {
      return tensor;
    }
    return isHostScalar(tensor) ? numberTensor(tensor.item(), device) : at::Tensor();
  }
  return value.isScalar() ? numberTensor(value.toScalar(), device) : at::Tensor();
}

bool isOne(const c10::IValue &value) { return value.isScalar() && value.toScalar().equal(1); }

/// a + alpha * b, or minus.
at::Tensor sum(const std::string &base, const at::Tensor &a, const at::Tensor &b,
               c10::ArrayRef<c10::IValue> arguments, c10::Device device) {
  const at::Tensor scaled = isOne(arguments[2]) ? b : at::mul(b, operand(arguments, 2, device));
  return base == "aten::add" ? at::add(a, scaled) : at::sub(a, scaled);
}

struct Histories {
  std::mutex mutex;
  KeyMap<NumberHistory> known;
};

Histories &histories() {
  static auto *instance = new Histories();
  return *instance;
}

std::vector<uint64_t> keyWithoutNumbers(const EagerCall &call) {
  std::vector<uint64_t> key(call.key.begin(), call.key.end());
  for (uint32_t place : call.numbers) {
    key[place] = 0;
  }
  return key;
}

} // namespace

bool NumberHistory::isChanging() const { return calls > kMostPrograms; }

bool NumberHistory::isHopeless() const { return refused >= kMostRefusals && refused == calls - 1; }

NumberHistory noteNewCall(const EagerCall &call) {
  if (call.numbers.empty()) {
    return {};
  }
  std::lock_guard<std::mutex> lock(histories().mutex);
  NumberHistory &history = histories().known[keyWithoutNumbers(call)];
  ++history.calls;
  if (history.isHopeless()) {
    ++history.refused; // nobody will ask the compiler
    NumberHistory hopeless = history;
    --hopeless.refused;
    return hopeless;
  }
  return history;
}

void noteRefusal(const EagerCall &call, const std::string &why) {
  if (!call.numbers.empty()) {
    std::lock_guard<std::mutex> lock(histories().mutex);
    NumberHistory &history = histories().known[keyWithoutNumbers(call)];
    ++history.refused;
    history.refusal = why;
  }
}

void forgetNumbers() {
  std::lock_guard<std::mutex> lock(histories().mutex);
  histories().known.clear();
}

namespace {

/// A tensor of 16 bits takes the number as it would take a constant: beyond the range of its type a
/// constant has rules of its own (docs/adr/0083).
bool isInRange(const c10::IValue &value, c10::ScalarType type) {
  const bool isTensor = value.isTensor() && value.toTensor().defined();
  if (!value.isScalar() && !(isTensor && isHostScalar(value.toTensor()))) {
    return true;
  }
  const at::Scalar number = isTensor ? value.toTensor().item() : value.toScalar();
  return !number.isComplex() &&
         std::abs(number.toDouble()) <= numerics::largestFinite(requireHostType(type));
}

} // namespace

at::Tensor runOnNumberTensors(const EagerPlan &plan, c10::ArrayRef<c10::IValue> arguments) {
  const std::string &base = plan.form->op.operator_name().name;
  if (arguments.empty() || !arguments[0].isTensor() || !isSpyre(arguments[0].toTensor()) ||
      !arguments[0].toTensor().is_floating_point()) {
    return {};
  }
  const at::Tensor &self = arguments[0].toTensor();
  if (!std::all_of(arguments.begin(), arguments.end(),
                   [&](auto &value) { return isInRange(value, self.scalar_type()); })) {
    return {};
  }
  const c10::Device device = self.device();
  const bool isBinary =
      base == "aten::mul" || base == "aten::div" || base == "aten::add" || base == "aten::sub";
  if (isBinary && arguments.size() <= 3) {
    const at::Tensor other = operand(arguments, 1, device);
    const bool isScaled = base == "aten::add" || base == "aten::sub";
    if (!other.defined() || arguments.size() != (isScaled ? 3U : 2U)) {
      return {};
    }
    if (isScaled) {
      return sum(base, self, other, arguments, device);
    }
    return base == "aten::mul" ? at::mul(self, other) : at::div(self, other);
  }
  const bool isThree = base == "aten::addcmul" || base == "aten::addcdiv";
  if (isThree && arguments.size() == 4 && isSpyre(arguments[1].toTensor()) &&
      isSpyre(arguments[2].toTensor())) {
    const at::Tensor &a = arguments[1].toTensor(), &b = arguments[2].toTensor();
    const at::Tensor product = base == "aten::addcmul" ? at::mul(a, b) : at::div(a, b);
    return at::add(self, at::mul(product, operand(arguments, 3, device)));
  }
  if (base == "aten::lerp" && arguments.size() == 3 && isSpyre(arguments[1].toTensor())) {
    return at::add(self,
                   at::mul(at::sub(arguments[1].toTensor(), self), operand(arguments, 2, device)));
  }
  return {};
}

} // namespace spyre::plugin
