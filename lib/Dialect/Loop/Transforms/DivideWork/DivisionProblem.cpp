//===- DivisionProblem.cpp - variables, layouts and roles of a loop operation ---------------===//
#include "spyre/Dialect/Loop/Transforms/DivisionProblem.h"

#include "spyre/BackEnd/KernelPrices.h"
#include "spyre/Base/Math.h"
#include "spyre/Dialect/Loop/IR/Owners.h"
#include "spyre/Dialect/Loop/Transforms/DivisionReason.h"
#include "spyre/Dialect/Utils/Attributes.h"

#include "Divider.h"
#include "GrowOutput.h"

#include <algorithm>

namespace spyre::loop {

namespace division = solver::division;
using costmodel::KernelClass;
using division::Coordinate;
using division::Kind;
using division::Role;
using division::Term;

namespace {

/// One operand as it lies on the device; the same dimensions as the emitted ones
/// (Conversion/LoopToSpec/DeviceAccess.h).
class TensorBuilder {
public:
  TensorBuilder(ComputeOp op, unsigned operand, const Access &access,
                const layout::DeviceLayout &layout, bool namesLanes)
      : op(op), access(access), layout(layout), namesLanes(namesLanes) {
    lanes = layout.elemsPerStick();
    BufferOp buffer = access.buffer;
    tensor.name = buffer.getName().str();
    tensor.output = operand + 1 == operandCount(op);
  }

  Expected<division::Tensor> run(const DimRoles &roles) {
    const std::vector<int64_t> slots = roles.slots();
    tensor.deviceSize.reserve(slots.size() + 2);
    tensor.coordinates.reserve(slots.size() + 2);
    const int64_t stick = roles.stick();
    bool hasTiles = false;
    for (size_t j = 0; j < slots.size(); ++j) {
      const int64_t dim = slots[j];
      if (dim == stick && !hasTiles) {
        hasTiles = true;
        if (hasLanes(stick)) {
          SPYRE_RETURN_IF_ERROR(addDigits(dim, layout.deviceSize[j], true));
        }
      } else if (dim >= 0) {
        SPYRE_RETURN_IF_ERROR(addPlain(dim, layout.deviceSize[j]));
      }
    }
    Coordinate lane;
    if (hasLanes(stick)) {
      lane.terms.push_back({int(access.dims[size_t(stick)].terms.back().var), 1, lanes, 1});
    }
    push(lanes, std::move(lane));
    return std::move(tensor);
  }

private:
  void push(int64_t size, Coordinate coordinate) {
    tensor.deviceSize.push_back(size);
    tensor.coordinates.push_back(std::move(coordinate));
  }

  bool hasLanes(int64_t dim) const {
    BufferOp buffer = access.buffer;
    return dim >= 0 && !access.dims[size_t(dim)].terms.empty() &&
           (namesLanes ||
            llvm::cast<mlir::MemRefType>(buffer.getResult().getType()).getDimSize(unsigned(dim)) >
                1);
  }

  Status addPlain(int64_t dim, int64_t size) {
    const LinearIndex &index = access.dims[size_t(dim)];
    if (index.terms.empty()) {
      if (size > 1) {
        push(size, {{}, dim == access.indirectDim ? 0 : index.offset});
      }
      return Status::success();
    }
    return addDigits(dim, size, false);
  }

  /// One device dimension per term; of a stick dimension the last one counts tiles.
  Status addDigits(int64_t dim, int64_t size, bool isStick) {
    const LinearIndex &index = access.dims[size_t(dim)];
    const int64_t step = isStick ? lanes : 1;
    int64_t outer = size, offset = index.offset / step;
    for (size_t i = 0; i < index.terms.size(); ++i) {
      const bool isTile = isStick && i + 1 == index.terms.size();
      const int64_t coefficient = isTile ? 1 : index.terms[i].coefficient / step;
      if (coefficient == 0 || outer % coefficient != 0) {
        BufferOp buffer = access.buffer;
        return error<1203>(
            "dimension {} of '{}' is read in steps that do not divide it; copy the tensor first",
            dim, buffer.getName().str());
      }
      push(outer / coefficient,
           {{{int(index.terms[i].var), 1, 0, isTile ? lanes : 1}}, offset / coefficient});
      offset %= coefficient;
      outer = coefficient;
    }
    if (outer > 1) {
      push(outer, {{}, offset});
    }
    return Status::success();
  }

  ComputeOp op;
  const Access &access;
  const layout::DeviceLayout &layout;
  const bool namesLanes;
  int64_t lanes = 0;
  division::Tensor tensor;
};

/// Coefficients of the variables in the flat host index; by them the documented planners store
/// splits.
std::vector<int64_t> flatIndex(ComputeOp op, const Access &access) {
  BufferOp buffer = access.buffer;
  std::vector<int64_t> index(op.getExtents().size(), 0);
  for (size_t d = 0; d < access.dims.size(); ++d) {
    for (const LinearIndex::Term &term : access.dims[d].terms) {
      index[term.var] += term.coefficient * buffer.getStride()[d];
    }
  }
  return index;
}

class ProblemBuilder {
public:
  ProblemBuilder(ComputeOp op, const arch::DeviceDesc &device, const ProblemOptions &options)
      : op(op), device(device), options(options) {}

