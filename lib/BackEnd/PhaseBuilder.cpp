//===- PhaseBuilder.cpp - loops, operands and instructions ----------------------------------===//
#include "PhaseBuilder.h"

#include <algorithm>

namespace spyre::backend {

using program::Instruction;
using program::Opcode;

static int64_t maxCountOf(const arch::DeviceDesc &device) {
  return device.division.maxTripCount > 0 ? device.division.maxTripCount : INT64_MAX;
}

PhaseBuilder::PhaseBuilder(const Kernel &kernel, BufferTable &buffers)
    : kernel(kernel), buffers(buffers), stagingNext(kernel.device->lxStagingBegin()),
      stagingEnd(kernel.device->lxBytes), maxCount(maxCountOf(*kernel.device)) {
  phase.name = kernel.name;
  phase.cores = kernel.dsc->cores;
  buffers.beginPhase(kernel.name);
}

int32_t PhaseBuilder::coreTable(const std::vector<int64_t> &table) {
  auto found = std::find(phase.coreTables.begin(), phase.coreTables.end(), table);
  int32_t index = int32_t(found - phase.coreTables.begin());
  if (found == phase.coreTables.end()) {
    phase.coreTables.push_back(table);
  }
  return index;
}

Place PhaseBuilder::placeOf(const TensorMap &map) {
  BufferTable::Location location = buffers.tensor(map);
  Place place;
  place.buffer = location.buffer;
  place.offset = location.offset;
  place.splat = map.sparse;
  if (map.inLx) {
    place.sliceTable = coreTable(map.sliceBegin);
    return place;
  }
  if (map.arrival) {
    place.arriving = &map;
    const std::vector<int64_t> &offsets = map.arrival->offsetBytes;
    bool moves = std::any_of(offsets.begin(), offsets.end(), [](int64_t o) { return o != 0; });
    place.coreTable = moves ? coreTable(offsets) : -1;
    return place;
  }
  int64_t base = *std::min_element(map.startAddress.begin(), map.startAddress.end());
  std::vector<int64_t> offsets;
  bool differ = false;
  for (int64_t start : map.startAddress) {
    offsets.push_back(start - base);
    differ |= start != base;
  }
  place.coreTable = differ ? coreTable(offsets) : -1;
  return place;
}

Place PhaseBuilder::stage(const std::string &name, const Place &like,
                          const std::vector<size_t> &order, int64_t pointBytes) {
  std::vector<int64_t> strides(axes.size(), 0);
  int64_t bytes = pointBytes;
  for (size_t a : order) {
    if (like.dependsOn(a)) {
      strides[a] = bytes;
      bytes *= axes[a].tile;
    }
  }
  Place place = stageRoom(name, bytes);
  place.splat = like.splat;
  place.stride = std::move(strides);
  return place;
}

Place PhaseBuilder::stageRoom(const std::string &name, int64_t bytes) {
  Place place;
  place.staged = true;
  place.stride.assign(axes.size(), 0);
  place.buffer = buffers.staging(name, stagingNext, bytes);
  stagingNext += bytes;
  SPYRE_CHECK(stagingNext <= stagingEnd, "tiles are chosen to fit the staging area");
  return place;
}

size_t PhaseBuilder::depthOf(const std::vector<size_t> &order, const Place &place) {
  size_t depth = order.size();
  while (depth > 0 && !place.dependsOn(order[depth - 1])) {
    --depth;
  }
  return depth;
}

void PhaseBuilder::walk(const std::vector<size_t> &order, const Hook &enter, const Hook &leave) {
  state.assign(axes.size(), {});
  for (size_t a = 0; a < axes.size(); ++a) {
    state[a].steps = axes[a].count;
    state[a].tail = axes[a].full < axes[a].count;
  }
  // The innermost loops stay loops: they are the ones that repeat most.
  size_t loops = 0;
  unrolled = order.size();
  while (unrolled > 0 && loops < program::kMaxLoops) {
    --unrolled;
    const Axis &axis = axes[order[unrolled]];
    loops += axis.full / axis.tile > 1;
  }
  walkFrom(order, 0, enter, leave);
}

void PhaseBuilder::walkFrom(const std::vector<size_t> &order, size_t depth, const Hook &enter,
                            const Hook &leave) {
  enter(depth);
  if (depth < order.size()) {
    const Axis &axis = axes[order[depth]];
    TileState saved = state[order[depth]];
    int64_t trips = axis.full / axis.tile;
    int64_t rest = axis.count - trips * axis.tile;
    if (trips > 0) {
      state[order[depth]] = {axis.tile, false, 0, -1, 0};
      walkPiece(order, depth, trips, enter, leave);
    }
    if (rest > 0) {
      state[order[depth]] = {rest, axis.full < axis.count, trips * axis.tile, -1, 0};
      walkPiece(order, depth, 1, enter, leave);
    }
    state[order[depth]] = saved;
  }
  leave(depth);
}

void PhaseBuilder::walkPiece(const std::vector<size_t> &order, size_t depth, int64_t trips,
                             const Hook &enter, const Hook &leave) {
  TileState &tile = state[order[depth]];
  if (trips == 1 || depth < unrolled || isCut(order[depth])) {
    for (int64_t trip = 0; trip < trips && !tooLong(); ++trip) {
      walkFrom(order, depth + 1, enter, leave);
      tile.offset += tile.steps;
    }
    return;
  }
  while (trips > 0 && !tooLong()) {
    // A loop the machine cannot count to the end of is several, one behind the other.
    const int64_t counted = std::min(trips, maxCount);
    Instruction loop;
    loop.opcode = Opcode::Loop;
    loop.parameter = counted;
    append(loop);
    tile.slot = openLoops++;
    tile.loopSteps = tile.steps;
    walkFrom(order, depth + 1, enter, leave);
    tile.slot = -1;
    --openLoops;
    Instruction end;
    end.opcode = Opcode::EndLoop;
    append(end);
    tile.offset += counted * tile.steps;
    trips -= counted;
  }
}

std::vector<Level> PhaseBuilder::levels(const std::vector<size_t> &order,
                                        const std::vector<const Place *> &places) const {
  std::vector<Level> result;
  for (size_t a : order) {
    Level level{state[a].steps, {}};
    for (const Place *place : places) {
      level.strides.push_back(place->stride[a]);
    }
    result.push_back(std::move(level));
  }
  return result;
}

std::vector<size_t> PhaseBuilder::axesOf(const Place &place) const {
  std::vector<size_t> order;
  for (size_t a : innerFirst(place)) {
    if (place.dependsOn(a)) {
      order.insert(order.begin(), a);
    }
  }
  return order;
}

program::Operand PhaseBuilder::operandOf(const Place &place) const {
  program::Operand operand;
  operand.buffer = place.buffer;
  operand.offset = place.offset;
  operand.coreTable = place.coreTable;
  operand.sliceTable = place.sliceTable;
  for (size_t a = 0; a < place.stride.size(); ++a) {
    if (place.staged && int(a) != place.wholeAxis) {
      continue;
    }
    const TileState &tile = state[a];
    operand.offset += tile.offset * place.stride[a];
    if (tile.slot >= 0) {
      operand.loopStride[size_t(tile.slot)] = tile.loopSteps * place.stride[a];
    }
  }
  return operand;
}

/// Joins neighbours that are one run for all operands and count no further than \p maxCount; the
/// order of points stays the same.
static std::vector<Level> joinLevels(const std::vector<Level> &levels, int64_t maxCount) {
  std::vector<Level> joined;
  for (const Level &level : levels) {
    if (level.count == 1) {
      continue;
    }
    bool oneRun = !joined.empty() && joined.back().count <= maxCount / level.count;
    for (size_t i = 0; oneRun && i < level.strides.size(); ++i) {
      oneRun = joined.back().strides[i] == level.strides[i] * level.count;
    }
    if (oneRun) {
      joined.back() = {joined.back().count * level.count, level.strides};
    } else {
      joined.push_back(level);
    }
  }
  return joined;
}

Instruction &PhaseBuilder::append(const Instruction &instruction) {
  return phase.instructions.emplace_back(instruction);
}

void PhaseBuilder::emit(Instruction instruction, const std::vector<const Place *> &places,
                        std::vector<Level> levels) {
  emitAs(kernel.format, instruction, places, std::move(levels));
}

void PhaseBuilder::emitAs(numerics::DataFormat format, Instruction instruction,
                          const std::vector<const Place *> &places, std::vector<Level> levels) {
  std::vector<Level> joined = joinLevels(levels, maxCount);
  SPYRE_CHECK(joined.size() <= program::kMaxLevels,
              "tiles span at most as many axes as an instruction has levels");
  instruction.format = format;
  instruction.operands.resize(places.size());
  size_t first = program::kMaxLevels - joined.size();
  for (size_t l = 0; l < joined.size(); ++l) {
    instruction.counts[first + l] = joined[l].count;
  }
  for (size_t i = 0; i < places.size(); ++i) {
    program::Operand &operand = instruction.operands[i] = operandOf(*places[i]);
    if (instruction.opcode == Opcode::TopK && i == 2) {
      operand.kind = program::Operand::Kind::Number;
    }
    bool isVectorInput = instruction.opcode == Opcode::Vector && i + 1 < places.size();
    operand.splatLane = isVectorInput && places[i]->splat ? 0 : -1;
    for (size_t l = 0; l < joined.size(); ++l) {
      operand.stride[first + l] = joined[l].strides[i];
    }
  }
  append(instruction);
}

void PhaseBuilder::load(const Place &from, const Place &lx) {
  if (from.arriving) {
    std::vector<Span> spans;
    for (size_t a : axesOf(from)) {
      spans.push_back({axes[a].name, firstStep(a), state[a].steps, from.stride[a], lx.stride[a]});
    }
    arrive(from, lx, spans);
    return;
  }
  Instruction instruction;
  instruction.opcode = Opcode::Load;
  emit(instruction, {&from, &lx}, levels(axesOf(from), {&from, &lx}));
}

/// True when an arriving tensor has several pieces along \p axis: another core in each.
bool PhaseBuilder::isCut(size_t axis) const {
  return std::any_of(kernel.inputs.begin(), kernel.inputs.end(), [&](const TensorMap &input) {
    return input.arrival && input.arrival->find(axes[axis].name);
  });
}

/// The part of \p span that lies in the piece of \p round, perhaps none; \p pieceBegin becomes the
/// first step of the piece.
static PhaseBuilder::Span clip(const Arrival &arrival, size_t round, PhaseBuilder::Span span,
                               int64_t &pieceBegin) {
  auto rest = int64_t(round);
  for (const Arrival::Cut &cut : arrival.cuts) {
    if (cut.dim == span.dim) {
      pieceBegin = rest % cut.pieces * cut.steps;
      int64_t end = std::min(span.begin + span.count, pieceBegin + cut.steps);
      span.begin = std::max(span.begin, pieceBegin);
      span.count = end - span.begin;
    }
    rest /= cut.pieces;
  }
  return span;
}

void PhaseBuilder::arrive(const Place &from, const Place &lx, const std::vector<Span> &spans,
                          int32_t only) {
  const Arrival &arrival = *from.arriving->arrival;
  for (size_t round = 0; round < arrival.owners.size(); ++round) {
    Place source = from, target = lx;
    std::vector<Level> nest;
    bool touched = true;
    for (const Span &span : spans) {
      int64_t pieceBegin = 0;
      Span part = clip(arrival, round, span, pieceBegin);
      touched &= part.count > 0;
      // The operand's own offset counts from the begin of the core's slice, the piece from its own.
      source.offset += (part.begin - span.begin - pieceBegin) * span.fromBytes;
      target.offset += (part.begin - span.begin) * span.toBytes;
      nest.push_back({part.count, {span.fromBytes, span.toBytes}});
    }
    if (touched) {
      exchangePiece(source, target, round, only, std::move(nest));
    }
  }
}

void PhaseBuilder::exchangePiece(Place source, const Place &target, size_t round, int32_t only,
                                 std::vector<Level> nest) {
  std::vector<int64_t> peers = source.arriving->arrival->owners[round], slices;
  for (size_t core = 0; core < peers.size(); ++core) {
    slices.push_back(source.arriving->sliceBegin[size_t(peers[core])]);
    const bool takesPart = only < 0 || phase.coreTables[size_t(only)][core] != 0;
    peers[core] = takesPart ? peers[core] : -1;
  }
  source.sliceTable = coreTable(slices);
  Instruction exchange;
  exchange.opcode = Opcode::Exchange;
  exchange.function = program::Function::Copy;
  exchange.peerTable = coreTable(peers);
  emit(exchange, {&source, &target}, std::move(nest));
}

void PhaseBuilder::store(const Place &lx, const Place &ddr, int32_t only) {
  Instruction instruction;
  instruction.opcode = Opcode::Store;
  instruction.onlyTable = only;
  emit(instruction, {&lx, &ddr}, levels(axesOf(ddr), {&lx, &ddr}));
}

void PhaseBuilder::fill(const Place &lx, uint32_t pattern, int64_t pointBytes, int32_t only) {
  Instruction instruction;
  instruction.opcode = Opcode::Fill;
  instruction.onlyTable = only;
  instruction.constant = pattern;
  std::vector<Level> nest = levels(axesOf(lx), {&lx});
  nest.push_back({pointBytes / kStickBytes, {kStickBytes}});
  emit(instruction, {&lx}, std::move(nest));
}

Place PhaseBuilder::shifted(Place place, size_t axis, int64_t steps) {
  place.offset += steps * place.stride[axis];
  return place;
}

Expected<program::Phase> PhaseBuilder::finish() {
  if (tooLong()) {
    return error<5303>("{}: the phase needs more than {} instructions; divide the work over more "
                       "cores or use fewer dimensions",
                       kernel.name, kMaxInstructions);
  }
  return std::move(phase);
}

} // namespace spyre::backend
