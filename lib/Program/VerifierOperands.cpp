//===- VerifierOperands.cpp - static checks of operands and core tables ---------------------===//
//
// The lowest and highest address of an operand follow from where its buffer starts on each core,
// its offset, its core table and, per loop and level, 0 or stride * (count - 1): addresses are
// affine, so the extremes are at corners and checking them checks every address in between.
//===--------------------------------------------------------------------------------------------===//
#include "Verifier.h"

#include <optional>

namespace spyre::program {

//===- Tables -------------------------------------------------------------------------------===//

static Status checkTableIndex(const PhaseScope &scope, int32_t table) {
  if (table < -1 || table >= int64_t(scope.phase.coreTables.size())) {
    return error<5103>("core table {} of {} does not exist", table, scope.phase.coreTables.size());
  }
  return Status::success();
}

static const std::vector<int64_t> *tableAt(const PhaseScope &scope, int32_t table) {
  return table < 0 ? nullptr : &scope.phase.coreTables[size_t(table)];
}

/// A core whose entry is 0 does not run the instruction.
static bool runsOn(const PhaseScope &scope, const Instruction &instruction, size_t core) {
  const std::vector<int64_t> *only = tableAt(scope, instruction.onlyTable);
  return only == nullptr || (*only)[core] != 0;
}

/// Cores that share a leader are served by one read: it must be the read each of them means.
static Status checkLeaders(const PhaseScope &scope, const Instruction &instruction,
                           const std::vector<int64_t> &leaders) {
  // Operands are checked later, but this one is looked at here.
  SPYRE_RETURN_IF_ERROR(checkTableIndex(scope, instruction.operands[0].coreTable));
  const std::vector<int64_t> *offsets = tableAt(scope, instruction.operands[0].coreTable);
  for (size_t core = 0; core < leaders.size(); ++core) {
    if (leaders[core] < 0 || leaders[size_t(leaders[core])] != leaders[core]) {
      return error<5103>("core {} loads with core {}, which is not its own leader", core,
                         leaders[core]);
    }
    size_t leader = size_t(leaders[core]);
    if (offsets != nullptr && (*offsets)[core] != (*offsets)[leader]) {
      return error<5103>("core {} loads with core {}, but their DDR addresses differ", core,
                         leader);
    }
    if (runsOn(scope, instruction, core) && !runsOn(scope, instruction, leader)) {
      return error<5103>("core {} loads with core {}, which skips the load", core, leader);
    }
  }
  return Status::success();
}

static Status checkPeers(const PhaseScope &scope, const Instruction &instruction) {
  SPYRE_RETURN_IF_ERROR(checkTableIndex(scope, instruction.peerTable));
  const std::vector<int64_t> *peers = tableAt(scope, instruction.peerTable);
  if (peers == nullptr) {
    return instruction.opcode == Opcode::Exchange ? error<5103>("exchange needs a table of peers")
                                                  : Status::success();
  }
  for (int64_t peer : *peers) {
    if (peer < -1 || peer >= scope.phase.cores) {
      return error<5103>("peer {} is none of the {} cores of the phase", peer, scope.phase.cores);
    }
  }
  return instruction.opcode == Opcode::Load ? checkLeaders(scope, instruction, *peers)
                                            : Status::success();
}

Status checkTables(const PhaseScope &scope, const Instruction &instruction) {
  SPYRE_RETURN_IF_ERROR(checkTableIndex(scope, instruction.onlyTable));
  if (const std::vector<int64_t> *only = tableAt(scope, instruction.onlyTable)) {
    for (int64_t entry : *only) {
      if (entry != 0 && entry != 1) {
        return error<5103>("entry {} of the predicate must be 0 or 1", entry);
      }
    }
  }
  return checkPeers(scope, instruction);
}

//===- Operands -----------------------------------------------------------------------------===//

namespace {

class OperandVerifier {
public:
  OperandVerifier(const PhaseScope &scope, const Instruction &instruction, size_t index, Role role)
      : scope(scope), instruction(instruction), index(index), role(role),
        operand(instruction.operands[index]) {}
  Status run() const;

private:
  Status checkKind() const;
  Status checkConstant() const;
  Status checkBuffer() const;
  Status checkOperandTables() const;
  Status checkStrides() const;
  Status checkAlignment() const;
  Status checkReach() const;
  Status checkNumbers() const;
  void addNest(Extent &extent) const;
  int64_t alignment() const;
  bool isVectorInput() const {
    return instruction.opcode == Opcode::Vector && index != resultOperand(instruction);
  }
  bool inDdr() const { return role == Role::DdrStick; }

