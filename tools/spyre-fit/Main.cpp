//===- Main.cpp - spyre-fit: the clock's parameters from published times --------------------===//
#include "FitCommand.h"

#include <iostream>

int main(int argc, char **argv) {
  return spyre::tools::fitCommand(argc, argv, std::cout, std::cerr);
}
