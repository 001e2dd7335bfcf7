//===- OwnersTest.cpp - what the IR says of cores is what is emitted ------------------------===//
//
// Of every operation of random graphs: splits and owners of the loop IR against
// numWkSlicesPerDim_, coreIdToWkSlice_ and start addresses of its SuperDSC. Nothing of the emitter
// is used: the map is read from the text, labels and addresses follow the documents. [spec:
// work-division 16]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/CAPI/Compiler.h"
#include "spyre/Spec/OpSpec.h"
#include "spyre/Spec/SuperDsc.h"

#include "RandomGraph.h"
#include "gtest/gtest.h"

#include <charconv>
#include <cstdlib>
#include <map>
#include <set>

namespace spyre::testing {
namespace {

/// One result of an affine map of one dimension: d0, constants, mod, floordiv, parentheses.
class MapReader {
public:
  explicit MapReader(std::string_view text) : text(text) {}

  std::vector<int64_t> at(int64_t core) {
    value = core;
    place = 0;
    std::vector<int64_t> results;
    if (text.empty()) { // an operation without variables
      return results;
    }
    do {
      results.push_back(expression());
    } while (accept(","));
    EXPECT_EQ(place, text.size()) << text;
    return results;
  }

private:
  bool accept(std::string_view word) {
    while (place < text.size() && text[place] == ' ') {
      ++place;
    }
    const bool isNext = text.substr(place).starts_with(word);
    place += isNext ? word.size() : 0;
    return isNext;
  }
  int64_t number() {
    accept("");
    int64_t result = 0;
    const auto [end, code] =
        std::from_chars(text.data() + place, text.data() + text.size(), result);
    EXPECT_EQ(code, std::errc()) << text;
    place = code == std::errc() ? size_t(end - text.data()) : text.size();
    return result;
  }
  int64_t expression() {
    int64_t result = 0;
    if (accept("(")) {
      result = expression();
      EXPECT_TRUE(accept(")")) << text;
    } else {
      result = accept("d0") ? value : number();
    }
    for (;;) {
      if (accept("mod ")) {
        result %= number();
      } else if (accept("floordiv ")) {
        result /= number();
      } else {
        return result;
      }
    }
  }

  std::string_view text;
  size_t place = 0;
  int64_t value = 0;
};

std::string between(const std::string &line, const std::string &begin, char end) {
  const size_t at = line.find(begin);
  const size_t first = at == std::string::npos ? at : at + begin.size();
  return at == std::string::npos ? "" : line.substr(first, line.find(end, first) - first);
}

std::vector<int64_t> integers(const std::string &list) {
  std::vector<int64_t> values;
  std::istringstream stream(list);
  for (std::string each; std::getline(stream, each, ',');) {
    values.push_back(std::stoll(each));
  }
  return values;
}

/// An operation of the loop IR, as far as cores are concerned.
struct Divided {
  std::vector<int64_t> splits;
  std::string owners; ///< results of the map
  int uneven = -1;
};

std::vector<Divided> divisionsOf(const std::string &text) {
  std::map<std::string, std::string> aliases;
  std::vector<Divided> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("#map")) {
      aliases[line.substr(0, line.find(' '))] = line;
    }
    if (line.find("loop.compute ") == std::string::npos) {
      continue;
    }
    Divided one;
    one.splits = integers(between(line, "splits [", ']'));
    const std::string alias = between(line, "owners = ", ',').substr(0, 4) == "#map"
                                  ? line.substr(line.find("owners = ") + 9)
                                  : "";
    const std::string name = alias.substr(0, alias.find_first_of(",} "));
    const std::string map = name.empty() ? line.substr(line.find("owners = ")) : aliases[name];
    const size_t first = map.find("-> (") + 4;
    one.owners = map.substr(first, map.find(")>", first) - first);
    const std::string uneven = between(line, "uneven = ", ' ');
    one.uneven = uneven.empty() ? -1 : std::stoi(uneven);
    all.push_back(std::move(one));
  }
  return all;
}

