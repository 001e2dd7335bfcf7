//===- Kernels.cpp - layouts of a problem as dims that tensors hold -------------------------===//
#include "spyre/Solver/Division/Kernels.h"

#include "spyre/Base/Math.h"
#include "spyre/CostModel/KernelPricer.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace spyre::solver::division {

using costmodel::HeldDim;
using costmodel::Kernel;
using costmodel::KernelClass;
using costmodel::KernelTensor;

std::optional<KernelTraits> traitsOf(const Op &op) {
  KernelTraits traits;
  switch (op.kind) {
  case Kind::Pointwise:
    break;
  case Kind::Reduction:
    traits.kernelClass = KernelClass::StickReduction;
    break;
  case Kind::Matmul:
    traits.kernelClass = KernelClass::Matmul;
    break;
  case Kind::Restickify:
    traits.kernelClass = KernelClass::Restickify;
    break;
  case Kind::Gather:
    traits.kernelClass = KernelClass::Copy;
    break;
  case Kind::TopK:
    traits.kernelClass = KernelClass::TopK;
    break;
  default:
    return std::nullopt;
  }
  return traits;
}

namespace {

numerics::DataFormat formatOf(const Tensor &tensor) {
  using enum numerics::DataFormat;
  switch (tensor.elemsPerStick()) {
  case 32:
    return tensor.access == Access::Index ? SenUint32 : IeeeFp32;
  case 128:
    return SenInt8;
  case 256:
    return SenInt4;
  default:
    return Sen169Fp16;
  }
}

/// One step of a dim, or of its sticks, through a tensor.
struct Walk {
  int dim = -1; ///< -1: a dimension that is fixed, or chosen by an index
  int64_t strideSticks = 1;
  int64_t perStick = 1;
  /// Steps there is room for.
  int64_t room = 1;
};

class Builder {
public:
  Builder(const Op &op, const KernelTraits &traits) : op(op), traits(traits) {}

  std::optional<Kernel> run() {
    findTensors();
    if (inputs.empty() || op.output().access == Access::Table) {
      return std::nullopt;
    }
    kernel.kernelClass = traits.kernelClass;
    for (const Dim &dim : op.dims) {
      kernel.dims.push_back(dim.extent / dim.tiles);
    }
    findSticks();
    padSizes();
    for (const Tensor *input : inputs) {
      if (!addInput(*input)) {
        return std::nullopt;
      }
    }
    if (!fill(op.output(), kernel.output)) {
      return std::nullopt;
    }
    kernel.format =
        kernel.kernelClass == KernelClass::TopK ? kernel.inputs[0].format : kernel.output.format;
    describe();
    orderCores();
    return costmodel::checkKernel(kernel).ok() ? std::optional<Kernel>(std::move(kernel))
                                               : std::nullopt;
  }

private:
  void findTensors() {
    for (const Tensor &tensor : op.tensors) {
      if (tensor.access == Access::Index) {
        indices.push_back(&tensor);
      } else if (!tensor.output) {
        inputs.push_back(&tensor);
      }
    }
  }

  bool reduces() const {
    return traits.kernelClass == KernelClass::StickReduction ||
           traits.kernelClass == KernelClass::TopK;
  }

  int addDim(int64_t size) {
    kernel.dims.push_back(size);
    return int(kernel.dims.size()) - 1;
  }

  bool isRestickify() const { return traits.kernelClass == KernelClass::Restickify; }
  /// The dim of a tensor's lanes; a restickify names those of the side that has one value per
  /// stick.
  int lanesOf(const Tensor &tensor) const {
    const int dim = laneDim(tensor);
    return dim < 0 && isRestickify() ? namedLanes : dim;
  }

