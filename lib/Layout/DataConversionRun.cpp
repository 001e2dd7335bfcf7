//===- DataConversionRun.cpp - execute loop nests with format conversion --------------------===//
//
// Nests come from anywhere (a file, another process), so every position is checked against the
// given bytes before the first element moves. The innermost loop converts runs; the loops around it
// are one flat count of rows, which threads share.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"
#include "spyre/Base/ThreadPool.h"
#include "spyre/Layout/DataConversion.h"

#include "ElementConverter.h"
#include "StridedCopy.h"
#include "TransferPlan.h"

#include <algorithm>
#include <cstring>

namespace spyre::layout {

using detail::copyStrided;
using detail::ElementConverter;

/// One task: enough work to pay for handing it to a thread.
static constexpr int64_t kTaskElems = 32768;
/// No transfer has more elements than the device has bytes.
static constexpr int64_t kMaxElems = int64_t(1) << 47;
/// No element is wider.
static constexpr size_t kMaxElementBytes = 8;
static constexpr int64_t kZeroBlockBytes = 1 << 20;
static constexpr int64_t kStickBytes = 128;
/// How many rows ahead memory is asked for.
static constexpr int64_t kPrefetchRows = 8;

/// True when the nest's elements on one side lie in [0, bytes).
static bool staysInside(const std::vector<int64_t> &size, const std::vector<int64_t> &stride,
                        int64_t offset, int64_t elementBytes, int64_t bytes) {
  int64_t low = offset;
  int64_t high = offset;
  for (size_t i = 0; i < size.size(); ++i) {
    int64_t span = 0;
    int64_t &end = stride[i] < 0 ? low : high;
    if (__builtin_mul_overflow(size[i] - 1, stride[i], &span) ||
        __builtin_add_overflow(end, span, &end)) {
      return false;
    }
  }
  return low >= 0 && high < bytes / elementBytes;
}

static Status checkNest(const DataConversionInfo &info, size_t index,
                        const ElementConverter &converter, int64_t sourceBytes,
                        int64_t destinationBytes) {
  const DataConversionStrideInfo &nest = info.strides[index];
  int64_t count = 0;
  if (nest.size.size() != nest.strideSrc.size() || nest.size.size() != nest.strideDst.size() ||
      !checkedProduct(nest.size, count) || count > kMaxElems) {
    return error<2015>("loop nest {} of {} has {} sizes, {} source and {} destination strides, or "
                       "a size that is negative or too large; make it with makeDataConversion",
                       index, info.name, nest.size.size(), nest.strideSrc.size(),
                       nest.strideDst.size());
  }
  if (count > 0 && (!staysInside(nest.size, nest.strideSrc, nest.offsetSrc, converter.sourceBytes(),
                                 sourceBytes) ||
                    !staysInside(nest.size, nest.strideDst, nest.offsetDst,
                                 converter.destinationBytes(), destinationBytes))) {
    return error<2015>("loop nest {} of {} leaves its {} source or {} destination bytes; pass the "
                       "whole storage of both tensors",
                       index, info.name, sourceBytes, destinationBytes);
  }
  return Status::success();
}

namespace {

/// One nest without its loops of size 1.
class NestRunner {
public:
  NestRunner(const DataConversionStrideInfo &nest, const ElementConverter &converter,
             const void *source, void *destination)
      : converter(converter), source(static_cast<const char *>(source)),
        destination(static_cast<char *>(destination)), offsetSrc(nest.offsetSrc),
        offsetDst(nest.offsetDst) {
    for (size_t i = 0; i < nest.size.size(); ++i) {
      if (nest.size[i] != 1) {
        size.push_back(nest.size[i]);
        strideSrc.push_back(nest.strideSrc[i]);
        strideDst.push_back(nest.strideDst[i]);
        rows *= size.size() > 1 ? nest.size[i] : 1;
      }
    }
    if (size.empty()) {
      size = strideSrc = strideDst = {1};
    }
    rows = size[0] == 0 ? 0 : rows;
  }

