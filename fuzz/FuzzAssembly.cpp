//===- FuzzAssembly.cpp - any bytes into the assembler --------------------------------------===//
#include "spyre/Program/Program.h"

#include "FuzzInput.h"

using namespace spyre;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  auto program = program::assemble(fuzz::inputBytes(data, size));
  if (!program.ok()) {
    fuzz::checkRefusal(program.status(), {5104});
    return 0;
  }
  auto fromBinary = program::readProgram(program::writeProgram(*program));
  SPYRE_CHECK(fromBinary.ok() && *fromBinary == *program, "binary round trip");
  const std::string text = program::disassemble(*program);
  if (Status status = program::verifyProgram(*program, device); !status.ok()) {
    fuzz::checkRefusal(status, {5103});
    return 0;
  }
  auto fromText = program::assemble(text);
  SPYRE_CHECK(fromText.ok() && *fromText == *program, "text round trip");
  return 0;
}
