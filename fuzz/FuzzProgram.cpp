//===- FuzzProgram.cpp - any bytes into the program reader and verifier ---------------------===//
#include "spyre/Program/Program.h"

#include "FuzzInput.h"

using namespace spyre;

/// The text form says all of a program that a device could run.
static void checkText(const program::Program &program) {
  const std::string text = program::disassemble(program);
  auto again = program::assemble(text);
  SPYRE_CHECK(again.ok() && *again == program, "a verified program survives its text form");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const arch::DeviceDesc device = *arch::DeviceDesc::preset("openspyre");
  auto program = program::readProgram(fuzz::inputBytes(data, size));
  if (!program.ok()) {
    fuzz::checkRefusal(program.status(), {5101, 5102});
    return 0;
  }
  auto again = program::readProgram(program::writeProgram(*program));
  SPYRE_CHECK(again.ok() && *again == *program, "binary round trip");
  if (Status status = program::verifyProgram(*program, device); !status.ok()) {
    fuzz::checkRefusal(status, {5103});
    (void)program::disassemble(*program);
    return 0;
  }
  checkText(*program);
  return 0;
}
