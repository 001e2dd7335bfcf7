//===- DeviceLayout.h - how a host tensor lies in sticks on the device ----------------------===//
//
// Device memory of a tensor is row-major over deviceSize; the last device dimension is the stick
// (always elemsPerStick long, padded). strideMap[j] says how far, in host elements, one step along
// device dimension j moves:
//
//     hostOffset = sum over j of coordinate[j] * strideMap[j]   (entries > 0)
//
// -1 means "no host counterpart" (synthetic, fully padded, or a host dimension of size 1), 0 means
// expansion. Example: host [512, 240] fp16, row-major:
//
//     deviceSize [4, 512, 64], strideMap [64, 240, 1]: element (r, c) lies in stick
//     (c / 64) * 512 + r, lane c % 64; lanes 48..63 of the last stick column are padding.
//
// In words: the last dimension of dimOrder is cut into sticks, the first one lies next to the stick
// (consecutive sticks are consecutive rows), the tile index comes just outside, the others stay
// outermost in order. A trailing -1 in dimOrder makes a sparse layout: one element per stick.
// [spec: device-and-layouts 3]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Numerics/Formats.h"

#include <cstdint>
#include <string>
#include <vector>

namespace spyre::layout {

enum class ElementArrangement : uint8_t { Standard = 0, Dl16ToFp32 = 1, Qfp8Ch = 2, Exx2 = 3 };

/// "STANDARD", "DL16_TO_FP32", "QFP8CH", "EXX2".
const char *arrangementName(ElementArrangement arrangement);

/// Highest host rank the default construction accepts.
constexpr int64_t kMaxRank = 8;

struct DeviceLayout {
  std::vector<int64_t> deviceSize;
  std::vector<int64_t> strideMap;
  numerics::DataFormat format = numerics::DataFormat::Invalid;
  ElementArrangement arrangement = ElementArrangement::Standard;

  bool operator==(const DeviceLayout &) const = default;

  int64_t elemsPerStick() const { return numerics::elemsPerStick(format); }
  /// 128 x the number of sticks; 0 when an outer extent is 0.
  int64_t bytes() const;
  int64_t sticks() const;
  /// "SpyreTensorLayout(device_size=[..], stride_map =[..], device_dtype=DataFormats.SEN169_FP16)".
  std::string toString() const;
  size_t hash() const;

  /// "(3, [4, 512, 64], [64, 256, 1], DataFormats.SEN169_FP16, ElementArrangement.STANDARD)": the
  /// state that is kept in files.
  std::string toTuple() const;
  /// Reads versions 1 to 3, without judging the layout (see verify). Errors: E2018 (no such tuple),
  /// E2020 (another version), E2001 (unknown format name).
  static Expected<DeviceLayout> fromTuple(const std::string &text);

  DeviceLayout withElementArrangement(ElementArrangement arrangement) const;
  /// 0..rank-1: the stick is the last host dimension, whatever the strides.
  static std::vector<int64_t> genericStickDimOrder(int64_t rank);
  /// Refuses what software with the older fixed-rank construction cannot read: rank above 6, above
  /// 5 if sparse. Error: E2003.
  static Status checkCompatRank(int64_t rank, bool sparse);

  /// Layout of a host tensor. \p dimOrder is a permutation of the host dimensions whose last entry
  /// is the stick, or one followed by -1 (sparse). Errors: E2003 (rank), E2004 (dimOrder), E2005
  /// (no stick geometry for the type), E2006 (negative or overflowing size).
  static Expected<DeviceLayout> make(const std::vector<int64_t> &hostSize,
                                     const std::vector<int64_t> &hostStride,
                                     numerics::HostType type, const std::vector<int64_t> &dimOrder);
  /// Row-major host strides, dimOrder 0..n-1.
  static Expected<DeviceLayout> makeDefault(const std::vector<int64_t> &hostSize,
                                            numerics::HostType type);
  /// The dimOrder that make() would need to give this layout for that host tensor; E2007 when there
  /// is none (an expert layout).
  Expected<std::vector<int64_t>> recoverDimOrder(const std::vector<int64_t> &hostSize,
                                                 const std::vector<int64_t> &hostStride) const;
  /// Structural soundness: equal lengths, last size = elems per stick, no negative size, bytes
  /// below 2^47. Error: E2008.
  Status verify() const;
};

} // namespace spyre::layout
