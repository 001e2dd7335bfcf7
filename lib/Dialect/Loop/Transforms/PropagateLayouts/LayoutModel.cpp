//===- LayoutModel.cpp - see LayoutModel.h --------------------------------------------------===//
#include "LayoutModel.h"

#include "spyre/Base/Math.h"
#include "spyre/Dialect/Loop/IR/Conversions.h"
#include "spyre/Dialect/Utils/Attributes.h"

#include <algorithm>
#include <unordered_map>

namespace spyre::loop {

using solver::LayoutProblem;
using solver::OptionSet;

static mlir::MemRefType typeOf(BufferOp buffer) {
  return llvm::cast<mlir::MemRefType>(buffer.getResult().getType());
}

int64_t stickDimOf(BufferOp buffer, int option) {
  return option < typeOf(buffer).getRank() ? option : -1;
}

int optionOf(BufferOp buffer, int64_t stickDim) {
  return int(stickDim < 0 ? typeOf(buffer).getRank() : stickDim);
}

int64_t bytesOf(BufferOp buffer, int64_t stickDim) {
  const int64_t lanes = elemsPerStick(buffer);
  int64_t sticks = 1;
  for (int64_t d = 0; d < typeOf(buffer).getRank(); ++d) {
    const int64_t size = typeOf(buffer).getDimSize(d);
    sticks *= d == stickDim ? ceilDiv(size, lanes) : size;
  }
  return sticks * 128;
}

std::vector<int64_t> orderWithStick(int64_t rank, int64_t stick) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < rank; ++i) {
    if (i != stick) {
      order.push_back(i);
    }
  }
  if (rank > 0) {
    order.push_back(stick);
  }
  return order;
}

/// Sticks are written as a whole: what ends inside one must end where the dimension does.
static bool writesWholeSticks(ComputeOp op, const Access &access, int64_t stickDim) {
  if (stickDim < 0 || op->hasAttr(kOverwritesPadding)) {
    return true;
  }
  int64_t end = access.dims[size_t(stickDim)].offset + 1;
  for (const LinearIndex::Term &term : access.dims[size_t(stickDim)].terms) {
    end += term.coefficient * (op.getExtents()[term.var] - 1);
  }
  BufferOp buffer = access.buffer;
  return end % elemsPerStick(buffer) == 0 || end == typeOf(buffer).getDimSize(stickDim);
}

Lanes lanesOf(ComputeOp op, unsigned index, Lanes lanes) {
  if (isIndexInput(op, index)) { // has sticks of its own
    const std::set<unsigned> vars = varsOf(accessOf(op, index));
    return vars.empty() ? std::nullopt : Lanes(*vars.rbegin());
  }
  return namesLanes(op) ? Lanes(namedStickVar(op, index)) : lanes;
}

static bool isLegal(ComputeOp op, const Access &access, unsigned index, int64_t stickDim) {
  const bool writes = index + 1 == operandCount(op);
  return stickUse(access, stickDim).kind != StickUse::Kind::Illegal &&
         (!writes || writesWholeSticks(op, access, stickDim));
}

bool isLegal(ComputeOp op, unsigned index, int64_t stickDim) {
  return isLegal(op, accessOf(op, index), index, stickDim);
}

static bool fits(ComputeOp op, const Access &access, unsigned index, int64_t stickDim,
                 Lanes lanes) {
  if (namesLanes(op)) {
    return followsExactly(access, stickDim, namedStickVar(op, index));
  }
  if (isIndexInput(op, index)) {
    return isLegal(op, access, index, stickDim);
  }
  return isLegal(op, access, index, stickDim) &&
         isCompatible(access, stickUse(access, stickDim), lanes);
}

bool fits(ComputeOp op, unsigned index, int64_t stickDim, Lanes lanes) {
  return fits(op, accessOf(op, index), index, stickDim, lanes);
}

namespace {

bool isWrittenByHost(BufferOp buffer) {
  for (mlir::Operation *user : buffer.getResult().getUsers()) {
    auto op = llvm::dyn_cast<HostOp>(user);
    if (op && llvm::is_contained(op.getOutputs(), buffer.getResult())) {
      return true;
    }
  }
  return false;
}

/// What an operation can do: lanes, and the option of its result.
struct Way {
  Lanes lanes;
  int64_t resultStick = -1;
};

class Builder {
public:
  explicit Builder(mlir::func::FuncOp function) : function(function) {}

