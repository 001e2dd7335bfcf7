//===- Main.cpp - spyre-run: execute a compiled model on NumPy files ------------------------===//
#include "RunCommand.h"

#include <iostream>

int main(int argc, char **argv) {
  return spyre::tools::runCommand(argc, argv, std::cout, std::cerr);
}
