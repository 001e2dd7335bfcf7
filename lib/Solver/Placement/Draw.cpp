//===- Draw.cpp - address over time as a picture ----------------------------------------------===//
#include "spyre/Solver/Placement/Explain.h"

#include <algorithm>

namespace spyre::solver::placement {
namespace {

/// The documents' colours: red touches memory, green stays, yellow is in place, blue is a copy.
constexpr const char *kRed = "#d9534f", *kGreen = "#5cb85c", *kYellow = "#f0c840",
                     *kBlue = "#4a90d9";
constexpr double kWidth = 1000, kHeight = 600, kMargin = 60;

std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text) {
    switch (c) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      // Control characters are not allowed in XML at all.
      result += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
    }
  }
  return result;
}

class Map {
public:
  Map(const Problem &problem, const Plan &plan) : problem(problem), plan(plan) {
    for (const Buffer &buffer : problem.buffers) {
      begin = std::min(begin, buffer.lower);
      end = std::max(end, buffer.upper);
    }
    if (begin > end) {
      begin = 0;
      end = 1;
    }
    top = std::max<int64_t>(
        1, std::max(heightOf(problem, plan.offsets),
                    problem.capacityBytes < kMaxBytes ? problem.capacityBytes : 0));
  }

  const char *colourOf(size_t index) const {
    const Buffer &buffer = problem.buffers[index];
    if (!plan.offsets[index]) {
      return kRed;
    }
    for (int parent : buffer.parents) {
      if (plan.offsets[parent] == plan.offsets[index]) {
        return kYellow;
      }
    }
    return buffer.firstUseIsRead ? kBlue : kGreen;
  }

  std::string svg() const {
    std::string text = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} "
                                   "{}\" font-family=\"sans-serif\" "
                                   "font-size=\"11\">\n",
                                   kWidth + 2 * kMargin, kHeight + 3 * kMargin);
    text += rectangle(kMargin, kMargin, kWidth, kHeight, "#fafafa", "") + axes();
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      if (plan.offsets[i]) {
        text += pieces(i);
      }
    }
    return text + strip() + "</svg>\n";
  }

private:
  double x(int64_t tick) const {
    return kMargin + kWidth * double(tick - begin) / double(std::max<int64_t>(1, end - begin));
  }
  double y(int64_t address) const {
    return kMargin + kHeight - kHeight * double(address) / double(top);
  }

  static std::string rectangle(double left, double upper, double width, double height,
                               const char *colour, const std::string &title) {
    return fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" "
        "fill=\"{}\" stroke=\"#333\" stroke-width=\"0.5\"><title>{}</title></rect>\n",
        left, upper, width, height, colour, title);
  }

  static std::string label(double left, double at, const std::string &text) {
    return fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n", left, at, text);
  }

  std::string axes() const {
    return label(4, y(top) + 4, std::to_string(top)) + label(4, y(0), "0") +
           label(x(begin), kMargin + kHeight + 14, fmt::format("tick {}", begin)) +
           label(x(end) - 40, kMargin + kHeight + 14, std::to_string(end)) +
           label(kMargin, kMargin - 30,
                 fmt::format("value {} of at most {} ({})", plan.certificate.value,
                             plan.certificate.bound, nameOf(plan.certificate.proof)));
  }

  std::string title(size_t index) const {
    const Buffer &buffer = problem.buffers[index];
    return fmt::format("{}: {} bytes, ticks {}-{}{}", escaped(buffer.name), buffer.sizeBytes,
                       buffer.lower, buffer.upper - 1,
                       plan.offsets[index] ? fmt::format(", at {}", *plan.offsets[index])
                                           : std::string(", in memory"));
  }

  std::string piece(size_t index, int64_t lower, int64_t upper, int64_t low, int64_t high) const {
    if (lower >= upper || low >= high) {
      return "";
    }
    const int64_t base = *plan.offsets[index];
    return rectangle(x(lower), y(base + high), x(upper) - x(lower), y(base + low) - y(base + high),
                     colourOf(index), title(index));
  }

  std::string pieces(size_t index) const {
    const Buffer &buffer = problem.buffers[index];
    std::string text;
    int64_t at = buffer.lower;
    for (const Gap &gap : buffer.gaps) {
      text += piece(index, at, gap.lower, 0, buffer.sizeBytes);
      text += piece(index, gap.lower, gap.upper, gap.low, gap.high);
      at = gap.upper;
    }
    text += piece(index, at, buffer.upper, 0, buffer.sizeBytes);
    const double high = y(*plan.offsets[index]) - y(*plan.offsets[index] + buffer.sizeBytes);
    if (high >= 10 && x(buffer.upper) - x(buffer.lower) >= 7 * double(buffer.name.size())) {
      text += label(x(buffer.lower) + 3, y(*plan.offsets[index]) - 3, escaped(buffer.name));
    }
    return text;
  }

  /// Below the map: what stays in memory, on rows by time.
  std::string strip() const {
    std::string text;
    std::vector<int64_t> rowEnds;
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      const Buffer &buffer = problem.buffers[i];
      if (plan.offsets[i]) {
        continue;
      }
      auto row = std::find_if(rowEnds.begin(), rowEnds.end(),
                              [&](int64_t last) { return last <= buffer.lower; });
      if (row == rowEnds.end()) {
        if (rowEnds.size() == kMaxRows) {
          continue;
        }
        row = rowEnds.insert(rowEnds.end(), buffer.upper);
      }
      *row = buffer.upper;
      const double at = kMargin + kHeight + 24 + 9 * double(row - rowEnds.begin());
      text += rectangle(x(buffer.lower), at, x(buffer.upper) - x(buffer.lower), 8, kRed, title(i));
    }
    return text;
  }

  static constexpr size_t kMaxRows = 10;
  const Problem &problem;
  const Plan &plan;
  int64_t begin = INT64_MAX, end = INT64_MIN, top = 1;
};

} // namespace

std::string drawSvg(const Problem &problem, const Plan &plan) { return Map(problem, plan).svg(); }

std::string drawHtml(const Problem &problem, const Plan &plan) {
  const Map map(problem, plan);
  std::string text =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Scratchpad "
      "plan</title>\n<style>body{font-family:sans-serif;margin:1em}td,th{padding:2px "
      "8px;text-align:right}td:first-child{text-align:left}</style></head><body>\n<h1>Scratchpad "
      "plan</h1>\n";
  for (const auto &[colour, meaning] : {std::pair{kGreen, "on the core"},
                                        {kYellow, "in the place of another"},
                                        {kBlue, "copy of a graph input"},
                                        {kRed, "in memory"}}) {
    text += fmt::format("<span style=\"background:{}\">&nbsp;&nbsp;&nbsp;</span> {} &nbsp; ",
                        colour, meaning);
  }
  text += map.svg() + "<table><tr><th>buffer</th><th>bytes</th><th>ticks</th><th>value</th>"
                      "<th>offset</th></tr>\n";
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    text += fmt::format(
        "<tr><td style=\"border-left:8px solid {}\">{}</td><td>{}</td><td>{}-{}</td>"
        "<td>{}</td><td>{}</td></tr>\n",
        map.colourOf(i), escaped(buffer.name), buffer.sizeBytes, buffer.lower, buffer.upper - 1,
        buffer.worth(), plan.offsets[i] ? std::to_string(*plan.offsets[i]) : "");
  }
  return text + "</table></body></html>\n";
}

} // namespace spyre::solver::placement
