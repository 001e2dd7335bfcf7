//===- CsvFile.cpp - placement problems as CSV ------------------------------------------------===//
#include "spyre/Solver/Placement/Files.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <string_view>

namespace spyre::solver::placement {
namespace {

constexpr size_t kMaxCsvBytes = size_t(256) << 20;

enum Column { Id, Lower, Upper, End, Size, Alignment, Hint, Offset, Gaps, Value, Parents, Barred };
constexpr int kColumns = Barred + 1;

const std::map<std::string_view, Column> &columnNames() {
  static const std::map<std::string_view, Column> names = {
      {"id", Id},           {"lower", Lower},     {"start", Lower}, {"begin", Lower},
      {"upper", Upper},     {"end", End},         {"size", Size},   {"alignment", Alignment},
      {"hint", Hint},       {"offset", Offset},   {"gaps", Gaps},   {"value", Value},
      {"parents", Parents}, {"forbidden", Barred}};
  return names;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t at = text.find(separator);
    fields.push_back(text.substr(0, at));
    if (at == std::string_view::npos) {
      return fields;
    }
    text.remove_prefix(at + 1);
  }
}

/// Quoted in messages, so that a megabyte of garbage stays out of them.
std::string_view shortened(std::string_view text) { return text.substr(0, 60); }

bool parseNumber(std::string_view text, int64_t &value) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size();
}

class CsvReader {
public:
  CsvReader(const std::string &text, int64_t capacityBytes) : text(text) {
    problem.capacityBytes = capacityBytes;
  }

  Expected<Problem> read() {
    if (text.size() > kMaxCsvBytes) {
      return error<3047>("the file has {} bytes, at most {} are read", text.size(), kMaxCsvBytes);
    }
    std::string_view rest = text;
    bool header = true;
    while (!rest.empty()) {
      const size_t end = rest.find('\n');
      std::string_view row = rest.substr(0, end);
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      ++line;
      if (!row.empty() && row.back() == '\r') {
        row.remove_suffix(1);
      }
      if (row.empty() && !header) {
        continue;
      }
      SPYRE_RETURN_IF_ERROR(header ? readHeader(row) : readRow(row));
      header = false;
    }
    if (header) {
      return error<3047>("the file is empty; the first line names the columns, for instance "
                         "'id,lower,upper,size'");
    }
    SPYRE_RETURN_IF_ERROR(linkParents());
    if (problem.capacityBytes != 0) {
      SPYRE_RETURN_IF_ERROR(validate(problem));
    }
    return std::move(problem);
  }

private:
  Status readHeader(std::string_view row) {
    columnOf.fill(-1);
    const auto names = split(row, ',');
    for (size_t i = 0; i < names.size(); ++i) {
      auto found = columnNames().find(names[i]);
      if (found == columnNames().end()) {
        return error<3047>("line 1: column '{}' is not known; known are id, lower (start, begin), "
                           "upper, end, size, alignment, hint, offset, gaps, value, parents, "
                           "forbidden",
                           shortened(names[i]));
      }
      int &column = columnOf[found->second];
      if (column >= 0) {
        return error<3047>("line 1: column '{}' is there twice", names[i]);
      }
      column = int(i);
    }
    width = names.size();
    if (columnOf[Id] < 0 || columnOf[Lower] < 0 || columnOf[Size] < 0 ||
        (columnOf[Upper] < 0) == (columnOf[End] < 0)) {
      return error<3047>("line 1: the columns id, lower, size and one of upper and end are needed");
    }
    return Status::success();
  }

  std::string_view field(Column column) const {
    return columnOf[column] < 0 ? std::string_view() : fields[columnOf[column]];
  }

  Expected<int64_t> number(Column column, const char *name) const {
    int64_t value = 0;
    if (!parseNumber(field(column), value)) {
      return error<3047>("line {}: {} is '{}', not a whole number of 64 bits", line, name,
                         shortened(field(column)));
    }
    return value;
  }

  Status optionalNumber(Column column, const char *name, std::optional<int64_t> &out) const {
    if (!field(column).empty()) {
      SPYRE_ASSIGN_OR_RETURN(int64_t value, number(column, name));
      out = value;
    }
    return Status::success();
  }

