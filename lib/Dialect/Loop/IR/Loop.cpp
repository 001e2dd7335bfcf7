//===- Loop.cpp - the loop dialect ----------------------------------------------------------===//
#include "spyre/Dialect/Loop/IR/Loop.h"

#include "spyre/Base/Math.h"
#include "spyre/Dialect/Loop/IR/Nests.h"
#include "spyre/Dialect/Loop/IR/Owners.h"
#include "spyre/Dialect/Utils/Attributes.h"

#include "llvm/ADT/DenseSet.h"
#include "mlir/IR/Builders.h"

#include <algorithm>
#include <set>

#include "spyre/Dialect/Loop/IR/LoopDialect.cpp.inc"
#define GET_OP_CLASSES
#include "spyre/Dialect/Loop/IR/LoopOps.cpp.inc"

namespace spyre::loop {

void LoopDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "spyre/Dialect/Loop/IR/LoopOps.cpp.inc"
      >();
}

//===--------------------------------------------------------------------------------------------===//
// Accesses
//===--------------------------------------------------------------------------------------------===//

namespace {

/// Adds scale * expression to (coefficients, offset); false when the expression is not linear.
bool addLinear(mlir::AffineExpr expression, int64_t scale,
               llvm::MutableArrayRef<int64_t> coefficients, int64_t &offset) {
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expression)) {
    return dim.getPosition() < coefficients.size() &&
           !__builtin_add_overflow(coefficients[dim.getPosition()], scale,
                                   &coefficients[dim.getPosition()]);
  }
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expression)) {
    int64_t product;
    return !__builtin_mul_overflow(constant.getValue(), scale, &product) &&
           !__builtin_add_overflow(offset, product, &offset);
  }
  auto binary = llvm::dyn_cast<mlir::AffineBinaryOpExpr>(expression);
  if (!binary) {
    return false;
  }
  if (binary.getKind() == mlir::AffineExprKind::Add) {
    return addLinear(binary.getLHS(), scale, coefficients, offset) &&
           addLinear(binary.getRHS(), scale, coefficients, offset);
  }
  auto factor = llvm::dyn_cast<mlir::AffineConstantExpr>(binary.getRHS());
  int64_t product;
  return binary.getKind() == mlir::AffineExprKind::Mul && factor &&
         !__builtin_mul_overflow(factor.getValue(), scale, &product) &&
         addLinear(binary.getLHS(), product, coefficients, offset);
}

} // namespace

Expected<LinearIndex> linearize(mlir::AffineExpr expression, unsigned numVars) {
  LinearIndex index;
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expression);
      dim && dim.getPosition() < numVars) {
    index.terms.push_back({dim.getPosition(), 1});
    return index;
  }
  llvm::SmallVector<int64_t, 16> coefficients(numVars, 0);
  bool linear = addLinear(expression, 1, coefficients, index.offset) && index.offset >= 0;
  for (unsigned v = 0; linear && v < numVars; ++v) {
    linear = coefficients[v] >= 0;
    if (coefficients[v] > 0) {
      index.terms.push_back({v, coefficients[v]});
    }
  }
  if (!linear) {
    std::string text;
    llvm::raw_string_ostream(text) << expression;
    return error<1201>(
        "access '{}' is not linear with non-negative coefficients; split the variable so that "
        "division and modulo vanish",
        text);
  }
  auto isBefore = [](const auto &a, const auto &b) { return a.coefficient > b.coefficient; };
  if (!std::is_sorted(index.terms.begin(), index.terms.end(), isBefore)) {
    std::stable_sort(index.terms.begin(), index.terms.end(), isBefore);
  }
  return index;
}

