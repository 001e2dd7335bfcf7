//===- GeneratorGather.h - element-wise operations on rows chosen by indices ----------------===//
//
// Draws copies and element-wise operations of which some inputs are indirectly accessed: indices of
// one or two dimensions, dense or one per stick, in any device order, several pairs of index and
// value tensors, rows anywhere in the value tensor, fewer or more rows than indices, and divisions
// in which cores share sticks of indices.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Generator.h"

namespace spyre::backend::test {

/// \p op is "identity" or an element-wise operation. Memory stays empty.
RandomCase randomGather(const std::string &op, Random &random, const arch::DeviceDesc &device,
                        bool large);

/// Overwrites the index tensors of \p spec in \p memory with rows that exist.
void fillIndices(const spec::OpSpec &spec, evaluator::Memory &memory, Random &random);

} // namespace spyre::backend::test
