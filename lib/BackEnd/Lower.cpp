//===- Lower.cpp - SuperDSCs to the phases of a program -------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"

#include "DoubleBuffer.h"
#include "Lowerings.h"
#include "Overlap.h"
#include "PhaseCache.h"
#include "Uneven.h"

#include <algorithm>

namespace spyre::backend {

static Expected<program::Phase> lowerKernel(const Kernel &kernel, BufferTable &buffers) {
  switch (kernel.op.opClass) {
  case OpClass::Pointwise:
  case OpClass::Copy:
    return lowerPointwise(kernel, buffers);
  case OpClass::StickReduction:
  case OpClass::NonStickReduction:
    return lowerReduction(kernel, buffers);
  case OpClass::TopK:
    return lowerTopK(kernel, buffers);
  case OpClass::Matmul:
    return lowerMatmul(kernel, buffers);
  case OpClass::Convolution:
    return lowerConvolution(kernel, buffers);
  case OpClass::Window:
    return lowerPool(kernel, buffers);
  case OpClass::Scan:
    return lowerScan(kernel, buffers);
  case OpClass::Conversion:
    return lowerConversion(kernel, buffers);
  case OpClass::Restickify:
    return lowerRestickify(kernel, buffers);
  }
  return error<5301>("operation '{}' has no lowering", kernel.dsc->op);
}

Expected<program::Program> lowerSuperDscs(const std::vector<spec::SuperDsc> &given,
                                          const arch::DeviceDesc &device) {
  std::vector<spec::SuperDsc> expanded;
  if (std::any_of(given.begin(), given.end(), isUneven)) {
    SPYRE_ASSIGN_OR_RETURN(expanded, expandUneven(given, device));
  }
  const std::vector<spec::SuperDsc> &operations = expanded.empty() ? given : expanded;
  program::Program program;
  BufferTable buffers;
  PhaseCache cache(device.segmentBytes);
  std::vector<int32_t> lowered;
  for (const spec::SuperDsc &dsc : operations) {
    auto index = int32_t(program.phases.size());
    if (int32_t original = cache.find(dsc, index); original >= 0) {
      buffers.beginPhase(PhaseCache::nameOf(dsc, program.phases[size_t(original)]));
      program.phases.emplace_back();
      continue;
    }
    SPYRE_ASSIGN_OR_RETURN(Kernel kernel, analyse(dsc, device));
    SPYRE_ASSIGN_OR_RETURN(program::Phase phase, lowerKernel(kernel, buffers));
    program.phases.push_back(std::move(phase));
    lowered.push_back(index);
  }
  program.buffers = buffers.finish();
  const std::vector<int64_t> ends = lxEnds(program.buffers, program.phases.size(), device);
  for (int32_t index : lowered) {
    program::Phase &phase = program.phases[size_t(index)];
    phase = overlapPhase(std::move(phase), index, ends[size_t(index)], program.buffers, device);
  }
  cache.repeat(operations, program);
  return program;
}

} // namespace spyre::backend