Access accessOf(ComputeOp op, unsigned index) {
  Access access;
  access.buffer = operandBuffer(op, index);
  auto map = llvm::cast<mlir::AffineMapAttr>(op.getMaps()[index]).getValue();
  for (mlir::AffineExpr result : map.getResults()) {
    Expected<LinearIndex> linear = linearize(result, map.getNumDims());
    SPYRE_CHECK(linear.ok(), "a verified operation has linear accesses");
    access.dims.push_back(*std::move(linear));
  }
  for (const Indirection &indirection : indirectionsOf(op)) {
    if (indirection.input == index) {
      access.indirectDim = indirection.dim;
    }
  }
  return access;
}

std::vector<Indirection> indirectionsOf(ComputeOp op) {
  std::vector<Indirection> list;
  if (!op.getIndirectAttr()) {
    return list;
  }
  for (mlir::Attribute entry : op.getIndirectAttr()) {
    auto numbers = llvm::cast<mlir::DenseI64ArrayAttr>(entry);
    list.push_back({unsigned(numbers[0]), unsigned(numbers[1]), unsigned(numbers[2])});
  }
  return list;
}

bool isIndexInput(ComputeOp op, unsigned operand) {
  return llvm::any_of(indirectionsOf(op),
                      [&](const Indirection &entry) { return entry.index == operand; });
}

std::optional<unsigned> indexInputOf(ComputeOp op, unsigned operand) {
  for (const Indirection &entry : indirectionsOf(op)) {
    if (entry.input == operand) {
      return entry.index;
    }
  }
  return std::nullopt;
}

static LayoutCache &cacheOf(BufferOp buffer) {
  return static_cast<LoopDialect *>(buffer->getDialect())->layoutCache;
}

static Expected<layout::DeviceLayout> knownLayout(BufferOp buffer) {
  mlir::Attribute attribute = buffer.getLayoutAttr();
  return cacheOf(buffer).layouts.find(attribute.getAsOpaquePointer(),
                                      [&] { return dialect::layoutFromAttr(attribute); });
}

Expected<layout::DeviceLayout> layoutOf(BufferOp buffer) {
  if (!buffer.getLayoutAttr()) {
    return error<2010>("buffer '{}' has no layout; run spyre-loop-propagate-layouts first",
                       buffer.getName().str());
  }
  Expected<layout::DeviceLayout> layout = knownLayout(buffer);
  if (!layout.ok()) {
    return layout.status().withContext("buffer '" + buffer.getName().str() + "': ");
  }
  return layout;
}

std::vector<int64_t> DimRoles::slots() const {
  if (!given.empty()) {
    return given;
  }
  if (order.empty()) {
    return {-1};
  }
  std::vector<int64_t> slots(order.begin() + 1, order.end());
  slots.push_back(order.front());
  return slots;
}

/// Device dimensions found by their strides; nothing when one has no host dimension.
static std::optional<DimRoles> rolesByStride(const layout::DeviceLayout &layout,
                                             const std::vector<int64_t> &shape,
                                             const std::vector<int64_t> &stride) {
  const int64_t lanes = layout.elemsPerStick();
  std::vector<bool> found;
  for (int64_t size : shape) {
    found.push_back(size == 1);
  }
  auto dimWith = [&](int64_t step) {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (!found[d] && stride[d] == step) {
        return int64_t(d);
      }
    }
    return int64_t(-1);
  };
  const int64_t stick = layout.strideMap.back() < 0 ? -1 : dimWith(layout.strideMap.back());
  if (layout.arrangement != layout::ElementArrangement::Standard ||
      (stick < 0 && layout.strideMap.back() >= 0)) {
    return std::nullopt;
  }
  int64_t tiles = 1;
  if (stick >= 0) {
    found[size_t(stick)] = true;
    tiles = ceilDiv(shape[size_t(stick)], lanes);
  }
  DimRoles roles;
  bool hasTiles = stick < 0 || tiles == 1;
  for (size_t j = 0; j + 1 < layout.deviceSize.size(); ++j) {
    const int64_t size = layout.deviceSize[j], step = layout.strideMap[j];
    const bool isTile = stick >= 0 && step == stride[size_t(stick)] * lanes &&
                        std::count(roles.given.begin(), roles.given.end(), stick) == 0 &&
                        (size == tiles || (size > tiles && dimWith(step) < 0));
    const int64_t dim = isTile ? stick : dimWith(step);
    if (dim < 0 ? size != 1 : !isTile && size < shape[size_t(dim)]) {
      return std::nullopt;
    }
    hasTiles = hasTiles || isTile;
    roles.given.push_back(dim);
    if (dim >= 0) {
      found[size_t(dim)] = true;
    }
  }
  if (!hasTiles || std::find(found.begin(), found.end(), false) != found.end()) {
    return std::nullopt;
  }
  for (size_t d = 0; d < shape.size(); ++d) {
    if (int64_t(d) != stick) {
      roles.order.push_back(int64_t(d));
    }
  }
  roles.order.push_back(stick);
  return roles;
}

