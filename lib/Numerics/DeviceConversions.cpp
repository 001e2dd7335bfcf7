//===- DeviceConversions.cpp - runs of device elements to float and back, any storable format -===//
//
// One loop per format around the scalar functions, vectorised by the compiler. Formats of less than
// a byte go through a small buffer of bytes, so that rounding and packing are loops of their own.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/TargetClones.h"
#include "spyre/Numerics/Formats.h"

#include "LooseTypes.h"
#include "ScalarConversions.h"

#include <algorithm>
#include <cstring>

namespace spyre::numerics {

/// A multiple of the elements of any byte.
static constexpr int64_t kChunkElems = 512;

// A macro, not a template: template arguments would lose the attributes of the loose types.
#define SPYRE_CONVERSION_LOOP(name, In, Out, expression)                                           \
  SPYRE_TARGET_CLONES                                                                              \
  static void name(const In *__restrict in, Out *__restrict out, int64_t count) {                  \
    for (int64_t i = 0; i < count; ++i) {                                                          \
      auto value = in[i];                                                                          \
      out[i] = expression;                                                                         \
    }                                                                                              \
  }

SPYRE_CONVERSION_LOOP(halvesToFloats, Half, Single, detail::floatFromHalf(value))
SPYRE_CONVERSION_LOOP(bfloat16ToFloats, Half, Single, detail::floatFromBfloat16(value))
SPYRE_CONVERSION_LOOP(e4m3fnToFloats, Byte, Single, detail::floatFromE4m3fn(value))
SPYRE_CONVERSION_LOOP(e5m2fnuzToFloats, Byte, Single, detail::floatFromE5m2fnuz(value))
SPYRE_CONVERSION_LOOP(boolsToFloats, Byte, Single, value != 0 ? 1.0f : 0.0f)
SPYRE_CONVERSION_LOOP(bytesToFloats, SignedByte, Single, float(value))
SPYRE_CONVERSION_LOOP(shortsToFloats, SignedHalf, Single, float(value))
SPYRE_CONVERSION_LOOP(int32ToFloats, SignedWord, Single, float(value))
SPYRE_CONVERSION_LOOP(uint32ToFloats, Word, Single, float(value))
SPYRE_CONVERSION_LOOP(int64ToFloats, SignedLong, Single, float(value))

SPYRE_CONVERSION_LOOP(floatsToDl16, Single, Half, detail::dl16FromFloat(value))
SPYRE_CONVERSION_LOOP(floatsToHalves, Single, Half, detail::halfFromFloat(value))
SPYRE_CONVERSION_LOOP(floatsToBfloat16, Single, Half, detail::bfloat16FromFloat(value))
SPYRE_CONVERSION_LOOP(floatsToE4m3fn, Single, Byte, detail::e4m3fnFromFloat(value))
SPYRE_CONVERSION_LOOP(floatsToE5m2fnuz, Single, Byte, detail::e5m2fnuzFromFloat(value))
SPYRE_CONVERSION_LOOP(floatsToBools, Single, Byte, value != 0 ? 1 : 0)
SPYRE_CONVERSION_LOOP(floatsToInt2, Single, SignedByte,
                      detail::shortFromFloat(value, detail::kInt2))
SPYRE_CONVERSION_LOOP(floatsToUint2, Single, SignedByte,
                      detail::shortFromFloat(value, detail::kUint2))
SPYRE_CONVERSION_LOOP(floatsToInt4, Single, SignedByte,
                      detail::shortFromFloat(value, detail::kInt4))
SPYRE_CONVERSION_LOOP(floatsToInt8, Single, SignedByte,
                      detail::shortFromFloat(value, detail::kInt8))
SPYRE_CONVERSION_LOOP(floatsToInt16, Single, SignedHalf,
                      detail::shortFromFloat(value, detail::kInt16))
SPYRE_CONVERSION_LOOP(floatsToInt32, Single, Word, detail::wordFromFloat(value, detail::kInt32))
SPYRE_CONVERSION_LOOP(floatsToUint32, Single, Word, detail::wordFromFloat(value, detail::kUint32))
SPYRE_CONVERSION_LOOP(floatsToInt64, Single, SignedLong, detail::longFromFloat(value))

#undef SPYRE_CONVERSION_LOOP

static_assert(std::endian::native == std::endian::little, "the low half of a float comes first");

SPYRE_TARGET_CLONES
static void dl16ToFloats(const Half *__restrict in, Half *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    detail::FloatHalves halves = detail::floatHalvesFromDl16(in[i]);
    out[2 * i] = halves.low;
    out[2 * i + 1] = halves.high;
  }
}

