//===- TimingRows.h - published times of the card, as rows ----------------------------------===//
//
// What the clock is fitted to and judged by. A CSV file with exactly the columns
//
//     id,family,op,shape,split,cores,kind,value,unit,set,source
//
// kind: measured (one device time), law (a point of a published fit), ratio (time of the first
// split over that of the second), rank (only the order counts). set: fit, holdout, rank. Times are
// in us, ratios in x. Fields with commas are quoted. The reader takes nothing else.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace spyre::costmodel {

enum class RowKind : uint8_t { Measured, Law, Ratio, Rank };
enum class RowSet : uint8_t { Fit, Holdout, Rank };

struct TimingRow {
  std::string id, family, op, shape, split;
  int64_t cores = 1;
  RowKind kind = RowKind::Measured;
  /// Microseconds, or the ratio.
  double value = 0;
  RowSet set = RowSet::Fit;
  std::string source;
  /// Of the file, from 1.
  size_t line = 0;

  bool isRatio() const { return kind == RowKind::Ratio; }
};

const char *kindName(RowKind kind);
const char *setName(RowSet set);

/// Errors, all with the line: E7030 (columns), E7031 (fields or quotes), E7032 (a number is
/// missing, negative or absurd), E7033 (unknown kind, unit or set), E7034 (an id twice).
Expected<std::vector<TimingRow>> readTimingRows(const std::string &text);

} // namespace spyre::costmodel