/// Labels of the first \p vars symbols. Where the emitter has inserted dims of one element, for
/// places of a tensor that do not vary, the others are the ones of the right sizes, in order.
std::vector<std::string> labelsOf(const spec::OpSpec &op, const spec::SuperDsc &dsc, size_t vars) {
  static const char *const kMatmul[] = {"ki", "kj", "y", "x", "mb", "out", "in"};
  static const char *const kOther[] = {"mb", "x", "y", "i", "j", "ki", "kj"};
  const size_t count = op.iterationSpace.size();
  std::vector<std::string> labels;
  for (size_t d = 0; d < dsc.size.size() && labels.size() < vars; ++d) {
    const spec::IterationDim &dim = op.iterationSpace[labels.size()];
    const bool isInserted = dsc.size.size() > count && dsc.size[d].second < dim.range;
    if (!isInserted) {
      labels.push_back(dsc.size[d].first);
    }
  }
  for (size_t i = 0; i < labels.size() && dsc.size.size() == count; ++i) {
    const std::string documented = spec::isMatmul(op) ? kMatmul[std::size(kMatmul) - count + i]
                                   : i + 1 == count   ? "out"
                                                      : kOther[i];
    EXPECT_EQ(labels[i], documented);
  }
  return labels;
}

/// First element of the slices of a core, by symbol.
using Point = std::map<std::string, int64_t>;

Point pointOf(const spec::OpSpec &op, const spec::SuperDsc &dsc,
              const std::vector<std::string> &labels, const Divided &divided,
              const std::vector<int64_t> &slices) {
  Point point;
  for (size_t v = 0; v < divided.splits.size(); ++v) {
    const std::string &symbol = op.iterationSpace[v].symbol;
    const int64_t *size = spec::findDim(dsc.size, labels[v]);
    int64_t unit = 1;
    for (const spec::TensorArg &arg : op.args) {
      unit = std::max(unit, arg.isIndex() ? 1 : spec::stickElements(arg, symbol));
    }
    const int64_t split = divided.splits[v], pieces = *size / unit;
    const int64_t larger = int(v) == divided.uneven ? pieces % split : 0;
    point[symbol] = larger > 0 ? (slices[v] * (pieces / split) + std::min(slices[v], larger)) * unit
                               : slices[v] * (*size / split);
  }
  return point;
}

/// Bytes from the begin of the tensor to its element at \p point; nothing where a coordinate is not
/// known before the run, or two symbols share one.
std::optional<int64_t> addressOf(const spec::TensorArg &arg, const Point &point) {
  int64_t sticks = 0, stride = 1;
  for (size_t d = arg.deviceSize.size() - spec::stickRank(arg); d-- > 0;) {
    const spec::Coordinate &coordinate = arg.deviceCoordinates[d];
    if (coordinate.kind == spec::Coordinate::Kind::Indirect ||
        coordinate.kind == spec::Coordinate::Kind::Window ||
        coordinate.kind == spec::Coordinate::Kind::Mod) {
      return std::nullopt;
    }
    auto found = point.find(coordinate.symbol);
    const int64_t value = found == point.end() ? 0 : found->second;
    sticks += (value / coordinate.divisor + coordinate.offset) * stride;
    stride *= arg.deviceSize[d];
  }
  return sticks * 128;
}

struct Seen {
  std::set<std::string> divided;
  size_t addresses = 0, residents = 0, reductions = 0, uneven = 0, fastest = 0;
};