template <int kBits>
static void pack(const int8_t *values, Byte *packed, int64_t count) {
  constexpr int64_t kPerByte = 8 / kBits;
  constexpr unsigned kMask = (1u << kBits) - 1;
  for (int64_t first = 0; first < count; first += kPerByte) {
    unsigned byte = 0;
    int64_t elems = std::min(kPerByte, count - first);
    for (int64_t i = 0; i < elems; ++i) {
      byte |= (unsigned(values[first + i]) & kMask) << (i * kBits);
    }
    packed[first / kPerByte] = uint8_t(byte);
  }
}

template <int kBits, bool kSigned>
static void unpack(const Byte *packed, int8_t *values, int64_t count) {
  constexpr int64_t kPerByte = 8 / kBits;
  constexpr int kMask = (1 << kBits) - 1, kSignBit = kSigned ? 1 << (kBits - 1) : 0;
  for (int64_t i = 0; i < count; ++i) {
    int bits = (packed[i / kPerByte] >> (i % kPerByte * kBits)) & kMask;
    // Flipping the sign bit and taking its weight off extends the sign.
    values[i] = int8_t((bits ^ kSignBit) - kSignBit);
  }
}

void packIntegers(DataFormat format, const int8_t *values, void *packed, int64_t count) {
  if (format == DataFormat::SenInt4) {
    return pack<4>(values, static_cast<Byte *>(packed), count);
  }
  SPYRE_CHECK(format == DataFormat::SenInt2 || format == DataFormat::SenUint2,
              "only SENINT2, SENINT4 and SENUINT2 are packed");
  pack<2>(values, static_cast<Byte *>(packed), count);
}

void unpackIntegers(DataFormat format, const void *packed, int8_t *values, int64_t count) {
  if (format == DataFormat::SenInt4) {
    return unpack<4, true>(static_cast<const Byte *>(packed), values, count);
  }
  if (format == DataFormat::SenInt2) {
    return unpack<2, true>(static_cast<const Byte *>(packed), values, count);
  }
  SPYRE_CHECK(format == DataFormat::SenUint2, "only SENINT2, SENINT4 and SENUINT2 are packed");
  unpack<2, false>(static_cast<const Byte *>(packed), values, count);
}

static int64_t bytesBefore(DataFormat format, int64_t elems) {
  constexpr int64_t kStickBytes = 128;
  return elems * kStickBytes / elemsPerStick(format);
}

static void packedToFloats(DataFormat format, const void *device, float *values, int64_t count) {
  int8_t chunk[kChunkElems];
  for (int64_t first = 0; first < count; first += kChunkElems) {
    int64_t elems = std::min(kChunkElems, count - first);
    unpackIntegers(format, static_cast<const Byte *>(device) + bytesBefore(format, first), chunk,
                   elems);
    bytesToFloats(chunk, values + first, elems);
  }
}

using RoundingLoop = void (*)(const Single *, SignedByte *, int64_t);

static void floatsToPacked(DataFormat format, const float *values, void *device, int64_t count,
                           RoundingLoop round) {
  int8_t chunk[kChunkElems];
  for (int64_t first = 0; first < count; first += kChunkElems) {
    int64_t elems = std::min(kChunkElems, count - first);
    round(values + first, chunk, elems);
    packIntegers(format, chunk, static_cast<Byte *>(device) + bytesBefore(format, first), elems);
  }
}

static void copyFloats(const void *in, void *out, int64_t count) {
  if (count > 0) {
    std::memcpy(out, in, size_t(count) * sizeof(float));
  }
}

