//===- JsonTree.h - how JsonDocument keeps a parsed text ------------------------------------===//
//
// All values in one array, each container directly before its content:
//
//     {"a": [1, 2], "b": "x"}   ->   object  a:array  1  2  b:string
//
// so a document is two allocations, whatever it holds, and the next sibling of a value is as many
// entries away as the value has. Strings and keys are pieces of the tree's own copy of the text. A
// value knows its container, which is how a path is found when an error needs one.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spyre {

constexpr size_t kMaxJsonNesting = 128;
/// Values and keys are quoted in messages; a hostile document must not make a message of megabytes.
constexpr size_t kMaxQuotedBytes = 80;

std::string shortenForMessage(std::string_view text);

/// Bytes of JsonTree::text.
struct JsonPiece {
  uint32_t offset = 0, size = 0;
};

struct JsonNode {
  enum class Kind : uint8_t { Null, Boolean, Signed, Unsigned, Float, String, Array, Object };
  struct Content {
    uint32_t children; ///< elements or members
    uint32_t entries;  ///< of the array of values, this one included
  };

  JsonPiece key; ///< as member of an object
  uint32_t parent = 0;
  Kind kind = Kind::Null;
  union {
    bool boolean;
    int64_t integer; ///< Signed: negative or "-0"
    uint64_t natural;
    double real;
    JsonPiece string;
    Content content;
  };

  JsonNode() : natural(0) {}
  bool isContainer() const { return kind == Kind::Array || kind == Kind::Object; }
  bool isNumber() const {
    return kind == Kind::Signed || kind == Kind::Unsigned || kind == Kind::Float;
  }
  uint32_t entries() const { return isContainer() ? content.entries : 1; }
};

struct JsonTree {
  std::string text;
  std::vector<JsonNode> nodes; ///< the first one is the root, its own parent

  std::string_view viewOf(JsonPiece piece) const {
    return std::string_view(text.data() + piece.offset, piece.size);
  }
};

} // namespace spyre
