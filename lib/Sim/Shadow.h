//===- Shadow.h - what the sanitizer knows of each stick of an LX ---------------------------===//
//
// Per 128-byte stick: who wrote it (buffer and slice of the tensor), which of its bytes are
// padding, and, in phases whose units overlap, when which unit last touched it. The units ask here
// before they read and tell what they wrote; the first wrong access becomes a Finding that the core
// turns into a fault.
//
// Writers are compared as 64-bit keys: tag << 32 | slice. Tags of one launch are a contiguous
// block, so data of earlier launches is recognised without clearing anything; buffers that live
// across launches have a tag made of their name and place. Times are counts of instructions per
// unit; what a unit knows of the others is its row of a small matrix (a vector clock), passed on by
// tokens.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Program/Program.h"

#include "Access.h"
#include "TokenQueue.h"

#include <array>
#include <optional>
#include <vector>

namespace spyre::sim {

using WriterKey = uint64_t;
constexpr WriterKey kNeverWritten = 0;
constexpr WriterKey kWiped = 1;
/// The host put it there: no program did.
constexpr WriterKey kHostWritten = 2;
/// Tags of buffers begin here.
constexpr uint32_t kFirstTag = 1;

struct Finding {
  enum class Kind : uint8_t { Writer, Unordered };
  Kind kind = Kind::Writer;
  int64_t address = 0;
  /// Writer: the key found.
  WriterKey found = kNeverWritten;
  /// Unordered: the unit that touched the stick, and whether it wrote.
  program::Unit unit = program::Unit::Load;
  bool otherWrote = false;
};

/// Happens-before between the units of one core.
class UnitOrder {
public:
  using Clock = std::array<uint32_t, program::kUnits>;

  /// The next instruction of \p unit; its time.
  uint32_t begin(program::Unit unit) { return ++now[size_t(unit)]; }
  uint32_t time(program::Unit unit) const { return now[size_t(unit)]; }
  /// True when \p unit knows that \p other finished its instruction \p time.
  bool knows(program::Unit unit, size_t other, uint32_t time) const {
    return size_t(unit) == other || time <= known[size_t(unit)][other];
  }
  /// The last instruction of \p other that \p unit knows to be finished.
  uint32_t knownTime(program::Unit unit, program::Unit other) const {
    return known[size_t(unit)][size_t(other)];
  }
  /// False when more signals than kMostSignals would be outstanding.
  bool signal(program::Unit unit, uint8_t token);
  /// False when nobody signalled.
  bool wait(program::Unit unit, uint8_t token);
  /// A phase begins: no token is signalled.
  void forgetTokens();
  /// Everything so far is known to every unit; tokens stay.
  void synchronize();
  /// Half of the times are used up: reset() at the next point where everything is known.
  bool isHalfFull() const;
  bool isFull() const;
  /// synchronize(), and times start again from zero.
  void reset();

private:
  Clock now{};
  std::array<Clock, program::kUnits> known{};
  std::array<TokenQueue<Clock>, program::kMaxTokens> tokens;
  bool hasTokens = false;
};

class Shadow {
public:
  explicit Shadow(uint64_t lxBytes);

  /// Every stick of the access was written by \p key.
  std::optional<Finding> checkWriter(const Access &access, WriterKey key) const;
  void setWriter(const Access &access, WriterKey key);
  WriterKey writerOf(int64_t address) const { return writers[size_t(address / kStickBytes)]; }
  /// Sticks the host wrote count as written by \p key from now on.
  void adoptHostData(const Access &access, WriterKey key);
  /// As if the host had lost the contents: all sticks get \p key.
  void forgetAll(WriterKey key);
  /// Sticks of the range that were written with \p tag, whatever the slice, count as never written.
  void forgetTag(int64_t address, int64_t bytes, uint32_t tag);
  void setWriterOfRange(int64_t address, int64_t bytes, WriterKey key);

  uint64_t *padding(int64_t address) { return &masks[size_t(address / kStickBytes)]; }
  const uint64_t *padding(int64_t address) const { return &masks[size_t(address / kStickBytes)]; }
  uint64_t paddingAt(int64_t address) const { return masks[size_t(address / kStickBytes)]; }
  /// True when no stick of the access has padding.
  bool noPadding(const Access &access) const;
  void clearPadding(const Access &access);

  /// For phases whose units overlap: the access by \p unit at \p time is ordered after all earlier
  /// ones it conflicts with; and remember it.
  std::optional<Finding> checkRead(const Access &access, program::Unit unit,
                                   const UnitOrder &order);
  std::optional<Finding> checkWrite(const Access &access, program::Unit unit,
                                    const UnitOrder &order);
  /// Times start again from zero; call one of the two before checkRead and checkWrite.
  void forgetTimes();
  void ensureTimes();

  struct Image {
    std::vector<WriterKey> writers;
    std::vector<uint64_t> masks;
  };
  Image save() const { return {writers, masks}; }
  void restore(const Image &image);

private:
  struct Times {
    uint32_t write = 0;
    uint8_t writer = 0;
    std::array<uint32_t, program::kUnits> read{};
  };
  template <typename Body>
  void forEachStick(const Access &access, Body body) const;

  std::vector<WriterKey> writers;
  std::vector<uint64_t> masks;
  /// Empty until the first phase that overlaps.
  std::vector<Times> times;
};

} // namespace spyre::sim
