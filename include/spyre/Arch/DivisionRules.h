//===- DivisionRules.h - what a machine demands of a division of work over its cores --------===//
//
// Rules that no layout shows: which variables of which kind of operation a back end can spread over
// cores. Each is on by default, as the documented interface has them; a description lifts what its
// back end can do beyond that. [spec: work-division 11, 22]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <array>
#include <cstdint>

namespace spyre::arch {

struct DivisionRules {
  /// A row that is carried from one stage of a reduction to the next keeps its split.
  bool carriedReductionRow = true;
  /// A reduced stick variable with a partial last stick stays whole: its mask cannot be spread.
  bool coordinateMask = true;
  /// The two spatial variables of a strided convolution stay whole.
  bool convSpatial = true;
  /// Windows of pooling and convolution are reduced by one core.
  bool reductionWindow = true;
  /// A variable that the operation's own loops run over stays whole, unless a hint splits it.
  bool coarseTileLocal = true;
  /// In a loop of three or more trips a direct read gets whole sticks per core.
  bool directReadSourceStick = true;
  /// A core's part of a variable that is stored in segments is one block.
  bool alignedOwnership = true;
  /// A restickified variable with a partial last stick stays whole.
  bool restickifyPadding = true;
  /// The second variable of a two-dimensional stick stays whole.
  bool secondStickDim = true;
  /// K of a matmul with such sticks, or with staggered elements, stays whole.
  bool staggeredMatmulK = true;
  /// Top-k: what is searched stays whole, and k is split until a core has few enough results.
  bool topK = true;
  /// The same for results that are kept by their index.
  bool keepByIndex = true;
  /// Rows of a shared table are read whole; entries are split in whole sticks of indices.
  bool indirectAccess = true;
  /// A plain reduction over two or more variables splits none of them.
  bool multiReduction = true;
  /// Overlapping windows stay inside one core's part.
  bool overlappingWindow = true;
  /// Tables that are read by index may be larger than the span limit.
  bool indirectTablesExceedSpan = true;

  /// Reduced variables that may be split at once.
  int64_t splitReductions = 1;
  /// Loop counts and immediates of a program; 0: any.
  int64_t maxTripCount = 65535;
  /// Results of a top-k that one core can keep.
  int64_t topKResultsPerCore = 4;

  bool operator==(const DivisionRules &) const = default;
};

/// One table for writer and reader of descriptions, and for messages.
struct DivisionRuleName {
  const char *name;
  bool DivisionRules::*member;
};
inline constexpr std::array<DivisionRuleName, 16> kDivisionRules = {{
    {"carriedReductionRow", &DivisionRules::carriedReductionRow},
    {"coordinateMask", &DivisionRules::coordinateMask},
    {"convSpatial", &DivisionRules::convSpatial},
    {"reductionWindow", &DivisionRules::reductionWindow},
    {"coarseTileLocal", &DivisionRules::coarseTileLocal},
    {"directReadSourceStick", &DivisionRules::directReadSourceStick},
    {"alignedOwnership", &DivisionRules::alignedOwnership},
    {"restickifyPadding", &DivisionRules::restickifyPadding},
    {"secondStickDim", &DivisionRules::secondStickDim},
    {"staggeredMatmulK", &DivisionRules::staggeredMatmulK},
    {"topK", &DivisionRules::topK},
    {"keepByIndex", &DivisionRules::keepByIndex},
    {"indirectAccess", &DivisionRules::indirectAccess},
    {"multiReduction", &DivisionRules::multiReduction},
    {"overlappingWindow", &DivisionRules::overlappingWindow},
    {"indirectTablesExceedSpan", &DivisionRules::indirectTablesExceedSpan},
}};

struct DivisionLimitName {
  const char *name;
  int64_t DivisionRules::*member;
  int64_t low, high;
};
inline constexpr std::array<DivisionLimitName, 3> kDivisionLimits = {{
    {"splitReductions", &DivisionRules::splitReductions, 0, 16},
    {"maxTripCount", &DivisionRules::maxTripCount, 0, int64_t(1) << 32},
    {"topKResultsPerCore", &DivisionRules::topKResultsPerCore, 1, 1024},
}};

} // namespace spyre::arch
