//===- LoopSpec.h - a kernel: operations and counted loops around them ----------------------===//
//
// What code generation turns into one bundle. An operation inside loops works on one tile: the
// range of a tiled symbol is that of the tile, while device sizes stay those of the whole buffer.
// With each iteration the tensors move on by the tile, along the device dimensions of the symbol:
//
//     bytes = 128 * sum over device dims of (coordinate(tile) - coordinate(0)) * sticks inside it
//
// Example: [32, 128], device size [2, 32, 64], tiles of 8 rows (c0): 1024 bytes per iteration, and
// the two stick columns of a tile stay 32 sticks apart. A tensor with per_tile_fixed does not move:
// every iteration uses the same scratch.
//
// A symbol may be tiled by several loops; the step of an outer one is that of all tiles inside it.
// Where loops cannot be kept (docs/adr/0029) they are unrolled: iteration i has i * tile added to
// the coordinates of the symbol.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Spec/OpSpec.h"

namespace spyre::spec {

/// An operation, a loop over a body, or an operation that has no device form.
struct SpecNode {
  enum class Kind : uint8_t { Op, Loop, Unimplemented };
  Kind kind = Kind::Op;
  /// Of an unimplemented operation only the name.
  OpSpec op;
  /// The loop.
  int64_t count = 1;
  /// Symbols tiled at this level.
  std::vector<std::string> tiledSymbols;
  std::vector<SpecNode> body;

  bool operator==(const SpecNode &) const = default;
  static SpecNode of(OpSpec op);
  static SpecNode loop(int64_t count, std::vector<std::string> tiledSymbols,
                       std::vector<SpecNode> body);
  static SpecNode unimplemented(std::string op);
};

using Kernel = std::vector<SpecNode>;

constexpr size_t kMaxLoopDepth = 16;
/// Operations of a kernel when all loops are unrolled.
constexpr int64_t kMaxKernelOperations = 16384;

Kernel kernelOf(const std::vector<OpSpec> &specs);

/// The text form of OpSpec.h with LoopSpec(count=.., tiled_symbols=.., body=[..]) and
/// UnimplementedOp(op='..') entries.
std::string writeKernel(const Kernel &kernel);
/// Error: E1301 with line and column.
Expected<Kernel> parseKernel(const std::string &text);

/// Every operation by itself, tiled symbols known to a loop around it, and every tile of every
/// iteration inside its tensor, at whole sticks. Errors: E1302, E1303.
Status verifyKernel(const Kernel &kernel);

/// A loop around an operation.
struct LoopLevel {
  int64_t count = 1;
  std::vector<std::string> tiledSymbols;
};
/// How far \p arg of \p op moves per iteration of level \p level of \p levels (outermost first), in
/// bytes. The kernel must be verified.
int64_t bytesPerIteration(const OpSpec &op, const TensorArg &arg,
                          const std::vector<LoopLevel> &levels, size_t level);

/// \p kernel with those loops unrolled whose \p keep is false; it is asked per loop, with the loops
/// around it that are still there. Errors: those of verifyKernel.
using KeepLoop = bool (*)(const SpecNode &loop);
Expected<Kernel> unrollLoops(const Kernel &kernel, KeepLoop keep);
/// No tensor inside moves because of this loop.
bool movesNothing(const SpecNode &loop);
/// Everything unrolled. Error: E5001 for an unimplemented operation.
Expected<std::vector<OpSpec>> unrollKernel(const Kernel &kernel);
/// Operations in the order of the text, each once.
std::vector<const OpSpec *> operationsOf(const Kernel &kernel);

} // namespace spyre::spec
