//===- GeneratorConversions.h - conversions and 8-bit matmuls at random ---------------------===//
//
// What Generator.h draws for the other operations: sizes that fill no stick, device dimensions in
// any order, slices of larger buffers, broadcasts, splits over cores.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Generator.h"

namespace spyre::backend::test {

/// All of them by name: "qfp8ch", "batchmatmulint8", ...
const std::vector<std::string> &conversionCases();
bool isConversionCase(const std::string &op);

/// \p op is one of conversionCases(). Memory stays empty.
RandomCase randomConversion(const std::string &op, Random &random, const arch::DeviceDesc &device,
                            bool large);

} // namespace spyre::backend::test
