//===- BulkConversions.cpp - runs of host elements to the device and back, vectorised -------===//
#include "spyre/Base/TargetClones.h"
#include "spyre/Numerics/Formats.h"

#include "LooseTypes.h"
#include "ScalarConversions.h"

#include <cstring>

namespace spyre::numerics {

static constexpr uint16_t kDl16One = 0x3E00;

SPYRE_TARGET_CLONES
static void halfToDl16(const Half *__restrict in, Half *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = detail::dl16FromFloat(detail::floatFromHalf(in[i]));
  }
}

SPYRE_TARGET_CLONES
static void dl16ToHalf(const Half *__restrict in, Half *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = detail::halfFromFloat(detail::floatFromDl16(in[i]));
  }
}

SPYRE_TARGET_CLONES
static void bfloat16ToDl16(const Half *__restrict in, Half *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = detail::dl16FromFloat(detail::floatFromBfloat16(in[i]));
  }
}

SPYRE_TARGET_CLONES
static void dl16ToBfloat16(const Half *__restrict in, Half *__restrict out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = detail::bfloat16FromFloat(detail::floatFromDl16(in[i]));
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
  for (int64_t i = 0; i < count; ++i) {
    out[i] = uint32_t(uint64_t(in[i]));
  }
}

SPYRE_TARGET_CLONES
static void int32ToInt64(const SignedWord *__restrict in, SignedLong *__restrict out,
                         int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    out[i] = in[i];
  }
}

static void copyBytes(const void *in, void *out, int64_t bytes) {
  if (bytes > 0) {
    std::memcpy(out, in, size_t(bytes));
  }
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
