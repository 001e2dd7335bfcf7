//===- FuzzBackEnd.cpp - any SuperDSC through the back end ----------------------------------===//
#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Spec/Bundle.h"

#include "FuzzInput.h"

using namespace spyre;

/// E5305: the back end made a program the machine refuses.
static constexpr int kOwnFault = 5305;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const arch::DeviceDesc device = *arch::DeviceDesc::preset("tiny");
  const Artifacts bundle = {
      {"bundle.mlir", spec::writeBundleMlir(spec::Bundle::baked({"sdsc_0.json"}))},
      {"sdsc_0.json", fuzz::inputBytes(data, size)}};
  auto files = backend::compileBundle(bundle, device);
  if (!files.ok()) {
    // Reading and checking a bundle, and lowering it: never a fault of the program made from it.
    const int code = files.status().code();
    SPYRE_CHECK(code / 100 == 50 || (code / 100 == 53 && code != kOwnFault),
                "a refusal has a number of its format");
    return 0;
  }
  auto program = program::readProgram(files->at("spyreCodeDir/init.bin"));
  SPYRE_CHECK(program.ok() && program::verifyProgram(*program, device).ok(),
              "emitted programs verify");
  return 0;
}
