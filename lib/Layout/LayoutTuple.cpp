//===- LayoutTuple.cpp - layouts as versioned tuples ----------------------------------------===//
//
// The state that other programs keep (pickles, caches) [spec: device-and-layouts 3.1, runtime 1.5]:
//
//     (3, [4, 512, 64], [64, 256, 1], DataFormats.SEN169_FP16, ElementArrangement.STANDARD)
//     (2, device_size, stride_map, device_dtype)
//     (1, device_size, dim_map, stride_map, device_dtype)     dim_map is read and dropped
//
// Names or their numbers are accepted, lists also as tuples: that is how Python prints either.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Layout/DeviceLayout.h"

#include "fmt/ranges.h"

#include <charconv>
#include <optional>

namespace spyre::layout {

using numerics::DataFormat;
using Ints = std::vector<int64_t>;

/// Longer lists than any sound layout has are refused while reading.
static constexpr size_t kMaxListLength = 64;

static constexpr const char *kArrangements[] = {"STANDARD", "DL16_TO_FP32", "QFP8CH", "EXX2"};

const char *arrangementName(ElementArrangement arrangement) {
  return size_t(arrangement) < std::size(kArrangements) ? kArrangements[size_t(arrangement)]
                                                        : "UNKNOWN";
}

std::string DeviceLayout::toTuple() const {
  return fmt::format("(3, [{}], [{}], DataFormats.{}, ElementArrangement.{})",
                     fmt::join(deviceSize, ", "), fmt::join(strideMap, ", "),
                     numerics::formatName(format), arrangementName(arrangement));
}

namespace {

/// An element of the tuple: a list, a number, or a name.
struct Item {
  enum class Kind { List, Number, Name } kind = Kind::Number;
  Ints list;
  int64_t number = 0;
  std::string name;
};

/// Reads the text once, left to right.
class Reader {
public:
  explicit Reader(const std::string &text) : at(text.data()), end(at + text.size()) {}

  /// Nothing when the text is no tuple of such items.
  std::optional<std::vector<Item>> readTuple() {
    std::vector<Item> items;
    if (!accept('(')) {
      return std::nullopt;
    }
    while (!accept(')')) {
      if ((!items.empty() && !accept(',')) || items.size() == kMaxListLength) {
        return std::nullopt;
      }
      if (!items.empty() && accept(')')) {
        break; // A comma after the last item.
      }
      Item item;
      if (!readItem(item)) {
        return std::nullopt;
      }
      items.push_back(std::move(item));
    }
    skipBlanks();
    return at == end ? std::optional(items) : std::nullopt;
  }

private:
  void skipBlanks() {
    while (at != end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) {
      ++at;
    }
  }

  bool accept(char c) {
    skipBlanks();
    if (at == end || *at != c) {
      return false;
    }
    ++at;
    return true;
  }

  bool readNumber(int64_t &number) {
    skipBlanks();
    auto [next, fault] = std::from_chars(at, end, number);
    at = next;
    return fault == std::errc();
  }

  bool readList(char close, Ints &list) {
    while (!accept(close)) {
      if ((!list.empty() && !accept(',')) || list.size() == kMaxListLength) {
        return false;
      }
      if (!list.empty() && accept(close)) {
        break;
      }
      if (!readNumber(list.emplace_back())) {
        return false;
      }
    }
    return true;
  }

  bool readItem(Item &item) {
    bool isSquare = accept('[');
    if (isSquare || accept('(')) {
      item.kind = Item::Kind::List;
      return readList(isSquare ? ']' : ')', item.list);
    }
    skipBlanks();
    auto isNameChar = [](char c) {
      return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '.';
    };
    if (at == end || *at == '-' || (*at >= '0' && *at <= '9')) {
      return readNumber(item.number);
    }
    item.kind = Item::Kind::Name;
    while (at != end && isNameChar(*at)) {
      item.name += *at++;
    }
    return !item.name.empty();
  }

  const char *at;
  const char *end;
};

} // namespace

static Status malformed(const std::string &why) {
  return error<2018>("not the state of a SpyreTensorLayout: {}; use the text that toTuple() writes",
                     why);
}

/// Removes "DataFormats." or the like.
static std::string shortName(const std::string &name) { return name.substr(name.rfind('.') + 1); }

static Expected<DataFormat> formatOf(const Item &item) {
  if (item.kind == Item::Kind::Name) {
    return numerics::parseFormat(shortName(item.name));
  }
  if (item.kind != Item::Kind::Number || item.number < 0 ||
      item.number > int64_t(DataFormat::Sen18fFp24)) {
    return malformed("the data format is neither a name nor a known number");
  }
  return DataFormat(item.number);
}

static Expected<ElementArrangement> arrangementOf(const Item &item) {
  for (size_t i = 0; i < std::size(kArrangements); ++i) {
    bool matches = item.kind == Item::Kind::Name ? shortName(item.name) == kArrangements[i]
                                                 : item.number == int64_t(i);
    if (item.kind != Item::Kind::List && matches) {
      return ElementArrangement(i);
    }
  }
  return malformed("the element arrangement is neither a name nor a known number");
}

Expected<DeviceLayout> DeviceLayout::fromTuple(const std::string &text) {
  std::optional<std::vector<Item>> items = Reader(text).readTuple();
  if (!items || items->empty() || (*items)[0].kind != Item::Kind::Number) {
    return malformed("it is no tuple that begins with a version");
  }
  int64_t version = (*items)[0].number;
  if (version < 1 || version > 3) {
    return error<2020>("Unsupported SpyreTensorLayout pickle version {}; versions 1 to 3 are known",
                       version);
  }
  size_t length = version == 2 ? 4 : 5;
  if (items->size() != length) {
    return malformed(
        fmt::format("version {} has {} entries, not {}", version, length, items->size()));
  }
  const Item &sizes = (*items)[1];
  const Item &strides = (*items)[version == 1 ? 3 : 2];
  if (sizes.kind != Item::Kind::List || strides.kind != Item::Kind::List ||
      (*items)[2].kind != Item::Kind::List) {
    return malformed("the sizes or strides are no list of numbers");
  }
  DeviceLayout layout;
  layout.deviceSize = sizes.list;
  layout.strideMap = strides.list;
  SPYRE_ASSIGN_OR_RETURN(layout.format, formatOf((*items)[version == 1 ? 4 : 3]));
  if (version == 3) {
    SPYRE_ASSIGN_OR_RETURN(layout.arrangement, arrangementOf((*items)[4]));
  }
  return layout;
}

} // namespace spyre::layout
