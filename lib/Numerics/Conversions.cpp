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
uint8_t floatToE4m3fn(float value) { return detail::e4m3fnFromFloat(value); }
float e4m3fnToFloat(uint8_t bits) { return detail::floatFromE4m3fn(bits); }
uint8_t floatToE5m2fnuz(float value) { return detail::e5m2fnuzFromFloat(value); }
float e5m2fnuzToFloat(uint8_t bits) { return detail::floatFromE5m2fnuz(bits); }

int8_t floatToInt2(float value) { return int8_t(detail::shortFromFloat(value, detail::kInt2)); }
uint8_t floatToUint2(float value) { return uint8_t(detail::shortFromFloat(value, detail::kUint2)); }
int8_t floatToInt4(float value) { return int8_t(detail::shortFromFloat(value, detail::kInt4)); }
int8_t floatToInt8(float value) { return int8_t(detail::shortFromFloat(value, detail::kInt8)); }
int16_t floatToInt16(float value) { return int16_t(detail::shortFromFloat(value, detail::kInt16)); }
int32_t floatToInt32(float value) { return int32_t(detail::wordFromFloat(value, detail::kInt32)); }
uint32_t floatToUint32(float value) { return detail::wordFromFloat(value, detail::kUint32); }
int64_t floatToInt64(float value) { return detail::longFromFloat(value); }

uint32_t encodeConstant(double value, DataFormat format) {
  auto single = static_cast<float>(value);
  if (format == DataFormat::IeeeFp32) {
    return std::bit_cast<uint32_t>(single);
  }
  return floatToDl16(single);
}

} // namespace spyre::numerics
