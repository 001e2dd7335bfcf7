//===- Tokens.cpp - turns of units at buffers become signals and waits ----------------------===//
#include "Tokens.h"

#include <algorithm>
#include <bit>
#include <map>
#include <string>

namespace spyre::backend {

using program::Instruction;
using program::Opcode;
using program::Unit;

namespace {

/// Bit u: unit u touches something.
using UnitMask = uint8_t;
/// Buffers that share a token, as numbers of resources.
using Holding = std::vector<size_t>;

/// A node with what is known of it: who touches which resource in it, and what is put around it.
struct Annotated {
  std::vector<UnitMask> units;
  std::vector<Annotated> body;
  std::vector<Instruction> before, after;
};

/// What one unit does with a holding in a row: nodes first..last of one body.
struct Turn {
  Unit unit = Unit::Load;
  Annotated *first = nullptr, *last = nullptr;
  bool inLoop = false;
};

} // namespace

//===- Resources ----------------------------------------------------------------------------===//

static void collectBuffers(const std::vector<Node> &tree,
                           const std::vector<program::Buffer> &buffers,
                           std::map<int32_t, size_t> &resources) {
  for (const Node &node : tree) {
    for (const LxUse &use : lxUses(node.instruction, buffers)) {
      resources.emplace(use.buffer, 0);
    }
    collectBuffers(node.body, buffers, resources);
  }
}

/// Numbers the buffers of the phase so that those that share bytes on any core have one number;
/// returns how many numbers there are.
static size_t numberResources(const std::vector<program::Buffer> &buffers,
                              std::map<int32_t, size_t> &resources) {
  struct Range {
    int64_t begin, end;
    int32_t buffer;
  };
  std::vector<Range> ranges;
  for (const auto &[index, number] : resources) {
    const program::Buffer &buffer = buffers[size_t(index)];
    int64_t low = 0, high = 0;
    if (!buffer.coreOffset.empty()) {
      auto [least, most] = std::minmax_element(buffer.coreOffset.begin(), buffer.coreOffset.end());
      low = *least;
      high = *most;
    }
    ranges.push_back({buffer.base + low, buffer.base + high + buffer.bytes, index});
  }
  std::stable_sort(ranges.begin(), ranges.end(),
                   [](const Range &a, const Range &b) { return a.begin < b.begin; });
  size_t count = 0;
  int64_t end = INT64_MIN;
  for (const Range &range : ranges) {
    count += range.begin >= end;
    end = std::max(end, range.end);
    resources[range.buffer] = count - 1;
  }
  return count;
}

static Annotated annotate(const Node &node, const std::vector<program::Buffer> &buffers,
                          const std::map<int32_t, size_t> &resources, size_t count) {
  Annotated result;
  result.units.assign(count, 0);
  for (const LxUse &use : lxUses(node.instruction, buffers)) {
    result.units[resources.at(use.buffer)] |=
        UnitMask(1 << int(program::unitOf(node.instruction.opcode)));
  }
  for (const Node &child : node.body) {
    result.body.push_back(annotate(child, buffers, resources, count));
    for (size_t i = 0; i < count; ++i) {
      result.units[i] |= result.body.back().units[i];
    }
  }
  return result;
}

//===- Turns --------------------------------------------------------------------------------===//

static UnitMask unitsAt(const Annotated &node, const Holding &holding) {
  UnitMask units = 0;
  for (size_t resource : holding) {
    units |= node.units[resource];
  }
  return units;
}

static void findTurns(std::vector<Annotated> &body, const Holding &holding, bool inLoop,
                      std::vector<Turn> &turns, std::string &shape) {
  bool open = false;
  for (Annotated &node : body) {
    UnitMask units = unitsAt(node, holding);
    if (std::popcount(units) > 1) {
      open = false;
      shape += '(';
      findTurns(node.body, holding, true, turns, shape);
      shape += ')';
    } else if (units != 0) {
      auto unit = Unit(std::countr_zero(units));
      if (!open || turns.back().unit != unit) {
        open = true;
        turns.push_back({unit, &node, &node, inLoop});
        shape += char('0' + int(unit));
      }
      turns.back().last = &node;
    }
  }
}

/// Turns in program order, and in \p shape who takes them in which loop.
static std::vector<Turn> turnsOf(Annotated &root, const Holding &holding, std::string &shape) {
  std::vector<Turn> turns;
  findTurns(root.body, holding, false, turns, shape);
  return turns;
}

/// Resources that change hands in the same way become one holding: one token is enough for tiles
/// that are loaded together and used together.
static std::vector<Holding> joinResources(Annotated &root) {
  std::vector<Holding> holdings;
  std::vector<std::string> shapes;
  for (size_t resource = 0; resource < root.units.size(); ++resource) {
    if (std::popcount(root.units[resource]) < 2) {
      continue;
    }
    std::string shape;
    turnsOf(root, {resource}, shape);
    bool joined = false;
    for (size_t i = 0; i < holdings.size() && !joined; ++i) {
      if (shapes[i] == shape) {
        Holding both = holdings[i];
        both.push_back(resource);
        std::string bothShape;
        turnsOf(root, both, bothShape);
        joined = bothShape == shape;
        if (joined) {
          holdings[i] = std::move(both);
        }
      }
    }
    if (!joined) {
      holdings.push_back({resource});
      shapes.push_back(std::move(shape));
    }
  }
  return holdings;
}

//===- Signals and waits --------------------------------------------------------------------===//

static Instruction control(Opcode opcode, Unit unit, size_t token) {
  Instruction instruction;
  instruction.opcode = opcode;
  instruction.unit = unit;
  instruction.token = uint8_t(token);
  return instruction;
}

/// The first turn needs no wait and the last one no signal when they happen once.
static void placeToken(Annotated &root, const Holding &holding, size_t token) {
  std::string shape;
  std::vector<Turn> turns = turnsOf(root, holding, shape);
  for (size_t i = 0; i < turns.size(); ++i) {
    const Turn &turn = turns[i];
    if (i > 0 || turn.inLoop) {
      turn.first->before.push_back(control(Opcode::Wait, turn.unit, token));
    }
    if (i + 1 < turns.size() || turn.inLoop) {
      turn.last->after.push_back(control(Opcode::Signal, turn.unit, token));
    }
  }
  if (turns.front().inLoop) {
    root.before.push_back(control(Opcode::Signal, turns.front().unit, token));
  }
  if (turns.back().inLoop) {
    root.after.push_back(control(Opcode::Wait, turns.back().unit, token));
  }
}

static void appendNodes(std::vector<Node> &body, const std::vector<Instruction> &instructions) {
  for (const Instruction &instruction : instructions) {
    body.push_back({instruction, {}});
  }
}

/// \p body with the control of its \p notes; that of a loop stands outside of it.
static std::vector<Node> withControl(std::vector<Node> body, const std::vector<Annotated> &notes) {
  std::vector<Node> result;
  size_t count = body.size();
  for (const Annotated &note : notes) {
    count += note.before.size() + note.after.size();
  }
  result.reserve(count);
  for (size_t i = 0; i < body.size(); ++i) {
    appendNodes(result, notes[i].before);
    body[i].body = withControl(std::move(body[i].body), notes[i].body);
    result.push_back(std::move(body[i]));
    appendNodes(result, notes[i].after);
  }
  return result;
}

bool addTokens(std::vector<Node> &tree, const std::vector<program::Buffer> &buffers) {
  std::map<int32_t, size_t> resources;
  collectBuffers(tree, buffers, resources);
  size_t count = numberResources(buffers, resources);
  // The phase is the only iteration of a loop around it.
  Node phase;
  phase.instruction.opcode = Opcode::Loop;
  phase.body = std::move(tree);
  std::vector<Annotated> notes;
  notes.push_back(annotate(phase, buffers, resources, count));
  Annotated &root = notes.front();
  std::vector<Holding> holdings = joinResources(root);
  bool enough = holdings.size() <= program::kMaxTokens;
  for (size_t token = 0; enough && token < holdings.size(); ++token) {
    placeToken(root, holdings[token], token);
  }
  // Not {phase}: the elements of an initializer list are copied, with all that is in them.
  std::vector<Node> wrapped;
  wrapped.push_back(std::move(phase));
  tree = withControl(std::move(wrapped), notes);
  // Take the loop away that was put around: credits, the phase, drains.
  auto around = std::find_if(tree.begin(), tree.end(), [](const Node &n) { return n.isLoop(); });
  std::vector<Node> inside = std::move(around->body);
  around = tree.erase(around);
  tree.insert(around, std::make_move_iterator(inside.begin()),
              std::make_move_iterator(inside.end()));
  return enough;
}

} // namespace spyre::backend
