//===- Main.cpp - spyre-plan: the planners without the compiler -----------------------------===//
#include "PlanCommand.h"

#include <cstdlib>
#include <iostream>

int main(int argc, char **argv) {
  spyre::tools::PlanEnvironment environment;
  if (const char *cores = std::getenv("SENCORES")) {
    environment.cores = cores;
  }
  if (const char *mode = std::getenv("SPYRE_PLANNER")) {
    environment.mode = mode;
  }
  return spyre::tools::planCommand(argc, argv, environment, std::cout, std::cerr);
}