  Expected<Gap> parseGap(std::string_view word, int64_t size) const {
    Gap gap;
    const size_t window = word.find('@');
    const std::string_view times = word.substr(0, window);
    const size_t dash = times.find('-', 1);
    bool good = dash != std::string_view::npos && parseNumber(times.substr(0, dash), gap.lower) &&
                parseNumber(times.substr(dash + 1), gap.upper);
    if (good && window != std::string_view::npos) {
      const std::string_view bytes = word.substr(window + 1);
      const size_t colon = bytes.find(':');
      good = colon != std::string_view::npos && parseNumber(bytes.substr(0, colon), gap.low) &&
             parseNumber(bytes.substr(colon + 1), gap.high) && gap.low >= 0 && gap.low < gap.high &&
             gap.high <= size;
    }
    if (!good) {
      return error<3047>("line {}: gap '{}' is not lower-upper or lower-upper@low:high", line,
                         shortened(word));
    }
    return gap;
  }

  Status readRow(std::string_view row) {
    fields = split(row, ',');
    if (fields.size() != width) {
      return error<3047>("line {}: {} fields, the header has {}", line, fields.size(), width);
    }
    if (problem.buffers.size() >= size_t(kMaxBuffers)) {
      return error<3047>("line {}: more than {} buffers", line, kMaxBuffers);
    }
    Buffer buffer;
    buffer.name = std::string(field(Id));
    if (buffer.name.empty() || buffer.name.find_first_of(" \t\"") != std::string::npos) {
      return error<3047>("line {}: id '{}' is empty or has a space or a quote", line,
                         shortened(buffer.name));
    }
    SPYRE_ASSIGN_OR_RETURN(buffer.lower, number(Lower, "lower"));
    const bool inclusive = columnOf[Upper] < 0;
    SPYRE_ASSIGN_OR_RETURN(buffer.upper, number(inclusive ? End : Upper, "upper"));
    buffer.upper += inclusive && buffer.upper < INT64_MAX ? 1 : 0;
    SPYRE_ASSIGN_OR_RETURN(buffer.sizeBytes, number(Size, "size"));
    std::optional<int64_t> alignment;
    SPYRE_RETURN_IF_ERROR(optionalNumber(Alignment, "alignment", alignment));
    buffer.alignment = alignment.value_or(0);
    SPYRE_RETURN_IF_ERROR(optionalNumber(Hint, "hint", buffer.hint));
    SPYRE_RETURN_IF_ERROR(optionalNumber(Offset, "offset", buffer.pinned));
    SPYRE_RETURN_IF_ERROR(optionalNumber(Value, "value", buffer.value));
    if (!field(Gaps).empty()) {
      for (std::string_view word : split(field(Gaps), ' ')) {
        SPYRE_ASSIGN_OR_RETURN(Gap gap, parseGap(word, buffer.sizeBytes));
        buffer.gaps.push_back(gap);
      }
    }
    if (const std::string_view flag = field(Barred); !flag.empty()) {
      if (flag != "0" && flag != "1") {
        return error<3047>("line {}: forbidden is '{}', not 0 or 1", line, shortened(flag));
      }
      buffer.forbidden = flag == "1";
    }
    parentsOf.emplace_back(field(Parents));
    lineOf.push_back(line);
    problem.buffers.push_back(std::move(buffer));
    return Status::success();
  }

  Status linkParents() {
    std::map<std::string_view, int> byName;
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      if (!byName.emplace(problem.buffers[i].name, int(i)).second) {
        return error<3047>("line {}: id '{}' is there twice", lineOf[i],
                           shortened(problem.buffers[i].name));
      }
    }
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      if (parentsOf[i].empty()) {
        continue;
      }
      for (std::string_view name : split(parentsOf[i], ' ')) {
        auto found = byName.find(name);
        if (found == byName.end()) {
          return error<3047>("line {}: parent '{}' is no id of the file", lineOf[i],
                             shortened(name));
        }
        problem.buffers[i].parents.push_back(found->second);
      }
    }
    return Status::success();
  }

  const std::string &text;
  Problem problem;
  std::array<int, kColumns> columnOf{};
  size_t width = 0;
  int64_t line = 0;
  std::vector<std::string_view> fields;
  std::vector<std::string_view> parentsOf;
  std::vector<int64_t> lineOf;
};

