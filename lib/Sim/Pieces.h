//===- Pieces.h - runs cut where points depend on each other --------------------------------===//
//
// Points execute in order. A unit may work on many points at once only when no point reads what an
// earlier point of the same run wrote; runs where that could happen are cut into single points.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "Core.h"

namespace spyre::sim {

/// The whole sticks around an access: the shadow knows no less.
inline Access wholeSticks(const Access &access) {
  int64_t begin = access.lowest() / kStickBytes * kStickBytes;
  int64_t end = (access.end() + kStickBytes - 1) / kStickBytes * kStickBytes;
  return {begin, 0, 1, end - begin};
}

/// True when a point of the run may read a stick that another point of it wrote.
inline bool mayReadOwnResult(const Access &input, const Access &output) {
  if (!wholeSticks(input).overlaps(wholeSticks(output))) {
    return false;
  }
  bool inPlace = input.base == output.base && input.stride == output.stride &&
                 input.width == output.width && std::abs(input.stride) >= input.width;
  return !inPlace;
}

inline Run singlePoint(const Run &run, int64_t point) {
  Run single = run;
  single.count = 1;
  for (Access &access : single.operands) {
    access.base += point * access.stride;
    access.count = 1;
  }
  return single;
}

/// Calls \p body for each point of \p run until it returns false.
template <typename Body>
bool inSinglePoints(const Run &run, Body body) {
  for (int64_t point = 0; point < run.count; ++point) {
    if (!body(singlePoint(run, point))) {
      return false;
    }
  }
  return true;
}

/// The bytes an operand reaches over a nest, as one access of a wide element.
inline Access wholeReach(const PlannedOperand &operand, const Place &place) {
  return {place.address + operand.low, 0, 1, operand.high - operand.low};
}

/// True when a point may read a stick that another point of the instruction wrote; coarser than
/// mayReadOwnResult, for units whose operands have several places.
inline bool mayReadOwnResult(const PlannedInstruction &planned, const Core::Places &places) {
  size_t result = program::resultOperand(*planned.source);
  Access output = wholeSticks(wholeReach(planned.operands[result], places[result]));
  for (size_t op = 0; op < planned.source->operands.size(); ++op) {
    const PlannedOperand &operand = planned.operands[op];
    if (op != result && operand.inMemory && !operand.inDdr &&
        wholeSticks(wholeReach(operand, places[op])).overlaps(output)) {
      return true;
    }
  }
  return false;
}

/// Calls \p body for \p run, or for each of its points when one of the first \p inputs operands and
/// the result depend on each other.
template <typename Body>
bool inSafePieces(const PlannedInstruction &planned, const Run &run, size_t inputs, Body body) {
  const Access &output = run.operands[inputs];
  bool dependent = false;
  for (size_t i = 0; i < inputs && run.count > 1; ++i) {
    dependent |= planned.operands[i].inMemory && mayReadOwnResult(run.operands[i], output);
  }
  return dependent ? inSinglePoints(run, body) : body(run);
}

} // namespace spyre::sim
