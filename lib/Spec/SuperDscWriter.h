//===- SuperDscWriter.h - many SuperDSCs written with one writer ----------------------------===//
//
// A bundle has dozens of files of a hundred kilobytes. A writer of its own for each would give its
// buffer back to the system and fault it in again for the next.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Spec/SuperDsc.h"

#include "JsonWriter.h"

namespace spyre::spec {

inline constexpr size_t kSuperDscInlineChars = 240;

/// \p out was made with kSuperDscInlineChars; what it held is gone.
std::string writeSuperDsc(const SuperDsc &dsc, JsonWriter &out);

} // namespace spyre::spec
