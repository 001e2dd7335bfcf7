//===- ChunkLarge.cpp - operations too large for the cores become counted loops -------------===//
//
// A core may touch a limited range of DDR per tensor. Where no split over the cores keeps it, the
// operation runs in tiles of one variable, as few as possible and of those the ones that keep the
// most cores busy; where one variable is not enough, the one that shortens the range most is tiled
// as far as it goes and the next is tried. Tiles are equal: what is left over is an operation of
// its own behind them.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/Passes.h"

#include "Division.h"
#include "LoopPass.h"
#include "Pieces.h"
#include "Rewrite.h"

#include <algorithm>

namespace spyre::loop {

#define GEN_PASS_DECL_CHUNKLARGEPASS
#define GEN_PASS_DEF_CHUNKLARGEPASS
#include "spyre/Dialect/Loop/Transforms/Passes.h.inc"

namespace {

/// More iterations than this are no plan; the error of the division is clearer.
constexpr int64_t kMaxIterations = 4096;
/// Numbers of tiles that are tried one by one; beyond that every second power of two.
constexpr int64_t kEveryCount = 64;
constexpr int kNoSplit = 3003;

/// Operations with a variable that is not reduced and still cannot be cut.
bool isWhole(ComputeOp op) {
  llvm::StringRef name = op.getCallee();
  return name == "x_cumsum" || name.starts_with("topk");
}

class Chunking {
public:
  Chunking(ComputeOp op, int64_t cores, int64_t spanLimitBytes)
      : op(op), cores(cores), spanLimitBytes(spanLimitBytes),
        extents(dialect::toVector(op.getExtents())), tile(extents) {}

  /// Whether a tile was found that the cores can hold.
  Expected<bool> find() {
    SPYRE_ASSIGN_OR_RETURN(pieces, piecesPerVar(op, extents));
    SPYRE_RETURN_IF_ERROR(measureUnits());
    std::vector<bool> tried(extents.size(), false);
    for (size_t round = 0; round < extents.size(); ++round) {
      SPYRE_ASSIGN_OR_RETURN(bool found, tileOneMore(tried));
      if (found) {
        return iterations() <= kMaxIterations;
      }
      SPYRE_ASSIGN_OR_RETURN(std::optional<size_t> var, shortest(tried));
      if (!var) {
        return false;
      }
      tile[*var] = units[*var];
      tried[*var] = true;
    }
    return false;
  }

  /// Replaces the operation by its tiles.
  void apply() {
    std::vector<ComputeOp> parts{op};
    for (unsigned v = 0; v < extents.size(); ++v) {
      const int64_t whole = extents[v] / tile[v] * tile[v];
      if (whole == extents[v]) {
        continue;
      }
      std::vector<ComputeOp> cut;
      for (ComputeOp part : parts) {
        cut.push_back(cloneRange(part, v, 0, whole));
        cut.push_back(cloneRange(part, v, whole, extents[v] - whole));
        part->erase();
      }
      parts = std::move(cut);
    }
    for (ComputeOp part : parts) {
      std::vector<int64_t> counts;
      int64_t all = 1;
      for (size_t v = 0; v < extents.size(); ++v) {
        counts.push_back(std::max<int64_t>(part.getExtents()[v] / tile[v], 1));
        all *= counts.back();
      }
      if (all > 1) {
        part->setAttr(kTiles, mlir::DenseI64ArrayAttr::get(part.getContext(), counts));
      }
    }
  }

  int64_t iterations() const {
    int64_t count = 1;
    for (size_t v = 0; v < extents.size(); ++v) {
      count *= ceilDiv(extents[v], tile[v]);
    }
    return count;
  }

  std::string tileText() const { return fmt::format("[{}]", fmt::join(tile, ", ")); }

private:
  /// The widest stick that runs along each variable.
  Status measureUnits() {
    units.assign(extents.size(), 1);
    for (unsigned i = 0; i < operandCount(op); ++i) {
      SPYRE_ASSIGN_OR_RETURN(StickUse use, stickUse(accessOf(op, i)));
      if (use.kind == StickUse::Kind::Var) {
        units[use.var] = std::max(units[use.var], elemsPerStick(operandBuffer(op, i)));
      }
    }
    return Status::success();
  }

  /// The smallest range of a core over a part of the operation; 0 when it is legal.
  Expected<int64_t> spanOver(const std::vector<int64_t> &part) const {
    Division division(op, part, cores, spanLimitBytes);
    Status status = division.run();
    if (!status.ok() && status.code() != kNoSplit) {
      return status;
    }
    return status.ok() ? 0 : division.smallestSpan;
  }

  struct Part {
    std::vector<int64_t> extents;
    int64_t times = 1;
  };

