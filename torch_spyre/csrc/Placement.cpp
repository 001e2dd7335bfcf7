//===- Placement.cpp - one device for all tensors of a call ---------------------------------===//
#include "Placement.h"

#include "Copy.h"
#include "Errors.h"
#include "Guard.h"

namespace spyre::plugin {

namespace {

class Finder {
public:
  void add(const at::Tensor &tensor) {
    if (!tensor.defined() || !isSpyre(tensor)) {
      return;
    }
    if (!tensors) {
      tensors = tensor.device();
    } else if (*tensors != tensor.device()) {
      raise(error<6523>("Expected all tensors to be on the same device, but found at least two "
                        "devices, {} and {}! Move them with .to()",
                        tensors->str(), tensor.device().str()));
    }
  }
  void add(const c10::IValue &value) {
    if (value.isTensor()) {
      add(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor &tensor : value.toTensorList()) {
        add(tensor);
      }
    } else if (value.isOptionalTensorList()) {
      for (const std::optional<at::Tensor> &tensor : value.toOptionalTensorVector()) {
        add(tensor.value_or(at::Tensor()));
      }
    } else if (value.isDevice() && value.toDevice().type() == c10::DeviceType::PrivateUse1) {
      argument = withIndex(value.toDevice());
    }
  }
  bool any() const { return tensors || argument; }
  c10::Device found() const {
    if (argument) {
      return *argument;
    }
    return tensors ? *tensors : currentSpyre();
  }

private:
  std::optional<c10::Device> tensors, argument;
};

} // namespace

c10::Device placementOf(c10::ArrayRef<c10::IValue> arguments) {
  Finder finder;
  for (const c10::IValue &value : arguments) {
    finder.add(value);
  }
  return finder.found();
}

c10::Device placementOf(const std::vector<at::Tensor> &tensors, c10::Device otherwise) {
  Finder finder;
  for (const at::Tensor &tensor : tensors) {
    finder.add(tensor);
  }
  return finder.any() ? finder.found() : withIndex(otherwise);
}

} // namespace spyre::plugin