  Expected<LayoutModel> run() {
    for (BufferOp buffer : function.getOps<BufferOp>()) {
      if (!isHostValue(buffer)) {
        SPYRE_RETURN_IF_ERROR(addTensor(buffer));
      }
    }
    SPYRE_RETURN_IF_ERROR(findCommonOptions());
    for (mlir::Operation &op : function.getBody().front()) {
      if (auto compute = llvm::dyn_cast<ComputeOp>(op)) {
        SPYRE_RETURN_IF_ERROR(addOperation(compute));
      } else if (auto host = llvm::dyn_cast<HostOp>(op)) {
        SPYRE_RETURN_IF_ERROR(addHostStep(host));
      }
    }
    return std::move(model);
  }

private:
  Status addTensor(BufferOp buffer) {
    model.tensorOf[buffer] = int(model.buffers.size());
    model.buffers.push_back(buffer);
    LayoutProblem::Tensor tensor;
    for (int option = 0; option <= typeOf(buffer).getRank(); ++option) {
      tensor.copyTo.push_back(bytesOf(buffer, stickDimOf(buffer, option)));
    }
    // A stick with two values in it is no tensor of elements: only some operations can read it.
    tensor.copyFrom = tensor.copyTo;
    if (holdsPairs(buffer)) {
      tensor.copyFrom.assign(tensor.copyTo.size(), -1);
    }
    if (buffer.getLayoutAttr()) {
      SPYRE_ASSIGN_OR_RETURN(DimRoles roles, dimRolesOf(buffer));
      fixed.push_back(optionOf(buffer, roles.stick()));
    } else {
      fixed.push_back(-1);
    }
    const bool isThere = buffer.getKind() == "input" || buffer.getKind() == "constant";
    if (isThere || isWrittenByHost(buffer)) {
      if (fixed.back() < 0) {
        return error<2010>("buffer '{}' has no layout; {}s bring their own", buffer.getName().str(),
                           buffer.getKind().str());
      }
      tensor.given = OptionSet(1) << fixed.back();
    }
    written.push_back(isThere);
    model.problem.tensors.push_back(std::move(tensor));
    return Status::success();
  }

  /// Reads any layout; what it writes is then there, in the layout it has.
  Status addHostStep(HostOp op) {
    for (mlir::Value input : op.getInputs()) {
      auto buffer = input.getDefiningOp<BufferOp>();
      if (!isHostValue(buffer) && !written[size_t(model.tensorOf.lookup(buffer))]) {
        return error<1206>("'{}' reads '{}' before anything wrote it", op.getCallee().str(),
                           buffer.getName().str());
      }
    }
    for (mlir::Value output : op.getOutputs()) {
      auto buffer = output.getDefiningOp<BufferOp>();
      if (!isHostValue(buffer)) {
        written[size_t(model.tensorOf.lookup(buffer))] = true;
      }
    }
    return Status::success();
  }

  /// What is written in parts is written in one option, which all its writers can do.
  Status findCommonOptions() {
    std::vector<int> writers(model.buffers.size(), 0);
    common.assign(model.buffers.size(), ~OptionSet(0));
    for (ComputeOp op : function.getOps<ComputeOp>()) {
      ++writers[size_t(tensorOf(op, operandCount(op) - 1))];
    }
    for (ComputeOp op : function.getOps<ComputeOp>()) {
      const unsigned out = operandCount(op) - 1;
      const auto result = size_t(tensorOf(op, out));
      if (writers[result] < 2) {
        continue;
      }
      SPYRE_ASSIGN_OR_RETURN(std::vector<Way> ways, waysOf(op));
      OptionSet options = 0;
      for (const Way &way : ways) {
        const int64_t stick = givenUnitStick(op, way.resultStick);
        options |= OptionSet(1) << optionOf(bufferOf(op, out), stick);
      }
      common[result] &= options;
    }
    return Status::success();
  }

