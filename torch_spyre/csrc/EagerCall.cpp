//===- EagerCall.cpp - arguments become words -----------------------------------------------===//
#include "EagerCall.h"

#include "Copy.h"
#include "Memory.h"
#include "Types.h"

#include <bit>

namespace spyre::plugin {

namespace {

enum class Tag : uint64_t { Repeated, Whole, View, Absent, Number, Integers, Text, Tensors, Moved };

uint64_t word(Tag tag, uint64_t detail = 0) { return uint64_t(tag) | (detail << 8); }

/// Kinds of numbers, so that 1, 1.0 and True differ.
enum class NumberKind : uint64_t { Bool, Integer, Double };

void addText(KeyWords &key, const std::string &text) {
  key.push_back(word(Tag::Text, text.size()));
  for (char c : text) {
    key.push_back(uint64_t(c));
  }
}

void addIntegers(KeyWords &key, c10::IntArrayRef values) {
  for (int64_t value : values) {
    key.push_back(uint64_t(value));
  }
}

} // namespace

void addTensorToKey(KeyWords &key, const at::Tensor &tensor) {
  const StorageGeometry &geometry = geometryOf(tensor);
  const bool isWhole = isWholeStorage(tensor);
  const uint64_t detail = (uint64_t(uint8_t(tensor.device().index())) << 16) |
                          (uint64_t(tensor.dim()) << 8) | uint64_t(tensor.scalar_type());
  key.push_back(word(isWhole ? Tag::Whole : Tag::View, detail));
  key.push_back(reinterpret_cast<uint64_t>(&geometry));
  if (!isWhole) {
    key.push_back(uint64_t(tensor.storage_offset()));
    addIntegers(key, tensor.sizes());
    addIntegers(key, tensor.strides());
  }
}

int64_t EagerCall::inputOf(const at::Tensor &tensor) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_same(tensor)) {
      return int64_t(i);
    }
  }
  return -1;
}

void EagerCall::addNumber(uint64_t bits) {
  numbers.push_back(uint32_t(key.size()));
  key.push_back(bits);
}

bool EagerCall::readScalarTensor(const at::Tensor &tensor) {
  const uint64_t detail = (uint64_t(tensor.scalar_type()) << 8) |
                          uint64_t(tensor.unsafeGetTensorImpl()->is_wrapped_number());
  key.push_back(word(Tag::Moved, detail));
  switch (tensor.scalar_type()) {
  case c10::ScalarType::Double:
    addNumber(std::bit_cast<uint64_t>(*tensor.const_data_ptr<double>()));
    return true;
  case c10::ScalarType::Long:
    addNumber(uint64_t(*tensor.const_data_ptr<int64_t>()));
    return true;
  case c10::ScalarType::Bool:
    key.push_back(uint64_t(*tensor.const_data_ptr<bool>()));
    return true;
  default:
    break;
  }
  if (c10::isComplexType(tensor.scalar_type())) {
    return false;
  }
  addNumber(std::bit_cast<uint64_t>(tensor.item().toDouble()));
  return true;
}

bool EagerCall::readTensor(const at::Tensor &tensor) {
  if (!tensor.defined()) {
    key.push_back(word(Tag::Absent));
    return true;
  }
  if (!isSpyre(tensor)) {
    return isHostScalar(tensor) && readScalarTensor(tensor);
  }
  if (tensor.numel() == 0) {
    hasEmpty = true;
    return true;
  }
  if (const int64_t known = inputOf(tensor); known >= 0) {
    key.push_back(word(Tag::Repeated, uint64_t(known)));
    return true;
  }
  if (!inputs.empty() && inputs[0].device() != tensor.device()) {
    return false;
  }
  inputs.push_back(tensor);
  addTensorToKey(key, tensor);
  return true;
}

bool EagerCall::readValue(const c10::IValue &value) {
  if (value.isTensor()) {
    return readTensor(value.toTensor());
  }
  if (value.isNone()) {
    key.push_back(word(Tag::Absent));
  } else if (value.isBool()) {
    key.push_back(word(Tag::Number, uint64_t(NumberKind::Bool)));
    key.push_back(uint64_t(value.toBool()));
  } else if (value.isInt()) {
    key.push_back(word(Tag::Number, uint64_t(NumberKind::Integer)));
    addNumber(uint64_t(value.toInt()));
  } else if (value.isDouble()) {
    key.push_back(word(Tag::Number, uint64_t(NumberKind::Double)));
    addNumber(std::bit_cast<uint64_t>(value.toDouble()));
  } else if (value.isString()) {
    addText(key, value.toStringRef());
  } else if (value.isIntList()) {
    c10::List<int64_t> list = value.toIntList();
    key.push_back(word(Tag::Integers, list.size()));
    for (size_t i = 0; i < list.size(); ++i) {
      key.push_back(uint64_t(list.get(i)));
    }
  } else if (value.isTensorList()) {
    c10::List<at::Tensor> list = value.toTensorList();
    key.push_back(word(Tag::Tensors, list.size()));
    for (size_t i = 0; i < list.size(); ++i) {
      if (!readTensor(list.get(i))) {
        return false;
      }
    }
  } else if (value.isList()) { // optional tensors, booleans, numbers
    c10::ArrayRef<c10::IValue> list = value.toListRef();
    key.push_back(word(Tag::Tensors, list.size()));
    for (const c10::IValue &item : list) {
      if (!readValue(item)) {
        return false;
      }
    }
  } else {
    return false;
  }
  return true;
}

bool EagerCall::read(const EagerPlan &plan, c10::ArrayRef<c10::IValue> arguments) {
  // add, add_ and add.out share their programs; those of an updating operation store results.
  const c10::OperatorHandle &op = plan.updated.empty() ? plan.form->op : plan.op;
  key.push_back(reinterpret_cast<uint64_t>(&op.schema()));
  key.push_back(uint64_t(c10::get_default_dtype_as_scalartype()));
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!plan.isPlacement[i] && !readValue(arguments[i])) {
      return false;
    }
  }
  return !inputs.empty() || hasEmpty;
}

} // namespace spyre::plugin
