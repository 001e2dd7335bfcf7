//===- Generator.h - random OpSpecs with random memory, from a seed -------------------------===//
//
// Draws what planners may produce: every lowered operation, sizes that are no multiple of a stick,
// broadcasts in the stick and beside it, device dimensions in any order, slices of larger buffers
// with an offset, unit dimensions, and splits over the machine's cores.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Random.h"
#include "spyre/Evaluator/Evaluator.h"
#include "spyre/Spec/OpSpec.h"

#include <string>
#include <vector>

namespace spyre::backend::test {

struct RandomCase {
  spec::OpSpec spec;
  evaluator::Memory memory;
  /// What the device must count: 64 x 64 per matmul point, lanes of every computed stick.
  uint64_t macs = 0;
  uint64_t laneOps = 0;
};

/// An element-wise operation as a producer knows it.
struct PointwiseOp {
  const char *name;
  size_t inputs = 1;
  /// Names and limits of its constants.
  struct Constant {
    const char *name;
    float low, high;
  };
  std::vector<Constant> constants = {};
  /// Exists on IEEE_INT32.
  bool integers = false;
  /// Input with two values per stick, or -1.
  int pairInput = -1;
  /// Exists on nothing else.
  bool integersOnly = false;
  /// Of an operation whose result has another format.
  numerics::DataFormat from = numerics::DataFormat::Invalid, to = numerics::DataFormat::Invalid;

  /// Of its inputs.
  std::vector<numerics::DataFormat> formats() const;
  bool has(numerics::DataFormat format) const;
  numerics::DataFormat resultOf(numerics::DataFormat format) const {
    return to == numerics::DataFormat::Invalid ? format : to;
  }
};
/// All of them, without copies.
const std::vector<PointwiseOp> &pointwiseOps();
/// Random values for the constants of \p op.
std::vector<std::pair<std::string, double>> randomConstants(const PointwiseOp &op, Random &random);

/// Names randomCase understands.
const std::vector<std::string> &generatedOps();

/// \p large draws sizes beyond one staging area of the default machine. Memory stays empty.
RandomCase randomSpec(const std::string &op, Random &random, const arch::DeviceDesc &device,
                      bool large);
/// The same with memory.
RandomCase randomCase(const std::string &op, Random &random, const arch::DeviceDesc &device,
                      bool large);

/// Fills buffers of the right size for the call arguments of \p spec.
evaluator::Memory randomMemory(const spec::OpSpec &spec, Random &random);

} // namespace spyre::backend::test
