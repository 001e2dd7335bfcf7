//===- SpecList.cpp - which sticks each core touches, from coordinates and splits -------------===//
#include "spyre/Solver/Placement/SpecList.h"

#include "spyre/Base/Math.h"
#include "spyre/Spec/Windows.h"

#include <algorithm>

namespace spyre::solver::placement {
namespace {

using spec::Coordinate;
using spec::IterationDim;
using spec::OpSpec;
using spec::TensorArg;

constexpr int64_t kStickBytes = 128;

bool isRestickify(const OpSpec &op) { return op.op == "ReStickifyOpHBM"; }
/// Results of earlier elements enter later ones.
bool isScan(const OpSpec &op) { return op.op == "x_cumsum"; }

/// A variable as the back end sees it: padded to whole sticks, its split with it.
struct Axis {
  const IterationDim *dim = nullptr;
  int64_t padded = 1, cores = 1;
  /// Of the slice number in the core's number.
  int64_t coreStride = 1;
};

/// The split of \p op over cores [spec: codegen-and-backend 2.1, steps 5, 7 and 11].
class Split {
public:
  Split(const OpSpec &op, bool kFastCores) {
    const bool isMatmul = spec::isMatmul(op);
    const bool allPad = isMatmul || isRestickify(op) || !sameFormats(op);
    for (const IterationDim &dim : op.iterationSpace) {
      Axis axis{&dim, dim.range, dim.cores, 1};
      for (size_t i = 0; i < op.args.size(); ++i) {
        const bool chosen = allPad || (op.isReduction ? i == 0 : i + 1 == op.args.size());
        if (chosen && !op.args[i].isIndex()) {
          axis.padded = roundUp(axis.padded, spec::stickElements(op.args[i], dim.symbol));
        }
      }
      if (isRestickify(op) && axis.padded != dim.range) {
        axis.cores = 1;
      }
      axes.push_back(axis);
    }
    const bool kFirst = kFastCores && isMatmul && axes.size() >= 3 && axes.back().cores > 1;
    isOrderKnown = !isMatmul || axes.size() >= 3 || axes.back().cores == 1;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (isFirst(i, kFirst)) {
        place(axes[i]);
      }
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!isFirst(i, kFirst)) {
        place(axes[i]);
      }
    }
  }

  const Axis *find(const std::string &symbol) const {
    for (const Axis &axis : axes) {
      if (axis.dim->symbol == symbol) {
        return &axis;
      }
    }
    return nullptr;
  }

  int64_t cores = 1;
  bool isOrderKnown = true;

private:
  bool isFirst(size_t i, bool kFirst) const {
    return axes[i].dim->fastest || (kFirst && i + 1 == axes.size());
  }
  static bool sameFormats(const OpSpec &op) {
    return std::all_of(op.args.begin(), op.args.end(), [&](const TensorArg &arg) {
      return arg.isIndex() || arg.deviceDtype == op.args.back().deviceDtype;
    });
  }
  void place(Axis &axis) {
    axis.coreStride = cores;
    cores *= axis.cores;
  }

  std::vector<Axis> axes;
};

/// One device dimension of a tensor that is cut over cores.
struct Cut {
  const Axis *axis;
  /// Sticks from one slice to the next.
  int64_t sticks;
};

class ViewMaker {
public:
  ViewMaker(const OpSpec &op, const TensorArg &arg, const Split &split)
      : op(op), arg(arg), split(split) {}