static Expected<DimRoles> findDimRoles(BufferOp buffer) {
  SPYRE_ASSIGN_OR_RETURN(layout::DeviceLayout layout, layoutOf(buffer));
  auto type = llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
  DimRoles roles;
  auto order = layout.recoverDimOrder(dialect::toVector(type.getShape()),
                                      dialect::toVector(buffer.getStride()));
  if (!order.ok()) {
    std::optional<DimRoles> byStride = rolesByStride(layout, dialect::toVector(type.getShape()),
                                                     dialect::toVector(buffer.getStride()));
    if (byStride) {
      return *byStride;
    }
    return order.status().withContext("buffer '" + buffer.getName().str() + "': ");
  }
  roles.order = *order;
  return roles;
}

Expected<DimRoles> dimRolesOf(BufferOp buffer) {
  const std::tuple<const void *, const void *, const void *> key = {
      buffer.getLayoutAttr().getAsOpaquePointer(),
      buffer.getResult().getType().getAsOpaquePointer(),
      buffer.getStrideAttr().getAsOpaquePointer()};
  return cacheOf(buffer).roles.find(key, [&] { return findDimRoles(buffer); });
}

std::optional<int64_t> lxAddressOf(BufferOp buffer) {
  auto address = buffer->getAttrOfType<mlir::IntegerAttr>(kLxAddress);
  return address ? std::optional<int64_t>(address.getInt()) : std::nullopt;
}

bool isPooled(BufferOp buffer) {
  return buffer.getKind() == "temp" && !lxAddressOf(buffer) &&
         llvm::none_of(buffer.getResult().getUsers(),
                       [](mlir::Operation *user) { return llvm::isa<HostOp>(user); });
}

mlir::func::FuncOp findMain(mlir::ModuleOp module) {
  auto functions = module.getOps<mlir::func::FuncOp>();
  if (std::distance(functions.begin(), functions.end()) != 1) {
    return nullptr;
  }
  mlir::func::FuncOp main = *functions.begin();
  bool sound = main.getName() == "main" && main.getNumArguments() == 0 && !main.isExternal() &&
               llvm::hasSingleElement(main.getBody());
  return sound ? main : nullptr;
}

//===--------------------------------------------------------------------------------------------===//
// Verifiers
//===--------------------------------------------------------------------------------------------===//

void BufferOp::getAsmResultNames(llvm::function_ref<void(mlir::Value, llvm::StringRef)> setName) {
  setName(getResult(), getName());
}

