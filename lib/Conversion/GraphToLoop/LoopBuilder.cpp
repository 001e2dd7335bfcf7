//===- LoopBuilder.cpp - emits buffers and loop operations from views -----------------------===//
#include "LoopBuilder.h"

#include "spyre/Dialect/Utils/Attributes.h"

#include <algorithm>
#include <bit>

namespace spyre {

using views::Atoms;
using views::View;

/// Above this many variables operands are copied instead of splitting loops further; the interface
/// names eight dimensions, and one may be needed for the lanes.
static constexpr size_t kMaxVars = 7;

LoopBuilder::LoopBuilder(mlir::func::FuncOp function)
    : function(function), builder(function.getContext()), loc(function.getLoc()) {
  mlir::Block *block = function.addEntryBlock();
  builder.setInsertionPointToEnd(block);
  builder.create<mlir::func::ReturnOp>(loc);
}

std::string LoopBuilder::uniqueName(const std::string &wanted) {
  int64_t &uses = usedNames[wanted];
  std::string name = uses == 0 ? wanted : fmt::format("{}_{}", wanted, uses);
  ++uses;
  if (name != wanted && usedNames.count(name)) {
    return uniqueName(name);
  }
  usedNames[name] = std::max<int64_t>(usedNames[name], 1);
  return name;
}

loop::BufferOp &LoopBuilder::declare(std::string name, const char *kind,
                                     const std::vector<int64_t> &shape, mlir::Type type,
                                     const std::vector<int64_t> &stride) {
  mlir::OpBuilder::InsertionGuard guard(builder);
  if (lastBuffer) {
    builder.setInsertionPointAfter(lastBuffer);
  } else {
    builder.setInsertionPointToStart(&function.getBody().front());
  }
  auto buffer = builder.create<loop::BufferOp>(
      loc, mlir::MemRefType::get(shape, type), builder.getStringAttr(uniqueName(name)),
      builder.getStringAttr(kind), mlir::IntegerAttr(), builder.getDenseI64ArrayAttr(stride),
      mlir::IntegerAttr(), mlir::DictionaryAttr(), mlir::FloatAttr(), mlir::IntegerAttr());
  lastBuffer = buffer;
  buffers.push_back(buffer);
  return buffers.back();
}

int64_t LoopBuilder::addInput(const std::string &name, int64_t index,
                              const std::vector<int64_t> &shape, mlir::Type type,
                              const std::vector<int64_t> &stride, int64_t offset,
                              mlir::DictionaryAttr layout) {
  loop::BufferOp &buffer = declare(name.empty() ? "input" : name, "input", shape, type, stride);
  buffer.setIndex(index);
  buffer.setOffset(offset);
  buffer.setLayoutAttr(layout);
  return int64_t(buffers.size()) - 1;
}

int64_t LoopBuilder::addConstant(double value, mlir::Type type) {
  std::string typeText;
  llvm::raw_string_ostream(typeText) << type;
  auto [it, added] = constants.try_emplace({typeText, std::bit_cast<uint64_t>(value)}, 0);
  if (added) {
    loop::BufferOp &buffer = declare("const", "constant", {}, type, {});
    buffer.setValueAttr(builder.getF64FloatAttr(value));
    Expected<numerics::HostType> hostType = dialect::hostTypeOf(type);
    SPYRE_CHECK(hostType.ok(), "a verified graph has known element types");
    Expected<layout::DeviceLayout> layout = layout::DeviceLayout::makeDefault({}, *hostType);
    SPYRE_CHECK(layout.ok(), "scalars always have a layout");
    buffer.setLayoutAttr(dialect::layoutToAttr(builder.getContext(), *layout));
    it->second = int64_t(buffers.size()) - 1;
  }
  return it->second;
}

int64_t LoopBuilder::addTemp(const std::vector<int64_t> &shape, mlir::Type type) {
  declare(fmt::format("t{}", temps++), "temp", shape, type, rowMajorStrides(shape));
  return int64_t(buffers.size()) - 1;
}

std::vector<int64_t> LoopBuilder::bufferShape(int64_t buffer) {
  return dialect::toVector(
      llvm::cast<mlir::MemRefType>(buffers[buffer].getResult().getType()).getShape());
}

mlir::Type LoopBuilder::elementType(int64_t buffer) {
  return llvm::cast<mlir::MemRefType>(buffers[buffer].getResult().getType()).getElementType();
}

namespace {

/// Attaches variables of extent 1 (in the operand's own order) to unused unit dimensions, innermost
/// first.
bool attachUnits(const std::vector<int64_t> &shape, const std::vector<unsigned> &unitVars,
                 std::vector<std::vector<std::pair<unsigned, int64_t>>> &terms) {
  size_t dim = shape.size();
  for (size_t i = unitVars.size(); i-- > 0;) {
    do {
      if (dim == 0) {
        return false;
      }
      --dim;
    } while (shape[dim] != 1 || !terms[dim].empty());
    terms[dim].push_back({unitVars[i], 1});
  }
  return true;
}

} // namespace

std::optional<LoopBuilder::Loops> LoopBuilder::splitLoops(const std::vector<Operand> &operands,
                                                          const std::vector<int64_t> &extents,
                                                          int64_t reductions, bool keepUnit) {
  Loops loops;
  for (size_t d = 0; d < extents.size(); ++d) {
    std::vector<const Atoms *> atoms;
    for (const Operand &operand : operands) {
      atoms.push_back(&operand.atoms[d]);
    }
    auto cut = views::commonSegments(extents[d], atoms);
    bool isReduced = int64_t(d) >= int64_t(extents.size()) - reductions;
    if (!cut || (isReduced && cut->size() > 1)) {
      return std::nullopt;
    }
    if (extents[d] == 1 && keepUnit) {
      cut = std::vector<int64_t>{1};
    }
    loops.firstVar.push_back(loops.varExtents.size());
    loops.varExtents.insert(loops.varExtents.end(), cut->begin(), cut->end());
    loops.segments.push_back(*cut);
  }
  return loops;
}

mlir::AffineMap LoopBuilder::accessMap(const Operand &operand, const Loops &loops) {
  std::vector<int64_t> shape = bufferShape(operand.buffer);
  std::vector<std::vector<std::pair<unsigned, int64_t>>> terms(shape.size());
  for (size_t d = 0; d < loops.segments.size(); ++d) {
    std::vector<views::Step> steps = views::stepsOf(operand.atoms[d], loops.segments[d]);
    for (size_t s = 0; s < steps.size(); ++s) {
      bool moves = steps[s].dim != views::kBroadcast && loops.segments[d][s] > 1;
      if (moves) {
        terms[steps[s].dim].push_back({loops.firstVar[d] + unsigned(s), steps[s].coefficient});
      }
    }
  }
  std::vector<unsigned> unitVars;
  for (size_t d : operand.order) {
    if (loops.segments[d] == std::vector<int64_t>{1}) {
      unitVars.push_back(loops.firstVar[d]);
    }
  }
  if (!attachUnits(shape, unitVars, terms)) {
    return {};
  }
  llvm::SmallVector<mlir::AffineExpr> results;
  for (const auto &dim : terms) {
    mlir::AffineExpr sum = builder.getAffineConstantExpr(0);
    for (auto [var, coefficient] : dim) {
      sum = sum + builder.getAffineDimExpr(var) * coefficient;
    }
    results.push_back(sum);
  }
  return mlir::AffineMap::get(loops.varExtents.size(), 0, results, builder.getContext());
}

bool LoopBuilder::tryAdd(const std::string &callee, const std::vector<Operand> &operands,
                         const std::vector<int64_t> &extents, int64_t reductions, bool keepUnit,
                         size_t maxVars) {
  std::optional<Loops> loops = splitLoops(operands, extents, reductions, keepUnit);
  if (!loops || loops->varExtents.size() > maxVars) {
    return false;
  }
  llvm::SmallVector<mlir::Attribute> maps, names;
  llvm::SmallVector<mlir::Value> values;
  for (const Operand &operand : operands) {
    mlir::AffineMap map = accessMap(operand, *loops);
    if (!map) {
      return false;
    }
    maps.push_back(mlir::AffineMapAttr::get(map));
    values.push_back(buffers[operand.buffer].getResult());
  }
  for (size_t v = 0; v < loops->varExtents.size(); ++v) {
    names.push_back(builder.getStringAttr(fmt::format("c{}", v)));
  }
  builder.setInsertionPoint(function.getBody().front().getTerminator());
  builder.create<loop::ComputeOp>(
      loc, builder.getStringAttr(callee), mlir::ValueRange(values).drop_back(), values.back(),
      builder.getArrayAttr(names), builder.getDenseI64ArrayAttr(loops->varExtents),
      builder.getI64IntegerAttr(reductions), builder.getArrayAttr(maps), mlir::DenseI64ArrayAttr());
  return true;
}

void LoopBuilder::addCopy(const View &from, const Operand &to) {
  bool added = tryAdd(loop::kCopy, {{from.buffer, from.dims, {}}, to}, from.shape(), 0, false);
  SPYRE_CHECK(added, "a copy into a dense buffer cuts its loops only where the source does");
}

View LoopBuilder::materialize(const View &view) {
  std::vector<int64_t> shape = view.shape();
  View result = View::whole(addTemp(shape, elementType(view.buffer)), shape);
  addCopy(view, {result.buffer, result.dims, {}});
  return result;
}

View LoopBuilder::reshapeThroughRows(const View &view, const std::vector<int64_t> &shape) {
  std::vector<int64_t> from = view.shape();
  std::vector<int64_t> strides = rowMajorStrides(from);
  int64_t elements = from.empty() ? 1 : strides[0] * from[0];
  int64_t rows = addTemp({elements}, elementType(view.buffer));
  Expected<numerics::HostType> type = dialect::hostTypeOf(elementType(rows));
  SPYRE_CHECK(type.ok(), "a verified graph has known element types");
  auto layout = layout::DeviceLayout::make({elements}, {1}, *type, {0, -1});
  SPYRE_CHECK(layout.ok(), "a one-dimensional sparse layout always exists");
  buffers[rows].setLayoutAttr(dialect::layoutToAttr(builder.getContext(), *layout));
  Operand to{rows, {}, {}};
  for (size_t i = 0; i < from.size(); ++i) {
    to.atoms.push_back(from[i] == 1 ? Atoms{} : Atoms{{0, from[i], strides[i]}});
  }
  addCopy(view, to);
  std::optional<View> result = views::reshape(View::whole(rows, {elements}), shape);
  SPYRE_CHECK(result.has_value(), "a single dimension can be cut anywhere its size divides");
  return *result;
}

View LoopBuilder::addPointwise(const std::string &callee, std::vector<View> operands,
                               const std::vector<int64_t> &shape, mlir::Type type) {
  View result = View::whole(addTemp(shape, type), shape);
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::vector<Operand> list;
    for (const View &operand : operands) {
      list.push_back({operand.buffer, operand.dims, {}});
    }
    list.push_back({result.buffer, result.dims, {}});
    if (tryAdd(callee, list, shape, 0, false, attempt == 0 ? kMaxVars : SIZE_MAX)) {
      return result;
    }
    for (View &operand : operands) {
      bool isCut = std::any_of(operand.dims.begin(), operand.dims.end(),
                               [](const Atoms &atoms) { return atoms.size() > 1; });
      if (isCut) {
        operand = materialize(operand);
      }
    }
  }
  SPYRE_CHECK(false, "whole operands never cut a loop");
}

