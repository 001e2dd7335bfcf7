//===- RandomProgram.cpp - seeded random device programs for tests --------------------------===//
#include "Program/RandomProgram.h"

#include <algorithm>
#include <span>

namespace spyre::test {

using namespace program;
using numerics::DataFormat;

namespace {

constexpr DataFormat kLaneFormats[] = {DataFormat::Sen169Fp16, DataFormat::IeeeFp32,
                                       DataFormat::IeeeInt32};
constexpr DataFormat kMatmulFormats[] = {DataFormat::Sen169Fp16, DataFormat::Sen143Fp8,
                                         DataFormat::Sen152Fp8, DataFormat::SenInt8};
constexpr DataFormat kStoredFormats[] = {
    DataFormat::Sen169Fp16, DataFormat::IeeeFp32, DataFormat::Sen143Fp8, DataFormat::SenInt4,
    DataFormat::SenInt8,    DataFormat::SenInt16, DataFormat::IeeeInt64, DataFormat::IeeeInt32,
    DataFormat::SenUint32,  DataFormat::IeeeFp16, DataFormat::Bool,      DataFormat::Bfloat16};
constexpr Function kVectorFunctions[] = {
    Function::Copy,     Function::Neg,          Function::Exp,  Function::Gelu,
    Function::Add,      Function::Div,          Function::Less, Function::LeakyRelu,
    Function::Where,    Function::Fma,          Function::Clip, Function::LayerNormScale,
    Function::Softplus, Function::LayerNormNorm};
constexpr Function kIntegerFunctions[] = {
    Function::Copy,  Function::Abs, Function::Sub,      Function::Maximum,  Function::GreaterEqual,
    Function::Where, Function::Xor, Function::FloorDiv, Function::ToInteger};
constexpr Function kAccumulateFunctions[] = {Function::Sum, Function::Max, Function::Min,
                                             Function::SumSquares, Function::AbsMax};
constexpr Function kFinishFunctions[] = {Function::Lanes, Function::TreeSum, Function::TreeMax,
                                         Function::TreeMin};
constexpr Function kExchangeFunctions[] = {Function::Copy, Function::Sum, Function::Max,
                                           Function::Min};

/// First and one past the last byte relative to the start of a buffer.
struct Span {
  int64_t begin = 0, end = 0;
  void widen(int64_t stride, int64_t count) {
    int64_t reach = stride * (count - 1);
    begin += std::min<int64_t>(reach, 0);
    end += std::max<int64_t>(reach, 0);
  }
};

class Generator {
public:
  Generator(Random &random, const arch::DeviceDesc &device) : random(random), device(device) {}
  Program run();

private:
  bool chance(uint64_t oneIn) { return random.below(oneIn) == 0; }
  template <typename T, size_t n>
  T any(const T (&choices)[n]) {
    return choices[random.below(n)];
  }
  int64_t sticks(int64_t low, int64_t high) {
    return random.between(low, high) * device.stickBytes;
  }

  void addSymbols();
  void addBuffers(int32_t phases);
  void addLxBuffer(int32_t phases, int64_t base, int64_t bytes);
  void addDdrBuffer(int32_t phases);
  void addPhase();
  int32_t addTable(const std::vector<int64_t> &entries);
  int32_t addOnly();
  int32_t addPeers(Opcode opcode, int32_t ddrTable);
  void addControl();
  void addInstruction(Opcode opcode);
  void fillFields(Instruction &instruction);
  void fillOperand(Instruction &instruction, size_t index, Role role);
  void fillAddress(const Instruction &instruction, Operand &operand, int64_t unit);
  Span spanOf(const Instruction &instruction, size_t index) const;