  Expected<DivisionProblem> run() {
    problem.op.name = op.getCallee().str();
    SPYRE_RETURN_IF_ERROR(addTensors());
    SPYRE_RETURN_IF_ERROR(findKind());
    problem.op.tensors.back().growable =
        options.padding && problem.op.kind == Kind::Restickify && mayGrow(op);
    addDims();
    if (options.forAllSizes) {
      takeLargestSizes();
    }
    padWalked();
    findTraits();
    return std::move(problem);
  }

private:
  Status addTensors() {
    const unsigned count = operandCount(op);
    problem.op.tensors.reserve(count);
    for (unsigned i = 0; i < count; ++i) {
      const Access access = accessOf(op, i);
      SPYRE_ASSIGN_OR_RETURN(layout::DeviceLayout layout, layoutOf(access.buffer));
      const std::optional<unsigned> named = namedVar(i, access);
      SPYRE_ASSIGN_OR_RETURN(DimRoles roles,
                             named ? rolesFollowing(access, *named) : dimRolesOf(access.buffer));
      uses.push_back(stickUse(access, roles.stick()));
      if (uses.back().kind == StickUse::Kind::Illegal) {
        BufferOp buffer = access.buffer;
        return error<1203>("'{}' is read from inside sticks; run spyre-loop-propagate-layouts",
                           buffer.getName().str());
      }
      SPYRE_ASSIGN_OR_RETURN(division::Tensor tensor,
                             TensorBuilder(op, i, access, layout, named.has_value()).run(roles));
      tensor.index = flatIndex(op, access);
      BufferOp buffer = access.buffer;
      tensor.hostItemBytes = hostBytes(buffer);
      tensor.access = access.indirectDim >= 0 ? division::Access::Table
                      : isIndexInput(op, i)   ? division::Access::Index
                                              : division::Access::Direct;
      tensor.sharesSticks = tensor.access == division::Access::Index && !options.documented &&
                            !device.division.indirectAccess;
      problem.op.tensors.push_back(std::move(tensor));
    }
    return Status::success();
  }

  /// The variable whose lanes an operand has though its extent may be 1.
  std::optional<unsigned> namedVar(unsigned operand, const Access &access) {
    if (!isIndexInput(op, operand)) {
      return findNamedStickVar(op, operand);
    }
    const std::set<unsigned> vars = varsOf(access);
    const bool isOne = vars.size() == 1 && op.getExtents()[*vars.begin()] == 1;
    return isOne ? std::optional<unsigned>(*vars.begin()) : std::nullopt;
  }

  static int64_t hostBytes(BufferOp buffer) {
    auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
    return std::max<int64_t>(type.getElementTypeBitWidth() / 8, 1);
  }

  Status findKind() {
    Kind &kind = problem.op.kind;
    if (op.getIndirect()) {
      kind = Kind::Gather;
    } else if (op.getCallee() == kMatmul) {
      kind = Kind::Matmul;
    } else if (isTopK(op)) {
      kind = Kind::TopK;
    } else if (op.getReductions() > 0) {
      kind = Kind::Reduction;
    } else if (op.getCallee() == kCopy && isRestickify(accessOf(op, 0), uses[0], uses[1])) {
      kind = Kind::Restickify;
    }
    return Status::success();
  }

  void addDims() {
    const size_t count = op.getExtents().size();
    const std::vector<int64_t> tiles = tilesOf(op);
    auto hints = op->getAttrOfType<mlir::DenseI64ArrayAttr>(kHints);
    problem.op.dims.reserve(count);
    for (size_t v = 0; v < count; ++v) {
      division::Dim dim;
      dim.name = llvm::cast<mlir::StringAttr>(op.getVars()[v]).str();
      dim.extent = op.getExtents()[v] / tiles[v]; // cores divide one tile
      dim.reduced = int64_t(v) >= int64_t(count) - int64_t(op.getReductions());
      dim.hint = hints && size_t(hints.size()) == count ? hints[int64_t(v)] : 0;
      problem.op.dims.push_back(std::move(dim));
    }
    if (isTopK(op) && count >= kTopKVars) {
      problem.op.dims[count - 1].role = Role::Search;
      // A core finds all results of its part.
      problem.op.dims[count - 2].role = options.documented ? Role::Results : Role::Scan;
    }
    if (op.getCallee() == kScan && count > 0) {
      problem.op.dims[count - 1].role = Role::Scan;
    }
  }

