//===- FuzzStatistics.cpp - what the random graphs were made of -----------------------------===//
#include "FuzzStatistics.h"

#include "RandomGraph.h"

#include <algorithm>

namespace spyre::testing {

void FuzzStatistics::count(const Graph &graph) {
  ++graphs;
  int64_t viewsHere = 0;
  // The innermost dimension decides whether sticks are full.
  auto countShape = [&](const std::vector<int64_t> &shape, numerics::HostType dtype) {
    ++ranks[shape.size()];
    ++types[dtype];
    if (!shape.empty()) {
      const int64_t lanes = numerics::elemsPerStick(numerics::deviceFormat(dtype));
      ++sizes;
      unalignedSizes += shape.back() % lanes != 0;
    }
  };
  for (const HostTensor &input : graph.inputs) {
    countShape(input.shape, input.dtype);
  }
  for (const Call &call : graph.calls) {
    countShape(call.shape, call.dtype);
    ++targets[call.target];
    viewsHere += isViewCall(call.target);
  }
  calls += int64_t(graph.calls.size());
  views += viewsHere;
  fewestViews = std::min(fewestViews, viewsHere);
}

static int64_t occurrences(const std::string &text, const std::string &what) {
  int64_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++found;
  }
  return found;
}

void FuzzStatistics::count(const Artifacts &artifacts) {
  for (const auto &[name, contents] : artifacts) {
    if (name.size() > 11 && name.compare(name.size() - 11, 11, "op_spec.txt") == 0) {
      operations += occurrences(contents, "  OpSpec(");
      copies += occurrences(contents, "op='identity'") + occurrences(contents, "op='ReStickify");
    }
  }
}

void FuzzStatistics::count(const Interval &element) {
  ++elements;
  exactElements += element.isExact();
  openElements += element.isOpen();
}

std::string FuzzStatistics::text() const {
  auto share = [](int64_t part, int64_t whole) {
    return whole == 0 ? 0.0 : 100.0 * double(part) / double(whole);
  };
  std::string text = fmt::format(
      "random graphs: {} graphs, {} calls, {:.1f} views per graph (at least {}), {:.0f} % of the "
      "innermost sizes unaligned\n  device operations {}, copies {:.0f} %, refused for the span "
      "{}\n"
      "  output elements {}, judged to the bit {:.0f} %, with bounds {:.0f} %, not at all {:.2f} "
      "%\n",
      graphs, calls, graphs == 0 ? 0.0 : double(views) / double(graphs), fewestViews,
      share(unalignedSizes, sizes), operations, share(copies, operations), refusedForSpan, elements,
      share(exactElements, elements), share(elements - exactElements - openElements, elements),
      share(openElements, elements));
  text += "  ranks:";
  for (const auto &[rank, number] : ranks) {
    text += fmt::format(" {}: {}", rank, number);
  }
  text += "\n  types:";
  for (const auto &[type, number] : types) {
    text += fmt::format(" {}: {}", numerics::hostTypeName(type), number);
  }
  text += fmt::format("\n  operations ({}):", targets.size());
  int column = 0;
  for (const auto &[target, number] : targets) {
    text += fmt::format("{}{} {}", column++ % 6 == 0 ? "\n    " : ", ", target, number);
  }
  return text + "\n";
}

} // namespace spyre::testing