  Random &random;
  const arch::DeviceDesc &device;
  Program program;
  Phase phase;
  std::vector<int64_t> trips;
};

} // namespace

Program Generator::run() {
  int32_t phases = int32_t(random.between(1, 3));
  addSymbols();
  addBuffers(phases);
  for (int32_t i = 0; i < phases; ++i) {
    addPhase();
  }
  return std::move(program);
}

void Generator::addSymbols() {
  for (uint64_t i = random.below(3); i > 0; --i) {
    int64_t value = chance(2) ? kUnsetSymbol : sticks(0, 1000);
    program.symbols.push_back({fmt::format("s_{}", program.symbols.size()), value});
  }
}

void Generator::addLxBuffer(int32_t phases, int64_t base, int64_t bytes) {
  Buffer buffer;
  buffer.name = fmt::format("lx.{}-{}", program.buffers.size(), chance(2) ? "tile" : "splat");
  buffer.base = base;
  buffer.bytes = bytes;
  buffer.firstPhase = int32_t(random.below(uint64_t(phases)));
  buffer.lastPhase = int32_t(random.between(buffer.firstPhase, phases - 1));
  buffer.liveIn = chance(3);
  buffer.liveOut = chance(3);
  buffer.inPlaceOf = program.buffers.empty() || chance(2) ? -1 : 0;
  if (chance(3)) {
    for (int64_t core = 0; core < device.cores; ++core) {
      buffer.coreOffset.push_back(sticks(0, 4));
    }
    buffer.bytes -= 4 * device.stickBytes;
  }
  program.buffers.push_back(std::move(buffer));
}

void Generator::addDdrBuffer(int32_t phases) {
  Buffer buffer;
  buffer.name = fmt::format("{}", program.buffers.size());
  buffer.space = Space::Ddr;
  buffer.bytes = sticks(200, 2000);
  buffer.base =
      device.segmentBase(int64_t(random.below(uint64_t(device.segments)))) + sticks(0, 50);
  if (!program.symbols.empty() && chance(2)) {
    buffer.symbol = int32_t(random.below(program.symbols.size()));
  }
  buffer.lastPhase = phases - 1;
  program.buffers.push_back(std::move(buffer));
}

void Generator::addBuffers(int32_t phases) {
  // Halves of LX: a block of B and a few sticks around it fit into each.
  int64_t half = device.lxBytes / 2 / device.stickBytes * device.stickBytes;
  addLxBuffer(phases, 0, half);
  addLxBuffer(phases, half, half);
  for (int i = 0; i < 3; ++i) {
    addDdrBuffer(phases);
  }
}

int32_t Generator::addTable(const std::vector<int64_t> &entries) {
  phase.coreTables.push_back(entries);
  return int32_t(phase.coreTables.size()) - 1;
}

int32_t Generator::addOnly() {
  std::vector<int64_t> entries(size_t(phase.cores));
  std::generate(entries.begin(), entries.end(), [&] { return int64_t(random.below(2)); });
  return addTable(entries);
}

/// Exchange: anybody. Load: groups of cores whose DDR offsets agree, behind their first one.
int32_t Generator::addPeers(Opcode opcode, int32_t ddrTable) {
  std::vector<int64_t> peers(size_t(phase.cores));
  for (size_t core = 0; core < peers.size(); ++core) {
    peers[core] = random.between(-1, phase.cores - 1);
    if (opcode == Opcode::Load) {
      const std::vector<int64_t> *offsets =
          ddrTable < 0 ? nullptr : &phase.coreTables[size_t(ddrTable)];
      size_t leader = 0;
      while (offsets != nullptr && (*offsets)[leader] != (*offsets)[core]) {
        ++leader;
      }
      peers[core] = int64_t(leader);
    }
  }
  return addTable(peers);
}

void Generator::addPhase() {
  phase = Phase();
  trips.clear();
  phase.name = fmt::format("{}_\"odd\" name\\{}", program.phases.size(), char(random.below(256)));
  phase.cores = random.between(1, device.cores);
  phase.overlap = chance(2);
  for (uint64_t i = random.between(1, 20); i > 0; --i) {
    addControl();
    addInstruction(Opcode(random.between(int64_t(Opcode::Load), int64_t(Opcode::Exchange))));
  }
  while (!trips.empty()) {
    trips.pop_back();
    phase.instructions.emplace_back().opcode = Opcode::EndLoop;
  }
  program.phases.push_back(std::move(phase));
}

/// Sometimes opens or closes a loop, sometimes orders units. A loop is never empty: an instruction
/// follows each call.
void Generator::addControl() {
  Instruction added;
  switch (random.below(8)) {
  case 0:
    if (trips.size() < kMaxLoops) {
      added.opcode = Opcode::Loop;
      added.parameter = random.between(1, 3);
      trips.push_back(added.parameter);
      break;
    }
    return;
  case 1:
    if (!trips.empty()) {
      added.opcode = Opcode::EndLoop;
      trips.pop_back();
      break;
    }
    return;
  case 2:
    added.opcode = Opcode::Barrier;
    break;
  case 3:
    added.opcode = chance(2) ? Opcode::Signal : Opcode::Wait;
    added.unit = Unit(random.below(kUnits));
    added.token = uint8_t(random.below(kMaxTokens));
    break;
  default:
    return;
  }
  phase.instructions.push_back(added);
}

void Generator::fillFields(Instruction &instruction) {
  const int64_t stick = device.stickBytes;
  switch (instruction.opcode) {
  case Opcode::Gather:
  case Opcode::Scatter:
    instruction.elementBytes = chance(2) ? 4 : 8;
    instruction.constant = uint32_t(random.between(1, 16));
    instruction.parameter = sticks(-2, 2);
    break;
  case Opcode::Fill:
    instruction.constant = uint32_t(random.next());
    break;
  case Opcode::Vector:
    instruction.format = any(kLaneFormats);
    instruction.function = instruction.format == DataFormat::IeeeInt32 ? any(kIntegerFunctions)
                                                                       : any(kVectorFunctions);
    break;
  case Opcode::Accumulate:
    instruction.format = chance(2) ? DataFormat::Sen169Fp16 : DataFormat::IeeeFp32;
    instruction.function = any(kAccumulateFunctions);
    instruction.validLanes =
        uint16_t(random.between(1, numerics::elemsPerStick(instruction.format)));
    instruction.constant = uint32_t(random.next());
    break;
  case Opcode::Matmul:
    instruction.format = any(kMatmulFormats);
    instruction.validLanes =
        uint16_t(random.between(1, numerics::elemsPerStick(instruction.format)));
    instruction.parameter = chance(4) ? -stick : stick;
    break;
  case Opcode::Finish:
    instruction.format = any(kLaneFormats);
    instruction.function = any(kFinishFunctions);
    instruction.constant =
        instruction.format == DataFormat::IeeeInt32 ? kScaleOne : uint32_t(random.next());
    break;
  case Opcode::Shuffle:
  case Opcode::Pick:
    instruction.elementBytes = uint16_t(1 << random.below(3));
    if (instruction.opcode == Opcode::Pick) {
      instruction.constant = uint32_t(random.between(1, 16));
      instruction.parameter = instruction.elementBytes * random.between(-4, 4);
    }
    break;
  case Opcode::Convert:
    do {
      instruction.format = any(kStoredFormats);
      instruction.toFormat = any(kStoredFormats);
    } while (convertRatio(instruction) > 8);
    instruction.function = instruction.toFormat == DataFormat::IeeeInt32 && chance(2)
                               ? Function::Truncate
                               : Function::Nearest;
    instruction.group = chance(2) ? 1 : 8;
    instruction.parameter = sticks(1, 3);
    break;
  case Opcode::TopK:
    instruction.format = chance(2) ? DataFormat::Sen169Fp16 : DataFormat::IeeeFp32;
    instruction.parameter = random.between(1, 8);
    break;
  case Opcode::Exchange:
    instruction.format = chance(2) ? DataFormat::IeeeFp32 : DataFormat::IeeeInt32;
    instruction.function = any(kExchangeFunctions);
    break;
  default:
    break;
  }
}

void Generator::addInstruction(Opcode opcode) {
  Instruction added;
  added.opcode = opcode;
  fillFields(added);
  for (int64_t &count : added.counts) {
    count = chance(3) ? random.between(1, 3) : 1;
  }
  OperandRoles roles = operandRoles(added);
  added.operands.resize(roles.count);
  for (size_t i = 0; i < roles.count; ++i) {
    fillOperand(added, i, roles.role[i]);
  }
  if (opcode == Opcode::Exchange || (opcode == Opcode::Load && chance(2))) {
    added.peerTable = addPeers(opcode, added.operands[0].coreTable);
  } else if (chance(4)) {
    added.onlyTable = addOnly();
  }
  phase.instructions.push_back(added);
}

void Generator::fillAddress(const Instruction &instruction, Operand &operand, int64_t unit) {
  for (size_t i = 0; i < trips.size(); ++i) {
    operand.loopStride[i] = unit * random.between(-2, 2);
  }
  for (size_t i = 0; i < kMaxLevels; ++i) {
    operand.stride[i] = instruction.counts[i] == 1 ? 0 : unit * random.between(-2, 2);
  }
  if (chance(2)) {
    std::vector<int64_t> entries(size_t(phase.cores));
    std::generate(entries.begin(), entries.end(), [&] { return unit * random.between(-1, 1); });
    operand.coreTable = addTable(entries);
  }
}

Span Generator::spanOf(const Instruction &instruction, size_t index) const {
  const Operand &operand = instruction.operands[index];
  Span span{0, pointBytes(instruction, index)};
  for (size_t i = 0; i < trips.size(); ++i) {
    span.widen(operand.loopStride[i], trips[i]);
  }
  for (size_t i = 0; i < kMaxLevels; ++i) {
    span.widen(operand.stride[i], instruction.counts[i]);
  }
  span.widen(instruction.parameter, pointPlaces(instruction, index));
  bool isIndexed = (instruction.opcode == Opcode::Pick && index == 0) ||
                   (instruction.opcode == Opcode::Gather && index == 0) ||
                   (instruction.opcode == Opcode::Scatter && index == 2);
  if (isIndexed) {
    span.widen(instruction.parameter, instruction.constant);
  }
  if (operand.coreTable >= 0) {
    const std::vector<int64_t> &table = phase.coreTables[size_t(operand.coreTable)];
    auto [low, high] = std::minmax_element(table.begin(), table.end());
    span.begin += *low;
    span.end += *high;
  }
  return span;
}

void Generator::fillOperand(Instruction &instruction, size_t index, Role role) {
  Operand &operand = instruction.operands[index];
  if (role == Role::Number) {
    operand.kind = Operand::Kind::Number;
    operand.offset = random.between(-100, 100);
    fillAddress(instruction, operand, 1);
    return;
  }
  bool isVectorInput =
      instruction.opcode == Opcode::Vector && index + 1 < instruction.operands.size();
  if (isVectorInput && chance(4)) {
    operand.kind = Operand::Kind::Constant;
    operand.offset = int64_t(random.next() >> 32);
    return;
  }
  bool isSmall = role == Role::LxElement || role == Role::LxIndex;
  int64_t unit = isSmall ? pointBytes(instruction, index) : device.stickBytes;
  std::vector<int32_t> fitting;
  for (size_t i = 0; i < program.buffers.size(); ++i) {
    if ((program.buffers[i].space == Space::Ddr) == (role == Role::DdrStick)) {
      fitting.push_back(int32_t(i));
    }
  }
  operand.buffer = fitting[random.below(fitting.size())];
  fillAddress(instruction, operand, unit);
  int64_t bytes = program.buffers[size_t(operand.buffer)].bytes;
  Span span = spanOf(instruction, index);
  if (span.end - span.begin > bytes) {
    operand.coreTable = -1;
    operand.loopStride.fill(0);
    operand.stride.fill(0);
    span = spanOf(instruction, index);
  }
  int64_t slack = (bytes - (span.end - span.begin)) / unit;
  operand.offset = -span.begin + unit * random.between(0, slack);
  if (isVectorInput && chance(4)) {
    operand.splatLane = int8_t(random.below(uint64_t(numerics::elemsPerStick(instruction.format))));
  }
  if (role != Role::DdrStick && chance(5)) {
    operand.sliceTable = addOnly();
  }
}

Program randomProgram(Random &random, const arch::DeviceDesc &device) {
  return Generator(random, device).run();
}

//===- Arbitrary contents -------------------------------------------------------------------===//

static std::string arbitraryName(Random &random) {
  std::string name;
  for (uint64_t i = random.below(20); i > 0; --i) {
    name.push_back(char(random.below(256)));
  }
  return name;
}

static void scramble(Random &random, std::span<int64_t> numbers) {
  std::generate(numbers.begin(), numbers.end(), [&] { return int64_t(random.next()); });
}

static Operand arbitraryOperand(Random &random) {
  Operand operand;
  operand.kind = Operand::Kind(random.below(5));
  operand.splatLane = int8_t(random.next());
  operand.buffer = int32_t(random.between(-2, 6));
  operand.coreTable = int32_t(random.next());
  operand.sliceTable = int32_t(random.next());
  operand.offset = int64_t(random.next());
  scramble(random, operand.loopStride);
  scramble(random, operand.stride);
  if (operand.kind == Operand::Kind::Constant) {
    operand.offset = uint32_t(operand.offset);
  }
  return operand;
}

static Instruction arbitraryInstruction(Random &random) {
  Instruction instruction;
  instruction.opcode = Opcode(random.below(2) == 0 ? random.below(20) : random.below(256));
  instruction.function = Function(random.below(256));
  instruction.format = DataFormat(random.below(256));
  instruction.toFormat = DataFormat(random.below(256));
  instruction.unit = Unit(random.below(256));
  instruction.token = uint8_t(random.next());
  instruction.operands.resize(random.below(kMaxOperands + 1));
  instruction.validLanes = uint16_t(random.next());
  instruction.elementBytes = uint16_t(random.next());
  instruction.group = uint16_t(random.next());
  instruction.constant = uint32_t(random.next());
  instruction.peerTable = int32_t(random.next());
  instruction.onlyTable = int32_t(random.next());
  instruction.parameter = int64_t(random.next());
  scramble(random, instruction.counts);
  for (Operand &operand : instruction.operands) {
    operand = arbitraryOperand(random);
  }
  return instruction;
}

static Buffer arbitraryBuffer(Random &random) {
  Buffer buffer;
  buffer.name = arbitraryName(random);
  buffer.space = Space(random.below(3));
  buffer.base = int64_t(random.next());
  buffer.bytes = int64_t(random.next());
  buffer.symbol = int32_t(random.between(-2, 3));
  buffer.coreOffset.resize(random.below(4));
  scramble(random, buffer.coreOffset);
  buffer.firstPhase = int32_t(random.next());
  buffer.lastPhase = int32_t(random.next());
  buffer.liveIn = random.below(2) == 0;
  buffer.liveOut = random.below(2) == 0;
  buffer.inPlaceOf = int32_t(random.between(-2, 3));
  return buffer;
}

Program arbitraryProgram(Random &random) {
  Program program;
  program.symbols.resize(random.below(3));
  for (Symbol &symbol : program.symbols) {
    symbol = {arbitraryName(random), int64_t(random.next())};
  }
  program.buffers.resize(random.below(4));
  std::generate(program.buffers.begin(), program.buffers.end(),
                [&] { return arbitraryBuffer(random); });
  program.phases.resize(random.below(4));
  for (Phase &phase : program.phases) {
    phase.name = arbitraryName(random);
    phase.cores = int64_t(random.next());
    phase.overlap = random.below(2) == 0;
    phase.coreTables.resize(random.below(4));
    for (std::vector<int64_t> &table : phase.coreTables) {
      table.resize(random.below(5));
      scramble(random, table);
    }
    phase.instructions.resize(random.below(6));
    std::generate(phase.instructions.begin(), phase.instructions.end(),
                  [&] { return arbitraryInstruction(random); });
  }
  return program;
}

} // namespace spyre::test