void expectEmitted(const spec::OpSpec &op, const spec::SuperDsc &dsc, const Divided &divided,
                   Seen &seen) {
  int64_t cores = 1;
  const std::vector<std::string> labels = labelsOf(op, dsc, divided.splits.size());
  ASSERT_EQ(labels.size(), divided.splits.size());
  for (size_t v = 0; v < divided.splits.size(); ++v) {
    const int64_t *slices = spec::findDim(dsc.slices, labels[v]);
    ASSERT_TRUE(slices) << labels[v];
    EXPECT_EQ(*slices, divided.splits[v]) << labels[v];
    cores *= divided.splits[v];
    seen.fastest += op.iterationSpace[v].fastest;
  }
  ASSERT_EQ(dsc.cores, cores);
  ASSERT_EQ(int64_t(dsc.coreSlice.size()), cores);
  MapReader owners(divided.owners);
  std::vector<std::optional<int64_t>> first;
  for (int64_t core = 0; core < cores; ++core) {
    const std::vector<int64_t> slices = owners.at(core);
    ASSERT_EQ(slices.size(), divided.splits.size());
    for (size_t v = 0; v < slices.size(); ++v) {
      const int64_t *emitted = spec::findDim(dsc.coreSlice[size_t(core)], labels[v]);
      ASSERT_TRUE(emitted);
      EXPECT_EQ(*emitted, slices[v]) << "core " << core << ", " << labels[v];
    }
    const Point point = pointOf(op, dsc, labels, divided, slices);
    for (size_t i = 0; i < op.args.size(); ++i) {
      const std::optional<int64_t> address = addressOf(op.args[i], point);
      const std::vector<int64_t> &starts = dsc.tensors[i].startAddress;
      first.resize(op.args.size());
      first[i] = core == 0 ? address : first[i];
      if (address && !op.args[i].isIndex() && cores > 1) {
        // What stays in the scratchpads lies at the same address of each.
        const int64_t distance = dsc.tensors[i].inLx ? 0 : *address - *first[i];
        EXPECT_EQ(starts[size_t(core)] - starts[0], distance)
            << "core " << core << ", argument " << i;
        ++(dsc.tensors[i].inLx ? seen.residents : seen.addresses);
      }
    }
  }
  if (cores > 1) {
    seen.divided.insert(dsc.op);
    seen.reductions += op.isReduction && divided.splits.back() > 1;
    seen.uneven += divided.uneven >= 0;
  }
}

void checkGraph(const std::string &text, const capi::CompileOptions &options, Seen &seen) {
  Expected<capi::CompileResult> compiled = capi::compileGraph(text, options);
  if (!compiled.ok()) {
    return; // The fuzz tests say what may fail.
  }
  const Artifacts &artifacts = compiled->artifacts;
  const std::vector<Divided> divisions = divisionsOf(artifacts.at("phases/3-division.mlir"));
  size_t next = 0;
  for (size_t bundle = 0;; ++bundle) {
    const std::string folder = fmt::format("bundle_{}/", bundle);
    auto specs = artifacts.find(folder + "op_spec.txt");
    if (specs == artifacts.end()) {
      break;
    }
    const std::vector<spec::OpSpec> ops = *spec::parseOpSpecs(specs->second);
    for (size_t i = 0; i < ops.size(); ++i) {
      Expected<spec::SuperDsc> dsc =
          spec::readSuperDsc(artifacts.at(fmt::format("{}sdsc_{}.json", folder, i)));
      ASSERT_TRUE(dsc.ok()) << dsc.status().message();
      ASSERT_LT(next, divisions.size());
      SCOPED_TRACE(spec::writeOpSpecs({ops[i]}));
      expectEmitted(ops[i], *dsc, divisions[next++], seen);
    }
  }
  EXPECT_EQ(next, divisions.size());
}

TEST(Owners, AreThoseOfTheEmittedOperations) {
  const uint64_t graphs = std::getenv("SPYRE_TEST_LONG") ? 600 : 240;
  Seen seen;
  for (uint64_t seed = 0; seed < graphs && !HasFailure(); ++seed) {
    Random random(seed * 40503u + 5);
    const Graph graph = randomGraph(random, {.steps = 8, .maxSize = 140, .maxElements = 20000});
    capi::CompileOptions options;
    options.device = *arch::DeviceDesc::preset("openspyre");
    options.compileTo = "bundle";
    options.keepPhases = true;
    options.planner = seed % 4 == 1 ? "compat" : "best";
    options.unevenDivision = seed % 4 == 3;
    options.kFastCores = seed % 5 != 0;
    options.lx.enabled = seed % 3 != 0;
    options.lx.divideTogether = seed % 2 == 0;
    checkGraph(graphText(graph), options, seen);
  }
  for (const char *op : {"add", "exp", "sum", "batchmatmul", "ReStickifyOpHBM", "identity"}) {
    EXPECT_TRUE(seen.divided.count(op))
        << op << " of " << fmt::format("{}", fmt::join(seen.divided, " "));
  }
  EXPECT_GT(seen.addresses, graphs * 100);
  EXPECT_GT(seen.residents, graphs);
  EXPECT_GT(seen.reductions, 0u);
  EXPECT_GT(seen.uneven, 0u);
  EXPECT_GT(seen.fastest, 0u);
}

} // namespace
} // namespace spyre::testing