  /// Computed once: the search for choices asks for it again and again.
  const Access &access(ComputeOp op, unsigned index) {
    std::vector<Access> &list = accesses[op];
    while (list.size() < operandCount(op)) {
      list.push_back(accessOf(op, unsigned(list.size())));
    }
    return list[index];
  }

  bool isPlainCopy(ComputeOp op) {
    return op.getCallee() == kCopy && !op.getIndirect() &&
           varsOf(access(op, 0)) == varsOf(access(op, 1));
  }

  BufferOp bufferOf(ComputeOp op, unsigned index) { return access(op, index).buffer; }
  int tensorOf(ComputeOp op, unsigned index) { return model.tensorOf.lookup(bufferOf(op, index)); }

  Status addOperation(ComputeOp op) {
    const unsigned out = operandCount(op) - 1;
    const int result = tensorOf(op, out);
    LayoutProblem::Operation operation;
    for (unsigned i = 0; i < out; ++i) {
      operation.inputs.push_back(tensorOf(op, i));
      if (!written[size_t(operation.inputs.back())]) {
        return error<1206>("'{}' reads '{}' before anything wrote it", op.getCallee().str(),
                           bufferOf(op, i).getName().str());
      }
    }
    // A buffer that is there already is written in parts: its option is a need, too.
    const bool inParts = written[size_t(result)];
    if (inParts) {
      operation.inputs.push_back(result);
    } else {
      operation.result = result;
      written[size_t(result)] = true;
    }
    SPYRE_ASSIGN_OR_RETURN(std::vector<Way> ways, waysOf(op));
    std::vector<Lanes> lanes;
    for (Way way : ways) {
      way.resultStick = givenUnitStick(op, way.resultStick);
      const int option = optionOf(bufferOf(op, out), way.resultStick);
      const bool isCommon = (common[size_t(result)] >> option & 1) != 0;
      if (!isCommon || (fixed[size_t(result)] >= 0 && fixed[size_t(result)] != option)) {
        continue;
      }
      operation.choices.push_back(choiceOf(op, way, inParts));
      lanes.push_back(way.lanes);
    }
    if (operation.choices.empty()) {
      return error<2011>("the output of '{}' cannot be written in its given layout; let the "
                         "compiler choose it",
                         op.getCallee().str());
    }
    model.operations.push_back(op);
    model.lanes.push_back(std::move(lanes));
    model.problem.operations.push_back(std::move(operation));
    return Status::success();
  }

  /// One element per stick is also what a given layout with its sticks along a dimension of size 1
  /// has.
  int64_t givenUnitStick(ComputeOp op, int64_t stickDim) {
    const unsigned out = operandCount(op) - 1;
    const int option = fixed[size_t(tensorOf(op, out))];
    const int64_t given = option < 0 ? -1 : stickDimOf(bufferOf(op, out), option);
    const bool isUnit = given >= 0 && typeOf(bufferOf(op, out)).getDimSize(given) == 1;
    return stickDim < 0 && isUnit ? given : stickDim;
  }

  LayoutProblem::Choice choiceOf(ComputeOp op, const Way &way, bool inParts) {
    const unsigned out = operandCount(op) - 1;
    BufferOp result = bufferOf(op, out);
    LayoutProblem::Choice choice;
    for (unsigned i = 0; i < out; ++i) {
      choice.needs.push_back(needOf(op, i, way));
    }
    if (inParts) {
      LayoutProblem::Need target;
      target.readCost.assign(size_t(typeOf(result).getRank()) + 1, -1);
      target.readCost[size_t(optionOf(result, way.resultStick))] =
          accessedBytes(op, out, way.resultStick);
      target.inPlace = true;
      choice.needs.push_back(std::move(target));
      return choice;
    }
    choice.resultOption = optionOf(result, way.resultStick);
    choice.cost = bytesOf(result, way.resultStick);
    return choice;
  }