  /// Whole tiles and what is left over.
  std::vector<Part> partsOf(const std::vector<int64_t> &candidate) const {
    std::vector<Part> parts(1);
    for (size_t v = 0; v < extents.size(); ++v) {
      std::vector<Part> longer;
      const int64_t left = extents[v] % candidate[v];
      for (const Part &part : parts) {
        longer.push_back(part);
        longer.back().extents.push_back(candidate[v]);
        longer.back().times *= extents[v] / candidate[v];
        if (left != 0) {
          longer.push_back(part);
          longer.back().extents.push_back(left);
        }
      }
      parts = std::move(longer);
    }
    return parts;
  }

  static constexpr double kDoesNotFit = -1;

  /// Points the busiest core works on, over all parts, or kDoesNotFit.
  Expected<double> workOf(const std::vector<int64_t> &candidate) const {
    double work = 0;
    for (const Part &part : partsOf(candidate)) {
      Division division(op, part.extents, cores, spanLimitBytes);
      if (Status status = division.run(); !status.ok()) {
        return status.code() == kNoSplit ? Expected<double>(kDoesNotFit) : status;
      }
      auto points = double(part.times);
      for (size_t v = 0; v < part.extents.size(); ++v) {
        points *= double(ceilDiv(part.extents[v], division.splits[v]));
      }
      work += points;
    }
    return work;
  }

  /// Tiles of one more variable that fit: the fewest, then those with the least work per core. A
  /// number of pieces that the cores divide may leave a rest and still be better.
  Expected<bool> tileOneMore(const std::vector<bool> &tried) {
    for (int64_t count = 2; count <= kMaxIterations; count += count < kEveryCount ? 1 : count) {
      std::vector<int64_t> best;
      double bestWork = 0;
      for (size_t v = 0; v < extents.size(); ++v) {
        if (tried[v] || pieces[v] < count) {
          continue;
        }
        const int64_t equal = ceilDiv(pieces[v], count);
        for (int64_t size : {equal, equal / cores * cores}) {
          if (size == 0) {
            continue;
          }
          std::vector<int64_t> candidate = tile;
          candidate[v] = std::min(extents[v], size * units[v]);
          SPYRE_ASSIGN_OR_RETURN(double work, workOf(candidate));
          if (work != kDoesNotFit && (best.empty() || work < bestWork)) {
            best = candidate;
            bestWork = work;
          }
        }
      }
      if (!best.empty()) {
        tile = best;
        return true;
      }
    }
    return false;
  }

  Expected<std::optional<size_t>> shortest(const std::vector<bool> &tried) const {
    std::optional<size_t> best;
    int64_t bestSpan = 0;
    for (size_t v = 0; v < extents.size(); ++v) {
      if (tried[v] || pieces[v] < 2) {
        continue;
      }
      std::vector<int64_t> candidate = tile;
      candidate[v] = units[v];
      SPYRE_ASSIGN_OR_RETURN(int64_t span, spanOver(candidate));
      if (!best || span < bestSpan) {
        best = v;
        bestSpan = span;
      }
    }
    return best;
  }

  ComputeOp op;
  int64_t cores, spanLimitBytes;
  std::vector<int64_t> extents, tile, pieces, units;
};

Status chunk(ComputeOp op, int64_t cores, int64_t spanLimitBytes, DecisionTrace *trace) {
  if (op->hasAttr(kTiles) || isWhole(op)) {
    return Status::success();
  }
  Division division(op, dialect::toVector(op.getExtents()), cores, spanLimitBytes);
  Status status = division.run();
  if (status.ok() || status.code() != kNoSplit) {
    return status;
  }
  const std::string subject =
      op.getCallee().str() + " -> " + operandBuffer(op, operandCount(op) - 1).getName().str();
  Chunking chunking(op, cores, spanLimitBytes);
  SPYRE_ASSIGN_OR_RETURN(bool found, chunking.find());
  Decision decision =
      found ? Decision::yes("span-limit",
                            "tiles of {}, {} in all; undivided a core touches {} "
                            "bytes of a tensor",
                            chunking.tileText(), chunking.iterations(), division.smallestSpan)
            : Decision::no("no-tile-fits", "no tiles of output variables bring {} bytes below {}",
                           division.smallestSpan, spanLimitBytes);
  if (trace) {
    trace->record("chunk-large", subject, decision);
  }
  if (found) {
    chunking.apply();
  }
  return Status::success();
}

struct ChunkLarge : LoopPass<impl::ChunkLargePassBase<ChunkLarge>> {
  using ChunkLargePassBase::cores, ChunkLargePassBase::spanLimitBytes;
  Status runOnMain(mlir::func::FuncOp main) override {
    if (cores < 1) {
      return error<3002>("cores = {}; give at least 1", cores.getValue());
    }
    for (ComputeOp op : llvm::make_early_inc_range(main.getOps<ComputeOp>())) {
      SPYRE_RETURN_IF_ERROR(chunk(op, cores, spanLimitBytes, trace));
    }
    return Status::success();
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createChunkLargePass(int64_t cores, int64_t spanLimitBytes,
                                                 DecisionTrace *trace) {
  auto pass = createLoopPass<ChunkLarge>(trace);
  pass->cores = cores;
  pass->spanLimitBytes = spanLimitBytes;
  return pass;
}

} // namespace spyre::loop
