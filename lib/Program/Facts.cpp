//===- Facts.cpp - how long a program is, how long it may be, and what it reads -------------===//
#include "spyre/Program/Facts.h"

#include <algorithm>

namespace spyre::program {

/// As a real number: the product of counts may be beyond 64 bits.
static double pointsOf(const Instruction &instruction) {
  double points = 1;
  for (int64_t count : instruction.counts) {
    points *= double(count);
  }
  return points;
}

static double stepsOf(const Phase &phase) {
  double steps = 0;
  std::vector<double> trips = {1};
  for (const Instruction &instruction : phase.instructions) {
    if (instruction.opcode == Opcode::EndLoop && trips.size() > 1) {
      trips.pop_back();
    }
    steps += trips.back() * (1 + pointsOf(instruction));
    if (instruction.opcode == Opcode::Loop) {
      trips.push_back(trips.back() * double(instruction.parameter));
    }
  }
  return steps * double(phase.cores);
}

double stepsOf(const Program &program) {
  double steps = 0;
  for (const Phase &phase : program.phases) {
    steps += stepsOf(phase);
  }
  return steps;
}

Status checkWork(const Program &program) {
  const double all = stepsOf(program);
  if (all <= kMostSteps) {
    return Status::success();
  }
  const Phase *longest = &program.phases.front();
  for (const Phase &phase : program.phases) {
    longest = stepsOf(phase) > stepsOf(*longest) ? &phase : longest;
  }
  return error<7019>("too-much-work: the program takes {:.2g} steps, the most are {:.2g}; phase {} "
                     "alone takes {:.2g}: lower the counts of its loops, or launch parts of it",
                     all, kMostSteps, longest->name.substr(0, 64), stepsOf(*longest));
}

bool readsIndices(const Program &program) {
  const auto isIndirect = [](const Instruction &instruction) {
    return instruction.opcode == Opcode::Gather || instruction.opcode == Opcode::Scatter ||
           instruction.opcode == Opcode::Pick;
  };
  return std::any_of(program.phases.begin(), program.phases.end(), [&](const Phase &phase) {
    return std::any_of(phase.instructions.begin(), phase.instructions.end(), isIndirect);
  });
}

} // namespace spyre::program
