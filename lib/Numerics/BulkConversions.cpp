//===- BulkConversions.cpp - runs of host elements to the device and back, vectorised -------===//
#include "spyre/Base/TargetClones.h"
#include "spyre/Numerics/Formats.h"
#include "spyre/Numerics/Narrowing.h"
#include "spyre/Numerics/Ranges.h"

#include "LooseTypes.h"
#include "ScalarConversions.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace spyre::numerics {

static constexpr uint16_t kDl16One = 0x3E00;

/// Small enough to be in the nearest cache when the second loop reads it.
static constexpr int64_t kBlockElems = 256;

/// A block without \p rare elements takes the \p fast function, another the \p general one.
template <typename Rare, typename Fast, typename General>
static inline __attribute__((always_inline)) void
convertBlocks(const Half *__restrict in, Half *__restrict out, int64_t count, Rare rare, Fast fast,
              General general) {
  for (int64_t first = 0; first < count; first += kBlockElems) {
    int64_t elems = std::min(kBlockElems, count - first);
    uint16_t anyRare = 0;
    for (int64_t i = 0; i < elems; ++i) {
      anyRare |= rare(in[first + i]) ? uint16_t(1) : uint16_t(0);
    }
    if (anyRare == 0) {
      for (int64_t i = 0; i < elems; ++i) {
        out[first + i] = fast(in[first + i]);
      }
    } else {
      for (int64_t i = 0; i < elems; ++i) {
        out[first + i] = general(in[first + i]);
      }
    }
  }
}

SPYRE_TARGET_CLONES
static void halfToDl16(const Half *in, Half *out, int64_t count) {
  convertBlocks(
      in, out, count, [](uint16_t bits) { return detail::isSubnormalHalf(bits); },
      [](uint16_t bits) { return detail::dl16FromNormalHalf(bits); },
      [](uint16_t bits) { return detail::dl16OfHalf(detail::floatFromHalf(bits)); });
}

SPYRE_TARGET_CLONES
static void dl16ToHalf(const Half *in, Half *out, int64_t count) {
  convertBlocks(
      in, out, count, [](uint16_t bits) { return detail::isBelowNormalHalf(bits); },
      [](uint16_t bits) { return detail::normalHalfFromDl16(bits); },
      [](uint16_t bits) { return detail::halfFromFloat(detail::floatFromDl16(bits)); });
}

SPYRE_TARGET_CLONES
static void bfloat16ToDl16(const Half *__restrict in, Half *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = detail::dl16FromBfloat16(in[i]);
  }
}

SPYRE_TARGET_CLONES
static void dl16ToBfloat16(const Half *__restrict in, Half *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = detail::bfloat16FromDl16(in[i]);
  }
}

SPYRE_TARGET_CLONES
static void floatsToDl16OfHalves(const float *__restrict in, Half *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = detail::dl16OfHalf(in[i]);
  }
}

SPYRE_TARGET_CLONES
static void floatsToDl16OfBfloat16(const float *__restrict in, Half *__restrict out,
                                   int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = detail::dl16OfBfloat16(in[i]);
  }
}

SPYRE_TARGET_CLONES
static void boolToDl16(const Byte *__restrict in, Half *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = in[i] != 0 ? kDl16One : uint16_t(0);
  }
}

SPYRE_TARGET_CLONES
static void dl16ToBool(const Half *__restrict in, Byte *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = (in[i] & 0x7FFF) != 0 ? 1 : 0;
  }
}

SPYRE_TARGET_CLONES
static void int64ToInt32(const SignedLong *__restrict in, Word *__restrict out, int64_t count) {
  constexpr int64_t kLeast = std::numeric_limits<int32_t>::min();
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  for (int64_t i = 0; i < count; ++i) {
    const int64_t atLeast = in[i] < kLeast ? kLeast : in[i];
    out[i] = uint32_t(uint64_t(atLeast > kMost ? kMost : atLeast));
  }
}

