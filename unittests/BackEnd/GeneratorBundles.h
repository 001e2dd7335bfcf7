//===- GeneratorBundles.h - random bundles of several operations, from a seed ---------------===//
//
// A random operation of any kind, followed by element-wise operations on what it left. Results
// between operations are call arguments, in the pool, or in LX with the division that wrote them; a
// result may take the place of its input. Addresses are baked or symbols.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Generator.h"

namespace spyre::backend::test {

struct RandomBundle {
  std::vector<spec::OpSpec> specs;
  evaluator::Memory memory;
  bool symbolic = false;
  /// How many results of operations are in LX.
  int inLx = 0;
};

RandomBundle randomBundle(Random &random, const arch::DeviceDesc &device);

} // namespace spyre::backend::test
