//===- Machine.h - one operation with its memory, for tests of the evaluator ----------------===//
//
// Argument i of the operation lies in buffer i. Elements are set and read by their place in the
// buffer, so that a test sees padding lanes too.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Evaluator/Evaluator.h"
#include "spyre/Numerics/Formats.h"

#include "gtest/gtest.h"

#include <cstring>
#include <string>
#include <vector>

namespace spyre::evaluator::test {

using numerics::DataFormat;
using spec::Coordinate;
using spec::IterationDim;
using spec::OpSpec;
using spec::Residency;
using spec::TensorArg;

inline Coordinate sym(const char *name, int64_t offset = 0) {
  return Coordinate::var(name, offset);
}
inline Coordinate tile(const char *name, int64_t offset = 0) {
  return Coordinate::floorDiv(name, 64, offset);
}
inline Coordinate lane(const char *name) { return Coordinate::mod(name, 64); }
inline Coordinate fixed(int64_t value = 0) { return Coordinate::constant(value); }

inline TensorArg tensor(std::vector<int64_t> size, std::vector<Coordinate> coordinates,
                        DataFormat format = DataFormat::Sen169Fp16) {
  TensorArg arg;
  arg.deviceSize = std::move(size);
  arg.deviceCoordinates = std::move(coordinates);
  arg.deviceDtype = format;
  return arg;
}

/// One op and its memory: argument i in buffer i, all elements 0 at first.
class Machine {
public:
  Machine(std::string op, std::vector<IterationDim> space, std::vector<TensorArg> args,
          bool isReduction = false) {
    spec.op = std::move(op);
    spec.isReduction = isReduction;
    spec.iterationSpace = std::move(space);
    for (size_t i = 0; i < args.size(); ++i) {
      args[i].isInput = i + 1 < args.size();
      args[i].argIndex = int64_t(i);
      args[i].address = int64_t(i) << 34;
      int64_t elements = 1;
      for (int64_t size : args[i].deviceSize) {
        elements *= size;
      }
      const int64_t sticks = elements / numerics::elemsPerStick(args[i].deviceDtype);
      memory.arguments.emplace_back(size_t(sticks * 128), 0);
    }
    spec.args = std::move(args);
  }

  void set(size_t argument, int64_t element, float value) {
    const DataFormat format = spec.args[argument].deviceDtype;
    numerics::floatToDevice(format, &value, at(argument, element), 1);
  }
  float get(size_t argument, int64_t element) {
    float value = 0;
    numerics::deviceToFloat(spec.args[argument].deviceDtype, at(argument, element), &value, 1);
    return value;
  }
  uint16_t bits(size_t argument, int64_t element) {
    uint16_t value = 0;
    std::memcpy(&value, at(argument, element), sizeof(value));
    return value;
  }
  void setBits(size_t argument, int64_t element, uint16_t value) {
    std::memcpy(at(argument, element), &value, sizeof(value));
  }
  float result(int64_t element) { return get(spec.args.size() - 1, element); }

  void run() {
    const Status status = evaluate({spec}, memory);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  OpSpec spec;
  Memory memory;

private:
  uint8_t *at(size_t argument, int64_t element) {
    return memory.arguments[argument].data() +
           element * numerics::elementBytes(spec.args[argument].deviceDtype);
  }
};

inline TensorArg matrix(int64_t rows, int64_t cols) {
  return tensor({(cols + 63) / 64, rows, 64}, {tile("c1"), sym("c0"), lane("c1")});
}

/// Element (row, col) of a matrix() in memory.
inline int64_t at(int64_t rows, int64_t row, int64_t col) {
  return (col / 64 * rows + row) * 64 + col % 64;
}

} // namespace spyre::evaluator::test
