//===- LooseTypes.h - element types for memory of unknown alignment and type ----------------===//
//
// Host memory may start at any byte (a mapped file, a field of a record), and its type is the
// caller's: these spellings allow both.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>

namespace spyre::numerics {

using Byte = uint8_t __attribute__((may_alias));
using SignedByte = int8_t __attribute__((may_alias));
using Half = uint16_t __attribute__((may_alias, aligned(1)));
using SignedHalf = int16_t __attribute__((may_alias, aligned(1)));
using Word = uint32_t __attribute__((may_alias, aligned(1)));
using SignedWord = int32_t __attribute__((may_alias, aligned(1)));
using SignedLong = int64_t __attribute__((may_alias, aligned(1)));
using Single = float __attribute__((may_alias, aligned(1)));

} // namespace spyre::numerics
