//===- FuzzInput.h - what all fuzz targets share --------------------------------------------===//
//
// A target takes any bytes. It may refuse them, but only with an error of its format's own numbers,
// so that "some error came back" is not enough to pass.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace spyre::fuzz {

inline std::string inputBytes(const uint8_t *data, size_t size) {
  return std::string(reinterpret_cast<const char *>(data), size);
}

/// A refusal carries one of \p codes and a text of reasonable length.
inline void checkRefusal(const Status &status, std::initializer_list<int> codes) {
  constexpr size_t kMaxTextBytes = 8192;
  SPYRE_CHECK(std::find(codes.begin(), codes.end(), status.code()) != codes.end(),
              "a refusal has a number of its format");
  SPYRE_CHECK(!status.text().empty() && status.text().size() <= kMaxTextBytes,
              "a refusal has a text, and not one of megabytes");
}

/// nan equals nothing, itself included: two of them are made equal before a comparison.
inline void dropSharedNan(double &a, double &b) {
  if (std::isnan(a) && std::isnan(b)) {
    a = b = 0;
  }
}

} // namespace spyre::fuzz
