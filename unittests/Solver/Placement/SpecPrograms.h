//===- SpecPrograms.h - small programs of OpSpecs for tests of scratchpad planning ------------===//
#pragma once

#include "spyre/Solver/Placement/SpecList.h"

#include <deque>

namespace spyre::solver::placement {

using spec::Coordinate;
using spec::OpSpec;
using spec::TensorArg;

/// [rows, columns] in fp16, columns in sticks.
inline TensorArg matrix(int64_t rows, int64_t columns, int64_t rowOffset = 0) {
  TensorArg arg;
  arg.deviceSize = {columns / 64, rows + rowOffset, 64};
  arg.deviceCoordinates = {Coordinate::floorDiv("c1", 64), Coordinate::var("c0", rowOffset),
                           Coordinate::mod("c1", 64)};
  return arg;
}

/// One value per column: c0 is gone.
inline TensorArg columnsOf(int64_t columns) {
  TensorArg arg;
  arg.deviceSize = {columns / 64, 1, 64};
  arg.deviceCoordinates = {Coordinate::floorDiv("c1", 64), Coordinate::constant(0),
                           Coordinate::mod("c1", 64)};
  return arg;
}

struct Splits {
  int64_t rows = 1, columns = 1;
};

constexpr int64_t kRows = 64, kColumns = 256, kBytes = kRows * kColumns * 2;

/// A program of operations on [64, 256] matrices.
class ProgramMaker {
public:
  int tensor(const std::string &name, int64_t bytes = kBytes, bool isInput = false,
             bool isOutput = false) {
    program.tensors.push_back({name, bytes, isInput, isOutput, ""});
    return int(program.tensors.size()) - 1;
  }
  void pointwise(const std::string &name, const std::vector<int> &inputs, int output,
                 Splits splits) {
    OpSpec op;
    op.op = name;
    op.iterationSpace = {{"c0", kRows, splits.rows}, {"c1", kColumns, splits.columns}};
    op.args.assign(inputs.size() + 1, matrix(kRows, kColumns));
    add(std::move(op), inputs, output);
  }
  /// Over the rows.
  void sum(int input, int output, Splits splits) {
    OpSpec op;
    op.op = "sum";
    op.isReduction = true;
    op.iterationSpace = {{"c1", kColumns, splits.columns}, {"c0", kRows, splits.rows}};
    op.args = {matrix(kRows, kColumns), columnsOf(kColumns)};
    add(std::move(op), {input}, output);
  }
  void add(OpSpec op, std::vector<int> inputs, int output) {
    specs.push_back(std::move(op));
    inputs.push_back(output);
    program.steps.push_back({&specs.back(), specs.back().op, inputs, false});
  }
  void host(const std::vector<int> &tensors) {
    program.steps.push_back({nullptr, "aten.sort.default", tensors, false});
  }
  OpList list() const { return listOf(program, true); }

  SpecProgram program;
  std::deque<OpSpec> specs;
};

constexpr int64_t kCapacity = 1'625'344;

} // namespace spyre::solver::placement
