//===- JsonText.h - what the JSON formats of this library share -----------------------------===//
//
// A printer whose output people can read (short values on one line, long ones opened), and the
// helpers that give the errors of Base's JSON reader the number of the format that was being read.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Json.h"
#include "spyre/Base/Status.h"

#include <cstdint>
#include <string>

namespace spyre::spec {

/// Texts above it are refused before they are parsed: a parsed document takes up to thirty times
/// the memory of its text, and the largest real ones have a few hundred kilobytes.
constexpr uint64_t kMaxJsonBytes = uint64_t(16) << 20;

/// Prints \p value; a value whose one-line form is at most \p inlineChars long stays on one line.
/// Ends with a line break.
std::string printJson(const Json &value, int indentColumns, size_t inlineChars);

/// True for "sdsc_0.json": one path component, printable, that cannot leave its directory.
bool isPlainFileName(const std::string &name);

/// The same text under the number of the format: callers of a reader see one code per format.
template <int code>
Status recode(const Status &status) {
  return error<code>("{}", status.text());
}

} // namespace spyre::spec
