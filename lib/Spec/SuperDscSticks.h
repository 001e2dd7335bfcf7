//===- SuperDscSticks.h - which formats and sticks conversions and 8-bit matmuls have -------===//
//
// Only the quantised families have sticks of several dimensions, and each has exactly one form
// [spec: codegen-and-backend 3.2, 3.3]. Everything else has one dimension in its stick.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Spec/OpSpec.h"

#include <optional>

namespace spyre::spec {

/// How sticks of the wider element share one of the narrower, two in 8 bits and four in 4: of one
/// dimension by groups of 8 lanes; with a partner dimension by groups of 8 lanes; with one by
/// single lanes.
enum class Packing : uint8_t { Ch, Mb, Wt };

/// What a conversion takes, gives and how it packs.
struct ConversionForm {
  numerics::DataFormat from, to;
  Packing packing;
};

/// Nothing when \p op is no conversion.
std::optional<ConversionForm> findConversion(const std::string &op);

/// Bytes of an element as the JSON has them (wordLength): a fraction below 8 bits, 0 for a format
/// without sticks.
double wordLengthBytes(numerics::DataFormat format);

/// Formats of conversions and 8-bit matmuls, and the stick of every argument. \p spec must have
/// passed verifyOpSpec. Error: E5001.
Status checkSticks(const OpSpec &spec);

/// That each of \p slices cores gets whole sticks of \p elements from the \p size of \p symbol.
/// Error: E5001.
Status checkWholeSticks(const std::string &op, const std::string &symbol, int64_t size,
                        int64_t slices, int64_t elements);

} // namespace spyre::spec
