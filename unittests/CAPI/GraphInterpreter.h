//===- GraphInterpreter.h - graphs on the host, straight from their definition --------------===//
//
// An oracle for the whole compiler: logical tensors in double precision, no layouts, sticks, tiles
// or cores. Each element is an interval (Interval.h): a point where the device's arithmetic is
// exact or documented to the bit, so that most graphs must match without any tolerance.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/CAPI/Compiler.h"

#include "Interval.h"

#include <string>
#include <vector>

namespace spyre::testing {

struct HostTensor {
  std::vector<int64_t> shape;
  std::vector<float> values; ///< row-major; inputs hold numbers every format has
  numerics::HostType dtype = numerics::HostType::Float16;
};

/// One call of a random graph.
struct Call {
  std::string target;
  std::vector<int64_t> operands; ///< value ids
  std::vector<std::pair<std::string, capi::Attribute>> attributes;
  std::vector<int64_t> shape;
  numerics::HostType dtype = numerics::HostType::Float16;
};

struct Graph {
  std::vector<HostTensor> inputs;
  std::vector<Call> calls; ///< call i defines value inputs.size() + i
  std::vector<int64_t> outputs;
  /// Inputs that get the contents of another value.
  std::vector<std::pair<int64_t, int64_t>> mutations = {};
};

/// A value of a graph: where each of its elements can be.
struct Bounds {
  std::vector<int64_t> shape;
  numerics::HostType dtype = numerics::HostType::Float16;
  std::vector<Interval> elements; ///< row-major
};

int64_t elementCount(const std::vector<int64_t> &shape);
/// "aten.add.Tensor" -> "add"
std::string stemOf(const std::string &target);

/// Attributes by name, or what is given for an absent one.
double numberOf(const Call &call, const char *name, double otherwise);
bool hasAttribute(const Call &call, const char *name);
int64_t integerOf(const Call &call, const char *name, int64_t otherwise);
std::vector<int64_t> listOf(const Call &call, const char *name);

/// Of all inputs and calls.
std::vector<Bounds> interpret(const Graph &graph);

/// Row-major positions and indices.
std::vector<int64_t> unflatten(int64_t flat, const std::vector<int64_t> &shape);
int64_t flatten(const std::vector<int64_t> &index, const std::vector<int64_t> &shape);

/// Operations on tensors, for GraphInterpreter.cpp and Composites.cpp.
Bounds applyPointwise(const std::string &name, const std::vector<Bounds> &operands,
                      const Parameters &parameters, const std::vector<int64_t> &shape,
                      numerics::HostType dtype);
/// The same on shapes that broadcast.
Bounds combine(const std::string &name, const Bounds &a, const Bounds &b);
Bounds constant(double value, numerics::HostType dtype);
/// \p name is "sum", "mean", "amax" or "amin". The dimension is kept with size 1.
Bounds reduceDim(const std::string &name, const Bounds &x, int64_t dim);
/// [.., m, k] x [.., k, n] with NumPy's rules for batches and vectors.
Bounds matmulOf(Bounds a, Bounds b);
Bounds withShape(Bounds x, const std::vector<int64_t> &shape);
Bounds permuted(const Bounds &x, const std::vector<int64_t> &order);
Bounds broadcast(const Bounds &x, const std::vector<int64_t> &shape);
Bounds concatenated(const std::vector<Bounds> &pieces, int64_t dim);

/// The rows of the table that the compiler rewrites. Throws std::runtime_error for another name.
bool isComposite(const std::string &target);
/// Calls whose operands are numbers of rows.
bool isGatherCall(const std::string &target);
Bounds interpretGather(const Call &call, const std::vector<Bounds> &operands);
/// Arithmetic of integers.
bool isIntegerCall(const Call &call, const std::vector<Bounds> &operands);
Bounds interpretInteger(const Call &call, const std::vector<Bounds> &operands);
/// Calls that look for the largest or smallest elements.
bool isSelectionCall(const std::string &target);
Bounds interpretSelection(const Call &call, const std::vector<Bounds> &operands);
Bounds interpretComposite(const Call &call, const std::vector<Bounds> &operands);

} // namespace spyre::testing
