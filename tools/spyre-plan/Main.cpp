//===- Main.cpp - spyre-plan: the planners without the compiler -----------------------------===//
#include "PlanCommand.h"

#include <iostream>

int main(int argc, char **argv) {
  return spyre::tools::planCommand(argc, argv, std::cout, std::cerr);
}