  void run(ThreadPool *pool) const {
    int64_t rowsPerTask = rows == 0 ? 1 : ceilDiv(kTaskElems, size[0]);
    if (pool == nullptr || rows <= rowsPerTask ||
        !detail::reachesDistinctElements(size, strideDst)) {
      runRows(0, rows);
      return;
    }
    pool->parallelFor(size_t(ceilDiv(rows, rowsPerTask)), [&](size_t task) {
      int64_t first = int64_t(task) * rowsPerTask;
      runRows(first, std::min(rows, first + rowsPerTask));
    });
  }

private:
  void runRows(int64_t first, int64_t last) const {
    std::vector<int64_t> at(size.size(), 0);
    int64_t from = offsetSrc;
    int64_t to = offsetDst;
    int64_t rest = first;
    for (size_t i = 1; i < size.size() && rest > 0; ++i) {
      at[i] = rest % size[i];
      rest /= size[i];
      from += at[i] * strideSrc[i];
      to += at[i] * strideDst[i];
    }
    for (int64_t row = first; row < last; ++row) {
      if (size.size() > 1 && at[1] + kPrefetchRows < size[1]) {
        prefetch(from + kPrefetchRows * strideSrc[1], to + kPrefetchRows * strideDst[1]);
      }
      convertRow(from, to);
      for (size_t i = 1; i < size.size(); ++i) {
        from += strideSrc[i];
        to += strideDst[i];
        if (++at[i] < size[i]) {
          break;
        }
        from -= size[i] * strideSrc[i];
        to -= size[i] * strideDst[i];
        at[i] = 0;
      }
    }
  }

  /// Rows lie far apart in host memory, where the hardware does not foresee them.
  void prefetch(int64_t from, int64_t to) const {
    const char *read = source + from * converter.sourceBytes();
    __builtin_prefetch(read);
    __builtin_prefetch(read + kStickBytes / 2);
    __builtin_prefetch(destination + to * converter.destinationBytes(), 1);
  }

  void convertRow(int64_t from, int64_t to) const {
    for (int64_t done = 0; done < size[0]; done += ElementConverter::kMaxRun) {
      int64_t count = std::min(ElementConverter::kMaxRun, size[0] - done);
      convertRun(source + (from + done * strideSrc[0]) * converter.sourceBytes(),
                 destination + (to + done * strideDst[0]) * converter.destinationBytes(), count);
    }
  }

  void convertRun(const char *from, char *to, int64_t count) const {
    alignas(64) char gathered[ElementConverter::kMaxRun * kMaxElementBytes];
    alignas(64) char converted[ElementConverter::kMaxRun * kMaxElementBytes];
    if (strideSrc[0] != 1 && count > 1) {
      copyStrided(converter.sourceBytes(), from, strideSrc[0], gathered, 1, count);
      from = gathered;
    }
    if (strideDst[0] == 1 || count == 1) {
      converter.convert(from, to, count);
      return;
    }
    converter.convert(from, converted, count);
    copyStrided(converter.destinationBytes(), converted, 1, to, strideDst[0], count);
  }

  const ElementConverter &converter;
  const char *source;
  char *destination;
  int64_t offsetSrc;
  int64_t offsetDst;
  /// Innermost first; rows counts all but the first.
  std::vector<int64_t> size, strideSrc, strideDst;
  int64_t rows = 1;
};

} // namespace

/// Large areas are shared among the threads of \p pool, which may be null.
static void zeroBytes(void *data, int64_t bytes, ThreadPool *pool) {
  auto *base = static_cast<char *>(data);
  if (pool == nullptr || bytes <= kZeroBlockBytes) {
    if (bytes > 0) {
      std::memset(base, 0, size_t(bytes));
    }
    return;
  }
  pool->parallelFor(size_t(ceilDiv(bytes, kZeroBlockBytes)), [&](size_t block) {
    int64_t first = int64_t(block) * kZeroBlockBytes;
    std::memset(base + first, 0, size_t(std::min(kZeroBlockBytes, bytes - first)));
  });
}

Status runDataConversion(const DataConversionInfo &info, const void *source, int64_t sourceBytes,
                         void *destination, int64_t destinationBytes, ThreadPool *pool) {
  SPYRE_ASSIGN_OR_RETURN(ElementConverter converter,
                         ElementConverter::make(info.formatSrc, info.formatDst, info.isHostToSen));
  for (size_t i = 0; i < info.strides.size(); ++i) {
    SPYRE_RETURN_IF_ERROR(checkNest(info, i, converter, sourceBytes, destinationBytes));
  }
  if (info.zeroFill) {
    zeroBytes(destination, destinationBytes, pool);
  }
  for (const DataConversionStrideInfo &nest : info.strides) {
    NestRunner(nest, converter, source, destination).run(pool);
  }
  return Status::success();
}

} // namespace spyre::layout