View LoopBuilder::addReduction(const std::string &callee, View operand, int64_t dim) {
  auto readsEvenly = [](const Atoms &atoms) {
    return atoms.size() == 1 && atoms[0].dim != views::kBroadcast;
  };
  if (views::extentOf(operand.dims[dim]) == 1) { // nothing to reduce
    operand.dims.erase(operand.dims.begin() + dim);
    return operand;
  }
  // A kept dimension that only repeats is reduced once and repeated in the result.
  auto repeats = [](const Atoms &atoms) {
    return atoms.size() == 1 && atoms[0].dim == views::kBroadcast;
  };
  auto mixes = [&](const Atoms &atoms) {
    return !repeats(atoms) && std::any_of(atoms.begin(), atoms.end(), [](const views::Atom &atom) {
      return atom.dim == views::kBroadcast;
    });
  };
  bool mixed = std::any_of(operand.dims.begin(), operand.dims.end(), mixes);
  if (!readsEvenly(operand.dims[dim]) || mixed) {
    operand = materialize(operand);
  }
  Atoms reduced = operand.dims[dim];
  operand.dims.erase(operand.dims.begin() + dim);
  std::vector<int64_t> kept = operand.shape(), once = kept;
  for (size_t d = 0; d < kept.size(); ++d) {
    if (repeats(operand.dims[d])) {
      operand.dims[d].clear();
      once[d] = 1;
    }
  }
  View result = View::whole(addTemp(once, elementType(operand.buffer)), once);
  std::vector<int64_t> extents = once;
  extents.push_back(views::extentOf(reduced));
  Operand in{operand.buffer, operand.dims, {}}, out{result.buffer, result.dims, {}};
  in.atoms.push_back(reduced);
  out.atoms.push_back({});
  bool added = tryAdd(callee, {in, out}, extents, 1, false);
  SPYRE_CHECK(added, "one operand and a dense result never disagree on cuts");
  return views::broadcast(result, kept);
}

