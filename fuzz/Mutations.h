//===- Mutations.h - seeded damage to valid inputs ------------------------------------------===//
//
// Shared by the replay of the corpora (any compiler, `make test`) and, for the JSON formats, by
// libFuzzer, whose own byte changes rarely keep a deep document well-formed.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Random.h"

#include <string>

namespace spyre::fuzz {

/// Cuts, copies, flipped bits, numbers at the edges of their ranges; any format.
std::string mutateBytes(std::string bytes, Random &random);

/// Changes values, keys and structure of a JSON document and keeps it well-formed. Empty when
/// \p text is not JSON.
std::string mutateJson(const std::string &text, Random &random);

} // namespace spyre::fuzz
