//===- Npy.cpp - NumPy .npy files -----------------------------------------------------------===//
//
// Layout of a file: "\x93NUMPY", major, minor, header length (2 bytes in version 1, 4 later), a
// Python dict literal padded with blanks, then the data. The dict is read by a tokenizer that knows
// the three keys NumPy writes and nothing else; any bytes give an array or E6301.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Runtime/Npy.h"

#include "spyre/Base/Math.h"

#include "fmt/ranges.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace spyre::runtime {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kHeaderLimitBytes = 65536;
constexpr size_t kMaxNpyRank = 32;
constexpr size_t kDataAlignmentBytes = 64;

struct NpyType {
  std::string_view name;
  int64_t bytes;
};
constexpr std::array<NpyType, 9> kTypes{{{"f2", 2},
                                         {"f4", 4},
                                         {"u1", 1},
                                         {"u2", 2},
                                         {"i1", 1},
                                         {"i2", 2},
                                         {"i4", 4},
                                         {"i8", 8},
                                         {"b1", 1}}};

/// 0 for a type we do not read.
int64_t typeBytes(std::string_view name) {
  for (const NpyType &type : kTypes) {
    if (type.name == name) {
      return type.bytes;
    }
  }
  return 0;
}

struct Header {
  std::string descr;
  bool fortranOrder = false;
  std::vector<int64_t> shape;
};

/// Reads the dict literal of the header.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  Expected<Header> parse() {
    SPYRE_RETURN_IF_ERROR(expect('{'));
    std::optional<std::string> descr;
    std::optional<bool> fortranOrder;
    std::optional<std::vector<int64_t>> shape;
    while (!accept('}')) {
      SPYRE_ASSIGN_OR_RETURN(std::string key, parseString());
      SPYRE_RETURN_IF_ERROR(expect(':'));
      if (key == "descr" && !descr) {
        SPYRE_ASSIGN_OR_RETURN(descr, parseString());
      } else if (key == "fortran_order" && !fortranOrder) {
        SPYRE_ASSIGN_OR_RETURN(fortranOrder, parseBool());
      } else if (key == "shape" && !shape) {
        SPYRE_ASSIGN_OR_RETURN(shape, parseTuple());
      } else {
        return fail("an unknown or repeated key");
      }
      if (!accept(',')) {
        SPYRE_RETURN_IF_ERROR(expect('}'));
        break;
      }
    }
    skipBlanks();
    if (position != text.size()) {
      return fail("text after the dict");
    }
    if (!descr || !fortranOrder || !shape) {
      return fail("a missing key (descr, fortran_order and shape are needed)");
    }
    return Header{std::move(*descr), *fortranOrder, std::move(*shape)};
  }

private:
  Status fail(std::string_view what) const {
    return error<6301>("the npy header has {} at character {}; write the file with numpy.save",
                       what, position);
  }
  void skipBlanks() {
    while (position < text.size() && (text[position] == ' ' || text[position] == '\n' ||
                                      text[position] == '\t' || text[position] == '\r')) {
      ++position;
    }
  }
  bool accept(char wanted) {
    skipBlanks();
    if (position < text.size() && text[position] == wanted) {
      ++position;
      return true;
    }
    return false;
  }
  Status expect(char wanted) {
    return accept(wanted) ? Status::success() : fail(fmt::format("no '{}'", wanted));
  }
  Expected<std::string> parseString() {
    skipBlanks();
    const char quote = position < text.size() ? text[position] : '\0';
    if (quote != '\'' && quote != '"') {
      return fail("no plain string (structured types are not supported)");
    }
    const size_t end = text.find(quote, position + 1);
    if (end == std::string_view::npos) {
      return fail("a string without end");
    }
    std::string value(text.substr(position + 1, end - position - 1));
    if (value.find('\\') != std::string::npos) {
      return fail("an escape in a string");
    }
    position = end + 1;
    return value;
  }
  Expected<bool> parseBool() {
    skipBlanks();
    for (auto [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text.substr(position, word.size()) == word) {
        position += word.size();
        return value;
      }
    }
    return fail("neither True nor False");
  }
  Expected<int64_t> parseInteger() {
    skipBlanks();
    const size_t begin = position;
    int64_t value = 0;
    for (; position < text.size() && text[position] >= '0' && text[position] <= '9'; ++position) {
      if (__builtin_mul_overflow(value, int64_t(10), &value) ||
          __builtin_add_overflow(value, int64_t(text[position] - '0'), &value)) {
        return fail("a size above 64 bits");
      }
    }
    if (position == begin) {
      return fail("no size");
    }
    return value;
  }
  Expected<std::vector<int64_t>> parseTuple() {
    SPYRE_RETURN_IF_ERROR(expect('('));
    std::vector<int64_t> sizes;
    bool sawComma = true;
    while (!accept(')')) {
      if (!sawComma) {
        return fail("no ',' between sizes");
      }
      if (sizes.size() == kMaxNpyRank) {
        return fail(fmt::format("more than {} dimensions", kMaxNpyRank));
      }
      SPYRE_ASSIGN_OR_RETURN(int64_t size, parseInteger());
      sizes.push_back(size);
      sawComma = accept(',');
    }
    // "(3)" is a number in Python, not a tuple.
    if (sizes.size() == 1 && !sawComma) {
      return fail("a size in parentheses instead of a tuple");
    }
    return sizes;
  }

  std::string_view text;
  size_t position = 0;
};

