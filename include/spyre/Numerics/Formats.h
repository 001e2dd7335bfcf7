//===- Formats.h - element formats of host and device ---------------------------------------===//
//
// DataFormat is the device's enumeration, with the numbers other software uses. HostType is what a
// host tensor holds; each has one device format [spec: device-and-layouts 2.2, 2.3].
//
// DLFloat16 (SEN169_FP16): sign, 6 exponent bits (bias 31), 9 fraction bits. No subnormals: the
// lowest binade holds zero and normal numbers. 0x7FFF/0xFFFF is the one NaN symbol. Rounding is to
// nearest, ties away from zero. Overflow saturates to 0x7FFE (docs/adr/0004).
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <cstdint>
#include <string>

namespace spyre::numerics {

enum class DataFormat : uint8_t {
  Sen169Fp16 = 0,
  IeeeFp32 = 1,
  Invalid = 2,
  Sen143Fp8 = 3,
  Sen152Fp8 = 4,
  Sen153Fp9 = 5,
  SenInt2 = 6,
  SenInt4 = 7,
  SenInt8 = 8,
  SenInt16 = 9,
  SenInt24 = 10,
  IeeeInt64 = 11,
  IeeeInt32 = 12,
  SenUint32 = 13,
  SenUint2 = 14,
  IeeeFp16 = 15,
  Bool = 16,
  Bfloat16 = 17,
  Sen18fFp24 = 18,
};

/// "SEN169_FP16" and back. Unknown names: E2001.
const char *formatName(DataFormat format);
Expected<DataFormat> parseFormat(const std::string &name);
/// 0 for formats without stick geometry.
int64_t elemsPerStick(DataFormat format);
/// Bytes of one element in a stick; only for formats of whole bytes, else 0.
int64_t elementBytes(DataFormat format);

/// Element types of host tensors.
enum class HostType : uint8_t {
  Float16,
  Bfloat16,
  Float32,
  Bool,
  Int8,
  Int16,
  Int32,
  Int64,
  Float8E4m3fn,
  Float8E5m2fnuz,
  Uint8,
};

/// torch's spelling: "float16", "bool", "float8_e4m3fn". Unknown names: E2002 with the list.
const char *hostTypeName(HostType type);
Expected<HostType> parseHostType(const std::string &name);
int64_t hostTypeBytes(HostType type);
/// Format of the type on the device: Float16, Bfloat16 and Bool live as Sen169Fp16, Int64 and Uint8
/// as IeeeInt32.
DataFormat deviceFormat(HostType type);

/// float -> DLFloat16. NaN -> 0x7FFF (sign kept); overflow and infinity saturate to 0x7FFE.
uint16_t floatToDl16(float value);
float dl16ToFloat(uint16_t bits);
uint16_t floatToHalf(float value);
float halfToFloat(uint16_t bits);
uint16_t floatToBfloat16(float value);
float bfloat16ToFloat(uint16_t bits);

/// The bits of Sen143Fp8 and Sen152Fp8. To nearest even; overflow and infinity saturate to the
/// largest number, 448 and 57344. e4m3fn keeps the signs of NaN and zero, e5m2fnuz has one NaN and
/// one zero.
uint8_t floatToE4m3fn(float value);
float e4m3fnToFloat(uint8_t bits);
uint8_t floatToE5m2fnuz(float value);
float e5m2fnuzToFloat(uint8_t bits);

/// Nearest integer, ties to even, saturating; NaN gives 0.
int8_t floatToInt2(float value);
uint8_t floatToUint2(float value);
int8_t floatToInt4(float value);
int8_t floatToInt8(float value);
int16_t floatToInt16(float value);
int32_t floatToInt32(float value);
uint32_t floatToUint32(float value);
int64_t floatToInt64(float value);

/// Constant for a kernel: raw bits for IeeeFp32, DLFloat16 bits for every other format.
uint32_t encodeConstant(double value, DataFormat format);

/// n host elements (contiguous) to n device elements (contiguous) and back, in the formats of
/// \p type. Int64 becomes the nearest number of 32 bits; Bool becomes 1.0/0.0, and any non-zero
/// reads as true.
void convertHostToDevice(HostType type, const void *host, void *device, int64_t count);
void convertDeviceToHost(HostType type, const void *device, void *host, int64_t count);

/// n elements of SenInt2, SenUint2 or SenInt4, one per byte, to the packed form and back. The first
/// element is in the low bits of its byte. Packing keeps the low bits of each value and clears the
/// rest of the last byte; unpacking extends the sign.
void packIntegers(DataFormat format, const int8_t *values, void *packed, int64_t count);
void unpackIntegers(DataFormat format, const void *packed, int8_t *values, int64_t count);

/// n device elements to float and back, for every format with a stick width. Integers and fp8 by
/// the functions above, packed below a byte; Bool is 1.0/0.0, and any non-zero writes 1.
void deviceToFloat(DataFormat format, const void *device, float *values, int64_t count);
void floatToDevice(DataFormat format, const float *values, void *device, int64_t count);

} // namespace spyre::numerics
