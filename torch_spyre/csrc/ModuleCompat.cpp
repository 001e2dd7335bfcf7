//===- ModuleCompat.cpp - answers for modules that existing code imports --------------------===//
//
// Thin: sympy and torch types are taken apart in Python, the algorithms are those of the libraries.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Layout/AlignTensors.h"
#include "spyre/Layout/IndexCoordinates.h"

#include "Errors.h"
#include "Module.h"
#include "torch/csrc/utils/pybind.h"

namespace spyre::plugin {

namespace {

using Integers = std::vector<int64_t>;

/// Per dimension: constant and terms (variable, its modulus, scale, moduli, divisor).
py::list computeCoordinates(const Integers &size, const Integers &stride,
                            const std::vector<std::pair<std::string, int64_t>> &variables,
                            const std::vector<std::tuple<size_t, int64_t, int64_t>> &terms,
                            int64_t offset) {
  std::vector<layout::LoopVariable> loops;
  for (const auto &[name, range] : variables) {
    loops.push_back({name, range});
  }
  layout::LinearIndex index;
  index.offset = offset;
  for (const auto &[variable, coefficient, modulus] : terms) {
    index.terms.push_back({variable, coefficient, modulus});
  }
  py::list result;
  for (const layout::CoordinateExpr &expression :
       check(layout::computeCoordinates(size, stride, index, loops))) {
    py::list parts;
    for (const layout::CoordinateTerm &term : expression.terms) {
      parts.append(py::make_tuple(term.variable, term.variableModulus, term.scale, term.moduli,
                                  term.divisor));
    }
    result.append(py::make_tuple(expression.constant, parts));
  }
  return result;
}

/// Conversions of the device with the operation that does them, in the documented order.
py::list conversionOperators() {
  using c10::ScalarType;
  constexpr auto kHalf = ScalarType::Half, kBfloat = ScalarType::BFloat16;
  constexpr auto kBool = ScalarType::Bool, kFloat = ScalarType::Float;
  const std::tuple<ScalarType, ScalarType, const char *> rows[] = {
      {kHalf, kBool, "identity"},
      {kBool, kHalf, "identity"},
      {kHalf, kBfloat, "identity"},
      {kBfloat, kHalf, "identity"},
      {kHalf, kFloat, "dl16tofp32"},
      {kBfloat, kFloat, "dl16tofp32"},
      {kFloat, kHalf, "fp32todl16"},
      {kFloat, kBfloat, "fp32todl16"},
      {ScalarType::Float8_e4m3fn, kHalf, "fp8todl16"}};
  py::list result;
  for (const auto &[from, to, name] : rows) {
    result.append(py::make_tuple(from, to, name));
  }
  return result;
}

/// (terms (num, den, variable, mod), offset, opaque or -1)
using PlainCoordinate =
    std::tuple<std::vector<std::tuple<int64_t, int64_t, int64_t, int64_t>>, int64_t, int64_t>;
using PlainTensor = std::pair<Integers, std::vector<PlainCoordinate>>;

layout::AlignTensor alignTensor(const PlainTensor &plain) {
  layout::AlignTensor tensor;
  tensor.deviceSize = plain.first;
  for (const auto &[terms, offset, opaque] : plain.second) {
    layout::AlignCoordinate coordinate{{}, offset, opaque};
    for (const auto &[num, den, variable, mod] : terms) {
      coordinate.terms.push_back({num, den, variable, mod, 1, 0, -1});
    }
    tensor.coordinates.push_back(std::move(coordinate));
  }
  return tensor;
}

/// Terms (num, den, variable, mod, dim_size, offset, opaque).
py::list normalizeCoordinates(const PlainTensor &tensor, int64_t firstNew) {
  py::list result;
  for (const layout::AlignTerm &term :
       check(layout::normalizeCoordinates(alignTensor(tensor), firstNew))) {
    result.append(py::make_tuple(term.num, term.den, term.variable, term.mod, term.dimSize,
                                 term.offset, term.opaque));
  }
  return result;
}

/// Variables (range, split) and per tensor the dimensions (size, variable, divisor, modulus,
/// offset, opaque).
py::tuple alignTensors(const std::vector<std::pair<int64_t, int64_t>> &variables,
                       const std::vector<PlainTensor> &tensors) {
  std::vector<layout::AlignVariable> space;
  for (const auto &[range, split] : variables) {
    space.push_back({range, split});
  }
  std::vector<layout::AlignTensor> inputs;
  for (const PlainTensor &tensor : tensors) {
    inputs.push_back(alignTensor(tensor));
  }
  const layout::Alignment alignment = check(layout::alignTensors(space, inputs));
  py::list newSpace, newTensors;
  for (const layout::AlignVariable &variable : alignment.variables) {
    newSpace.append(py::make_tuple(variable.range, variable.split));
  }
  for (const std::vector<layout::AlignedDim> &dims : alignment.tensors) {
    py::list rows;
    for (const layout::AlignedDim &dim : dims) {
      rows.append(
          py::make_tuple(dim.size, dim.variable, dim.divisor, dim.modulus, dim.offset, dim.opaque));
    }
    newTensors.append(rows);
  }
  return py::make_tuple(newSpace, newTensors);
}

} // namespace

void bindCompat(py::module_ &module) {
  module.def("compute_coordinates", &computeCoordinates, py::arg("size"), py::arg("stride"),
             py::arg("variables"), py::arg("terms"), py::arg("offset"));
  module.def("normalize_coordinates", &normalizeCoordinates, py::arg("tensor"),
             py::arg("first_new"));
  module.def("align_tensors", &alignTensors, py::arg("variables"), py::arg("tensors"));
  module.def("conversion_operators", &conversionOperators);
}

} // namespace spyre::plugin
