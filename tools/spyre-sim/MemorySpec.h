//===- MemorySpec.h - places in memory as the command line writes them ----------------------===//
//
//   ADDR       a virtual DDR address: 4096, 0x1000 or segment:offset (1:0x80)
//   PLACE      ADDR, ddr:ADDR or lx:CORE:ADDR
//
// An address may itself hold a colon, so what follows it is split off from the right.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <cstdint>
#include <string>

namespace spyre::tools {

struct Place {
  bool inLx = false;
  uint32_t core = 0;
  /// LX address, or virtual DDR address.
  uint64_t address = 0;
};

/// FILE@PLACE
struct InitSpec {
  std::string file;
  Place place;
};

/// ADDR:STICKS:VALIDBYTES
struct PaddingSpec {
  uint64_t address = 0;
  uint64_t sticks = 0;
  uint64_t validBytes = 0;
};

/// ddr:ADDR:BYTES[@FILE] or lx:CORE:ADDR:BYTES[@FILE]
struct DumpSpec {
  Place place;
  uint64_t bytes = 0;
  /// Empty: the dump goes to the output, as text.
  std::string file;
};

/// NAME=VALUE
struct SymbolSpec {
  std::string name;
  int64_t value = 0;
};

/// All: E7101 for a text that is none.
Expected<InitSpec> parseInit(const std::string &text);
Expected<PaddingSpec> parsePadding(const std::string &text);
Expected<DumpSpec> parseDump(const std::string &text);
Expected<SymbolSpec> parseSymbol(const std::string &text);

/// Inside its segment.
uint64_t ddrOffset(uint64_t virtualAddress);
/// "1:0x80"
std::string ddrText(uint64_t virtualAddress);

} // namespace spyre::tools
