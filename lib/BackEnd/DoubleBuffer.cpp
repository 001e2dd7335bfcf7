//===- DoubleBuffer.cpp - finds lives of tiles, repeats bodies, renames tiles ---------------===//
#include "DoubleBuffer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <queue>

namespace spyre::backend {

using program::Instruction;
using program::Opcode;
using program::Operand;
using program::Unit;

/// A phase does not grow beyond this, or this many times its length.
static constexpr size_t kShortProgram = 192;
static constexpr size_t kMostGrowth = 4;
/// Tiles with a second copy; one bit each.
static constexpr size_t kMostTiles = 64;

namespace {

/// Bit t: tile t begins a life.
using TileMask = uint64_t;
/// By node of the tree.
using Begins = std::map<const Node *, TileMask>;

/// Walks the phase for one tile: where its lives begin, who uses it and how often.
class TileStudy {
public:
  TileStudy(int32_t tile, const std::vector<program::Buffer> &buffers)
      : tile(tile), buffers(buffers) {}
  void walk(const std::vector<Node> &tree) { visitBody(tree, 1); }

  /// Two copies keep the meaning, and let units work at the same time.
  bool pays() const { return sound && lives > 1 && std::popcount(units) > 1; }
  /// Tiles of loads first: they hide latency as well as time.
  int rank() const { return loaded ? 0 : stored ? 1 : 2; }

  const int32_t tile;
  std::vector<const Node *> begins;
  /// Over all iterations.
  double lives = 0;

private:
  /// What may have been done to the tile last, as bits.
  enum State : uint8_t { kUntouched = 1, kWritten = 2, kRead = 4 };

  void visitBody(const std::vector<Node> &body, double times) {
    for (const Node &node : body) {
      if (!node.isLoop()) {
        visit(node, times);
        continue;
      }
      uint8_t entry = state;
      visitBody(node.body, times * double(node.trips()));
      if (node.trips() > 1) {
        // Once more with what the iteration before left behind; lives are counted already.
        state |= entry;
        visitBody(node.body, 0);
      }
    }
  }
  void visit(const Node &node, double times);
  void write(const Node &node, const LxUse &use, double times);
  void read(const LxUse &use);

  const std::vector<program::Buffer> &buffers;
  uint8_t state = kUntouched;
  uint8_t units = 0;
  bool sound = true, loaded = false, stored = false;
  /// Of the current life: the range written, and how much of it at most.
  int64_t low = 0, high = 0, writtenBytes = 0;
};

} // namespace

void TileStudy::visit(const Node &node, double times) {
  bool reads = false, touches = false;
  std::vector<LxUse> uses = lxUses(node.instruction, buffers);
  for (const LxUse &use : uses) {
    if (use.buffer == tile) {
      touches = true;
      sound &= use.fixed;
      reads |= use.reads;
    }
  }
  if (!touches) {
    return;
  }
  Unit unit = program::unitOf(node.instruction.opcode);
  units |= uint8_t(1 << int(unit));
  loaded |= unit == Unit::Load;
  stored |= unit == Unit::Store;
  for (const LxUse &use : uses) {
    if (use.buffer == tile && use.reads) {
      read(use);
    } else if (use.buffer == tile && !reads) {
      write(node, use, times);
    }
  }
}

void TileStudy::read(const LxUse &use) {
  bool covered = use.low >= low && use.high <= high && writtenBytes >= use.high - use.low;
  sound &= covered && !(state & kUntouched);
  state = kRead;
}

void TileStudy::write(const Node &node, const LxUse &use, double times) {
  bool begins = state != kWritten;
  sound &= !begins || !(state & kWritten);
  if (!begins) {
    low = std::min(low, use.low);
    high = std::max(high, use.high);
    writtenBytes += use.volumeBytes;
    return;
  }
  if (times > 0) {
    this->begins.push_back(&node);
    lives += times;
  }
  low = use.low;
  high = use.high;
  writtenBytes = use.volumeBytes;
  state = kWritten;
}

//===- Repeating and renaming ---------------------------------------------------------------===//

static TileMask livesIn(const std::vector<Node> &body, const Begins &begins) {
  TileMask lives = 0;
  for (const Node &node : body) {
    if (node.isLoop()) {
      lives ^= node.trips() % 2 ? livesIn(node.body, begins) : 0;
    } else if (auto found = begins.find(&node); found != begins.end()) {
      lives ^= found->second;
    }
  }
  return lives;
}

namespace {

/// How often the body of a loop is written down: `pairs` iterations of two bodies in a loop, or
/// `single` bodies without one.
struct Repetition {
  Repetition(const Node &loop, const Begins &begins) {
    bool turns = livesIn(loop.body, begins) != 0;
    int64_t trips = loop.trips();
    bodies = turns ? 2 : 1;
    loopTrips = trips / bodies;
    single = trips - loopTrips * bodies;
    if (loopTrips == 1) {
      loopTrips = 0;
      single = trips;
    }
  }
  int64_t bodies = 1, loopTrips = 0, single = 0;
};

class Renamer {
public:
  Renamer(const Begins &begins, const std::map<int32_t, std::pair<TileMask, int32_t>> &copies)
      : begins(begins), copies(copies) {}

