//===- Overlap.cpp - which phases may overlap, and the steps in order -----------------------===//
#include "Overlap.h"

#include "DoubleBuffer.h"
#include "Multicast.h"
#include "Tokens.h"

#include <algorithm>
#include <cstdlib>

namespace spyre::backend {

using program::Instruction;
using program::Opcode;

namespace {
/// One transfer between DDR and LX.
struct Transfer {
  const Instruction *instruction = nullptr;
  const program::Operand *ddr = nullptr;
  /// Around it, outermost first.
  std::vector<const Node *> loops;
  /// What a core reaches in one iteration, before its own offset.
  int64_t low = 0, high = 0;

  void widen(int64_t stride, int64_t count) { (stride < 0 ? low : high) += stride * (count - 1); }
};
} // namespace

static Transfer transferOf(const Instruction &instruction, size_t ddr,
                           const std::vector<const Node *> &loops,
                           const std::vector<program::Buffer> &buffers) {
  const program::Operand &operand = instruction.operands[ddr];
  Transfer transfer{&instruction, &operand, loops, 0, 0};
  transfer.low = transfer.high = buffers[size_t(operand.buffer)].base + operand.offset;
  for (size_t level = 0; level < program::kMaxLevels; ++level) {
    transfer.widen(operand.stride[level], instruction.counts[level]);
  }
  transfer.high += program::pointBytes(instruction, ddr);
  return transfer;
}

static void collectTransfers(const std::vector<Node> &body, std::vector<const Node *> &loops,
                             const std::vector<program::Buffer> &buffers,
                             std::vector<Transfer> &loads, std::vector<Transfer> &stores) {
  for (const Node &node : body) {
    const Instruction &instruction = node.instruction;
    switch (instruction.opcode) {
    case Opcode::Load:
    case Opcode::Gather:
      loads.push_back(transferOf(instruction, 0, loops, buffers));
      break;
    case Opcode::Store:
    case Opcode::Scatter:
      stores.push_back(transferOf(instruction, instruction.operands.size() - 1, loops, buffers));
      break;
    default:
      loops.push_back(&node);
      collectTransfers(node.body, loops, buffers, loads, stores);
      loops.pop_back();
    }
  }
}

/// Different symbols and different segments are different tensors.
static bool mayAlias(const program::Buffer &a, const program::Buffer &b) {
  return a.symbol == b.symbol && a.base < b.base + b.bytes && b.base < a.base + a.bytes;
}

static bool sameTable(const program::Phase &phase, int32_t a, int32_t b) {
  return a == b || (a >= 0 && b >= 0 && phase.coreTables[size_t(a)] == phase.coreTables[size_t(b)]);
}

/// True when the two never touch the same stick, in whatever iterations. Loops that they share and
/// walk alike move both: then it is enough to look at one iteration, if the next one is out of
/// reach.
static bool areApart(Transfer load, Transfer store) {
  size_t shared = 0;
  while (shared < std::min(load.loops.size(), store.loops.size()) &&
         load.loops[shared] == store.loops[shared] &&
         load.ddr->loopStride[shared] == store.ddr->loopStride[shared]) {
    ++shared;
  }
  for (Transfer *transfer : {&load, &store}) {
    for (size_t i = shared; i < transfer->loops.size(); ++i) {
      transfer->widen(transfer->ddr->loopStride[i], transfer->loops[i]->trips());
    }
  }
  if (load.low < store.high && store.low < load.high) {
    return false;
  }
  int64_t reach = std::max(load.high, store.high) - std::min(load.low, store.low);
  for (size_t i = shared; i-- > 0;) {
    int64_t step = std::abs(load.ddr->loopStride[i]);
    if (step < reach) {
      return false;
    }
    reach += step * (load.loops[i]->trips() - 1);
  }
  return true;
}

/// In-place work: a store overwrites just what the load read in the same iteration, or sticks that
/// the load never reads. So no load comes after a store to its sticks.
static bool inPlace(const program::Phase &phase, const std::vector<program::Buffer> &buffers,
                    const Transfer &load, const Transfer &store) {
  const program::Operand &from = *load.ddr, &to = *store.ddr;
  if (load.instruction->opcode != Opcode::Load || store.instruction->opcode != Opcode::Store ||
      !sameTable(phase, from.coreTable, to.coreTable)) {
    return false;
  }
  bool same = load.loops == store.loops && load.instruction->counts == store.instruction->counts &&
              buffers[size_t(from.buffer)].base == buffers[size_t(to.buffer)].base &&
              from.offset == to.offset && from.loopStride == to.loopStride &&
              from.stride == to.stride;
  return same || areApart(load, store);
}

/// No token orders what goes through DDR.
static bool dependsThroughDdr(const program::Phase &phase, const std::vector<Node> &tree,
                              const std::vector<program::Buffer> &buffers) {
  std::vector<Transfer> loads, stores;
  std::vector<const Node *> loops;
  collectTransfers(tree, loops, buffers, loads, stores);
  for (const Transfer &load : loads) {
    for (const Transfer &store : stores) {
      if (mayAlias(buffers[size_t(load.ddr->buffer)], buffers[size_t(store.ddr->buffer)]) &&
          !inPlace(phase, buffers, load, store)) {
        return true;
      }
    }
  }
  return false;
}

static bool hasTokens(const program::Phase &phase) {
  return std::any_of(
      phase.instructions.begin(), phase.instructions.end(), [](const Instruction &instruction) {
        return instruction.opcode == Opcode::Signal || instruction.opcode == Opcode::Wait;
      });
}

/// Without loops, a phase in which every instruction waits for another one gains nothing.
static bool isChain(const std::vector<Node> &tree) {
  for (size_t i = 1; i < tree.size(); ++i) {
    Opcode opcode = tree[i].instruction.opcode;
    bool isControl = opcode == Opcode::Signal || opcode == Opcode::Wait;
    if (tree[i].isLoop() || (!isControl && tree[i - 1].instruction.opcode != Opcode::Wait)) {
      return false;
    }
  }
  return tree.empty() || !tree[0].isLoop();
}

program::Phase overlapPhase(program::Phase phase, int32_t index, int64_t lxEnd,
                            std::vector<program::Buffer> &buffers, const arch::DeviceDesc &device) {
  addMulticast(phase, buffers, device);
  std::vector<Node> tree = treeOf(phase.instructions);
  if (phase.overlap || hasTokens(phase) || dependsThroughDdr(phase, tree, buffers)) {
    return phase;
  }
  size_t bufferCount = buffers.size();
  std::vector<Node> doubled = doubleBuffers(tree, index, lxEnd, buffers, device);
  if (!addTokens(doubled, buffers)) {
    buffers.resize(bufferCount);
    doubled = std::move(tree);
    if (!addTokens(doubled, buffers)) {
      return phase;
    }
  }
  if (isChain(doubled)) {
    return phase;
  }
  phase.overlap = true;
  phase.instructions.clear();
  phase.instructions.reserve(instructionsIn(doubled));
  flatten(doubled, phase.instructions);
  return phase;
}

} // namespace spyre::backend
