//===- GeneratorRelayout.h - two operations that divide a tensor in LX differently ----------===//
//
// The first operation leaves its result in LX, divided in one way; the second, of any class, is
// divided in another one and says so (lx_division): rows against columns, more slices or fewer, the
// same slices in other cores, more cores than slices.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Generator.h"

#include <string>
#include <vector>

namespace spyre::backend::test {

struct RelayoutCase {
  std::vector<spec::OpSpec> specs;
  evaluator::Memory memory;
};

/// "pointwise", "sum" (of the stick), "sumnonstick", "topkvalue", "matmul.a", "matmul.b" and
/// "matmul.ab", of which these inputs are in LX.
const std::vector<std::string> &relayoutCases();

/// \p scale multiplies sizes: above 1 tiles are streamed.
RelayoutCase randomRelayout(const std::string &name, Random &random, const arch::DeviceDesc &device,
                            int64_t scale);

} // namespace spyre::backend::test
