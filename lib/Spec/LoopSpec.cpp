//===- LoopSpec.cpp - counted loops: rules, advances, unrolling -----------------------------===//
#include "spyre/Spec/LoopSpec.h"

#include "spyre/Base/Math.h"

#include <algorithm>
#include <functional>

namespace spyre::spec {

static constexpr int64_t kStickBytes = 128;
/// Far above any tensor and far below what sums and factors of windows need to overflow.
static constexpr int64_t kMaxElements = int64_t(1) << 44;

SpecNode SpecNode::of(OpSpec op) {
  SpecNode node;
  node.op = std::move(op);
  return node;
}

SpecNode SpecNode::loop(int64_t count, std::vector<std::string> tiledSymbols,
                        std::vector<SpecNode> body) {
  SpecNode node;
  node.kind = Kind::Loop;
  node.count = count;
  node.tiledSymbols = std::move(tiledSymbols);
  node.body = std::move(body);
  return node;
}

SpecNode SpecNode::unimplemented(std::string op) {
  SpecNode node;
  node.kind = Kind::Unimplemented;
  node.op.op = std::move(op);
  return node;
}

Kernel kernelOf(const std::vector<OpSpec> &specs) {
  Kernel kernel;
  for (const OpSpec &spec : specs) {
    kernel.push_back(SpecNode::of(spec));
  }
  return kernel;
}

static bool contains(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

static int64_t rangeOf(const OpSpec &op, const std::string &symbol) {
  for (const IterationDim &dim : op.iterationSpace) {
    if (dim.symbol == symbol) {
      return dim.range;
    }
  }
  return 0;
}

//===- Advances -----------------------------------------------------------------------------===//

/// Elements of \p symbol between two iterations of a level: the tiles of all loops inside it.
static int64_t stepOf(const OpSpec &op, const std::string &symbol,
                      const std::vector<LoopLevel> &levels, size_t level) {
  int64_t step = rangeOf(op, symbol);
  for (size_t inner = level + 1; inner < levels.size(); ++inner) {
    if (contains(levels[inner].tiledSymbols, symbol)) {
      step *= levels[inner].count;
    }
  }
  return step;
}

/// Entries of the device dimension that \p elements more of \p symbol are.
static int64_t shiftOf(const Coordinate &coordinate, const std::string &symbol, int64_t elements) {
  switch (coordinate.kind) {
  case Coordinate::Kind::Symbol:
    return coordinate.symbol == symbol ? elements : 0;
  case Coordinate::Kind::Floor:
    return coordinate.symbol == symbol ? elements / coordinate.divisor : 0;
  case Coordinate::Kind::Window:
    return (coordinate.symbol == symbol ? elements * coordinate.factor : 0) +
           (coordinate.windowSymbol == symbol ? elements * coordinate.windowFactor : 0);
  case Coordinate::Kind::Constant:
  case Coordinate::Kind::Mod:
  case Coordinate::Kind::Indirect:
    return 0;
  }
  return 0;
}

static int64_t bytesOf(const TensorArg &arg, const std::string &symbol, int64_t elements) {
  int64_t sticks = 0, stride = 1;
  for (size_t j = arg.deviceSize.size() - stickRank(arg); j-- > 0;) {
    sticks += shiftOf(arg.deviceCoordinates[j], symbol, elements) * stride;
    stride *= arg.deviceSize[j];
  }
  return sticks * kStickBytes;
}

int64_t bytesPerIteration(const OpSpec &op, const TensorArg &arg,
                          const std::vector<LoopLevel> &levels, size_t level) {
  int64_t bytes = 0;
  for (const std::string &symbol : levels[level].tiledSymbols) {
    if (!arg.perTileFixed && contains(op.tiledSymbols, symbol)) {
      bytes += bytesOf(arg, symbol, stepOf(op, symbol, levels, level));
    }
  }
  return bytes;
}

//===- Rules --------------------------------------------------------------------------------===//

namespace {

class Verifier {
public:
  Status nodes(const Kernel &kernel) {
    for (const SpecNode &node : kernel) {
      SPYRE_RETURN_IF_ERROR(node.kind == SpecNode::Kind::Loop ? loop(node)
                            : node.kind == SpecNode::Kind::Op ? operation(node.op)
                                                              : Status::success());
    }
    return Status::success();
  }

private:
  Status loop(const SpecNode &node) {
    if (levels.size() >= kMaxLoopDepth) {
      return error<1303>("loops are nested deeper than {}; merge some", kMaxLoopDepth);
    }
    if (node.count < 1 || node.count > kMaxKernelOperations) {
      return error<1303>("a loop counts to {}; it must be in 1..{}", node.count,
                         kMaxKernelOperations);
    }
    iterations *= node.count;
    if (iterations > kMaxKernelOperations) {
      return error<1303>("the loops around an operation run {} times in all; at most {} are "
                         "supported, use larger tiles",
                         iterations, kMaxKernelOperations);
    }
    levels.push_back({node.count, node.tiledSymbols});
    SPYRE_RETURN_IF_ERROR(nodes(node.body));
    levels.pop_back();
    iterations /= node.count;
    return Status::success();
  }

  Status operation(const OpSpec &op) {
    const std::string context = fmt::format("operation {}: ", index++);
    if (Status status = verifyOpSpec(op); !status.ok()) {
      return status.withContext(context);
    }
    operations += iterations;
    if (operations > kMaxKernelOperations) {
      return error<1303>("the kernel has more than {} operations when its loops are unrolled; "
                         "split it",
                         kMaxKernelOperations);
    }
    std::vector<std::string> seen;
    for (const std::string &symbol : op.tiledSymbols) {
      const auto tiles = [&](const LoopLevel &level) {
        return contains(level.tiledSymbols, symbol);
      };
      if (contains(seen, symbol) || std::none_of(levels.begin(), levels.end(), tiles)) {
        return error<1303>("op '{}': tiled symbol {} is listed twice or tiled by no loop around "
                           "it; correct tiled_symbols",
                           op.op, symbol);
      }
      seen.push_back(symbol);
      if (Status status = tiledSymbol(op, symbol); !status.ok()) {
        return status.withContext(context);
      }
    }
    return Status::success();
  }

  /// All tiles together are what one operation over all of them would touch.
  Status tiledSymbol(const OpSpec &op, const std::string &symbol) const {
    const int64_t tile = rangeOf(op, symbol);
    int64_t last = 0; // where the last tile begins
    for (size_t level = 0; level < levels.size(); ++level) {
      if (contains(levels[level].tiledSymbols, symbol)) {
        last += (levels[level].count - 1) * stepOf(op, symbol, levels, level);
      }
    }
    if (last > kMaxElements) {
      return error<1303>("op '{}': the last tile of {} begins at {}; no tensor is that large",
                         op.op, symbol, last);
    }
    for (size_t i = 0; i < op.args.size(); ++i) {
      const TensorArg &arg = op.args[i];
      if (arg.perTileFixed) {
        continue;
      }
      if (arg.residency == Residency::Lx && stickElements(arg, symbol) == 1 &&
          bytesOf(arg, symbol, tile) == 0) {
        continue; // does not have the symbol
      }
      if (arg.residency == Residency::Lx) {
        return error<1303>("op '{}', argument {}: a tensor in LX does not move with tiles; make it "
                           "per_tile_fixed",
                           op.op, i);
      }
      const int64_t unit = stickElements(arg, symbol);
      if (unit > 1 && tile % unit != 0 && last > 0) {
        return error<1303>("op '{}', argument {}: tiles of {} elements of {} are not whole sticks "
                           "of {}",
                           op.op, i, tile, symbol, unit);
      }
      SPYRE_RETURN_IF_ERROR(insideTensor(op, i, symbol, last));
    }
    return Status::success();
  }

  static Status insideTensor(const OpSpec &op, size_t index, const std::string &symbol,
                             int64_t last) {
    const TensorArg &arg = op.args[index];
    const int64_t tile = rangeOf(op, symbol);
    bool found = last == 0 || stickElements(arg, symbol) == 1;
    for (size_t j = 0; j + stickRank(arg) < arg.deviceSize.size(); ++j) {
      const Coordinate &coordinate = arg.deviceCoordinates[j];
      const int64_t shift = shiftOf(coordinate, symbol, last);
      found = found || coordinate.symbol == symbol;
      const int64_t reach = coordinate.kind == Coordinate::Kind::Floor
                                ? ceilDiv(tile, coordinate.divisor)
                                : shiftOf(coordinate, symbol, tile - 1) + 1;
      if (shift > 0 && coordinate.offset + shift + reach > arg.deviceSize[j]) {
        return error<1303>("op '{}', argument {}, dimension {}: the last tile of {} ends at {}, "
                           "the device size is {}; use fewer or smaller tiles",
                           op.op, index, j, symbol, coordinate.offset + shift + reach,
                           arg.deviceSize[j]);
      }
    }
    return found ? Status::success()
                 : error<1303>("op '{}', argument {}: {} is tiled, but the tensor has one stick "
                               "of it",
                               op.op, index, symbol);
  }

  std::vector<LoopLevel> levels;
  int64_t iterations = 1, operations = 0, index = 0;
};

} // namespace

Status verifyKernel(const Kernel &kernel) { return Verifier().nodes(kernel); }

//===- Unrolling ----------------------------------------------------------------------------===//

namespace {

bool opMoves(const OpSpec &op, const std::vector<LoopLevel> &levels) {
  return std::any_of(op.args.begin(), op.args.end(), [&](const TensorArg &arg) {
    return bytesPerIteration(op, arg, levels, 0) != 0;
  });
}

bool anyMoves(const Kernel &body, std::vector<LoopLevel> &levels) {
  bool moves = false;
  for (const SpecNode &node : body) {
    if (node.kind == SpecNode::Kind::Op) {
      moves = moves || opMoves(node.op, levels);
    } else if (node.kind == SpecNode::Kind::Loop) {
      levels.push_back({node.count, node.tiledSymbols});
      moves = moves || anyMoves(node.body, levels);
      levels.pop_back();
    }
  }
  return moves;
}

class Unroller {
public:
  explicit Unroller(KeepLoop keep) : keep(keep) {}

  void expand(const Kernel &nodes, Kernel &out) {
    for (const SpecNode &node : nodes) {
      if (node.kind != SpecNode::Kind::Loop) {
        out.push_back(node);
        place(out.back().op);
        continue;
      }
      levels.push_back({node.count, node.tiledSymbols});
      if (keep(node)) {
        indices.push_back(-1);
        SpecNode kept = SpecNode::loop(node.count, node.tiledSymbols, {});
        expand(node.body, kept.body);
        out.push_back(std::move(kept));
      } else {
        indices.push_back(0);
        for (; indices.back() < node.count; ++indices.back()) {
          expand(node.body, out);
        }
      }
      indices.pop_back();
      levels.pop_back();
    }
  }

private:
  /// Moves the operation to its iteration of the loops that are gone.
  void place(OpSpec &op) const {
    std::vector<std::string> left;
    for (const std::string &symbol : op.tiledSymbols) {
      int64_t elements = 0;
      bool isTiled = false;
      for (size_t level = 0; level < levels.size(); ++level) {
        if (!contains(levels[level].tiledSymbols, symbol)) {
          continue;
        }
        isTiled = isTiled || indices[level] < 0;
        elements += std::max<int64_t>(indices[level], 0) * stepOf(op, symbol, levels, level);
      }
      for (TensorArg &arg : op.args) {
        for (Coordinate &coordinate : arg.deviceCoordinates) {
          coordinate.offset += arg.perTileFixed ? 0 : shiftOf(coordinate, symbol, elements);
        }
      }
      if (isTiled) {
        left.push_back(symbol);
      }
    }
    op.tiledSymbols = std::move(left);
  }

  KeepLoop keep;
  std::vector<LoopLevel> levels;
  /// Iteration of each level; -1 when the loop is kept.
  std::vector<int64_t> indices;
};

void collect(const Kernel &kernel, std::vector<const OpSpec *> &operations) {
  for (const SpecNode &node : kernel) {
    if (node.kind == SpecNode::Kind::Op) {
      operations.push_back(&node.op);
    }
    collect(node.body, operations);
  }
}

} // namespace

bool movesNothing(const SpecNode &loop) {
  std::vector<LoopLevel> levels{{loop.count, loop.tiledSymbols}};
  return !anyMoves(loop.body, levels);
}

Expected<Kernel> unrollLoops(const Kernel &kernel, KeepLoop keep) {
  SPYRE_RETURN_IF_ERROR(verifyKernel(kernel));
  Kernel result;
  Unroller(keep).expand(kernel, result);
  return result;
}

Expected<std::vector<OpSpec>> unrollKernel(const Kernel &kernel) {
  SPYRE_ASSIGN_OR_RETURN(Kernel flat, unrollLoops(kernel, [](const SpecNode &) { return false; }));
  std::vector<OpSpec> specs;
  for (SpecNode &node : flat) {
    if (node.kind == SpecNode::Kind::Unimplemented) {
      return error<5001>("the kernel contains unimplemented operation {}", node.op.op);
    }
    specs.push_back(std::move(node.op));
  }
  return specs;
}

std::vector<const OpSpec *> operationsOf(const Kernel &kernel) {
  std::vector<const OpSpec *> operations;
  collect(kernel, operations);
  return operations;
}

} // namespace spyre::spec