uint64_t littleEndian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | uint8_t(bytes[i]);
  }
  return value;
}

/// Splits a file into the text of the header and the data.
Expected<std::pair<std::string_view, std::string_view>> splitFile(std::string_view file) {
  if (file.size() < kMagic.size() + 2 || file.substr(0, kMagic.size()) != kMagic) {
    return error<6301>("this is not an npy file (no NUMPY mark in its {} bytes); write it with "
                       "numpy.save",
                       file.size());
  }
  const int major = uint8_t(file[kMagic.size()]);
  const int minor = uint8_t(file[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    return error<6301>("npy version {}.{} is unknown (1.0, 2.0 and 3.0 are read); write the file "
                       "with numpy.save",
                       major, minor);
  }
  const size_t lengthBegin = kMagic.size() + 2;
  const size_t lengthBytes = major == 1 ? 2 : 4;
  if (file.size() < lengthBegin + lengthBytes) {
    return error<6301>("the npy file ends inside its header; copy the file again");
  }
  const uint64_t headerBytes = littleEndian(file.substr(lengthBegin, lengthBytes));
  const size_t headerBegin = lengthBegin + lengthBytes;
  if (headerBytes > kHeaderLimitBytes || headerBytes > file.size() - headerBegin) {
    return error<6301>("the npy header claims {} bytes, but at most {} are accepted and {} remain; "
                       "copy the file again",
                       headerBytes, kHeaderLimitBytes, file.size() - headerBegin);
  }
  return std::pair(file.substr(headerBegin, headerBytes), file.substr(headerBegin + headerBytes));
}

/// "<f2" -> "f2"; refuses other byte orders and types.
Expected<std::string> checkedType(const std::string &descr) {
  const char order = descr.empty() ? '\0' : descr[0];
  const std::string name = descr.empty() ? "" : descr.substr(1);
  const int64_t bytes = typeBytes(name);
  if (bytes == 0) {
    return error<6301>(
        "npy type '{}' is not supported; convert the array to one of f2, f4, u1, u2, "
        "i1, i2, i4, i8, b1 with astype",
        descr);
  }
  if (order == '>') {
    return error<6301>("npy type '{}' is big-endian; convert it with array.astype('<{}')", descr,
                       name);
  }
  if (order != '<' && !(order == '|' && bytes == 1)) {
    return error<6301>("npy type '{}' has no clear byte order; convert it with array.astype('<{}')",
                       descr, name);
  }
  return name;
}

/// Column-major bytes -> row-major bytes.
std::string toRowMajor(std::string_view data, const std::vector<int64_t> &shape,
                       size_t elementBytes) {
  std::vector<size_t> stride(shape.size(), elementBytes);
  for (size_t i = 1; i < shape.size(); ++i) {
    stride[i] = stride[i - 1] * size_t(shape[i - 1]);
  }
  std::string result(data.size(), '\0');
  std::vector<int64_t> index(shape.size(), 0);
  size_t source = 0;
  for (size_t target = 0; target < result.size(); target += elementBytes) {
    std::memcpy(result.data() + target, data.data() + source, elementBytes);
    for (size_t dim = shape.size(); dim-- > 0;) {
      source += stride[dim];
      if (++index[dim] < shape[dim]) {
        break;
      }
      source -= stride[dim] * size_t(shape[dim]);
      index[dim] = 0;
    }
  }
  return result;
}

Status checkBooleans(std::string_view data) {
  for (size_t i = 0; i < data.size(); ++i) {
    if (uint8_t(data[i]) > 1) {
      return error<6301>("element {} of a b1 array is {}, neither 0 nor 1; convert it with "
                         "array.astype(bool)",
                         i, uint8_t(data[i]));
    }
  }
  return Status::success();
}

} // namespace

Expected<NpyArray> parseNpy(const std::string &bytes) {
  SPYRE_ASSIGN_OR_RETURN(auto parts, splitFile(bytes));
  const auto [headerText, data] = parts;
  SPYRE_ASSIGN_OR_RETURN(Header header, HeaderParser(headerText).parse());
  NpyArray array;
  SPYRE_ASSIGN_OR_RETURN(array.type, checkedType(header.descr));
  const int64_t elementBytes = typeBytes(array.type);
  std::vector<int64_t> factors = header.shape;
  factors.push_back(elementBytes);
  int64_t dataBytes = 0;
  if (!checkedProduct(factors, dataBytes) || uint64_t(dataBytes) != data.size()) {
    return error<6301>("the npy header says {} [{}] but {} data bytes follow; copy the file again",
                       header.descr, fmt::join(header.shape, ", "), data.size());
  }
  if (array.type == "b1") {
    SPYRE_RETURN_IF_ERROR(checkBooleans(data));
  }
  array.data = header.fortranOrder ? toRowMajor(data, header.shape, size_t(elementBytes))
                                   : std::string(data);
  array.shape = std::move(header.shape);
  return array;
}

std::string writeNpy(const NpyArray &array) {
  const char order = typeBytes(array.type) == 1 ? '|' : '<';
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", order,
                  array.type, fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  const size_t prefixBytes = kMagic.size() + 4;
  while ((prefixBytes + header.size() + 1) % kDataAlignmentBytes != 0) {
    header += ' ';
  }
  header += '\n';
  std::string file(kMagic);
  file += {'\x01', '\x00', char(header.size() & 0xFF), char(header.size() >> 8)};
  return file + header + array.data;
}

} // namespace spyre::runtime