  /// The dim the units work along; one of its own where all tensors have one value per stick.
  void findSticks() {
    if (isRestickify()) {
      if (laneDim(*inputs[0]) < 0 || laneDim(op.output()) < 0) {
        namedLanes = addDim(inputs[0]->elemsPerStick());
      }
      kernel.inputStickDim = lanesOf(*inputs[0]);
      kernel.stickDim = lanesOf(op.output());
      return;
    }
    opStick = laneDim(reduces() ? *inputs[0] : op.output());
    if (opStick < 0 && traits.kernelClass != KernelClass::Matmul) {
      opStick = addDim(inputs[0]->elemsPerStick());
    }
    const bool inputReads = !traits.readsPairs && laneDim(*inputs[0]) >= 0;
    kernel.inputStickDim = inputReads ? laneDim(*inputs[0]) : opStick;
    kernel.stickDim = laneDim(op.output()) >= 0 ? laneDim(op.output()) : opStick;
    const bool isStickReduction = traits.kernelClass == KernelClass::StickReduction &&
                                  laneDim(*inputs[0]) >= 0 && laneDim(op.output()) < 0;
    if (traits.kernelClass == KernelClass::StickReduction && !isStickReduction) {
      kernel.kernelClass = KernelClass::NonStickReduction;
    }
  }

  void pad(const Tensor &tensor) {
    if (int dim = laneDim(tensor); dim >= 0) {
      kernel.dims[size_t(dim)] = roundUp(kernel.dims[size_t(dim)], tensor.elemsPerStick());
    }
  }

  void padSizes() {
    switch (traits.kernelClass) {
    case KernelClass::StickReduction:
    case KernelClass::TopK:
      pad(*inputs[0]);
      return;
    case KernelClass::Pointwise:
    case KernelClass::Copy:
    case KernelClass::Scan:
      pad(op.output());
      return;
    default:
      for (const Tensor &tensor : op.tensors) {
        pad(tensor);
      }
    }
  }

  /// Steps from the inner to the outer ones; false when a coordinate is none of a kernel's.
  bool walksOf(const Tensor &tensor, bool isPair, std::vector<Walk> &walks) const {
    const int lane = isPair ? -1 : laneDim(tensor);
    int64_t stride = 1;
    bool hasTiles = lane < 0;
    for (size_t c = tensor.deviceSize.size() - 1; c-- > 0;) {
      const std::vector<Term> &terms = tensor.coordinates[c].terms;
      const int64_t size = tensor.deviceSize[c];
      const bool isFixed = terms.empty() || (isPair && terms.size() == 1 && terms[0].divisor > 1);
      if (isFixed && size > 1) {
        walks.push_back({-1, stride, 1, size});
      }
      const size_t first = walks.size();
      for (const Term &term : isFixed ? std::span<const Term>() : std::span<const Term>(terms)) {
        const bool isTile = term.dim == lane && term.divisor == tensor.elemsPerStick();
        const int64_t steps = isTile ? term.step : term.step / term.divisor;
        if (term.wrap > 0 || steps < 1 || (!isTile && term.step % term.divisor != 0)) {
          return false;
        }
        walks.push_back({term.dim, stride * steps, isTile ? term.divisor : 1, size / steps});
        hasTiles = hasTiles || isTile;
      }
      std::stable_sort(
          walks.begin() + int64_t(first), walks.end(),
          [](const Walk &a, const Walk &b) { return a.strideSticks < b.strideSticks; });
      stride *= size;
    }
    if (!hasTiles) { // a single stick
      walks.push_back({lane, stride, tensor.elemsPerStick(), 1});
    }
    if (namedLanes >= 0) {
      walks.push_back({namedLanes, stride, lane < 0 ? tensor.elemsPerStick() : 1, 1});
    }
    return true;
  }

