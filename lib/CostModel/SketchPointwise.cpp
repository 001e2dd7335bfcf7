//===- SketchPointwise.cpp - load, compute, store (BackEnd/LowerPointwise.cpp) --------------===//
#include "Candidate.h"

#include <algorithm>

namespace spyre::costmodel {

using numerics::DataFormat;
using program::Unit;

namespace {
/// As the back end does copies.
enum class Path : uint8_t { Vector, MoveBytes, LoadIntoOutput, StoreFromInput };
} // namespace

static Path choosePath(const PricedKernel &priced, const AxisTable &table) {
  const Kernel &kernel = priced.kernel;
  if (kernel.kernelClass != KernelClass::Copy) {
    return Path::Vector;
  }
  bool computes = kernel.format == DataFormat::Sen169Fp16 || kernel.format == DataFormat::IeeeFp32;
  Path unit = computes ? Path::Vector : Path::MoveBytes;
  const KernelTensor &input = kernel.inputs[0];
  if (input.sparse) {
    return unit;
  }
  if (!kernel.output.inLx) {
    return Path::StoreFromInput;
  }
  bool repeats = false;
  for (size_t a = 0; a < table.axes; ++a) {
    repeats |= !table.depends(0, a);
  }
  return input.inLx || repeats ? unit : Path::LoadIntoOutput;
}

static void addWork(const Candidate &candidate, Sketch &sketch, Path path, uint16_t reads,
                    uint16_t writes) {
  const PricedKernel &priced = *candidate.priced;
  const arch::Timing &timing = priced.device->timing;
  size_t output = priced.output();
  if (path == Path::Vector) {
    const Kernel &kernel = priced.kernel;
    auto operands = int64_t(kernel.vectorOperands > 0 ? kernel.vectorOperands : priced.tensors);
    double factor = kernel.transcendental ? timing.sfpTranscendentalFactor : 1;
    SketchStep &work =
        addLanes(candidate, sketch, output, sketch.loops, factor, operands * kStickBytes);
    work.reads = reads;
    work.writes = writes;
  } else if (path == Path::MoveBytes) {
    int64_t bytes =
        priced.kernel.inputs[0].sparse ? numerics::elementBytes(priced.kernel.format) : 4;
    SketchStep &work = sketch.add(Work::Move, Unit::Vector, sketch.loops);
    work.cycles = 1 / timing.moveElementsPerCycle;
    work.lxBytes = double(2 * bytes);
    sketch.addLevels(work, output, false);
    work.addLevel(-1, 0, kStickBytes / bytes);
    work.reads = reads;
    work.writes = writes;
  }
}

namespace {

/// Inputs that are gathered: their indices are places behind the tensors.
struct Gathers {
  size_t count = 0;
  std::array<size_t, kMaxKernelTensors> tensor;
  /// Axis along the sticks of the indices, the one over chunks of them, or -1.
  int inner = -1, chunks = -1;
  int64_t sticks = 1;
};

constexpr int64_t kIndexBytes = 4, kIndexLanes = kStickBytes / kIndexBytes;
/// Indices take at most this part of the staging area (BackEnd/Gather.cpp).
constexpr int64_t kIndexShare = 4;

} // namespace

/// Number of the index tensor of gather \p g.
static size_t indexOf(const PricedKernel &priced, const Gathers &gathers, size_t g) {
  return priced.tensors + size_t(priced.tensor(gathers.tensor[g]).indices);
}

/// Axes of all dims; the one along the sticks of indices is not joined with others.
static Gathers addAxes(const Candidate &candidate, AxisTable &table) {
  const PricedKernel &priced = *candidate.priced;
  Gathers gathers;
  bool joins = true;
  for (size_t t = 0; t + 1 < priced.tensors; ++t) {
    joins &= !priced.tensor(t).arrives;
    if (priced.tensor(t).indices >= 0) {
      gathers.tensor[gathers.count++] = t;
    }
  }
  table.places = priced.tensors + gathers.count;
  for (size_t d = 0; d < priced.kernel.dims.size(); ++d) {
    size_t a = table.add(outputSteps(candidate, d));
    for (size_t t = 0; t < priced.tensors; ++t) {
      table.stride[t][a] = candidate.stride[t][d];
    }
    for (size_t g = 0; g < gathers.count; ++g) {
      size_t index = indexOf(priced, gathers, g);
      bool isStick = priced.perStick[index][d] > 1 && candidate.holds(index, d);
      table.stride[priced.tensors + g][a] = isStick ? kIndexBytes : candidate.stride[index][d];
      if (isStick && table.axis[a].count > 1) {
        table.axis[a].full = table.axis[a].count - 1;
      }
    }
  }
  table.coalesce(0, joins);
  for (size_t a = 0; a < table.axes; ++a) {
    gathers.inner = table.axis[a].full < table.axis[a].count ? int(a) : gathers.inner;
  }
  return gathers;
}

/// Chunks of indices that fit, and tiles that depend on them.
static void finishGathers(const Candidate &candidate, AxisTable &table, Gathers &gathers) {
  const PricedKernel &priced = *candidate.priced;
  if (gathers.inner >= 0) {
    SketchAxis &axis = table.axis[size_t(gathers.inner)];
    int64_t room = priced.device->lxStagingBytes() / kIndexShare / int64_t(gathers.count);
    int64_t most = std::max<int64_t>(room / kStickBytes - 1, 1) * kIndexLanes;
    int64_t chunks = (axis.count + most - 1) / most, steps = (axis.count + chunks - 1) / chunks;
    axis = {steps, steps, 1};
    if (chunks > 1) {
      gathers.chunks = int(table.add(chunks));
      for (size_t p = 0; p < table.places; ++p) {
        table.stride[p][size_t(gathers.chunks)] = table.stride[p][size_t(gathers.inner)] * steps;
      }
    }
    gathers.sticks = (steps + kIndexLanes - 1) / kIndexLanes;
  }
  for (size_t g = 0; g < gathers.count; ++g) {
    std::array<int64_t, kMaxAxes> &indices = table.stride[priced.tensors + g];
    std::array<int64_t, kMaxAxes> &values = table.stride[gathers.tensor[g]];
    for (size_t a = 0; a < table.axes; ++a) {
      // In the tile rows are numbered by their indices, inside of the tensor's own dims.
      values[a] = values[a] != 0 ? values[a] : indices[a] / kIndexBytes;
    }
    if (gathers.inner >= 0) {
      indices[size_t(gathers.inner)] = 0;
    }
  }
}

/// Bytes per step of every place that has a tile.
static StagingBytes stagingOf(const PricedKernel &priced, const Gathers &gathers, Path path) {
  StagingBytes bytes;
  for (size_t t = 0; t < priced.tensors; ++t) {
    bool owns = !priced.tensor(t).inLx && path != Path::LoadIntoOutput &&
                !(path == Path::StoreFromInput && t == priced.output());
    bytes.perStep[t] = owns ? kStickBytes : 0;
  }
  for (size_t g = 0; g < gathers.count; ++g) {
    bool inLx = priced.tensor(indexOf(priced, gathers, g)).inLx;
    bytes.perStep[priced.tensors + g] = inLx ? 0 : gathers.sticks * kStickBytes;
  }
  return bytes;
}

static void addPointwiseLoops(Sketch &sketch, size_t output, const Gathers &gathers) {
  addLoops(sketch, output);
  for (size_t at = sketch.loops; gathers.chunks >= 0 && at-- > 1;) {
    // Chunks are the outermost loop.
    if (sketch.loop[at] == gathers.chunks) {
      std::swap(sketch.loop[at], sketch.loop[at - 1]);
    }
  }
}

static void addLoads(const Candidate &candidate, Sketch &sketch, const Gathers &gathers,
                     const std::array<uint16_t, kMaxPlaces> &buffer) {
  const PricedKernel &priced = *candidate.priced;
  for (size_t g = 0; g < gathers.count; ++g) {
    size_t place = priced.tensors + g;
    if (buffer[place] != 0) {
      addLoad(candidate, sketch, indexOf(priced, gathers, g), place, sketch.depthOf(place),
              buffer[place])
          .addLevel(-1, kStickBytes, gathers.sticks);
    }
  }
  for (size_t t = 0; t < priced.output(); ++t) {
    if (!priced.tensor(t).inLx) {
      addLoad(candidate, sketch, t, t, sketch.depthOf(t), buffer[t]);
    }
  }
}

bool sketchPointwise(const Candidate &candidate, Sketch &sketch) {
  const PricedKernel &priced = *candidate.priced;
  const size_t output = priced.output();
  AxisTable &table = sketch.table;
  Gathers gathers = addAxes(candidate, table);
  finishGathers(candidate, table, gathers);
  Path path = choosePath(priced, table);
  std::array<uint8_t, kMaxAxes> order;
  table.innerFirst(output, order);
  size_t growing = 0;
  for (size_t i = 0; i < table.axes; ++i) {
    if (int(order[i]) != gathers.chunks) {
      order[growing++] = order[i];
    }
  }
  const StagingBytes bytes = stagingOf(priced, gathers, path);
  size_t maxAxes = program::kMaxLevels - (path == Path::MoveBytes || gathers.count > 0);
  if (!fillTiles(table, order.data(), growing, maxAxes, priced.device->lxStagingBytes(), bytes)) {
    return false;
  }
  addPointwiseLoops(sketch, output, gathers);
  uint16_t reads = 0, writes = 0;
  std::array<uint16_t, kMaxPlaces> buffer{};
  for (size_t t = 0; t < table.places; ++t) {
    if (bytes.perStep[t] > 0) {
      buffer[t] = sketch.addBuffer(double(bytes.perStep[t] * table.tileSteps(t)), int(t));
      reads |= t < output ? buffer[t] : 0;
      writes |= t == output ? buffer[t] : 0;
    }
  }
  addLoads(candidate, sketch, gathers, buffer);
  addWork(candidate, sketch, path, reads, writes);
  if (!priced.tensor(output).inLx) {
    SketchStep &store = sketch.add(Work::Transfer, Unit::Store, sketch.loops);
    store.rates = &candidate.rates[output];
    store.reads = path == Path::StoreFromInput ? reads : writes;
    sketch.addLevels(store, output, true);
  }
  return true;
}

} // namespace spyre::costmodel
