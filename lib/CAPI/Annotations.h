//===- Annotations.h - hints, names and sizes of a graph as attributes of its text ----------===//
//
// Callers write them behind a bar: "file.py:12|work_div=tokens:4@0" behind the line of a call,
// "x|tokens:2048|sizes=0:128:1024" behind the name of an input.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <string>

namespace spyre::capi {

/// MLIR text of a string literal.
std::string quoted(const std::string &text);

/// Attributes of an input, each followed by a comma, from what stands behind the bar of its name.
/// Error: E1008.
Expected<std::string> inputAttributes(const std::string &annotations);

/// " loc(...)" with the hints as metadata, or nothing for an empty \p location. Error: E1008.
Expected<std::string> locationText(const std::string &location);

} // namespace spyre::capi
