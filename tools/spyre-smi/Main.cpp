//===- Main.cpp - spyre-smi: who uses the cards, and how much -------------------------------===//
#include "spyre/Runtime/Cards.h"

#include "SmiCommand.h"

#include <cstdlib>
#include <iostream>
#include <unistd.h>

static std::string environment(const char *name, const char *fallback) {
  const char *value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : fallback;
}

int main(int argc, char **argv) {
  const std::string folder = spyre::runtime::cardFolder(
      environment("SPYRE_CARD_DIR", ""), environment("XDG_RUNTIME_DIR", ""),
      environment("TMPDIR", "/tmp"), unsigned(geteuid()));
  return spyre::tools::smiCommand(argc, argv, folder, std::cout, std::cerr);
}