mlir::LogicalResult BufferOp::verify() {
  auto type = llvm::dyn_cast<mlir::MemRefType>(getResult().getType());
  if (!type || !type.hasStaticShape() || !type.getLayout().isIdentity() || type.getMemorySpace()) {
    return emitOpError("type must be a plain memref with a static shape");
  }
  static const std::set<std::string> kinds = {"input", "output", "constant", "temp", kHostKind};
  if (!kinds.count(getKind().str())) {
    return emitOpError("kind must be input, output, constant, temp or host, not '")
           << getKind() << "'";
  }
  bool numbered = getKind() == "input" || getKind() == "output";
  if (numbered != getIndex().has_value() || (numbered && *getIndex() > uint64_t(1) << 20)) {
    return emitOpError("inputs and outputs, and only they, have an index");
  }
  if ((getKind() == "constant") != getValue().has_value()) {
    return emitOpError("constants, and only they, have a value");
  }
  if (int64_t(getStride().size()) != type.getRank()) {
    return emitOpError("stride needs one entry per dimension");
  }
  int64_t elements = 1;
  for (int64_t size : type.getShape()) {
    if (size < 0 || (size == 0 && !isHostValue(*this)) ||
        __builtin_mul_overflow(elements, size, &elements) || elements > (int64_t(1) << 40)) {
      return emitOpError("sizes must be positive and give at most 2^40 elements");
    }
  }
  for (int64_t stride : getStride()) {
    if (stride < 0 || stride > (int64_t(1) << 47)) {
      return emitOpError("stride ") << stride << " is outside 0..2^47";
    }
  }
  if (getPoolOffset() && (getKind() != "temp" || *getPoolOffset() > uint64_t(1) << 47 ||
                          *getPoolOffset() % 128 != 0)) {
    return emitOpError("pool_offset belongs to temps and is a multiple of 128");
  }
  if (mlir::Attribute given = (*this)->getAttr(kLxAddress)) {
    auto address = llvm::dyn_cast<mlir::IntegerAttr>(given);
    const bool isSound = address && address.getType().isSignlessInteger(64) &&
                         address.getInt() >= 0 && address.getInt() % 128 == 0;
    if (!isSound || getKind() != "temp" || getPoolOffset()) {
      return emitOpError(
          "lx_address belongs to temps without pool_offset and is a multiple of 128");
    }
  }
  if (getLayoutAttr()) {
    Expected<layout::DeviceLayout> layout = knownLayout(*this);
    if (!layout.ok()) {
      return emitOpError(layout.status().message());
    }
  }
  if (isHostValue(*this)) {
    return getLayoutAttr() ? emitOpError("a host value has no layout") : mlir::success();
  }
  return dialect::hostTypeOf(type.getElementType()).ok()
             ? mlir::success()
             : emitOpError("element type has no device format");
}

/// Largest value an index takes; false on overflow.
static bool maxIndex(const LinearIndex &index, llvm::ArrayRef<int64_t> extents, int64_t &value) {
  value = index.offset;
  for (const LinearIndex::Term &term : index.terms) {
    int64_t product;
    if (__builtin_mul_overflow(term.coefficient, extents[term.var] - 1, &product) ||
        __builtin_add_overflow(value, product, &value)) {
      return false;
    }
  }
  return true;
}

/// Entries of `indirect`: in range, one per input, the place in the map free, indices integers that
/// are not chosen themselves.
static mlir::LogicalResult verifyIndirect(ComputeOp op) {
  llvm::SmallDenseSet<int64_t> chosen, indices;
  for (mlir::Attribute entry : op.getIndirectAttr()) {
    auto numbers = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(entry);
    const auto inputs = int64_t(op.getInputs().size());
    if (!numbers || numbers.size() != 3 || numbers[0] < 0 || numbers[0] >= inputs ||
        numbers[2] < 0 || numbers[2] >= inputs) {
      return op.emitOpError("indirect lists array<i64: input, dimension, index input>");
    }
    auto map = llvm::cast<mlir::AffineMapAttr>(op.getMaps()[size_t(numbers[0])]).getValue();
    if (numbers[1] < 0 || numbers[1] >= int64_t(map.getNumResults()) ||
        map.getResult(unsigned(numbers[1])) != mlir::getAffineConstantExpr(0, op.getContext())) {
      return op.emitOpError("the map of an indirect dimension is 0");
    }
    mlir::Type type =
        llvm::cast<mlir::MemRefType>(op.getInputs()[size_t(numbers[2])].getType()).getElementType();
    if (!chosen.insert(numbers[0]).second || (!type.isInteger(32) && !type.isInteger(64))) {
      return op.emitOpError("an input is chosen along one dimension, by i32 or i64");
    }
    indices.insert(numbers[2]);
  }
  for (int64_t index : indices) {
    if (chosen.contains(index)) {
      return op.emitOpError("indices are not chosen by indices");
    }
  }
  if (!chosen.empty() && (op.getReductions() > 0 || op.getCallee() == kMatmul)) {
    return op.emitOpError("only element-wise operations and copies have indirect inputs");
  }
  return mlir::success();
}