  // Text is made only for failures: programs are verified at each launch.
  Status located(const Status &status) const {
    return status.ok() ? status : status.withContext(fmt::format("operand {} ", index));
  }
  template <typename... Args>
  Status fault(fmt::format_string<Args...> format, Args &&...args) const {
    return error<5103>("operand {} {}", index, fmt::format(format, std::forward<Args>(args)...));
  }

  const PhaseScope &scope;
  const Instruction &instruction;
  size_t index;
  Role role;
  const Operand &operand;
};

} // namespace

Status OperandVerifier::run() const {
  SPYRE_RETURN_IF_ERROR(checkKind());
  if (operand.kind == Operand::Kind::Constant) {
    return checkConstant();
  }
  SPYRE_RETURN_IF_ERROR(checkOperandTables());
  SPYRE_RETURN_IF_ERROR(checkStrides());
  if (operand.kind == Operand::Kind::Number) {
    return checkNumbers();
  }
  SPYRE_RETURN_IF_ERROR(checkBuffer());
  SPYRE_RETURN_IF_ERROR(checkAlignment());
  return checkReach();
}

Status OperandVerifier::checkKind() const {
  bool isMemory = operand.kind == Operand::Kind::Memory;
  switch (operand.kind) {
  case Operand::Kind::Memory:
    if (role == Role::Number) {
      return fault("is memory, but topk takes a number there");
    }
    break;
  case Operand::Kind::Constant:
    if (!isVectorInput()) {
      return fault("may not be a constant; only inputs of vector are");
    }
    break;
  case Operand::Kind::Number:
    if (role != Role::Number) {
      return fault("may not be a number; only topk has one");
    }
    break;
  default:
    return fault("has the unknown kind {}", uint8_t(operand.kind));
  }
  int64_t lanes = numerics::elemsPerStick(instruction.format);
  if (operand.splatLane != -1 && !(isMemory && isVectorInput())) {
    return fault("may not be splat; only inputs of vector in memory are");
  }
  if (operand.splatLane < -1 || operand.splatLane >= lanes) {
    return fault("splats lane {}, but a stick has {}", operand.splatLane, lanes);
  }
  if (!isMemory && operand.buffer != -1) {
    return fault("is no memory and has no buffer, but names {}", operand.buffer);
  }
  return Status::success();
}

Status OperandVerifier::checkConstant() const {
  if (operand.coreTable != -1 || operand.sliceTable != -1 ||
      operand.loopStride != Operand().loopStride || operand.stride != Operand().stride) {
    return fault("is a constant and has no tables and strides");
  }
  if (operand.offset < 0 || operand.offset > UINT32_MAX) {
    return fault("is a constant whose bits {} are not 32 bits", operand.offset);
  }
  return Status::success();
}

Status OperandVerifier::checkBuffer() const {
  if (operand.buffer < 0 || operand.buffer >= int64_t(scope.program.buffers.size())) {
    return fault("uses buffer {} of {}", operand.buffer, scope.program.buffers.size());
  }
  const Buffer &buffer = scope.program.buffers[size_t(operand.buffer)];
  if ((buffer.space == Space::Ddr) != inDdr()) {
    return fault("must be in {}, but buffer '{}' is in {}", inDdr() ? "DDR" : "LX", buffer.name,
                 inDdr() ? "LX" : "DDR");
  }
  if (!buffer.coreOffset.empty() && int64_t(buffer.coreOffset.size()) < scope.phase.cores) {
    return fault("uses buffer '{}', which has core offsets for {} of {} cores", buffer.name,
                 buffer.coreOffset.size(), scope.phase.cores);
  }
  return Status::success();
}

Status OperandVerifier::checkOperandTables() const {
  SPYRE_RETURN_IF_ERROR(located(checkTableIndex(scope, operand.coreTable)));
  SPYRE_RETURN_IF_ERROR(located(checkTableIndex(scope, operand.sliceTable)));
  if (operand.sliceTable != -1 && (inDdr() || role == Role::Number)) {
    return fault("may not have slices; they are for LX");
  }
  return Status::success();
}

Status OperandVerifier::checkStrides() const {
  for (size_t loop = scope.trips.size(); loop < kMaxLoops; ++loop) {
    if (operand.loopStride[loop] != 0) {
      return fault("has a stride for loop {}, but {} are open", loop, scope.trips.size());
    }
  }
  for (size_t level = 0; level < kMaxLevels; ++level) {
    if (instruction.counts[level] == 1 && operand.stride[level] != 0) {
      return fault("has a stride for level {}, whose count is 1", level);
    }
  }
  return Status::success();
}

int64_t OperandVerifier::alignment() const {
  // An index and an element are as large as they are aligned; all else is made of sticks.
  return role == Role::LxElement || role == Role::LxIndex ? pointBytes(instruction, index)
                                                          : scope.device.stickBytes;
}

Status OperandVerifier::checkAlignment() const {
  int64_t unit = alignment();
  auto check = [&](const auto &terms) {
    auto found =
        std::find_if(terms.begin(), terms.end(), [unit](int64_t term) { return term % unit != 0; });
    return found == terms.end()
               ? Status::success()
               : fault("has an address or stride {} that is not a multiple of {}", *found, unit);
  };
  SPYRE_RETURN_IF_ERROR(check(std::array{operand.offset}));
  SPYRE_RETURN_IF_ERROR(check(operand.loopStride));
  SPYRE_RETURN_IF_ERROR(check(operand.stride));
  const std::vector<int64_t> *table = tableAt(scope, operand.coreTable);
  return table == nullptr ? Status::success() : check(*table);
}

void OperandVerifier::addNest(Extent &extent) const {
  for (size_t i = 0; i < scope.trips.size(); ++i) {
    extent.widen(operand.loopStride[i], scope.trips[i]);
  }
  for (size_t i = 0; i < kMaxLevels; ++i) {
    extent.widen(operand.stride[i], instruction.counts[i]);
  }
}

/// The operand whose address moves by index * parameter.
static bool isIndexed(const Instruction &instruction, size_t index) {
  switch (instruction.opcode) {
  case Opcode::Gather:
  case Opcode::Pick:
    return index == 0;
  case Opcode::Scatter:
    return index == 2;
  default:
    return false;
  }
}

Status OperandVerifier::checkReach() const {
  const Buffer &buffer = scope.program.buffers[size_t(operand.buffer)];
  const std::vector<int64_t> *table = tableAt(scope, operand.coreTable);
  Extent nest;
  addNest(nest);
  nest.end += pointBytes(instruction, index);
  if (role == Role::LxMatrix) {
    nest.widen(instruction.parameter, pointPlaces(instruction, index));
  }
  if (isIndexed(instruction, index)) {
    nest.widen(instruction.parameter, instruction.constant);
  }
  Wide start = bufferStart(scope.program, buffer) + operand.offset;
  std::optional<Extent> extent;
  for (size_t core = 0; core < size_t(scope.phase.cores); ++core) {
    if (!runsOn(scope, instruction, core)) {
      continue;
    }
    Wide begin = start + (table == nullptr ? 0 : (*table)[core]) +
                 (buffer.coreOffset.empty() ? 0 : buffer.coreOffset[core]);
    Extent own{begin + nest.begin, begin + nest.end};
    extent =
        extent ? Extent{std::min(extent->begin, own.begin), std::max(extent->end, own.end)} : own;
  }
  return extent ? located(checkPlace(scope.device, buffer.space, *extent)) : Status::success();
}

/// The numbers of TopK are stored as int32.
Status OperandVerifier::checkNumbers() const {
  Extent extent{operand.offset, operand.offset};
  if (const std::vector<int64_t> *table = tableAt(scope, operand.coreTable)) {
    auto [low, high] = std::minmax_element(table->begin(), table->end());
    extent.begin += *low;
    extent.end += *high;
  }
  addNest(extent);
  if (extent.begin < INT32_MIN || extent.end > INT32_MAX) {
    return fault("gives numbers that are not 32-bit integers");
  }
  return Status::success();
}

/// The ring holds what an Exchange moves until all cores have read: no more than an LX can hold.
static Status checkExchange(const PhaseScope &scope, const Instruction &instruction) {
  int64_t most = scope.device.lxBytes / scope.device.stickBytes;
  if (instruction.opcode == Opcode::Exchange && instruction.points() > most) {
    return error<5103>("exchange moves {} sticks, but LX has {}; exchange it in parts",
                       instruction.points(), most);
  }
  return Status::success();
}

Status checkOperands(const PhaseScope &scope, const Instruction &instruction) {
  SPYRE_RETURN_IF_ERROR(checkExchange(scope, instruction));
  OperandRoles roles = operandRoles(instruction);
  const char *name = opcodeName(instruction.opcode);
  if (instruction.operands.size() != roles.count) {
    return error<5103>("{} takes {} operands, not {}", name, roles.count,
                       instruction.operands.size());
  }
  for (size_t i = 0; i < roles.count; ++i) {
    SPYRE_RETURN_IF_ERROR(OperandVerifier(scope, instruction, i, roles.role[i]).run());
  }
  return Status::success();
}

} // namespace spyre::program
