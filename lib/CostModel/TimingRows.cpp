//===- TimingRows.cpp - strict reader of the rows -------------------------------------------===//
#include "spyre/CostModel/TimingRows.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

namespace spyre::costmodel {

static constexpr std::array<const char *, 11> kColumns = {
    "id", "family", "op", "shape", "split", "cores", "kind", "value", "unit", "set", "source"};
enum Column : size_t { Id, Family, Op, Shape, Split, Cores, Kind, Value, UnitName, Set, Source };

static constexpr std::array<const char *, 4> kKinds = {"measured", "law", "ratio", "rank"};
static constexpr std::array<const char *, 3> kSets = {"fit", "holdout", "rank"};
static constexpr size_t kMaxRows = 100'000;

const char *kindName(RowKind kind) { return kKinds[size_t(kind)]; }
const char *setName(RowSet set) { return kSets[size_t(set)]; }

/// Fields of one line; quotes around a field are doubled inside it.
static Expected<std::vector<std::string>> splitLine(const std::string &line, size_t number) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += line[++i];
    } else if (c == '"' && (quoted || fields.back().empty())) {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (quoted) {
    return error<7031>("line {}: a quote is not closed; quotes inside a field are doubled", number);
  }
  return fields;
}

static Status checkColumns(const std::vector<std::string> &fields) {
  for (size_t i = 0; i < fields.size() || i < kColumns.size(); ++i) {
    if (i >= fields.size()) {
      return error<7030>("line 1: column '{}' is missing", kColumns[i]);
    }
    if (i >= kColumns.size() || fields[i] != kColumns[i]) {
      return error<7030>("line 1: column {} is '{}', expected {}", i + 1, fields[i].substr(0, 64),
                         i < kColumns.size() ? kColumns[i] : "no more");
    }
  }
  return Status::success();
}

static Expected<double> readNumber(const std::string &text, const char *column, size_t line,
                                   double most) {
  double value = 0;
  const char *end = text.data() + text.size();
  auto [stopped, fault] = std::from_chars(text.data(), end, value);
  if (text.empty() || fault != std::errc() || stopped != end || !(value > 0) || value > most) {
    return error<7032>("line {}: {} '{}' must be a number above 0 and up to {}", line, column,
                       text.substr(0, 64), most);
  }
  return value;
}

template <size_t n>
static Expected<size_t> readName(const std::array<const char *, n> &names, const std::string &text,
                                 const char *column, size_t line) {
  std::string all;
  for (size_t i = 0; i < n; ++i) {
    if (text == names[i]) {
      return i;
    }
    all += (i == 0 ? "" : ", ") + std::string(names[i]);
  }
  return error<7033>("line {}: {} '{}' is none of {}", line, column, text.substr(0, 64), all);
}

/// Ids become names of files.
static bool isIdCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

static Expected<TimingRow> readRow(const std::vector<std::string> &fields, size_t line) {
  constexpr double kMostMicroseconds = 1e9, kMostCores = 1024;
  TimingRow row;
  row.line = line;
  row.id = fields[Id];
  row.family = fields[Family];
  row.op = fields[Op];
  row.shape = fields[Shape];
  row.split = fields[Split];
  row.source = fields[Source];
  if (row.id.empty() || row.family.empty() || row.op.empty() || row.shape.empty()) {
    return error<7032>("line {}: id, family, op and shape must not be empty", line);
  }
  if (!std::all_of(row.id.begin(), row.id.end(), isIdCharacter)) {
    return error<7032>("line {}: id '{}' must be of letters, digits, '-', '_' and '.'", line,
                       row.id.substr(0, 64));
  }
  SPYRE_ASSIGN_OR_RETURN(double cores, readNumber(fields[Cores], "cores", line, kMostCores));
  row.cores = int64_t(cores);
  if (double(row.cores) != cores) {
    return error<7032>("line {}: cores '{}' must be a whole number", line, fields[Cores]);
  }
  SPYRE_ASSIGN_OR_RETURN(row.value, readNumber(fields[Value], "value", line, kMostMicroseconds));
  SPYRE_ASSIGN_OR_RETURN(size_t kind, readName(kKinds, fields[Kind], "kind", line));
  row.kind = RowKind(kind);
  SPYRE_ASSIGN_OR_RETURN(size_t set, readName(kSets, fields[Set], "set", line));
  row.set = RowSet(set);
  const char *unit = row.isRatio() ? "x" : "us";
  if (fields[UnitName] != unit) {
    return error<7033>("line {}: unit '{}' of a {} row must be {}", line,
                       fields[UnitName].substr(0, 64), kindName(row.kind), unit);
  }
  if ((row.kind == RowKind::Rank) != (row.set == RowSet::Rank)) {
    return error<7033>("line {}: rows of kind rank are of set rank, and no others", line);
  }
  return row;
}

Expected<std::vector<TimingRow>> readTimingRows(const std::string &text) {
  std::vector<TimingRow> rows;
  std::set<std::string> ids;
  size_t number = 0, begin = 0;
  while (begin < text.size()) {
    size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.ends_with('\r')) {
      line.pop_back();
    }
    SPYRE_ASSIGN_OR_RETURN(std::vector<std::string> fields, splitLine(line, number));
    if (number == 1) {
      SPYRE_RETURN_IF_ERROR(checkColumns(fields));
      continue;
    }
    if (fields.size() != kColumns.size()) {
      return error<7031>("line {}: {} fields, expected {}", number, fields.size(), kColumns.size());
    }
    SPYRE_ASSIGN_OR_RETURN(TimingRow row, readRow(fields, number));
    if (!ids.insert(row.id).second) {
      return error<7034>("line {}: id '{}' is there twice", number, row.id);
    }
    if (rows.size() == kMaxRows) {
      return error<7031>("line {}: more than {} rows", number, kMaxRows);
    }
    rows.push_back(std::move(row));
  }
  if (number == 0) {
    return error<7030>("line 1: the file is empty, expected the names of {} columns",
                       kColumns.size());
  }
  return rows;
}

} // namespace spyre::costmodel
