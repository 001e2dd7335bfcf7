//===- DataConversion.h - a transfer as explicit loop nests ("DCI") -------------------------===//
//
// The runtime's transfer engine takes loop nests, not layouts. Each nest copies and converts
//
//     dst[offsetDst + sum of i * strideDst] = convert(src[offsetSrc + sum of i * strideSrc])
//
// in elements of either side. A host dimension that ends inside a tile needs one more nest for the
// rest: r such dimensions give 2^r nests. Example: host [120] fp16 as device [2, 64] is 64 elements
// at (0, 0) and 56 at (64, 64). [spec: device-and-layouts 4.1 - 4.3]
//
// packToDevice (Transfer.h) moves the same elements without writing the nests down.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Layout/DeviceLayout.h"

#include <optional>

namespace spyre {
class ThreadPool;
}

namespace spyre::layout {

/// One loop nest; vectors are innermost first.
struct DataConversionStrideInfo {
  std::vector<int64_t> size;
  std::vector<int64_t> strideSrc;
  std::vector<int64_t> strideDst;
  int64_t offsetSrc = 0;
  int64_t offsetDst = 0;

  bool operator==(const DataConversionStrideInfo &) const = default;
};

struct DataConversionInfo {
  std::string name = "DCI-Tensor-0";
  bool isHostToSen = true;
  numerics::DataFormat formatSrc = numerics::DataFormat::Invalid;
  numerics::DataFormat formatDst = numerics::DataFormat::Invalid;
  /// Innermost first.
  std::vector<int64_t> inputShape;
  std::vector<int64_t> outputShape;
  std::vector<DataConversionStrideInfo> strides;
  /// The destination is zeroed first, so that padding is defined. Not for views, whose neighbours
  /// must survive.
  bool zeroFill = false;

  bool operator==(const DataConversionInfo &) const = default;
};

/// Host shape that the device storage was allocated with.
struct DeviceStorage {
  std::vector<int64_t> size;
  std::vector<int64_t> stride;
};

struct DataConversionRequest {
  bool hostToDevice = true;
  numerics::HostType hostType = numerics::HostType::Float16;
  std::vector<int64_t> size;
  /// Strides of the device tensor, in the units of the layout's strideMap.
  std::vector<int64_t> matchStride;
  /// Strides of the host memory actually read or written.
  std::vector<int64_t> hostStride;
  /// Element (0, ..., 0) in host memory, from the pointer given to runDataConversion.
  int64_t hostOffset = 0;
  /// Layout of the whole device storage; its format may be another than that of hostType (a cast).
  DeviceLayout layout;
  /// For a view: the storage it looks into, and its storage offset in host elements.
  std::optional<DeviceStorage> storage;
  int64_t deviceOffset = 0;
};

/// The format of a host type in host memory: IEEE_FP16 for float16.
numerics::DataFormat hostFormat(numerics::HostType type);

/// Errors: E2009 (the layout does not describe the tensor), E2013 (dimensions that the layout folds
/// are not dense in host memory), E2014 (the view is no box of the storage), E2016 (no conversion
/// between the types), E2019 (a tile size leaves a rest that nothing covers).
Expected<DataConversionInfo> makeDataConversion(const DataConversionRequest &request);

/// Executes \p info, on the threads of \p pool where the destination positions of a nest are
/// distinct. Errors, before anything is written: E2015 (malformed, or outside the given bytes),
/// E2016.
Status runDataConversion(const DataConversionInfo &info, const void *source, int64_t sourceBytes,
                         void *destination, int64_t destinationBytes, ThreadPool *pool = nullptr);

} // namespace spyre::layout
