//===- ElementConverter.h - conversion between any host and device format of a transfer -----===//
//
// Each host type has one native device format; float types may also be cast on the way, through
// float (fp32 host tensors to fp16 on the device). [spec: device-and-layouts 4.1]
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Numerics/Formats.h"

namespace spyre::layout::detail {

class ElementConverter {
public:
  /// Error: E2016 (no such pair).
  static Expected<ElementConverter> make(numerics::HostType host, numerics::DataFormat device,
                                         bool toDevice);
  /// From the formats of a DCI.
  static Expected<ElementConverter> make(numerics::DataFormat source,
                                         numerics::DataFormat destination, bool toDevice);

  int64_t sourceBytes() const { return toDevice ? hostBytes() : deviceBytes(); }
  int64_t destinationBytes() const { return toDevice ? deviceBytes() : hostBytes(); }
  /// \p count contiguous elements, at most kMaxRun.
  void convert(const void *source, void *destination, int64_t count) const;

  static constexpr int64_t kMaxRun = 128;

private:
  ElementConverter(numerics::HostType host, numerics::DataFormat device, bool toDevice)
      : host(host), device(device), toDevice(toDevice) {}

  int64_t hostBytes() const { return numerics::hostTypeBytes(host); }
  int64_t deviceBytes() const { return numerics::elementBytes(device); }

  numerics::HostType host;
  numerics::DataFormat device;
  bool toDevice;
};

} // namespace spyre::layout::detail