  /// Bytes of an option that an access touches.
  int64_t accessedBytes(ComputeOp op, unsigned index, int64_t stickDim) {
    const Access &used = access(op, index);
    const int64_t width = elemsPerStick(used.buffer);
    int64_t sticks = 1;
    for (size_t d = 0; d < used.dims.size(); ++d) {
      int64_t steps = 1;
      for (const LinearIndex::Term &term : used.dims[d].terms) {
        steps *= op.getExtents()[term.var];
      }
      sticks *= int64_t(d) == stickDim ? ceilDiv(steps, width) : steps;
    }
    return sticks * chosenRows(op, index) * 128;
  }

  /// How often rows of an operand are chosen; 1 for operands that are not.
  int64_t chosenRows(ComputeOp op, unsigned index) {
    int64_t rows = 1;
    if (std::optional<unsigned> chooser = indexInputOf(op, index)) {
      for (unsigned var : varsOf(access(op, *chooser))) {
        rows *= op.getExtents()[var];
      }
    }
    return rows;
  }

  LayoutProblem::Need needOf(ComputeOp op, unsigned index, const Way &way) {
    const Lanes lanes = way.lanes;
    BufferOp buffer = bufferOf(op, index);
    LayoutProblem::Need need;
    const bool copies = isPlainCopy(op);
    int64_t toLegal = -1;
    const int tensor = model.tensorOf.lookup(buffer);
    const LayoutProblem::Tensor &source = model.problem.tensors[size_t(tensor)];
    for (int option = 0; option <= typeOf(buffer).getRank(); ++option) {
      const int64_t stick = stickDimOf(buffer, option);
      const bool accepted = copies ? isOneCopy({access(op, 0), stick},
                                               {access(op, 1), way.resultStick}, op.getExtents())
                                   : fitsAs(op, index, option, lanes);
      need.readCost.push_back(accepted ? accessedBytes(op, index, stick) : -1);
      if (isLegal(op, access(op, index), index, stick)) {
        const bool given = fixed[size_t(tensor)] == option;
        const int64_t cost =
            accessedBytes(op, index, stick) + (given ? 0 : 2 * source.copyTo[size_t(option)]);
        toLegal = toLegal < 0 ? cost : std::min(toLegal, cost);
      }
    }
    // What is chosen by indices is not known before: only the whole tensor can be copied.
    if (source.copyFrom[0] < 0 || indexInputOf(op, index) || readsWholeBlocks(op)) {
      return need;
    }
    if (toLegal >= 0) {
      need.privateCost = toLegal + privateBytes(op, index, lanesOf(op, index, lanes));
    }
    return need;
  }

  /// A conversion to fewer bits reads blocks of positions, more than its variable counts.
  static bool readsWholeBlocks(ComputeOp op) {
    const int64_t lanes = elemsPerStick(op.getOutput().getDefiningOp<BufferOp>());
    const std::optional<Conversion> conversion = findConversion(op.getCallee());
    return conversion && !conversion->widens() && op.getExtents().back() % lanes != 0;
  }

  /// A layout leaves no trace of which of two dimensions of size 1 is its stick.
  bool fitsAs(ComputeOp op, unsigned index, int option, Lanes lanes) {
    BufferOp buffer = bufferOf(op, index);
    if (fixed[size_t(model.tensorOf.lookup(buffer))] == option && namesLanes(op)) {
      Expected<DimRoles> roles = rolesFollowing(access(op, index), namedStickVar(op, index));
      return roles.ok() && fits(op, access(op, index), index, roles->stick(), lanes);
    }
    return fits(op, access(op, index), index, stickDimOf(buffer, option), lanes);
  }

  /// Written by a copy of what the operation reads, and read by it.
  int64_t privateBytes(ComputeOp op, unsigned index, Lanes lanes) {
    const Access &used = access(op, index);
    const int64_t width = elemsPerStick(used.buffer);
    int64_t sticks = 1;
    for (unsigned var : varsOf(used)) {
      const int64_t extent = op.getExtents()[var];
      sticks *= lanes && *lanes == var ? ceilDiv(extent, width) : extent;
    }
    return 2 * sticks * 128;
  }

