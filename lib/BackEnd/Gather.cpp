//===- Gather.cpp - axes, staging and instructions of indirect inputs -----------------------===//
#include "Gather.h"

#include <algorithm>

namespace spyre::backend {

using program::Instruction;
using program::Opcode;

/// Indices take at most this part of the staging area, all of them together.
static constexpr int64_t kIndexShare = 4;

const GatherPlan::Source *GatherPlan::find(size_t number) const {
  for (const Source &source : sources) {
    if (source.number == number) {
      return &source;
    }
  }
  return nullptr;
}

void GatherPlan::add(size_t number, PhaseBuilder &builder) {
  Source source;
  source.number = number;
  source.index = kernel.indices[size_t(kernel.inputs[number].indices)].get();
  source.elements = builder.placeOf(source.index->map);
  source.elements.splat = false;
  sources.push_back(std::move(source));
}

void GatherPlan::addAxis(const std::string &dim) {
  for (Source &source : sources) {
    const TensorMap &map = source.index->map;
    bool isStick = dim == map.stickDim && map.holds(dim);
    source.elements.stride.push_back(isStick ? kIndexBytes : map.strideBytes(dim));
  }
}

void GatherPlan::finishAxes(PhaseBuilder &builder, const std::vector<Place *> &places) {
  std::vector<Place *> all = places;
  std::string stickDim;
  for (Source &source : sources) {
    all.push_back(&source.elements);
    if (!source.index->map.sparse) {
      stickDim = source.index->map.stickDim;
    }
  }
  auto find = [&] {
    auto found = std::find_if(builder.axes.begin(), builder.axes.end(),
                              [&](const Axis &axis) { return axis.name == stickDim; });
    return found == builder.axes.end() ? -1 : int64_t(found - builder.axes.begin());
  };
  // An axis with a partial step is not joined with others.
  if (inner = find(); inner >= 0 && !stickDim.empty()) {
    Axis &axis = builder.axes[size_t(inner)];
    axis.full -= axis.count > 1;
  }
  coalesce(builder.axes, all);
  inner = stickDim.empty() ? -1 : find();
  if (inner < 0) {
    for (Source &source : sources) {
      source.sticks = source.elements;
    }
    return;
  }
  Axis &axis = builder.axes[size_t(inner)];
  axis.full = axis.count;
  innerSteps = axis.count;
  int64_t budget = builder.stagingBytesLeft() / kIndexShare / int64_t(sources.size());
  int64_t sticks = std::max<int64_t>(budget / kStickBytes - 1, 1);
  // The pieces of an arriving operand are counted along whole axes.
  bool arrives = std::any_of(kernel.inputs.begin(), kernel.inputs.end(),
                             [](const TensorMap &input) { return input.arrival != nullptr; });
  if (innerSteps > sticks * kIndexLanes && !arrives) {
    int64_t chunk = sticks * kIndexLanes;
    chunks = innerSteps / chunk;
    rest = innerSteps % chunk;
    innerSteps = axis.count = axis.full = chunk;
    outer = builder.axes.size();
    builder.axes.push_back(Axis::whole(axis.name + ".chunk", chunks));
    for (Place *place : all) {
      place->stride.push_back(place->stride[size_t(inner)] * chunk);
    }
  }
  stagedSteps = innerSteps;
  for (Source &source : sources) {
    source.sticks = source.elements;
    if (!source.index->map.sparse) {
      source.sticks.stride[size_t(inner)] = 0;
      if (chunks > 0) {
        source.sticks.stride[outer] = innerSteps / kIndexLanes * source.index->stickBytes();
      }
    }
  }
}

Place GatherPlan::shapeOf(size_t number, const Place &tensor) const {
  Place shape = tensor;
  if (const Source *source = find(number)) {
    for (size_t a = 0; a < shape.stride.size(); ++a) {
      shape.stride[a] = tensor.dependsOn(a) ? tensor.stride[a] : source->elements.stride[a];
    }
  }
  return shape;
}

/// Of the indices along the stick's axis.
int64_t GatherPlan::unitBytes(const Source &source) const {
  const IndexMap &index = *source.index;
  if (index.map.sparse || inner < 0) {
    return kStickBytes;
  }
  return (index.mostLanes() + stagedSteps + kIndexLanes - 1) / kIndexLanes * kStickBytes;
}

int64_t GatherPlan::stagingBytes(const PhaseBuilder &builder) const {
  int64_t bytes = 0;
  for (const Source &source : sources) {
    if (!source.index->map.inLx) {
      bytes += saturatingProduct(tileSteps(builder.axes, source.sticks), unitBytes(source));
    }
  }
  return bytes;
}

void GatherPlan::stage(PhaseBuilder &builder) {
  for (Source &source : sources) {
    const IndexMap &index = *source.index;
    source.unit = source.elements;
    if (index.map.inLx) {
      continue;
    }
    source.unit = builder.stage(index.map.role + ".tile", source.sticks, unitBytes(source));
    source.unit.splat = false;
    if (!index.map.sparse && index.mostLanes() > 0) {
      std::vector<int64_t> offsets;
      for (int64_t lane : index.firstLane) {
        offsets.push_back(lane * kIndexBytes);
      }
      source.unit.coreTable = builder.coreTable(offsets);
    }
    if (!index.map.sparse && inner >= 0) {
      source.unit.stride[size_t(inner)] = kIndexBytes;
      source.unit.wholeAxis = int(inner);
    }
  }
}

void GatherPlan::loadSticks(PhaseBuilder &builder, const Source &source, int64_t first,
                            int64_t count, int32_t only) const {
  Instruction load;
  load.opcode = Opcode::Load;
  load.onlyTable = only;
  Place from = source.sticks, to = source.unit;
  int64_t stride = source.index->stickBytes();
  from.offset += first * stride;
  to.offset += first * kStickBytes;
  // Whole sticks are loaded, wherever in them a core's indices begin and a tile is.
  to.coreTable = -1;
  to.wholeAxis = -1;
  std::vector<Level> nest = builder.levels(builder.axesOf(from), {&from, &to});
  nest.push_back({count, {stride, kStickBytes}});
  builder.emitAs(numerics::DataFormat::SenUint32, load, {&from, &to}, std::move(nest));
}

void GatherPlan::loadIndices(PhaseBuilder &builder, const std::vector<size_t> &order,
                             size_t depth) const {
  for (const Source &source : sources) {
    const IndexMap &index = *source.index;
    if (index.map.inLx || depth != PhaseBuilder::depthOf(order, source.sticks)) {
      continue;
    }
    // A core whose indices begin late in a stick may need one stick more than another one.
    std::vector<int64_t> needed, more;
    for (size_t core = 0; core < index.firstLane.size(); ++core) {
      needed.push_back(index.sticksOf(core, innerSteps));
    }
    auto [least, most] = std::minmax_element(needed.begin(), needed.end());
    loadSticks(builder, source, 0, *least, -1);
    for (int64_t sticks : needed) {
      more.push_back(sticks > *least);
    }
    if (*most > *least) {
      loadSticks(builder, source, *least, *most - *least, builder.coreTable(more));
    }
  }
}

void GatherPlan::gather(PhaseBuilder &builder, size_t number, const Place &tensor,
                        const Place &unit) const {
  const Source &source = *find(number);
  const TensorMap &map = kernel.inputs[number];
  Instruction instruction;
  instruction.opcode = Opcode::Gather;
  instruction.elementBytes = kIndexBytes;
  instruction.constant = uint32_t(map.rows);
  instruction.parameter = map.rowBytes;
  std::vector<const Place *> places{&tensor, &source.unit, &unit};
  builder.emit(instruction, places,
               builder.levels(builder.axesOf(shapeOf(number, tensor)), places));
}

bool GatherPlan::nextPart(PhaseBuilder &builder, const std::vector<Place *> &places) {
  if (chunks == 0 || rest == 0) {
    return false;
  }
  std::vector<Place *> all = places;
  for (Source &source : sources) {
    all.push_back(&source.sticks);
    if (source.index->map.inLx) {
      all.push_back(&source.unit);
    }
  }
  for (Place *place : all) {
    *place = PhaseBuilder::shifted(*place, outer, chunks);
  }
  Axis &axis = builder.axes[size_t(inner)];
  innerSteps = axis.count = axis.full = rest;
  axis.tile = std::min(axis.tile, rest);
  builder.axes[outer].count = builder.axes[outer].full = 1;
  rest = 0;
  return true;
}

} // namespace spyre::backend
