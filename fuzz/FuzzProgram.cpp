//===- FuzzProgram.cpp - any bytes into the program reader and verifier ---------------------===//
#include "spyre/Program/Program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string bytes(reinterpret_cast<const char *>(data), size);
  static const spyre::arch::DeviceDesc device = *spyre::arch::DeviceDesc::preset("tiny");
  auto program = spyre::program::readProgram(bytes);
  if (program.ok()) {
    auto again = spyre::program::readProgram(spyre::program::writeProgram(*program));
    SPYRE_CHECK(again.ok() && *again == *program, "binary round trip");
    (void)spyre::program::verifyProgram(*program, device);
    (void)spyre::program::disassemble(*program);
  }
  return 0;
}