View LoopBuilder::addMatmul(const std::string &callee, View a, View b,
                            const std::vector<int64_t> &shape, mlir::Type type) {
  size_t rank = shape.size();
  // Rows, columns and the reduced dimension must each be one plain loop; a batch may be cut.
  auto plain = [rank](const View &view) {
    for (size_t d = rank - 2; d < rank; ++d) {
      const Atoms &atoms = view.dims[d];
      if (atoms.size() > 1 || (atoms.size() == 1 && atoms[0].dim == views::kBroadcast)) {
        return false;
      }
    }
    return true;
  };
  if (!plain(a)) {
    a = materialize(a);
  }
  if (!plain(b)) {
    b = materialize(b);
  }
  View result = View::whole(addTemp(shape, type), shape);
  Atoms k = a.dims[rank - 1];
  int64_t reduced = views::extentOf(k);
  // A loop dimension an operand does not have at all reads as a broadcast.
  const Atoms absent = {{views::kBroadcast, 1, 1}};
  for (int attempt = 0; attempt < 2; ++attempt) {
    Operand left{a.buffer, {}, {}}, right{b.buffer, {}, {}}, out{result.buffer, {}, {}};
    std::vector<int64_t> extents;
    if (rank == 3 && shape[0] != 1) {
      extents.push_back(shape[0]);
      left.atoms.push_back(a.dims[0]);
      right.atoms.push_back(b.dims[0]);
      out.atoms.push_back(result.dims[0]);
    }
    extents.insert(extents.end(), {shape[rank - 2], shape[rank - 1], reduced});
    left.atoms.insert(left.atoms.end(), {a.dims[rank - 2], absent, a.dims[rank - 1]});
    right.atoms.insert(right.atoms.end(), {absent, b.dims[rank - 1], b.dims[rank - 2]});
    out.atoms.insert(out.atoms.end(), {result.dims[rank - 2], result.dims[rank - 1], absent});
    size_t m = extents.size() - 3, n = m + 1, inner = m + 2;
    left.order = {m, inner};
    right.order = {inner, n};
    out.order = {m, n};
    if (tryAdd(callee, {left, right, out}, extents, 1, true, attempt == 0 ? kMaxVars : SIZE_MAX)) {
      return result;
    }
    a = materialize(a);
    b = materialize(b);
  }
  SPYRE_CHECK(false, "whole operands always fit");
}

void LoopBuilder::addOutput(const View &view, int64_t index, const std::vector<int64_t> &shape,
                            const std::vector<int64_t> &stride) {
  loop::BufferOp buffer = buffers[view.buffer];
  std::string name = fmt::format("out{}", index);
  if (buffer.getKind() == "temp" && !buffer.getLayoutAttr() &&
      view.isWhole(bufferShape(view.buffer))) {
    buffer.setKind("output");
    buffer.setName(uniqueName(name));
    buffer.setIndex(index);
    buffer.setStride(stride);
    return;
  }
  loop::BufferOp &fresh = declare(name, "output", shape, elementType(view.buffer), stride);
  fresh.setIndex(index);
  View whole = View::whole(int64_t(buffers.size()) - 1, shape);
  addCopy(view, {whole.buffer, whole.dims, {}});
}

} // namespace spyre
