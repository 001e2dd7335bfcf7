//===- FuzzBackEnd.cpp - any SuperDSC into the back end -------------------------------------===//
#include "spyre/BackEnd/BackEnd.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  static const spyre::arch::DeviceDesc device = *spyre::arch::DeviceDesc::preset("tiny");
  auto dsc = spyre::spec::readSuperDsc(bytes);
  if (dsc.ok() && spyre::spec::verifySuperDsc(*dsc, device).ok()) {
    auto phase = spyre::backend::lowerSuperDsc(*dsc, device);
    if (phase.ok()) {
      spyre::program::Program program;
      program.phases.push_back(*phase);
      SPYRE_CHECK(spyre::program::verifyProgram(program, device).ok(), "emitted programs verify");
    }
  }
  return 0;
}
