//===- DeviceAccess.cpp - one operand in device coordinates ---------------------------------===//
#include "DeviceAccess.h"

#include <algorithm>

namespace spyre {
namespace {

using loop::LinearIndex;
using spec::Coordinate;

class Lifter {
public:
  Lifter(const loop::Access &access, const std::vector<std::string> &varNames,
         const layout::DeviceLayout &layout, UnitSymbol unit, bool namesLanes,
         const std::string &indices)
      : access(access), varNames(varNames), layout(layout), unit(unit), namesLanes(namesLanes),
        indices(indices) {
    arg.deviceDtype = layout.format;
    lanes = layout.elemsPerStick();
  }

  Expected<spec::TensorArg> run(const loop::DimRoles &roles) {
    if (unit == UnitSymbol::Outer) {
      push(1, Coordinate::var(kUnitSymbol), -1);
    }
    const std::vector<int64_t> slots = roles.slots();
    int64_t stick = roles.stick();
    bool hasTiles = false;
    for (size_t j = 0; j < slots.size(); ++j) {
      if (slots[j] == stick && !hasTiles) {
        hasTiles = true;
        SPYRE_RETURN_IF_ERROR(addTiles(stick, j));
      } else if (slots[j] >= 0) {
        SPYRE_RETURN_IF_ERROR(addPlain(slots[j], j));
      }
    }
    addLanes(stick);
    return arg;
  }

private:
  void push(int64_t size, Coordinate coordinate, int64_t stride) {
    arg.deviceSize.push_back(size);
    arg.deviceCoordinates.push_back(std::move(coordinate));
    arg.strideMap.push_back(stride);
  }

  Status cannotExpress(int64_t dim) const {
    loop::BufferOp buffer = access.buffer;
    return error<1203>(
        "dimension {} of '{}' is read in steps that do not divide it; copy the tensor first", dim,
        buffer.getName().str());
  }

  /// One device dimension per term of \p index, outermost first; unit is the step of one entry in
  /// elements.
  Status addDigits(int64_t dim, const LinearIndex &index, int64_t size, int64_t step,
                   int64_t stride, bool lastIsStick) {
    int64_t outer = size; // entries of the device dimension still to be divided
    int64_t offset = index.offset / step;
    for (size_t i = 0; i < index.terms.size(); ++i) {
      bool isStick = lastIsStick && i + 1 == index.terms.size();
      int64_t coefficient = isStick ? 1 : index.terms[i].coefficient / step;
      if (coefficient == 0 || outer % coefficient != 0) {
        return cannotExpress(dim);
      }
      const std::string &name = varNames[index.terms[i].var];
      push(outer / coefficient,
           isStick ? Coordinate::floorDiv(name, lanes, offset / coefficient)
                   : Coordinate::var(name, offset / coefficient),
           stride > 0 ? stride * coefficient : stride);
      offset %= coefficient;
      outer = coefficient;
    }
    if (outer > 1) { // a strided walk: the entries between two steps, of which one is meant
      push(outer, Coordinate::constant(offset), 0);
    }
    return Status::success();
  }

  Status addPlain(int64_t dim, size_t slot) {
    const LinearIndex &index = access.dims[dim];
    if (dim == access.indirectDim) {
      push(layout.deviceSize[slot], Coordinate::indirect(indices), layout.strideMap[slot]);
      return Status::success();
    }
    if (index.terms.empty()) { // one entry of it
      if (layout.deviceSize[slot] > 1) {
        push(layout.deviceSize[slot], Coordinate::constant(index.offset), layout.strideMap[slot]);
      }
      return Status::success();
    }
    return addDigits(dim, index, layout.deviceSize[slot], 1, layout.strideMap[slot], false);
  }

  /// Lanes of a stick dimension of size 1 count as "one element per stick" unless the operation
  /// names them.
  bool hasLanes(int64_t dim) const {
    loop::BufferOp buffer = access.buffer;
    return dim >= 0 && !access.dims[dim].terms.empty() &&
           (namesLanes ||
            llvm::cast<mlir::MemRefType>(buffer.getResult().getType()).getDimSize(dim) > 1);
  }

  Status addTiles(int64_t dim, size_t slot) {
    if (!hasLanes(dim)) {
      if (unit == UnitSymbol::Stick) {
        push(1, Coordinate::floorDiv(kUnitSymbol, lanes), -1);
      }
      return Status::success();
    }
    return addDigits(dim, access.dims[dim], layout.deviceSize[slot], lanes, layout.strideMap[slot],
                     true);
  }

  void addLanes(int64_t stick) {
    Coordinate lane = Coordinate::constant(0);
    if (hasLanes(stick)) {
      lane = Coordinate::mod(varNames[access.dims[stick].terms.back().var], lanes);
    } else if (unit == UnitSymbol::Stick) {
      lane = Coordinate::mod(kUnitSymbol, lanes);
    }
    push(lanes, lane, layout.strideMap.back());
  }

  const loop::Access &access;
  const std::vector<std::string> &varNames;
  const layout::DeviceLayout &layout;
  UnitSymbol unit;
  bool namesLanes;
  const std::string &indices;
  int64_t lanes = 0;
  spec::TensorArg arg;
};

} // namespace

Expected<spec::TensorArg> deviceAccess(const loop::Access &access,
                                       const std::vector<std::string> &varNames, UnitSymbol unit,
                                       std::optional<unsigned> stickVar,
                                       const std::string &indices) {
  SPYRE_ASSIGN_OR_RETURN(layout::DeviceLayout layout, loop::layoutOf(access.buffer));
  SPYRE_ASSIGN_OR_RETURN(loop::DimRoles roles, stickVar ? loop::rolesFollowing(access, *stickVar)
                                                        : loop::dimRolesOf(access.buffer));
  if (loop::stickUse(access, roles.stick()).kind == loop::StickUse::Kind::Illegal) {
    loop::BufferOp buffer = access.buffer;
    return error<1203>("'{}' is read from inside sticks; run spyre-loop-propagate-layouts",
                       buffer.getName().str());
  }
  return Lifter(access, varNames, layout, unit, stickVar.has_value(), indices).run(roles);
}

void equalizeRanks(std::vector<spec::TensorArg> &args) {
  size_t rank = 0;
  for (const spec::TensorArg &arg : args) {
    rank = std::max(rank, arg.deviceSize.size());
  }
  for (spec::TensorArg &arg : args) {
    size_t missing = rank - arg.deviceSize.size();
    arg.deviceSize.insert(arg.deviceSize.begin(), missing, 1);
    arg.deviceCoordinates.insert(arg.deviceCoordinates.begin(), missing, Coordinate::constant(0));
    arg.strideMap.insert(arg.strideMap.begin(), missing, 0);
  }
}

} // namespace spyre
