//===- Conversions.cpp - the scalar interface of the number formats -------------------------===//
#include "spyre/Numerics/Formats.h"

#include "ScalarConversions.h"

namespace spyre::numerics {

uint16_t floatToDl16(float value) { return detail::dl16FromFloat(value); }
float dl16ToFloat(uint16_t bits) { return detail::floatFromDl16(bits); }
uint16_t floatToHalf(float value) { return detail::halfFromFloat(value); }
float halfToFloat(uint16_t bits) { return detail::floatFromHalf(bits); }
uint16_t floatToBfloat16(float value) { return detail::bfloat16FromFloat(value); }
float bfloat16ToFloat(uint16_t bits) { return detail::floatFromBfloat16(bits); }

uint32_t encodeConstant(double value, DataFormat format) {
  auto single = static_cast<float>(value);
  if (format == DataFormat::IeeeFp32) {
    return std::bit_cast<uint32_t>(single);
  }
  return floatToDl16(single);
}

} // namespace spyre::numerics