  /// A size that changes from call to call is divided as the largest one is, in slices that divide
  /// all of them. Sticks of a dim have no step.
  void takeLargestSizes() {
    auto sizes = op->getAttrOfType<mlir::DenseI64ArrayAttr>(kSizes);
    std::vector<division::Dim> &dims = problem.op.dims;
    if (!sizes || size_t(sizes.size()) != 2 * dims.size()) {
      return;
    }
    const division::Units units = division::unitsOf(problem.op);
    for (size_t d = 0; d < dims.size(); ++d) {
      const int64_t step = sizes[int64_t(2 * d)], largest = sizes[int64_t(2 * d + 1)];
      if (step < 1 || units.stick[d] || dims[d].role != Role::Plain) {
        continue;
      }
      growCoordinates(int(d), largest - dims[d].extent);
      dims[d].extent = largest;
      dims[d].granularity = step;
    }
  }

  /// Every term has a device dimension of its own.
  void growCoordinates(int dim, int64_t by) {
    for (division::Tensor &tensor : problem.op.tensors) {
      for (size_t c = 0; c + 1 < tensor.coordinates.size(); ++c) {
        const std::vector<Term> &terms = tensor.coordinates[c].terms;
        tensor.deviceSize[c] += terms.size() == 1 && terms.front().dim == dim ? by : 0;
      }
    }
  }

  /// K of a matmul is whole sticks, so padded rows are read too; a conversion has the wider stick
  /// whole, so both sticks of 32 bits are touched where half of one of 16 bits is used.
  void padWalked() {
    std::vector<division::Dim> &dims = problem.op.dims;
    if (dims.empty() || !namesLanes(op)) {
      return;
    }
    division::Dim &last = dims.back();
    const int64_t extent = last.extent / last.tiles;
    int64_t walked = extent;
    for (unsigned i = 0; i < operandCount(op); ++i) {
      if (namedStickVar(op, i) == dims.size() - 1) {
        walked = roundUp(walked, problem.op.tensors[i].elemsPerStick());
      }
    }
    last.walked = walked == extent ? 0 : walked;
  }

  /// The name the operation is emitted with.
  std::string deviceName() const {
    ComputeOp self = op;
    if (self.getCallee() != kCopy) {
      return self.getCallee().str();
    }
    return problem.op.kind == Kind::Restickify ? "ReStickifyOpHBM" : "identity";
  }

  void findTraits() {
    std::optional<backend::OperationTraits> of = backend::operationTraits(deviceName());
    if (!of) {
      return;
    }
    division::KernelTraits traits;
    traits.kernelClass = of->kernelClass;
    traits.transcendental = of->transcendental;
    traits.readsPairs = of->readsPairs;
    traits.makesPairs = of->makesPairs;
    traits.scaled = of->scaled;
    traits.wantsIndex = op.getCallee() == kTopKIndex;
    traits.kFastCores = options.kFastCores;
    if (of->makesPairs && op.getCallee() == "exx2") {
      auto constants = op.getConstantsAttr();
      auto zero = constants ? constants.getAs<mlir::FloatAttr>("useZeroMean") : mlir::FloatAttr();
      traits.values = zero && zero.getValueAsDouble() != 0 ? 1 : 2;
    }
    problem.traits = traits;
  }

  ComputeOp op;
  const arch::DeviceDesc &device;
  const ProblemOptions &options;
  llvm::SmallVector<StickUse, 6> uses;
  DivisionProblem problem;
};

} // namespace

/// What an earlier run of the passes left is no part of the question.
static bool isResult(llvm::StringRef name) {
  return name == "splits" || name == kOwners || name == kUneven || name == kWhy ||
         name == kDivisionReason;
}

OperationKey operationKey(ComputeOp op) {
  OperationKey key;
  // Inherent attributes and discardable ones, such as tiles.
  for (mlir::NamedAttribute attribute : op->getAttrDictionary()) {
    if (!isResult(attribute.getName())) {
      key.push_back(attribute.getName().getAsOpaquePointer());
      key.push_back(attribute.getValue().getAsOpaquePointer());
    }
  }
  for (unsigned i = 0; i < operandCount(op); ++i) {
    BufferOp buffer = operandBuffer(op, i);
    key.push_back(buffer.getLayoutAttr().getAsOpaquePointer());
    key.push_back(buffer.getResult().getType().getAsOpaquePointer());
    key.push_back(buffer.getStrideAttr().getAsOpaquePointer());
  }
  // Whether the result may be given room depends on its readers.
  const bool grows = op.getCallee() == kCopy && mayGrow(op);
  key.push_back(grows ? op.getCalleeAttr().getAsOpaquePointer() : nullptr);
  return key;
}

Expected<DivisionProblem> divisionProblemOf(ComputeOp op, const arch::DeviceDesc &device,
                                            const ProblemOptions &options) {
  return ProblemBuilder(op, device, options).run();
}

} // namespace spyre::loop