  Expected<std::vector<Way>> waysOf(ComputeOp op) {
    if (op.getCallee() == kMatmul) {
      return matmulWays(op);
    }
    if (isTopK(op)) {
      return topKWays(op);
    }
    if (namesLanes(op)) {
      return conversionWays(op);
    }
    std::vector<Way> ways = writtenWays(op);
    if (isPlainCopy(op)) {
      return ways;
    }
    if (makesPairs(op)) {
      return std::vector<Way>{{unsigned(op.getExtents().size() - 1), -1}};
    }
    if (op.getCallee() == "layernormscale") { // of each pair one value
      return std::vector<Way>{{std::nullopt, -1}};
    }
    if (op.getReductions() > 0 && !op->hasAttr(kReducesPadding)) {
      // Lanes along what is reduced leave one element per stick.
      ways.push_back({unsigned(op.getExtents().size() - 1), -1});
    }
    // A stick comes from one row.
    for (const Indirection &indirection : indirectionsOf(op)) {
      const std::set<unsigned> vars = varsOf(access(op, indirection.index));
      std::erase_if(ways, [&](const Way &way) { return way.lanes && vars.count(*way.lanes); });
    }
    ways.push_back({std::nullopt, -1});
    return ways;
  }

  /// Along a dimension of the result, innermost first; a plain copy may also write one element per
  /// stick.
  std::vector<Way> writtenWays(ComputeOp op) {
    const unsigned out = operandCount(op) - 1;
    const Access &used = access(op, out);
    std::vector<Way> ways;
    for (auto d = int64_t(used.dims.size()); d-- > 0;) {
      const StickUse use = stickUse(used, d);
      if (use.kind == StickUse::Kind::Var && isLegal(op, used, out, d)) {
        ways.push_back({use.var, d});
      }
    }
    if (isPlainCopy(op)) {
      ways.push_back({std::nullopt, -1});
    }
    return ways;
  }

  Expected<std::vector<Way>> conversionWays(ComputeOp op) {
    if (op.getExtents().empty() || op.getInputs().size() != 1 || op.getReductions() != 0) {
      return error<1206>("'{}' has one input, at least one variable and reduces none",
                         op.getCallee().str());
    }
    const Access &written = access(op, 1);
    for (int64_t d = 0; d < int64_t(written.dims.size()); ++d) {
      if (followsExactly(written, d, namedStickVar(op, 1))) {
        return std::vector<Way>{{namedStickVar(op, 1), d}};
      }
    }
    return error<1206>("the last variable of '{}' must walk one dimension of its output",
                       op.getCallee().str());
  }

  Expected<std::vector<Way>> topKWays(ComputeOp op) {
    if (op.getExtents().size() < kTopKVars || op.getInputs().size() != 1 ||
        op.getReductions() != 1) {
      return error<1206>("'{}' has one input and at least three variables (lanes, results, "
                         "searched), of which the last is reduced",
                         op.getCallee().str());
    }
    const Access &written = access(op, 1);
    for (auto d = int64_t(written.dims.size()); d-- > 0;) {
      if (followsExactly(written, d, namedStickVar(op, 1))) {
        return std::vector<Way>{{namedStickVar(op, 1), d}};
      }
    }
    return error<1206>("the lanes of '{}' must be one dimension of its output",
                       op.getCallee().str());
  }

  Expected<std::vector<Way>> matmulWays(ComputeOp op) {
    if (op.getExtents().size() < 3 || op.getInputs().size() != 2) {
      return error<1206>(
          "a matmul has two inputs and at least three variables (rows, columns, reduced)");
    }
    const Access &used = access(op, 2);
    for (auto d = int64_t(used.dims.size()); d-- > 0;) {
      if (followsExactly(used, d, matmulStickVar(op, 2))) {
        return std::vector<Way>{{matmulStickVar(op, 2), d}};
      }
    }
    return error<1206>("the columns of a matmul must be one dimension of its output");
  }

  mlir::func::FuncOp function;
  LayoutModel model;
  std::unordered_map<mlir::Operation *, std::vector<Access>> accesses;
  /// Option a buffer's own layout is, or -1.
  std::vector<int> fixed;
  std::vector<bool> written;
  /// Per tensor the options in which all its writers can write it.
  std::vector<OptionSet> common;
};

} // namespace

Expected<LayoutModel> buildLayoutModel(mlir::func::FuncOp function) {
  return Builder(function).run();
}

} // namespace spyre::loop
