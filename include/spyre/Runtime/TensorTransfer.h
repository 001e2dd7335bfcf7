//===- TensorTransfer.h - host tensors to device buffers and back ---------------------------===//
//
// One place for what every transfer needs besides the conversion: the threads of the device, pieces
// instead of a second copy of the tensor in host memory, and the padding the driver asks for.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Layout/Transfer.h"
#include "spyre/Runtime/Device.h"

#include <functional>

namespace spyre::runtime {

/// \p host into \p buffer in \p layout, and back. \p matchStride are the host strides the layout
/// was built with; those of \p host may differ. A transfer is a row of copies: other operations of
/// the device may run between them. Errors: E2008, E2009 (layout), E6105 (no buffer), E6203 (it is
/// too small), and whatever the device reports.
Status uploadTensor(const BufferRef &buffer, const layout::DeviceLayout &layout,
                    const std::vector<int64_t> &matchStride, const layout::HostTensorRef &host);
Status downloadTensor(const BufferRef &buffer, const layout::DeviceLayout &layout,
                      const std::vector<int64_t> &matchStride, const layout::HostTensorRef &host);

/// Single sticks of a tensor, by their numbers from its start, ascending: into \p data, one after
/// the other. \p size and \p matchStride as for fillTensor. Errors as above.
Status downloadSticks(const BufferRef &buffer, const layout::DeviceLayout &layout,
                      const std::vector<int64_t> &size, const std::vector<int64_t> &matchStride,
                      const std::vector<int64_t> &sticks, uint8_t *data);
/// Reads them, lets \p change work on them and writes them back.
Status changeSticks(const BufferRef &buffer, const layout::DeviceLayout &layout,
                    const std::vector<int64_t> &size, const std::vector<int64_t> &matchStride,
                    const std::vector<int64_t> &sticks,
                    const std::function<void(uint8_t *data)> &change);

/// A run of sticks of a tensor, by their number from its start, and what they get.
struct FillRun {
  int64_t firstStick = 0, sticks = 0;
  StickFill fill;
};
/// The runs are filled on the card: no bytes come from the host. \p size and \p matchStride are the
/// host's, \p layout was built with them. Errors as above.
Status fillTensor(const BufferRef &buffer, const layout::DeviceLayout &layout,
                  const std::vector<int64_t> &size, const std::vector<int64_t> &matchStride,
                  const std::vector<FillRun> &runs);

} // namespace spyre::runtime