template <typename Has>
bool any(const Problem &problem, const Has &has) {
  return std::any_of(problem.buffers.begin(), problem.buffers.end(), has);
}

std::string gapsText(const Buffer &buffer) {
  std::string text;
  for (const Gap &gap : buffer.gaps) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", gap.lower, gap.upper);
    if (gap.low != gap.high) {
      text += fmt::format("@{}:{}", gap.low, gap.high);
    }
  }
  return text;
}

/// Names from elsewhere may hold what a field cannot.
std::string nameText(std::string name) {
  for (char &c : name) {
    c = std::string_view(", \t\r\n\"").find(c) == std::string_view::npos ? c : '_';
  }
  return name;
}

std::string parentsText(const Problem &problem, const Buffer &buffer) {
  std::string text;
  for (int parent : buffer.parents) {
    text += (text.empty() ? "" : " ") + nameText(problem.buffers[parent].name);
  }
  return text;
}

std::string optionalText(const std::optional<int64_t> &value) {
  return value ? std::to_string(*value) : std::string();
}

} // namespace

Expected<Problem> parseCsv(const std::string &text, int64_t capacityBytes) {
  return CsvReader(text, capacityBytes).read();
}

std::string writeCsv(const Problem &problem, const Offsets &offsets) {
  using Field = std::function<std::string(size_t)>;
  std::vector<std::pair<const char *, Field>> columns;
  auto entry = [&](size_t i) -> const Buffer & { return problem.buffers[i]; };
  columns.push_back({"id", [&](size_t i) { return nameText(entry(i).name); }});
  columns.push_back({"lower", [&](size_t i) { return std::to_string(entry(i).lower); }});
  columns.push_back({"upper", [&](size_t i) { return std::to_string(entry(i).upper); }});
  columns.push_back({"size", [&](size_t i) { return std::to_string(entry(i).sizeBytes); }});
  if (problem.alignment > 1 || any(problem, [](const Buffer &b) { return b.alignment > 0; })) {
    columns.push_back(
        {"alignment", [&](size_t i) { return std::to_string(problem.alignmentOf(entry(i))); }});
  }
  if (any(problem, [](const Buffer &b) { return b.hint.has_value(); })) {
    columns.push_back({"hint", [&](size_t i) { return optionalText(entry(i).hint); }});
  }
  if (any(problem, [](const Buffer &b) { return !b.gaps.empty(); })) {
    columns.push_back({"gaps", [&](size_t i) { return gapsText(entry(i)); }});
  }
  if (any(problem, [](const Buffer &b) { return b.value.has_value(); })) {
    columns.push_back({"value", [&](size_t i) { return optionalText(entry(i).value); }});
  }
  if (any(problem, [](const Buffer &b) { return !b.parents.empty(); })) {
    columns.push_back({"parents", [&](size_t i) { return parentsText(problem, entry(i)); }});
  }
  if (any(problem, [](const Buffer &b) { return b.forbidden; })) {
    columns.push_back({"forbidden", [&](size_t i) { return entry(i).forbidden ? "1" : "0"; }});
  }
  columns.push_back({"offset", [&](size_t i) {
                       return optionalText(offsets.empty() ? entry(i).pinned : offsets[i]);
                     }});
  std::string text;
  for (size_t c = 0; c < columns.size(); ++c) {
    text += (c > 0 ? "," : "") + std::string(columns[c].first);
  }
  text += "\n";
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    for (size_t c = 0; c < columns.size(); ++c) {
      text += (c > 0 ? "," : "") + columns[c].second(i);
    }
    text += "\n";
  }
  return text;
}

Offsets takePinsAsPlan(Problem &problem) {
  Offsets offsets;
  for (Buffer &buffer : problem.buffers) {
    offsets.push_back(buffer.pinned);
    buffer.pinned.reset();
  }
  return offsets;
}

} // namespace spyre::solver::placement