  CoreView run(int64_t tensorBytes) {
    CoreView view;
    view.cores = int(split.cores);
    view.known = split.isOrderKnown && addDims(view) && stride * kStickBytes == tensorBytes;
    if (!view.known) {
      return view;
    }
    int64_t slices = 1;
    for (const Cut &cut : cuts) {
      slices *= cut.axis->cores;
    }
    if (slices > 1) {
      view.slices = {{0, int(slices)}};
      view.sliceOfCore.assign(size_t(split.cores), 0);
      for (int64_t core = 0; core < split.cores; ++core) {
        for (const Cut &cut : cuts) {
          view.sliceOfCore[size_t(core)] +=
              core / cut.axis->coreStride % cut.axis->cores * cut.sticks;
        }
      }
    }
    return view;
  }

private:
  /// From the innermost dimension outwards; false when a core's part is no even part of a whole
  /// tensor.
  bool addDims(CoreView &view) {
    const size_t outer = arg.deviceSize.size() - spec::stickRank(arg);
    for (size_t j = outer; j-- > 0;) {
      const Coordinate &coordinate = arg.deviceCoordinates[j];
      const int64_t size = arg.deviceSize[j];
      const bool isPair = op.op == "layernormscale" && coordinate.kind == Coordinate::Kind::Floor;
      if (coordinate.offset != 0) {
        return false;
      }
      if (coordinate.kind == Coordinate::Kind::Constant || isPair) {
        if (size != 1) {
          return false;
        }
        continue;
      }
      const bool isTile = coordinate.kind == Coordinate::Kind::Floor;
      const Axis *axis = split.find(coordinate.symbol);
      if ((coordinate.kind != Coordinate::Kind::Symbol && !isTile) || !axis) {
        return false;
      }
      const int64_t unit = isTile ? coordinate.divisor : 1;
      const bool isWhole =
          axis->padded == size * unit || (isRestickify(op) && !isTile && axis->dim->range == size);
      if (!isWhole || size % axis->cores != 0) {
        return false;
      }
      addWalk(view, size / axis->cores);
      if (axis->cores > 1) {
        cuts.push_back({axis, size / axis->cores * stride});
      }
      stride *= size;
    }
    return true;
  }

  /// \p sticks of the core, `stride` apart; goes on with the dimension inside where it can.
  void addWalk(CoreView &view, int64_t sticks) const {
    if (sticks == 1) {
      return;
    }
    if (!view.walk.empty() && view.walk.back().first * view.walk.back().second == stride) {
      view.walk.back().first *= sticks;
    } else {
      view.walk.emplace_back(sticks, stride);
    }
  }

  const OpSpec &op;
  const TensorArg &arg;
  const Split &split;
  std::vector<Cut> cuts;
  /// Sticks inside of the dimension at hand.
  int64_t stride = 1;
};

bool splitsReduction(const OpSpec &op) {
  if (!op.isReduction && !spec::isMatmul(op)) {
    return false;
  }
  const TensorArg &output = op.args.back();
  for (const IterationDim &dim : op.iterationSpace) {
    const bool inOutput =
        std::any_of(output.deviceCoordinates.begin(), output.deviceCoordinates.end(),
                    [&](const Coordinate &coordinate) { return coordinate.symbol == dim.symbol; });
    if (dim.cores > 1 && !inOutput) {
      return true;
    }
  }
  return false;
}

/// Element i of the result is made of elements i of the inputs that are read like the result is
/// written.
bool isPointwise(const OpSpec &op) {
  return !op.isReduction && !spec::isMatmul(op) && !isRestickify(op) && !isScan(op) &&
         !spec::isWindowOp(op.op);
}

bool isAligned(const TensorArg &input, const TensorArg &output) {
  return input.deviceDtype == output.deviceDtype && input.deviceSize == output.deviceSize &&
         input.deviceCoordinates == output.deviceCoordinates;
}

/// Why \p arg of \p op cannot lie in LX, or nothing.
std::string_view barOf(const OpSpec &op, const TensorArg &arg, bool inLoop) {
  if (arg.isIndex() || arg.indirectCoordinate()) {
    return "index tensor or indirectly accessed; rows chosen by indices come from memory, nothing "
           "would change that";
  }
  if (spec::isWindowOp(op.op)) {
    return "read or written through a window; windows come from memory, nothing would change that";
  }
  if (std::any_of(op.iterationSpace.begin(), op.iterationSpace.end(),
                  [](const IterationDim &dim) { return dim.uneven; })) {
    return "divided in slices of two sizes; a number of cores that divides it evenly would do";
  }
  // Scratch of one tile is made and used up in every iteration: its life is that of one.
  return inLoop && !arg.perTileFixed
             ? "tiled (advancing); an operation that needs no tiles would do: more cores, a "
               "smaller shape"
             : "";
}

class ListMaker {
public:
  ListMaker(const SpecProgram &program, bool kFastCores)
      : program(program), kFastCores(kFastCores), writers(program.tensors.size(), 0) {}

