//===- SketchPointwise.cpp - load, compute, store (BackEnd/LowerPointwise.cpp) --------------===//
#include "Candidate.h"

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
  const arch::Timing &timing = priced.device.timing;
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

bool sketchPointwise(const Candidate &candidate, Sketch &sketch) {
  const PricedKernel &priced = *candidate.priced;
  const size_t output = priced.output();
  AxisTable &table = sketch.table;
  table.places = priced.tensors;
  bool joins = true;
  for (size_t t = 0; t < priced.tensors; ++t) {
    joins &= !priced.tensor(t).arrives;
  }
  for (size_t d = 0; d < priced.kernel.dims.size(); ++d) {
    size_t a = table.add(outputSteps(candidate, d));
    for (size_t t = 0; t < priced.tensors; ++t) {
      table.stride[t][a] = candidate.stride[t][d];
    }
  }
  table.coalesce(0, joins);
  Path path = choosePath(priced, table);
  std::array<uint8_t, kMaxAxes> order;
  table.innerFirst(output, order);
  StagingBytes bytes;
  for (size_t t = 0; t < priced.tensors; ++t) {
    bool owns = !priced.tensor(t).inLx && path != Path::LoadIntoOutput &&
                !(path == Path::StoreFromInput && t == output);
    bytes.perStep[t] = owns ? kStickBytes : 0;
  }
  size_t maxAxes = program::kMaxLevels - (path == Path::MoveBytes);
  if (!fillTiles(table, order.data(), table.axes, maxAxes, priced.device.lxStagingBytes(), bytes)) {
    return false;
  }
  addLoops(sketch, output);
  uint16_t reads = 0, writes = 0;
  std::array<uint16_t, kMaxKernelTensors> buffer{};
  for (size_t t = 0; t < priced.tensors; ++t) {
    if (bytes.perStep[t] > 0) {
      buffer[t] = sketch.addBuffer(double(bytes.perStep[t] * table.tileSteps(t)));
      (t == output ? writes : reads) |= buffer[t];
    }
  }
  for (size_t t = 0; t < output; ++t) {
    if (!priced.tensor(t).inLx) {
      addLoad(candidate, sketch, t, t, sketch.depthOf(t), buffer[t]);
    }
  }
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
