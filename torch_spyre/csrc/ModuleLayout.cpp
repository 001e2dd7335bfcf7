//===- ModuleLayout.cpp - SpyreTensorLayout and the format enumerations in Python -----------===//
#include "spyre/Base/Math.h"
#include "spyre/Layout/Coordinates.h"

#include "ATen/core/LegacyTypeDispatch.h"
#include "Copy.h"
#include "Errors.h"
#include "Guard.h"
#include "Memory.h"
#include "Module.h"
#include "Serialization.h"
#include "Types.h"
#include "torch/csrc/utils/pybind.h"

namespace spyre::plugin {

namespace {

using layout::DeviceLayout;
using layout::ElementArrangement;
using numerics::DataFormat;
using Sizes = std::vector<int64_t>;

constexpr int kPickleVersion = 3;

DeviceLayout defaultLayout(const Sizes &hostSize, c10::ScalarType dtype) {
  return check(DeviceLayout::makeDefault(hostSize, requireHostType(dtype)));
}

DeviceLayout orderedLayout(const Sizes &hostSize, const Sizes &hostStride, c10::ScalarType dtype,
                           const Sizes &dimOrder, ElementArrangement arrangement) {
  DeviceLayout result =
      check(DeviceLayout::make(hostSize, hostStride, requireHostType(dtype), dimOrder));
  result.arrangement = arrangement;
  return result;
}

DeviceLayout expertLayout(Sizes deviceSize, Sizes strideMap, DataFormat format,
                          ElementArrangement arrangement) {
  return {std::move(deviceSize), std::move(strideMap), format, arrangement};
}

DeviceLayout unpickle(const py::tuple &state) {
  int version = state.empty() ? 0 : state[0].cast<int>();
  auto expect = [&](size_t length) {
    if (state.size() != length) {
      throw py::value_error(fmt::format("SpyreTensorLayout pickle version {} has {} fields, got {}",
                                        version, length, state.size()));
    }
  };
  switch (version) {
  case 1:
    expect(5);
    return expertLayout(state[1].cast<Sizes>(), state[3].cast<Sizes>(), state[4].cast<DataFormat>(),
                        ElementArrangement::Standard);
  case 2:
    expect(4);
    return expertLayout(state[1].cast<Sizes>(), state[2].cast<Sizes>(), state[3].cast<DataFormat>(),
                        ElementArrangement::Standard);
  case kPickleVersion:
    expect(5);
    return expertLayout(state[1].cast<Sizes>(), state[2].cast<Sizes>(), state[3].cast<DataFormat>(),
                        state[4].cast<ElementArrangement>());
  default:
    throw py::value_error(fmt::format("Unsupported SpyreTensorLayout pickle version {}", version));
  }
}

/// Everything a layout can be wrong in, before any memory is asked for.
void checkLayout(const Sizes &size, const Sizes &stride, c10::ScalarType dtype,
                 const DeviceLayout &layout) {
  check(layout.verify());
  if (layout.format != numerics::deviceFormat(requireHostType(dtype))) {
    raise(error<6513>(
        "a layout of format {} cannot hold {}; build the layout with the tensor's dtype",
        numerics::formatName(layout.format), c10::toString(dtype)));
  }
  for (int64_t extent : size) {
    TORCH_CHECK(extent >= 0, "Trying to create tensor with negative dimension ", extent);
  }
  check(layout::CoordinateMap::make(layout, size, stride).status());
}

at::Tensor emptyWithLayout(const Sizes &size, const Sizes &stride, c10::ScalarType dtype,
                           const DeviceLayout &layout, std::optional<c10::Device> device) {
  checkLayout(size, stride, dtype, layout);
  return makeTensor(size, stride, dtype, withIndex(device), {size, stride, layout});
}

/// As torch's own functions take it: an index, a text, a device or None.
std::optional<c10::Device> deviceOf(const py::object &device) {
  if (device.is_none()) {
    return std::nullopt;
  }
  return py::module_::import("torch").attr("device")(device).cast<c10::Device>();
}

at::Tensor emptyWithLayoutOptions(const Sizes &size, const DeviceLayout &layout,
                                  std::optional<c10::ScalarType> dtype, const py::object &device,
                                  std::optional<bool> pinMemory,
                                  std::optional<c10::MemoryFormat> format) {
  if (pinMemory && *pinMemory) {
    raise(error<6503>("Pin memory can only be on CPU; leave pin_memory out for a Spyre tensor"));
  }
  if (format && *format != c10::MemoryFormat::Contiguous &&
      *format != c10::MemoryFormat::Preserve) {
    raise(error<6503>(
        "Spyre backend only supports contiguous memory format; leave memory_format out"));
  }
  return emptyWithLayout(size, rowMajorStrides(size),
                         dtype.value_or(c10::get_default_dtype_as_scalartype()), layout,
                         deviceOf(device));
}

DeviceLayout layoutOf(const at::Tensor &tensor) {
  TORCH_CHECK(isSpyre(tensor), "get_spyre_tensor_layout: the tensor is on ", tensor.device(),
              ", not on spyre");
  return geometryOf(tensor).layout;
}

/// The tensor keeps its values and lies as \p layout says from now on.
void setLayout(const at::Tensor &tensor, const DeviceLayout &layout) {
  TORCH_CHECK(isSpyre(tensor), "set_spyre_tensor_layout: the tensor is on ", tensor.device(),
              ", not on spyre");
  if (!isWholeStorage(tensor)) {
    raise(error<6513>("set_spyre_tensor_layout: the tensor is a view, and a layout belongs to the "
                      "whole storage; make a copy of it first (tensor.clone())"));
  }
  const Sizes size = toVector(tensor.sizes()), stride = toVector(tensor.strides());
  checkLayout(size, stride, tensor.scalar_type(), layout);
  moveToGeometry(tensor, {size, stride, layout});
}

void bindEnums(py::module_ &module) {
  py::enum_<DataFormat> formats(module, "DataFormats");
  for (int i = 0; i <= int(DataFormat::Sen18fFp24); ++i) {
    formats.value(numerics::formatName(DataFormat(i)), DataFormat(i));
  }
  formats.def("elems_per_stick", [](DataFormat format) {
    int64_t count = numerics::elemsPerStick(format);
    TORCH_CHECK(count > 0, "No device stick geometry for ", numerics::formatName(format));
    return count;
  });
  py::enum_<ElementArrangement>(module, "ElementArrangement")
      .value("STANDARD", ElementArrangement::Standard)
      .value("DL16_TO_FP32", ElementArrangement::Dl16ToFp32)
      .value("QFP8CH", ElementArrangement::Qfp8Ch)
      .value("EXX2", ElementArrangement::Exx2);
}

} // namespace

void bindLayout(py::module_ &module) {
  bindEnums(module);
  const auto standard = ElementArrangement::Standard;
  py::class_<DeviceLayout>(module, "SpyreTensorLayout")
      .def(py::init(&defaultLayout), py::arg("host_size"), py::arg("dtype"))
      .def(py::init(&orderedLayout), py::arg("host_size"), py::arg("host_strides"),
           py::arg("dtype"), py::arg("dim_order"), py::arg("element_arrangement") = standard)
      .def(py::init(&expertLayout), py::arg("device_size"), py::arg("stride_map"),
           py::arg("device_dtype"), py::arg("element_arrangement") = standard)
      .def_readonly("device_size", &DeviceLayout::deviceSize)
      .def_readonly("stride_map", &DeviceLayout::strideMap)
      .def_readonly("device_dtype", &DeviceLayout::format)
      .def_readonly("element_arrangement", &DeviceLayout::arrangement)
      .def("elems_per_stick", &DeviceLayout::elemsPerStick)
      .def("with_element_arrangement",
           [](DeviceLayout self, ElementArrangement arrangement) {
             self.arrangement = arrangement;
             return self;
           })
      .def(
          "__eq__", [](const DeviceLayout &a, const DeviceLayout &b) { return a == b; },
          py::is_operator())
      .def("__hash__", &DeviceLayout::hash)
      .def("__str__", &DeviceLayout::toString)
      .def("__repr__", &DeviceLayout::toString)
      .def(py::pickle(
          [](const DeviceLayout &self) {
            return py::make_tuple(kPickleVersion, self.deviceSize, self.strideMap, self.format,
                                  self.arrangement);
          },
          &unpickle));

  module.def("set_spyre_tensor_layout", &setLayout, py::arg("tensor"), py::arg("layout"));
  module.def("get_spyre_tensor_layout", &layoutOf);
  module.def("spyre_empty_with_layout", &emptyWithLayout, py::arg("size"), py::arg("stride"),
             py::arg("dtype"), py::arg("layout"), py::arg("device") = py::none());
  module.def("empty_with_layout", &emptyWithLayoutOptions, py::arg("size"), py::arg("layout"),
             py::arg("dtype") = py::none(), py::arg("device") = py::none(),
             py::arg("pin_memory") = py::none(), py::arg("memory_format") = py::none());
  module.def("get_device_dtype", [](c10::ScalarType dtype) {
    std::optional<numerics::HostType> type = hostTypeOf(dtype);
    return type ? numerics::deviceFormat(*type) : DataFormat::Invalid;
  });
  module.def("get_elem_in_stick", [](c10::ScalarType dtype) {
    return numerics::elemsPerStick(numerics::deviceFormat(requireHostType(dtype)));
  });
  module.def("encode_constant", [](double value, DataFormat format) {
    return numerics::encodeConstant(value, format);
  });
}

} // namespace spyre::plugin