/// Elements along \p dim that there is memory for: padding in the layout may be walked, too.
static int64_t roomOf(BufferOp buffer, unsigned dim) {
  int64_t room = llvm::cast<mlir::MemRefType>(buffer.getResult().getType()).getDimSize(dim);
  if (!buffer.getLayoutAttr()) {
    return room;
  }
  Expected<layout::DeviceLayout> layout = layoutOf(buffer);
  Expected<DimRoles> roles = layout.ok() ? dimRolesOf(buffer) : Expected<DimRoles>(layout.status());
  if (!roles.ok()) {
    return room;
  }
  const std::vector<int64_t> slots = roles->slots();
  for (size_t j = 0; j < slots.size(); ++j) {
    if (slots[j] == int64_t(dim)) {
      const int64_t lanes = slots[j] == roles->stick() ? layout->elemsPerStick() : 1;
      return std::max(room, layout->deviceSize[j] * lanes);
    }
  }
  return room;
}

static llvm::SmallVector<int64_t> tileExtents(ComputeOp op) {
  llvm::SmallVector<int64_t> extents(op.getExtents());
  for (auto [extent, count] : llvm::zip_equal(extents, tilesOf(op))) {
    extent /= count;
  }
  return extents;
}

mlir::LogicalResult ComputeOp::verify() {
  llvm::ArrayRef<int64_t> extents = getExtents();
  int64_t numVars = extents.size();
  if (int64_t(getVars().size()) != numVars || numVars > 16) {
    return emitOpError("vars and extents must have the same length, at most 16");
  }
  std::set<llvm::StringRef> names;
  for (mlir::Attribute name : getVars()) {
    names.insert(llvm::cast<mlir::StringAttr>(name).getValue());
  }
  if (int64_t(names.size()) != numVars) {
    return emitOpError("vars must have different names");
  }
  int64_t reductions = getReductions();
  if (reductions < 0 || reductions > numVars) {
    return emitOpError("reductions must be between 0 and the number of vars");
  }
  for (int64_t extent : extents) {
    if (extent <= 0 || extent > (int64_t(1) << 40)) {
      return emitOpError("extent ") << extent << " is outside 1..2^40";
    }
  }
  if (getSplits() && int64_t(getSplits()->size()) != numVars) {
    return emitOpError("splits needs one entry per var");
  }
  if (mlir::failed(verifyOwners(*this))) {
    return mlir::failure();
  }
  if (mlir::Attribute given = (*this)->getAttr(kTiles)) {
    auto tiles = llvm::dyn_cast<mlir::DenseI64ArrayAttr>(given);
    if (!tiles || tiles.size() != numVars) {
      return emitOpError("tiles needs one integer per var");
    }
    for (int64_t v = 0; v < numVars; ++v) {
      const bool isPart = v >= numVars - reductions && tiles[v] != 1;
      if (tiles[v] < 1 || extents[v] % tiles[v] != 0 || (isPart && !(*this)->hasAttr(kLoops))) {
        return emitOpError("tiles must divide the extents and be 1 for reduced vars outside of "
                           "loops");
      }
    }
  }
  if (mlir::failed(verifyLevels(*this))) {
    return mlir::failure();
  }
  const llvm::SmallVector<int64_t> ofTile = tileExtents(*this);
  if (mlir::DictionaryAttr constants = getConstantsAttr()) {
    for (mlir::NamedAttribute constant : constants) {
      if (!llvm::isa<mlir::FloatAttr>(constant.getValue())) {
        return emitOpError("constant '") << constant.getName() << "' must be a float";
      }
    }
  }
  if (getMaps().size() != getInputs().size() + 1) {
    return emitOpError("one map per input and one for the output");
  }
  for (unsigned i = 0; i < operandCount(*this); ++i) {
    mlir::Value value = i < getInputs().size() ? getInputs()[i] : getOutput();
    auto map = llvm::cast<mlir::AffineMapAttr>(getMaps()[i]).getValue();
    auto type = llvm::cast<mlir::MemRefType>(value.getType());
    auto declared = value.getDefiningOp<BufferOp>();
    if (!declared || isHostValue(declared)) {
      return emitOpError("operand ") << i << " is not declared by loop.buffer, or a host value";
    }
    if (map.getNumDims() != numVars || map.getNumSymbols() != 0 ||
        int64_t(map.getNumResults()) != type.getRank()) {
      return emitOpError("map ") << i << " must go from " << numVars << " vars to "
                                 << type.getRank() << " dimensions";
    }
    for (auto [dim, expression] : llvm::enumerate(map.getResults())) {
      Expected<LinearIndex> index = linearize(expression, numVars);
      if (!index.ok()) {
        return emitOpError("map ") << i << ": " << index.status().message();
      }
      int64_t last;
      if (!maxIndex(*index, isPerTile(declared) ? ofTile : extents, last) ||
          (last >= type.getDimSize(dim) && last >= roomOf(declared, unsigned(dim)))) {
        return emitOpError("map ")
               << i << " leaves dimension " << dim << " of size " << type.getDimSize(dim);
      }
      bool reads = i < getInputs().size();
      for (const LinearIndex::Term &term : index->terms) {
        if (!reads && int64_t(term.var) >= numVars - reductions) {
          return emitOpError("the output must not depend on a reduced var");
        }
      }
    }
  }
  return getIndirectAttr() ? verifyIndirect(*this) : mlir::success();
}