  OpList run() {
    for (const SpecTensor &tensor : program.tensors) {
      OpTensor made;
      made.name = tensor.name;
      made.coreBytes = made.totalBytes = std::max<int64_t>(tensor.bytes, 1);
      made.isGraphInput = tensor.isGraphInput;
      made.isGraphOutput = tensor.isGraphOutput;
      made.barred = tensor.barred;
      list.tensors.push_back(std::move(made));
    }
    for (const SpecStep &step : program.steps) {
      step.op ? addOp(step) : addOther(step);
    }
    setCoreBytes(list);
    for (size_t i = 0; i < writers.size(); ++i) {
      if (writers[i] > (list.tensors[i].isGraphInput ? 0 : 1)) {
        bar(int(i), list.tensors[i].isGraphInput
                        ? "a graph input that is written; a tensor of its own for the result would "
                          "do"
                        : "written by several operations; one that writes all of it would do");
      }
    }
    return std::move(list);
  }

private:
  void bar(int tensor, std::string_view reason) {
    if (list.tensors[size_t(tensor)].barred.empty()) {
      list.tensors[size_t(tensor)].barred = reason;
    }
  }

  void addOther(const SpecStep &step) {
    OpStep made;
    made.name = step.name;
    made.reads = step.tensors;
    made.opaque = true;
    list.ops.push_back(std::move(made));
  }

  void addOp(const SpecStep &step) {
    const OpSpec &op = *step.op;
    for (size_t i = 0; i < op.args.size(); ++i) {
      if (std::string_view reason = barOf(op, op.args[i], step.inLoop); !reason.empty()) {
        bar(step.tensors[i], reason);
      }
    }
    OpStep made = stepOf(program, step, kFastCores);
    for (size_t i = 0; i < made.reads.size(); ++i) {
      addAccess(made.reads[i], made.readViews[i]);
    }
    addAccess(made.writes[0], made.writeViews[0]);
    writers[size_t(made.writes[0])] += 1;
    list.ops.push_back(std::move(made));
  }

  void addAccess(int tensor, const CoreView &view) {
    if (!view.known) {
      bar(tensor, "partial/offset read or write; read all of it, or compute the part apart");
    }
  }

  const SpecProgram &program;
  const bool kFastCores;
  OpList list;
  std::vector<int> writers;
};

} // namespace

CoreView viewOf(const OpSpec &op, size_t index, int64_t tensorBytes, bool kFastCores) {
  return ViewMaker(op, op.args[index], Split(op, kFastCores)).run(tensorBytes);
}

OpStep stepOf(const SpecProgram &program, const SpecStep &step, bool kFastCores) {
  const OpSpec &op = *step.op;
  const Split split(op, kFastCores);
  OpStep made;
  made.name = step.name;
  made.pointwise = isPointwise(op);
  made.splitsReduction = splitsReduction(op);
  for (size_t i = 0; i < op.args.size(); ++i) {
    const TensorArg &arg = op.args[i];
    const int tensor = step.tensors[i];
    CoreView view = ViewMaker(op, arg, split).run(program.tensors[size_t(tensor)].bytes);
    const bool writes = i + 1 == op.args.size();
    (writes ? made.writes : made.reads).push_back(tensor);
    (writes ? made.writeViews : made.readViews).push_back(std::move(view));
    if (!writes) {
      made.aligned.push_back(char(isAligned(arg, op.args.back())));
    }
  }
  return made;
}

void setCoreBytes(OpList &list) {
  for (OpTensor &tensor : list.tensors) {
    tensor.coreBytes = tensor.totalBytes;
  }
  auto shrink = [&](int tensor, const CoreView &view) {
    OpTensor &whole = list.tensors[size_t(tensor)];
    if (!view.slices.empty()) {
      whole.coreBytes =
          std::min(whole.coreBytes, bytesPerCore(whole.totalBytes, view.slices.front().second));
    }
  };
  for (const OpStep &op : list.ops) {
    for (size_t i = 0; i < op.readViews.size(); ++i) {
      shrink(op.reads[i], op.readViews[i]);
    }
    for (size_t i = 0; i < op.writeViews.size(); ++i) {
      shrink(op.writes[i], op.writeViews[i]);
    }
  }
}

OpList listOf(const SpecProgram &program, bool kFastCores) {
  return ListMaker(program, kFastCores).run();
}

} // namespace spyre::solver::placement
