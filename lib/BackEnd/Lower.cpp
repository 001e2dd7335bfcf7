//===- Lower.cpp - one SuperDSC to one phase ------------------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"

#include "Lowerings.h"

namespace spyre::backend {

Expected<program::Phase> lowerSuperDsc(const spec::SuperDsc &dsc, const arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(Kernel kernel, analyse(dsc, device));
  switch (kernel.op.opClass) {
  case OpClass::Pointwise:
  case OpClass::Copy:
    return lowerPointwise(kernel);
  case OpClass::StickReduction:
  case OpClass::NonStickReduction:
    return lowerReduction(kernel);
  case OpClass::Matmul:
    return lowerMatmul(kernel);
  case OpClass::Restickify:
    return lowerRestickify(kernel);
  }
  return error<5301>("operation '{}' has no lowering", dsc.op);
}

} // namespace spyre::backend