std::vector<int64_t> tilesOf(ComputeOp op) {
  auto tiles = op->getAttrOfType<mlir::DenseI64ArrayAttr>(kTiles);
  return tiles ? std::vector<int64_t>(tiles.asArrayRef())
               : std::vector<int64_t>(op.getExtents().size(), 1);
}

/// Whether \p op writes \p value.
static bool writes(mlir::Operation *op, mlir::Value value) {
  if (auto compute = llvm::dyn_cast<ComputeOp>(op)) {
    return compute.getOutput() == value;
  }
  auto host = llvm::dyn_cast<HostOp>(op);
  return host && llvm::is_contained(host.getOutputs(), value);
}

mlir::LogicalResult HostOp::verify() {
  if (getCallee().empty() || int64_t(getNode()) < 0 || getGate() < 1 || getGate() > 5) {
    return emitOpError("needs a callee, a node that is not negative and a gate in 1..5");
  }
  const size_t expected = getResultNumbers().empty() ? 1 : getResultNumbers().size();
  if (getOutputs().size() != expected) {
    return emitOpError("has ") << getOutputs().size() << " outputs, but names " << expected;
  }
  for (mlir::Value operand : getOperands()) {
    if (!operand.getDefiningOp<BufferOp>()) {
      return emitOpError("operands are declared by loop.buffer");
    }
  }
  for (mlir::Value output : getOutputs()) {
    llvm::StringRef kind = output.getDefiningOp<BufferOp>().getKind();
    const auto writers = llvm::count_if(
        output.getUsers(), [&](mlir::Operation *user) { return writes(user, output); });
    if (kind == "input" || kind == "constant" || writers != 1 ||
        llvm::is_contained(getInputs(), output)) {
      return emitOpError("an output is a temp, an output or a host value that nothing else writes");
    }
  }
  return mlir::success();
}

} // namespace spyre::loop
