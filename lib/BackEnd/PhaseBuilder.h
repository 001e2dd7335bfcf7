//===- PhaseBuilder.h - emits the instructions of one phase ---------------------------------===//
//
// The builder knows the axes and their tiles (Tiling.h), hands out the staging part of LX, and
// walks the tiles: walk() opens loops, peels rests, and calls back at each depth, where the
// lowering emits what depends only on the axes opened so far. So an operand that does not change in
// an inner loop is loaded outside of it.
//
//     order [mb, out]            enter(0)
//                                Loop over mb tiles
//                                  enter(1)            <- loads of operands that depend on mb only
//                                  Loop over out tiles
//                                    enter(2) leave(2) <- all other loads, the work
//                                  leave(1)
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Program/Program.h"

#include "Buffers.h"
#include "Tiling.h"

#include <functional>
#include <vector>

namespace spyre::backend {

/// One level of an instruction's nest: a count and one stride per operand.
struct Level {
  int64_t count = 1;
  std::vector<int64_t> strides;
};

class PhaseBuilder {
public:
  /// A phase longer than this is refused: the program would not fit sensibly in device memory.
  static constexpr size_t kMaxInstructions = 250'000;

  /// \p buffers is that of the whole program; the phase's own are added to it.
  PhaseBuilder(const Kernel &kernel, BufferTable &buffers);

  /// The axes; set them and their tiles before staging or walking.
  std::vector<Axis> axes;

  /// A place at the tensor's start addresses with no strides yet; the output after all inputs.
  Place placeOf(const TensorMap &map);
  /// Room in the staging area for one tile of \p like, compact: \p pointBytes per step, the first
  /// axis of \p order innermost. \p name is the buffer's: "in0.tile", "acc".
  Place stage(const std::string &name, const Place &like, const std::vector<size_t> &order,
              int64_t pointBytes);
  /// The same, in the order of the tensor's own strides.
  Place stage(const std::string &name, const Place &like, int64_t pointBytes) {
    return stage(name, like, innerFirst(like), pointBytes);
  }

  /// Room for \p bytes; the strides are the caller's to fill in.
  Place stageRoom(const std::string &name, int64_t bytes);

  using Hook = std::function<void(size_t depth)>;
  /// Visits all tiles; \p order lists the tiled axes, outermost first.
  void walk(const std::vector<size_t> &order, const Hook &enter, const Hook &leave);
  /// Depth at which everything \p place depends on is fixed.
  static size_t depthOf(const std::vector<size_t> &order, const Place &place);

  /// Steps of the current tile along \p axis, and whether its last one is the partial one.
  int64_t steps(size_t axis) const { return state[axis].steps; }
  bool hasTail(size_t axis) const { return state[axis].tail; }
  /// First step of the current tile along \p axis, without what an enclosing loop adds.
  int64_t firstStep(size_t axis) const { return state[axis].offset; }

  /// Levels for the steps of the current tile along \p order (outermost first).
  std::vector<Level> levels(const std::vector<size_t> &order,
                            const std::vector<const Place *> &places) const;
  /// All axes \p place depends on, outermost in its memory first.
  std::vector<size_t> axesOf(const Place &place) const;

  /// Adds operands and levels to \p instruction and appends it. At most kMaxLevels levels may
  /// remain after joining those that are one run.
  void emit(program::Instruction instruction, const std::vector<const Place *> &places,
            std::vector<Level> levels);
  /// The same in another format than the operation's. Operand 2 of TopK is a number, no memory.
  void emitAs(numerics::DataFormat format, program::Instruction instruction,
              const std::vector<const Place *> &places, std::vector<Level> levels);
  /// From DDR, or from other cores' LX when \p from arrives from there.
  void load(const Place &from, const Place &lx);
  /// A part of an arriving tensor along one of its dimensions.
  struct Span {
    std::string dim;
    int64_t begin = 0, count = 1;
    /// Of one step, there and here.
    int64_t fromBytes = 0, toBytes = 0;
  };
  /// Brings the box \p spans of an arriving tensor to \p lx, where its first step is; only to the
  /// cores of the table \p only. Axes along which the tensor is cut are not loops.
  void arrive(const Place &from, const Place &lx, const std::vector<Span> &spans,
              int32_t only = -1);
  /// \p only: table of the cores that take part, or -1.
  void store(const Place &lx, const Place &ddr, int32_t only = -1);
  void fill(const Place &lx, uint32_t pattern, int64_t pointBytes, int32_t only = -1);
  /// Number of a table with one entry per core; equal tables are one.
  int32_t coreTable(const std::vector<int64_t> &table);

  /// \p place moved by \p steps along \p axis.
  static Place shifted(Place place, size_t axis, int64_t steps);

  int64_t stagingBytesLeft() const { return stagingEnd - stagingNext; }
  /// The finished phase. Error: E5303 when it became too long.
  Expected<program::Phase> finish();

private:
  struct TileState {
    int64_t steps = 1;
    bool tail = false;
    /// Constant part of the position, in steps.
    int64_t offset = 0;
    /// Enclosing Loop that moves along this axis, or -1, and its step.
    int slot = -1;
    int64_t loopSteps = 0;
  };

  void walkFrom(const std::vector<size_t> &order, size_t depth, const Hook &enter,
                const Hook &leave);
  void walkPiece(const std::vector<size_t> &order, size_t depth, int64_t trips, const Hook &enter,
                 const Hook &leave);
  bool isCut(size_t axis) const;
  /// Every core gets the piece of \p round from its owner.
  void exchangePiece(Place source, const Place &target, size_t round, int32_t only,
                     std::vector<Level> nest);
  program::Operand operandOf(const Place &place) const;
  program::Instruction &append(const program::Instruction &instruction);
  bool tooLong() const { return phase.instructions.size() >= kMaxInstructions; }

  const Kernel &kernel;
  BufferTable &buffers;
  program::Phase phase;
  int64_t stagingNext = 0, stagingEnd = 0;
  /// What a loop or a level of an instruction may count to.
  const int64_t maxCount;
  std::vector<TileState> state;
  int openLoops = 0;
  /// Outermost axes of the order that are unrolled because the machine has too few loops.
  size_t unrolled = 0;
};

} // namespace spyre::backend