  bool fill(const Tensor &tensor, KernelTensor &held) {
    const bool isPair = traits.readsPairs && &tensor == inputs[0];
    const bool isIndex = tensor.access == Access::Index;
    held.format = formatOf(tensor);
    held.sparse = lanesOf(tensor) < 0 || isPair;
    std::vector<Walk> walks;
    if (!walksOf(tensor, isPair, walks)) {
      return false;
    }
    const auto isOwn = [&](const Walk &walk) {
      return walk.dim >= 0 || tensor.access == Access::Table;
    };
    // Fixed dimensions inside all others need a dim that carries them.
    if (!walks.empty() && !isOwn(walks[0]) && std::any_of(walks.begin(), walks.end(), isOwn)) {
      unit = unit < 0 ? addDim(1) : unit;
      walks[0].dim = unit;
    }
    std::erase_if(walks, [&](const Walk &walk) { return !isOwn(walk); });
    for (size_t i = 0; i < walks.size(); ++i) {
      const Walk &walk = walks[i];
      if (walk.dim < 0) {
        continue;
      }
      const int64_t room =
          i + 1 < walks.size() ? walks[i + 1].strideSticks / walk.strideSticks : walk.room;
      int64_t size = kernel.dims[size_t(walk.dim)];
      size = isIndex ? roundUp(size, walk.perStick) : size;
      held.dims.push_back({walk.dim, walk.perStick, room * walk.perStick - size});
    }
    return true;
  }

  bool addInput(const Tensor &tensor) {
    KernelTensor &held = kernel.inputs.emplace_back();
    if (!fill(tensor, held)) {
      return false;
    }
    if (tensor.access != Access::Table) {
      return true;
    }
    if (indices.empty()) {
      return false;
    }
    const size_t at = std::min(kernel.indices.size(), indices.size() - 1);
    held.indices = int(kernel.indices.size());
    return fill(*indices[at], kernel.indices.emplace_back());
  }

  bool holds(const KernelTensor &tensor, int dim) const {
    return std::any_of(tensor.dims.begin(), tensor.dims.end(),
                       [&](const HeldDim &held) { return held.dim == dim; });
  }

  /// The first dim the input has and the output has not.
  int droppedDim() const {
    for (int d = 0; d < int(kernel.dims.size()); ++d) {
      const bool isCarrier = d == kernel.stickDim && kernel.inputs[0].sparse;
      if (holds(kernel.inputs[0], d) && !holds(kernel.output, d) && !isCarrier &&
          kernel.dims[size_t(d)] > 1) {
        return d;
      }
    }
    return -1;
  }

  void describe() {
    switch (kernel.kernelClass) {
    case KernelClass::Pointwise:
      kernel.transcendental = traits.transcendental;
      kernel.vectorOperands = int64_t(inputs.size()) + 1 + (traits.readsPairs ? 1 : 0);
      break;
    case KernelClass::StickReduction:
      kernel.reducedDim = kernel.inputStickDim;
      break;
    case KernelClass::NonStickReduction:
      kernel.reducedDim = droppedDim();
      break;
    case KernelClass::TopK:
      kernel.reducedDim = droppedDim();
      kernel.wantsIndex = traits.wantsIndex;
      for (size_t d = 0; d < op.dims.size(); ++d) {
        if (holds(kernel.output, int(d)) && !holds(kernel.inputs[0], int(d))) {
          kernel.topK = std::max(kernel.topK, kernel.dims[d]);
        }
      }
      break;
    case KernelClass::Matmul:
      kernel.reducedDim = kernel.inputStickDim;
      break;
    case KernelClass::Scan:
      kernel.reducedDim = int(op.dims.size()) - 1;
      break;
    default:
      kernel.scaled = traits.scaled;
    }
    kernel.pairs = traits.makesPairs;
    kernel.values = traits.values;
    const bool masks = kernel.kernelClass == KernelClass::StickReduction ||
                       kernel.kernelClass == KernelClass::Matmul;
    if (masks && size_t(kernel.inputStickDim) < op.dims.size()) {
      const Dim &dim = op.dims[size_t(kernel.inputStickDim)];
      kernel.maskedElements = kernel.dims[size_t(kernel.inputStickDim)] - dim.extent / dim.tiles;
    }
  }

