//===- Names.cpp - the tables of opcodes and functions, and their spelling ------------------===//
#include "Tables.h"

#include <algorithm>

namespace spyre::program {

// Designated initializers: a field that is not named does not exist for the opcode.
static constexpr OpcodeRow kOpcodes[] = {
    {Opcode::Load, "load", Unit::Load, false, {.peers = true, .only = true}},
    {Opcode::Store, "store", Unit::Store, false, {.only = true}},
    {Opcode::Gather,
     "gather",
     Unit::Load,
     false,
     {.element = "element", .constant = "bound", .parameter = "stride", .only = true}},
    {Opcode::Scatter,
     "scatter",
     Unit::Store,
     false,
     {.element = "element", .constant = "bound", .parameter = "stride", .only = true}},
    {Opcode::Fill, "fill", Unit::Vector, false, {.constant = "pattern", .only = true}},
    {Opcode::Vector, "vector", Unit::Vector, false, {.only = true}},
    {Opcode::Accumulate,
     "accumulate",
     Unit::Vector,
     false,
     {.lanes = "lanes", .constant = "masked", .only = true}},
    {Opcode::Matmul,
     "matmul",
     Unit::Matrix,
     false,
     {.lanes = "lanes", .parameter = "rowstride", .only = true}},
    {Opcode::Finish, "finish", Unit::Vector, false, {.constant = "scale", .only = true}},
    {Opcode::Shuffle, "shuffle", Unit::Vector, false, {.element = "element", .only = true}},
    {Opcode::Pick,
     "pick",
     Unit::Vector,
     false,
     {.element = "element", .constant = "bound", .parameter = "stride", .only = true}},
    {Opcode::Convert,
     "convert",
     Unit::Vector,
     false,
     {.group = "group", .parameter = "stride", .only = true}},
    {Opcode::TopK, "topk", Unit::Vector, false, {.parameter = "k", .only = true}},
    {Opcode::Exchange, "exchange", Unit::Ring, false, {.peers = true}},
    // The parameter of loop has no "name=" in text, it is the operand.
    {Opcode::Loop, "loop", Unit::Vector, true, {.parameter = "count"}},
    {Opcode::EndLoop, "endloop", Unit::Vector, true, {}},
    {Opcode::Barrier, "barrier", Unit::Vector, true, {}},
    {Opcode::Signal, "signal", Unit::Vector, true, {}},
    {Opcode::Wait, "wait", Unit::Vector, true, {}},
};

static constexpr OpcodeSet kVector = opcodeBit(Opcode::Vector);
static constexpr OpcodeSet kAccumulate = opcodeBit(Opcode::Accumulate);
static constexpr OpcodeSet kFinish = opcodeBit(Opcode::Finish);
static constexpr OpcodeSet kConvert = opcodeBit(Opcode::Convert);
static constexpr OpcodeSet kExchange = opcodeBit(Opcode::Exchange);

// None fits every opcode that none of the other rows fits.
static constexpr OpcodeSet kHaveFunctions = kVector | kAccumulate | kFinish | kConvert | kExchange;

using Floats = FunctionRow::Floats;

static constexpr FunctionRow kFunctions[] = {
    {Function::None, "none", ~kHaveFunctions, 0, false, true},
    {Function::Copy, "copy", kVector | kExchange, 1, false, true},
    {Function::Neg, "neg", kVector, 1, false, true},
    {Function::Abs, "abs", kVector, 1, false, true},
    {Function::Floor, "floor", kVector, 1, false, false},
    {Function::Sqrt, "sqrt", kVector, 1, true, false},
    {Function::Rsqrt, "rsqrt", kVector, 1, true, false},
    {Function::Exp, "exp", kVector, 1, true, false},
    {Function::Log, "log", kVector, 1, true, false},
    {Function::Reciprocal, "reciprocal", kVector, 1, true, false},
    {Function::Sigmoid, "sigmoid", kVector, 1, true, false},
    {Function::Tanh, "tanh", kVector, 1, true, false},
    {Function::Erf, "erf", kVector, 1, true, false},
    {Function::Sin, "sin", kVector, 1, true, false},
    {Function::Cos, "cos", kVector, 1, true, false},
    {Function::Relu, "relu", kVector, 1, false, false},
    {Function::Relu6, "relu6", kVector, 1, false, false},
    {Function::Gelu, "gelu", kVector, 1, true, false},
    {Function::Silu, "silu", kVector, 1, true, false},
    {Function::Mish, "mish", kVector, 1, true, false},
    {Function::FromInteger, "from-integer", kVector, 1, false, false, Floats::Single},
    {Function::ToInteger, "to-integer", kVector, 1, false, true, Floats::None},
    {Function::Add, "add", kVector, 2, false, true},
    {Function::Sub, "sub", kVector, 2, false, true},
    {Function::Mul, "mul", kVector, 2, false, true},
    {Function::Div, "div", kVector, 2, true, false},
    {Function::Maximum, "maximum", kVector, 2, false, true},
    {Function::Minimum, "minimum", kVector, 2, false, true},
    {Function::Equal, "equal", kVector, 2, false, true},
    {Function::NotEqual, "not-equal", kVector, 2, false, true},
    {Function::GreaterEqual, "greater-equal", kVector, 2, false, true},
    {Function::Greater, "greater", kVector, 2, false, true},
    {Function::LessEqual, "less-equal", kVector, 2, false, true},
    {Function::Less, "less", kVector, 2, false, true},
    {Function::LeakyRelu, "leaky-relu", kVector, 2, false, false},
    {Function::And, "and", kVector, 2, false, true, Floats::None},
    {Function::Or, "or", kVector, 2, false, true, Floats::None},
    {Function::Xor, "xor", kVector, 2, false, true, Floats::None},
    {Function::ShiftLeft, "shift-left", kVector, 2, false, true, Floats::None},
    {Function::ShiftRight, "shift-right", kVector, 2, false, true, Floats::None},
    {Function::FloorDiv, "floor-div", kVector, 2, true, true, Floats::None},
    {Function::TruncDiv, "trunc-div", kVector, 2, true, true, Floats::None},
    {Function::FloorMod, "floor-mod", kVector, 2, true, true, Floats::None},
    {Function::TruncMod, "trunc-mod", kVector, 2, true, true, Floats::None},
    {Function::Where, "where", kVector, 3, false, true},
    {Function::Fma, "fma", kVector, 3, false, false},
    {Function::Clip, "clip", kVector, 3, false, false},
    {Function::Softplus, "softplus", kVector, 3, true, false},
    {Function::LayerNormScale, "layer-norm-scale", kVector, 3, true, false},
    {Function::LayerNormNorm, "layer-norm-norm", kVector, 5, false, false},
    {Function::Sum, "sum", kAccumulate | kExchange, 0, false, true},
    {Function::Max, "max", kAccumulate | kExchange, 0, false, true},
    {Function::Min, "min", kAccumulate | kExchange, 0, false, true},
    {Function::SumSquares, "sum-squares", kAccumulate, 0, false, false},
    {Function::AbsMax, "abs-max", kAccumulate, 0, false, false},
    {Function::Lanes, "lanes", kFinish, 0, false, true},
    {Function::TreeSum, "tree-sum", kFinish, 0, false, true},
    {Function::TreeMax, "tree-max", kFinish, 0, false, true},
    {Function::TreeMin, "tree-min", kFinish, 0, false, true},
    {Function::Nearest, "nearest", kConvert, 0, false, true},
    {Function::Truncate, "truncate", kConvert, 0, false, true},
};

static constexpr const char *kUnitNames[kUnits] = {"load", "store", "matrix", "vector", "ring"};

std::span<const OpcodeRow> opcodeRows() { return kOpcodes; }
std::span<const FunctionRow> functionRows() { return kFunctions; }

const OpcodeRow *findOpcode(Opcode opcode) {
  // The rows are in the order of the numbers, which start at 1.
  size_t index = size_t(opcode) - 1;
  return index < std::size(kOpcodes) ? &kOpcodes[index] : nullptr;
}

const FunctionRow *findFunction(Function function) {
  const FunctionRow *row = std::find_if(std::begin(kFunctions), std::end(kFunctions),
                                        [&](const auto &r) { return r.function == function; });
  return row == std::end(kFunctions) ? nullptr : row;
}

const char *opcodeName(Opcode opcode) {
  const OpcodeRow *row = findOpcode(opcode);
  return row == nullptr ? "unknown" : row->name;
}

const char *functionName(Function function) {
  const FunctionRow *row = findFunction(function);
  return row == nullptr ? "unknown" : row->name;
}

const char *unitName(Unit unit) {
  return size_t(unit) < kUnits ? kUnitNames[size_t(unit)] : "unknown";
}

bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

bool isName(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), isNameCharacter);
}

} // namespace spyre::program