void deviceToFloat(DataFormat format, const void *device, float *values, int64_t count) {
  switch (format) {
  case DataFormat::Sen169Fp16:
    return dl16ToFloats(static_cast<const Half *>(device), reinterpret_cast<Half *>(values), count);
  case DataFormat::IeeeFp32:
    return copyFloats(device, values, count);
  case DataFormat::IeeeFp16:
    return halvesToFloats(static_cast<const Half *>(device), values, count);
  case DataFormat::Bfloat16:
    return bfloat16ToFloats(static_cast<const Half *>(device), values, count);
  case DataFormat::Sen143Fp8:
    return e4m3fnToFloats(static_cast<const Byte *>(device), values, count);
  case DataFormat::Sen152Fp8:
    return e5m2fnuzToFloats(static_cast<const Byte *>(device), values, count);
  case DataFormat::Bool:
    return boolsToFloats(static_cast<const Byte *>(device), values, count);
  case DataFormat::SenInt2:
  case DataFormat::SenInt4:
  case DataFormat::SenUint2:
    return packedToFloats(format, device, values, count);
  case DataFormat::SenInt8:
    return bytesToFloats(static_cast<const SignedByte *>(device), values, count);
  case DataFormat::SenInt16:
    return shortsToFloats(static_cast<const SignedHalf *>(device), values, count);
  case DataFormat::IeeeInt32:
    return int32ToFloats(static_cast<const SignedWord *>(device), values, count);
  case DataFormat::SenUint32:
    return uint32ToFloats(static_cast<const Word *>(device), values, count);
  case DataFormat::IeeeInt64:
    return int64ToFloats(static_cast<const SignedLong *>(device), values, count);
  case DataFormat::Invalid:
  case DataFormat::Sen153Fp9:
  case DataFormat::SenInt24:
  case DataFormat::Sen18fFp24:
    break;
  }
  SPYRE_CHECK(false, "only formats with a stick width can be read");
}

void floatToDevice(DataFormat format, const float *values, void *device, int64_t count) {
  switch (format) {
  case DataFormat::Sen169Fp16:
    return floatsToDl16(values, static_cast<Half *>(device), count);
  case DataFormat::IeeeFp32:
    return copyFloats(values, device, count);
  case DataFormat::IeeeFp16:
    return floatsToHalves(values, static_cast<Half *>(device), count);
  case DataFormat::Bfloat16:
    return floatsToBfloat16(values, static_cast<Half *>(device), count);
  case DataFormat::Sen143Fp8:
    return floatsToE4m3fn(values, static_cast<Byte *>(device), count);
  case DataFormat::Sen152Fp8:
    return floatsToE5m2fnuz(values, static_cast<Byte *>(device), count);
  case DataFormat::Bool:
    return floatsToBools(values, static_cast<Byte *>(device), count);
  case DataFormat::SenInt2:
    return floatsToPacked(format, values, device, count, floatsToInt2);
  case DataFormat::SenInt4:
    return floatsToPacked(format, values, device, count, floatsToInt4);
  case DataFormat::SenUint2:
    return floatsToPacked(format, values, device, count, floatsToUint2);
  case DataFormat::SenInt8:
    return floatsToInt8(values, static_cast<SignedByte *>(device), count);
  case DataFormat::SenInt16:
    return floatsToInt16(values, static_cast<SignedHalf *>(device), count);
  case DataFormat::IeeeInt32:
    return floatsToInt32(values, static_cast<Word *>(device), count);
  case DataFormat::SenUint32:
    return floatsToUint32(values, static_cast<Word *>(device), count);
  case DataFormat::IeeeInt64:
    return floatsToInt64(values, static_cast<SignedLong *>(device), count);
  case DataFormat::Invalid:
  case DataFormat::Sen153Fp9:
  case DataFormat::SenInt24:
  case DataFormat::Sen18fFp24:
    break;
  }
  SPYRE_CHECK(false, "only formats with a stick width can be written");
}

} // namespace spyre::numerics
