//===- Main.cpp - spyre-sim: run one device program on the simulated device -----------------===//
#include "SimCommand.h"

#include <iostream>

int main(int argc, char **argv) {
  return spyre::tools::simCommand(argc, argv, std::cout, std::cerr);
}
