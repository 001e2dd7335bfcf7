//===- Names.cpp - spelling of opcodes and functions ----------------------------------------===//
#include "spyre/Program/Program.h"

namespace spyre::program {

const char *opcodeName(Opcode opcode) {
  switch (opcode) {
  case Opcode::Load:
    return "load";
  case Opcode::Store:
    return "store";
  case Opcode::Fill:
    return "fill";
  case Opcode::Vector:
    return "vector";
  case Opcode::Accumulate:
    return "accumulate";
  case Opcode::Matmul:
    return "matmul";
  case Opcode::Finish:
    return "finish";
  case Opcode::Shuffle:
    return "shuffle";
  case Opcode::Loop:
    return "loop";
  case Opcode::EndLoop:
    return "endloop";
  }
  return "unknown";
}

const char *functionName(Function function) {
  switch (function) {
  case Function::None:
    return "none";
  case Function::Copy:
    return "copy";
  case Function::Add:
    return "add";
  case Function::Mul:
    return "mul";
  case Function::Exp:
    return "exp";
  case Function::Where:
    return "where";
  case Function::Sum:
    return "sum";
  case Function::Max:
    return "max";
  case Function::Lanes:
    return "lanes";
  case Function::TreeSum:
    return "tree-sum";
  case Function::TreeMax:
    return "tree-max";
  }
  return "unknown";
}

} // namespace spyre::program
