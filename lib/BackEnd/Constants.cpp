//===- Constants.cpp - constants by name ----------------------------------------------------===//
#include "Constants.h"

#include <algorithm>
#include <bit>

namespace spyre::backend {

/// fp32 bits of a constant; it is stored as such or as DLFloat16 [spec: codegen-and-backend 2.6].
static Expected<uint32_t> constantBits(const Kernel &kernel, const spec::DscConstant &constant) {
  if (constant.format == numerics::DataFormat::IeeeFp32) {
    return constant.bits;
  }
  if (constant.bits > UINT16_MAX) {
    return error<5302>("{}: constant '{}' has the bits {:#x}; a constant of format {} is the 16 "
                       "bits of a SEN169_FP16",
                       kernel.name, constant.name.substr(0, 64), constant.bits,
                       numerics::formatName(constant.format));
  }
  return std::bit_cast<uint32_t>(numerics::dl16ToFloat(uint16_t(constant.bits)));
}

Expected<std::vector<uint32_t>> readConstants(const Kernel &kernel) {
  const std::vector<spec::DscConstant> &given = kernel.dsc->constants;
  std::vector<uint32_t> bits;
  for (const char *name : kernel.op.constants) {
    if (!name) {
      break;
    }
    auto isIt = [&](const spec::DscConstant &constant) { return constant.name == name; };
    auto found = std::find_if(given.begin(), given.end(), isIt);
    if (found == given.end()) {
      return error<5302>("{}: constant '{}' is missing; the operation has no default for it",
                         kernel.name, name);
    }
    if (std::count_if(given.begin(), given.end(), isIt) > 1) {
      return error<5302>("{}: constant '{}' appears twice", kernel.name, name);
    }
    SPYRE_ASSIGN_OR_RETURN(uint32_t value, constantBits(kernel, *found));
    bits.push_back(value);
  }
  for (const spec::DscConstant &constant : given) {
    auto known = [&](const char *name) { return name && constant.name == name; };
    if (std::none_of(kernel.op.constants.begin(), kernel.op.constants.end(), known)) {
      return error<5302>("{}: the operation has no constant '{}'; remove or rename it", kernel.name,
                         constant.name.substr(0, 64));
    }
  }
  return bits;
}

} // namespace spyre::backend