  std::vector<Node> run(const std::vector<Node> &tree) {
    std::vector<Node> result;
    append(tree, result);
    return result;
  }

private:
  /// Index of an old loop: scale * index of new loop `depth` + constant.
  struct Index {
    size_t depth = 0;
    int64_t scale = 0, constant = 0;
  };

  void append(const std::vector<Node> &body, std::vector<Node> &result);
  void appendLoop(const Node &loop, std::vector<Node> &result);
  Instruction renamed(const Instruction &instruction) const;

  const Begins &begins;
  const std::map<int32_t, std::pair<TileMask, int32_t>> &copies;
  /// By old depth.
  std::vector<Index> indices;
  size_t depth = 0;
  /// Tiles that are in their copy; the first life of each turns it.
  TileMask inCopy = ~TileMask(0);
};

} // namespace

Instruction Renamer::renamed(const Instruction &instruction) const {
  Instruction result = instruction;
  for (size_t i = 0; i < result.operands.size(); ++i) {
    Operand &operand = result.operands[i];
    if (operand.kind == Operand::Kind::Constant) {
      continue;
    }
    auto strides = operand.loopStride;
    operand.loopStride.fill(0);
    for (size_t old = 0; old < indices.size(); ++old) {
      const Index &index = indices[old];
      operand.offset += strides[old] * index.constant;
      if (index.scale != 0) {
        operand.loopStride[index.depth] = strides[old] * index.scale;
      }
    }
    auto copy = copies.find(operand.buffer);
    if (operand.kind == Operand::Kind::Memory && copy != copies.end() &&
        (inCopy & copy->second.first) != 0) {
      operand.buffer = copy->second.second;
    }
  }
  return result;
}

void Renamer::append(const std::vector<Node> &body, std::vector<Node> &result) {
  for (const Node &node : body) {
    if (node.isLoop()) {
      appendLoop(node, result);
      continue;
    }
    if (auto found = begins.find(&node); found != begins.end()) {
      inCopy ^= found->second;
    }
    result.push_back({renamed(node.instruction), {}});
  }
}

void Renamer::appendLoop(const Node &loop, std::vector<Node> &result) {
  Repetition repetition(loop, begins);
  if (repetition.loopTrips > 0) {
    Node repeated{loop.instruction, {}};
    repeated.instruction.parameter = repetition.loopTrips;
    size_t here = depth++;
    for (int64_t i = 0; i < repetition.bodies; ++i) {
      indices.push_back({here, repetition.bodies, i});
      append(loop.body, repeated.body);
      indices.pop_back();
    }
    --depth;
    result.push_back(std::move(repeated));
  }
  for (int64_t i = 0; i < repetition.single; ++i) {
    indices.push_back({0, 0, loop.trips() - repetition.single + i});
    append(loop.body, result);
    indices.pop_back();
  }
}

/// Instructions after renaming.
static size_t lengthOf(const std::vector<Node> &tree, const Begins &begins) {
  size_t length = 0;
  for (const Node &node : tree) {
    if (!node.isLoop()) {
      ++length;
      continue;
    }
    Repetition repetition(node, begins);
    size_t inLoop = repetition.loopTrips > 0 ? size_t(repetition.bodies) : 0;
    length += lengthOf(node.body, begins) * (inLoop + size_t(repetition.single)) + 2;
  }
  return length;
}

//===- Choice -------------------------------------------------------------------------------===//

static bool isTile(const program::Buffer &buffer, int32_t phase, const arch::DeviceDesc &device) {
  return buffer.space == program::Space::Lx && buffer.firstPhase == phase &&
         buffer.lastPhase == phase && !buffer.liveIn && !buffer.liveOut &&
         buffer.coreOffset.empty() && buffer.inPlaceOf < 0 &&
         buffer.base >= device.lxStagingBegin();
}

/// In one sweep over the phases: a search per phase would make long programs quadratic.
std::vector<int64_t> lxEnds(const std::vector<program::Buffer> &buffers, size_t phases,
                            const arch::DeviceDesc &device) {
  struct Use {
    int32_t first, last;
    int64_t end;
  };
  std::vector<Use> uses;
  for (const program::Buffer &buffer : buffers) {
    if (buffer.space == program::Space::Lx) {
      int64_t offset = 0;
      for (int64_t core : buffer.coreOffset) {
        offset = std::max(offset, core);
      }
      uses.push_back({buffer.firstPhase, buffer.lastPhase, buffer.base + offset + buffer.bytes});
    }
  }
  std::stable_sort(uses.begin(), uses.end(),
                   [](const Use &a, const Use &b) { return a.first < b.first; });
  // The largest end is on top; one whose life is over is dropped when it gets there.
  const auto isLower = [](const Use &a, const Use &b) { return a.end < b.end; };
  std::priority_queue<Use, std::vector<Use>, decltype(isLower)> alive(isLower);
  std::vector<int64_t> ends(phases, device.lxStagingBegin());
  auto next = uses.begin();
  for (size_t phase = 0; phase < phases; ++phase) {
    for (; next != uses.end() && size_t(next->first) <= phase; ++next) {
      alive.push(*next);
    }
    while (!alive.empty() && size_t(alive.top().last) < phase) {
      alive.pop();
    }
    if (!alive.empty()) {
      ends[phase] = std::max(ends[phase], alive.top().end);
    }
  }
  return ends;
}

static void collectTiles(const std::vector<Node> &tree, std::map<int32_t, bool> &touched,
                         const std::vector<program::Buffer> &buffers) {
  for (const Node &node : tree) {
    for (const LxUse &use : lxUses(node.instruction, buffers)) {
      touched[use.buffer] = true;
    }
    collectTiles(node.body, touched, buffers);
  }
}

static std::vector<TileStudy> candidates(const std::vector<Node> &tree, int32_t index,
                                         const std::vector<program::Buffer> &buffers,
                                         const arch::DeviceDesc &device) {
  std::map<int32_t, bool> touched;
  collectTiles(tree, touched, buffers);
  std::vector<TileStudy> studies;
  for (const auto &[buffer, yes] : touched) {
    if (!isTile(buffers[size_t(buffer)], index, device)) {
      continue;
    }
    TileStudy study(buffer, buffers);
    study.walk(tree);
    if (study.pays()) {
      studies.push_back(std::move(study));
    }
  }
  return studies;
}

std::vector<Node> doubleBuffers(const std::vector<Node> &tree, int32_t index, int64_t lxEnd,
                                std::vector<program::Buffer> &buffers,
                                const arch::DeviceDesc &device) {
  std::vector<TileStudy> studies = candidates(tree, index, buffers, device);
  std::vector<const TileStudy *> order;
  for (const TileStudy &study : studies) {
    order.push_back(&study);
  }
  std::stable_sort(order.begin(), order.end(), [](const TileStudy *a, const TileStudy *b) {
    return a->rank() != b->rank() ? a->rank() < b->rank() : a->lives > b->lives;
  });
  size_t mostInstructions = std::max(kShortProgram, kMostGrowth * instructionsIn(tree));
  Begins begins;
  std::map<int32_t, std::pair<TileMask, int32_t>> copies;
  int64_t next = lxEnd;
  for (const TileStudy *study : order) {
    program::Buffer copy = buffers[size_t(study->tile)];
    if (copies.size() == kMostTiles || next + copy.bytes > device.lxBytes) {
      continue;
    }
    TileMask bit = TileMask(1) << copies.size();
    Begins extended = begins;
    for (const Node *node : study->begins) {
      extended[node] |= bit;
    }
    if (lengthOf(tree, extended) > mostInstructions) {
      continue;
    }
    begins = std::move(extended);
    copy.name += ".b";
    copy.base = next;
    next += copy.bytes;
    copies[study->tile] = {bit, int32_t(buffers.size())};
    buffers.push_back(std::move(copy));
  }
  return Renamer(begins, copies).run(tree);
}

} // namespace spyre::backend
