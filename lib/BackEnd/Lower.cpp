//===- Lower.cpp - SuperDSCs to the phases of a program -------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"

#include "Lowerings.h"

namespace spyre::backend {

static Expected<program::Phase> lowerKernel(const Kernel &kernel, BufferTable &buffers) {
  switch (kernel.op.opClass) {
  case OpClass::Pointwise:
  case OpClass::Copy:
    return lowerPointwise(kernel, buffers);
  case OpClass::StickReduction:
  case OpClass::NonStickReduction:
    return lowerReduction(kernel, buffers);
  case OpClass::Matmul:
    return lowerMatmul(kernel, buffers);
  case OpClass::Restickify:
    return lowerRestickify(kernel, buffers);
  }
  return error<5301>("operation '{}' has no lowering", kernel.dsc->op);
}

Expected<program::Program> lowerSuperDscs(const std::vector<spec::SuperDsc> &operations,
                                          const arch::DeviceDesc &device) {
  program::Program program;
  BufferTable buffers;
  for (const spec::SuperDsc &dsc : operations) {
    SPYRE_ASSIGN_OR_RETURN(Kernel kernel, analyse(dsc, device));
    SPYRE_ASSIGN_OR_RETURN(program::Phase phase, lowerKernel(kernel, buffers));
    program.phases.push_back(std::move(phase));
  }
  program.buffers = buffers.finish();
  return program;
}

} // namespace spyre::backend