SPYRE_TARGET_CLONES
static void int32ToInt64(const SignedWord *__restrict in, SignedLong *__restrict out,
                         int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = in[i];
  }
}

SPYRE_TARGET_CLONES
static void uint8ToInt32(const Byte *__restrict in, Word *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = in[i];
  }
}

SPYRE_TARGET_CLONES
static void int32ToUint8(const Word *__restrict in, Byte *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = uint8_t(in[i]);
  }
}

SPYRE_TARGET_CLONES
static int64_t countWide(const SignedLong *__restrict in, int64_t count) {
  constexpr uint64_t kHalfRange = uint64_t(1) << 31;
  uint64_t beyond = 0;
  for (int64_t i = 0; i < count; ++i) {
    beyond += (uint64_t(in[i]) + kHalfRange) >> 32 != 0 ? 1 : 0;
  }
  return int64_t(beyond);
}

int64_t countBeyondInt32(const int64_t *values, int64_t count) { return countWide(values, count); }

static void copyBytes(const void *in, void *out, int64_t bytes) {
  if (bytes > 0) {
    std::memcpy(out, in, size_t(bytes));
  }
}

void floatsToElements(HostType type, const float *values, uint16_t *elements, int64_t count) {
  SPYRE_CHECK(type == HostType::Float16 || type == HostType::Bfloat16,
              "only these types have 16 bits on the device and a limit of their own");
  if (type == HostType::Float16) {
    return floatsToDl16OfHalves(values, elements, count);
  }
  floatsToDl16OfBfloat16(values, elements, count);
}

uint16_t floatToElement(HostType type, float value) {
  uint16_t element = 0;
  floatsToElements(type, &value, &element, 1);
  return element;
}

void convertHostToDevice(HostType type, const void *host, void *device, int64_t count) {
  switch (type) {
  case HostType::Float16:
    return halfToDl16(static_cast<const Half *>(host), static_cast<Half *>(device), count);
  case HostType::Bfloat16:
    return bfloat16ToDl16(static_cast<const Half *>(host), static_cast<Half *>(device), count);
  case HostType::Bool:
    return boolToDl16(static_cast<const Byte *>(host), static_cast<Half *>(device), count);
  case HostType::Int64:
    return int64ToInt32(static_cast<const SignedLong *>(host), static_cast<Word *>(device), count);
  case HostType::Uint8:
    return uint8ToInt32(static_cast<const Byte *>(host), static_cast<Word *>(device), count);
  case HostType::Float32:
  case HostType::Int8:
  case HostType::Int16:
  case HostType::Int32:
  case HostType::Float8E4m3fn:
  case HostType::Float8E5m2fnuz:
    return copyBytes(host, device, count * hostTypeBytes(type));
  }
  SPYRE_CHECK(false, "every host type has a conversion");
}

void convertDeviceToHost(HostType type, const void *device, void *host, int64_t count) {
  switch (type) {
  case HostType::Float16:
    return dl16ToHalf(static_cast<const Half *>(device), static_cast<Half *>(host), count);
  case HostType::Bfloat16:
    return dl16ToBfloat16(static_cast<const Half *>(device), static_cast<Half *>(host), count);
  case HostType::Bool:
    return dl16ToBool(static_cast<const Half *>(device), static_cast<Byte *>(host), count);
  case HostType::Int64:
    return int32ToInt64(static_cast<const SignedWord *>(device), static_cast<SignedLong *>(host),
                        count);
  case HostType::Uint8:
    return int32ToUint8(static_cast<const Word *>(device), static_cast<Byte *>(host), count);
  case HostType::Float32:
  case HostType::Int8:
  case HostType::Int16:
  case HostType::Int32:
  case HostType::Float8E4m3fn:
  case HostType::Float8E5m2fnuz:
    return copyBytes(device, host, count * hostTypeBytes(type));
  }
  SPYRE_CHECK(false, "every host type has a conversion");
}

} // namespace spyre::numerics
