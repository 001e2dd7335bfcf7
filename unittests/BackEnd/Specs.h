//===- Specs.h - OpSpecs made by hand -------------------------------------------------------===//
#pragma once

#include "spyre/Spec/OpSpec.h"

#include <algorithm>
#include <string>
#include <vector>

namespace spyre::backend::test {

using spec::Coordinate;
using spec::OpSpec;
using spec::Residency;
using spec::TensorArg;

/// A tensor over \p symbols (outermost first) with the stick along \p stick.
struct Shape {
  std::vector<std::string> symbols;
  std::string stick;
};

inline TensorArg tensorOf(const OpSpec &spec, const Shape &shape, int64_t argument) {
  TensorArg arg;
  arg.argIndex = argument;
  arg.address = argument << 34;
  for (size_t i = shape.symbols.size(); i < spec.iterationSpace.size(); ++i) {
    arg.deviceSize.push_back(1);
    arg.deviceCoordinates.push_back(Coordinate::constant(0));
  }
  for (const std::string &symbol : shape.symbols) {
    auto dim = std::find_if(spec.iterationSpace.begin(), spec.iterationSpace.end(),
                            [&](const spec::IterationDim &d) { return d.symbol == symbol; });
    bool isStick = symbol == shape.stick;
    arg.deviceSize.push_back(isStick ? (dim->range + 63) / 64 : dim->range);
    arg.deviceCoordinates.push_back(isStick ? Coordinate::floorDiv(symbol, 64)
                                            : Coordinate::var(symbol));
  }
  arg.deviceSize.push_back(64);
  arg.deviceCoordinates.push_back(shape.stick.empty() ? Coordinate::constant(0)
                                                      : Coordinate::mod(shape.stick, 64));
  return arg;
}

inline OpSpec opOf(const std::string &op, std::vector<spec::IterationDim> space,
                   const std::vector<Shape> &shapes) {
  OpSpec spec;
  spec.op = op;
  spec.isReduction = op == "sum" || op == "max" || op == "batchmatmul";
  spec.iterationSpace = std::move(space);
  for (size_t i = 0; i < shapes.size(); ++i) {
    spec.args.push_back(tensorOf(spec, shapes[i], int64_t(i)));
  }
  spec.args.back().isInput = false;
  return spec;
}

/// Keeps \p arg in LX at \p address of each core.
inline void moveToLx(TensorArg &arg, int64_t address) {
  arg.residency = Residency::Lx;
  arg.argIndex = -1;
  arg.address = address;
}

/// Keeps \p arg in the pool, \p offset bytes behind its start.
inline void moveToPool(TensorArg &arg, int64_t offset) {
  arg.residency = Residency::Pool;
  arg.argIndex = -1;
  arg.address = offset;
}

} // namespace spyre::backend::test
