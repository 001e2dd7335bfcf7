//===- ConversionSpecs.h - conversions by hand, for the tests of several files --------------===//
#pragma once

#include "spyre/BackEnd/BackEnd.h"

#include "Generator.h"
#include "Harness.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <string>
#include <vector>

namespace spyre::backend::test {

using numerics::DataFormat;
using spec::Coordinate;
using spec::OpSpec;
using spec::SuperDsc;
using spec::TensorArg;

inline TensorArg argOf(DataFormat format, std::vector<int64_t> size,
                       std::vector<Coordinate> coordinates) {
  TensorArg arg;
  arg.deviceDtype = format;
  arg.deviceSize = std::move(size);
  arg.deviceCoordinates = std::move(coordinates);
  return arg;
}

inline OpSpec specOf(const std::string &op, std::vector<spec::IterationDim> space,
                     std::vector<TensorArg> args) {
  OpSpec spec;
  spec.op = op;
  spec.isReduction = op.starts_with("batchmatmul");
  spec.iterationSpace = std::move(space);
  for (size_t i = 0; i < args.size(); ++i) {
    args[i].isInput = i + 1 < args.size();
    args[i].argIndex = int64_t(i);
    args[i].address = int64_t(i) << 34;
  }
  spec.args = std::move(args);
  if (op.starts_with("csq")) {
    spec.constants = {{"scaleact", 20}, {"shiftact", 1.5}};
  }
  return spec;
}

/// x rows of d elements, stick d.
inline TensorArg rowsOf(DataFormat format, int64_t x, int64_t d) {
  int64_t lanes = numerics::elemsPerStick(format);
  return argOf(
      format, {d / lanes, x, lanes},
      {Coordinate::floorDiv("d", lanes), Coordinate::var("x"), Coordinate::mod("d", lanes)});
}

inline void toLx(TensorArg &arg, int64_t address) {
  arg.residency = spec::Residency::Lx;
  arg.argIndex = -1;
  arg.address = address;
}
inline void toArgument(TensorArg &arg, int64_t index) {
  arg.argIndex = index;
  arg.address = index << 34;
}

/// \p specs in one program on each machine == the evaluator.
inline void expectChain(const std::vector<OpSpec> &specs, uint64_t ddrReadBytes) {
  Random random(11);
  evaluator::Memory start;
  for (const OpSpec &spec : specs) {
    evaluator::Memory some = randomMemory(spec, random);
    start.arguments.resize(std::max(start.arguments.size(), some.arguments.size()));
    for (size_t i = 0; i < some.arguments.size(); ++i) {
      if (!some.arguments[i].empty()) {
        start.arguments[i] = some.arguments[i];
      }
    }
  }
  evaluator::Memory expected = start;
  Status evaluated = evaluator::evaluate(specs, expected);
  ASSERT_TRUE(evaluated.ok()) << evaluated.message();
  for (const char *name : {"openspyre", "tiny"}) {
    arch::DeviceDesc device = presetDevice(name);
    Expected<program::Program> program = lowerAll(specs, device);
    ASSERT_TRUE(program.ok()) << program.status().message();
    evaluator::Memory actual = start;
    Card card(device);
    Status ran = card.run(*program, actual);
    ASSERT_TRUE(ran.ok()) << ran.text() << program::disassemble(*program);
    EXPECT_EQ(actual.arguments, expected.arguments) << name;
    EXPECT_EQ(card.counters.ddr_read_bytes, ddrReadBytes) << name;
  }
}

inline SuperDsc dscOf(const OpSpec &spec) {
  Expected<SuperDsc> dsc = throughJson(spec, 0);
  SPYRE_CHECK(dsc.ok(), "the sample can be emitted");
  return *dsc;
}

inline void expectError(const SuperDsc &dsc, int code, const std::string &part) {
  Expected<program::Program> program = lowerSuperDscs({dsc}, presetDevice("openspyre"));
  ASSERT_FALSE(program.ok()) << "expected E" << code << " with '" << part << "'";
  EXPECT_EQ(program.status().code(), code) << program.status().message();
  EXPECT_NE(program.status().text().find(part), std::string::npos) << program.status().message();
}

/// The layout of tensor \p index.
inline spec::DscLayout &layoutOf(SuperDsc &dsc, size_t index) {
  for (spec::DscLayout &layout : dsc.layouts) {
    if (layout.label == dsc.tensors[index].layout) {
      return layout;
    }
  }
  return dsc.layouts.front();
}

} // namespace spyre::backend::test
