//===- Mode.h - who divides work over the cores ---------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <string>

namespace spyre::solver::division {

/// The documented passes; the same with the later pass for matrix products; the cheapest division.
enum class Mode { Compat, CompatS1, Best };
const char *modeName(Mode mode);
/// Errors: E3074.
Expected<Mode> parseMode(const std::string &name);

} // namespace spyre::solver::division