  void orderCores() {
    const bool isMatmul = kernel.kernelClass == KernelClass::Matmul;
    const bool isReduction = kernel.kernelClass == KernelClass::StickReduction ||
                             kernel.kernelClass == KernelClass::NonStickReduction;
    const bool isFast = isMatmul ? traits.kFastCores && op.dims.size() >= 3
                                 : traits.fastReduction && isReduction && op.dims.size() >= 2;
    if (!isFast) {
      return;
    }
    const int k = int(op.dims.size()) - 1;
    kernel.coreOrder.push_back(k);
    for (int d = 0; d < int(kernel.dims.size()); ++d) {
      if (d != k) {
        kernel.coreOrder.push_back(d);
      }
    }
  }

  const Op &op;
  const KernelTraits &traits;
  Kernel kernel;
  std::vector<const Tensor *> inputs, indices;
  int opStick = -1, unit = -1, namedLanes = -1;
};

} // namespace

std::optional<Kernel> kernelOf(const Op &op, const KernelTraits &traits) {
  return Builder(op, traits).run();
}

/// The kernel of an operation, ready to be asked; nothing where it is none.
static std::optional<costmodel::KernelPricer> pricerOf(const Op &op, const arch::DeviceDesc &device,
                                                       const std::optional<KernelTraits> &given) {
  const std::optional<KernelTraits> traits = given ? given : traitsOf(op);
  std::optional<Kernel> kernel = traits ? kernelOf(op, *traits) : std::nullopt;
  if (!kernel) {
    return std::nullopt;
  }
  Expected<costmodel::KernelPricer> pricer =
      costmodel::KernelPricer::create(std::move(*kernel), device);
  return pricer.ok() ? std::optional<costmodel::KernelPricer>(std::move(*pricer)) : std::nullopt;
}

/// Candidates with one slice for each further dim of the kernel.
static std::span<const int32_t> widened(const Candidates &candidates, size_t dims,
                                        std::vector<int32_t> &place) {
  if (dims == candidates.dims) {
    return candidates.splits;
  }
  place.reserve(candidates.size() * dims);
  for (size_t i = 0; i < candidates.size(); ++i) {
    place.insert(place.end(), candidates[i].begin(), candidates[i].end());
    place.resize((i + 1) * dims, 1);
  }
  return place;
}

void KernelCosts::price(const Op &op, const Units &units, const Candidates &candidates,
                        std::span<double> ns) const {
  std::optional<costmodel::KernelPricer> pricer = pricerOf(op, device, traits);
  if (!pricer) {
    DeviceRates(device).price(op, units, candidates, ns);
    return;
  }
  std::vector<int32_t> place;
  pricer->price(widened(candidates, pricer->dims(), place), ns);
}

/// Where many share the least bound (products that keep the arrays of all cores busy), the price of
/// a good one rules out most of the others.
static constexpr size_t kLikelyFirst = 4;
/// A price is the simulated time but for a few parts in a thousand: the documented plan is left
/// only for one that is cheaper by more than that.
static constexpr double kReallyCheaper = 0.005;

std::optional<CheapestCandidate> KernelCosts::cheapest(const Op &op, const Units &,
                                                       const Candidates &candidates, double slack,
                                                       size_t documented) const {
  std::optional<costmodel::KernelPricer> pricer = pricerOf(op, device, traits);
  if (!pricer) {
    return std::nullopt;
  }
  std::vector<int32_t> place;
  // Together with the preference for the documented plan it is the slack that was asked for.
  const double searched = std::max(0.0, 1 - (1 - slack) / (1 - kReallyCheaper));
  const costmodel::BestPrice best = pricer->priceBest(widened(candidates, pricer->dims(), place),
                                                      searched, kLikelyFirst, documented);
  CheapestCandidate cheapest{best.candidate, best.nanoseconds, best.leastNanoseconds, best.priced};
  if (std::isfinite(best.firstNanoseconds) &&
      best.firstNanoseconds * (1 - kReallyCheaper) <= best.nanoseconds) {
    cheapest.candidate = documented;
    cheapest.nanoseconds = best.firstNanoseconds;
  }
  return cheapest;
}

} // namespace spyre::solver::division
