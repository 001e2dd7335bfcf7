//===- TensorTransfer.cpp - host tensor <-> device buffer -----------------------------------===//
//
// The conversion works on host memory (Layout); this file stages the device form of the tensor and
// moves it in one copy.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Runtime/Executable.h"

#include "fmt/ranges.h"

#include <new>

namespace spyre::runtime {

namespace {

/// Device form of a tensor in host memory. Not zeroed: both directions fill all of it.
using Staging = std::unique_ptr<char[]>;

Expected<Staging> makeStaging(uint64_t bytes) {
  Staging staging(new (std::nothrow) char[bytes]);
  if (!staging) {
    return error<6107>("no host memory for the {} bytes of a tensor in device layout; free host "
                       "memory or move the tensor in parts",
                       bytes);
  }
  return staging;
}

Status checkTensor(const BufferRef &buffer, const spec::TensorDesc &desc,
                   const layout::HostTensorRef &host) {
  SPYRE_RETURN_IF_ERROR(desc.layout.verify());
  if (!buffer) {
    return error<6105>("tensor '{}': the buffer handle is empty; allocate it first", desc.name);
  }
  if (buffer->bytes() < uint64_t(desc.layout.bytes())) {
    return error<6203>("tensor '{}' needs {} bytes on the device but its buffer has {}; allocate "
                       "layout.bytes()",
                       desc.name, desc.layout.bytes(), buffer->bytes());
  }
  if (host.type != desc.dtype || host.size != desc.size) {
    return error<6203>("tensor '{}' is {} [{}] but the host tensor is {} [{}]; convert it first",
                       desc.name, numerics::hostTypeName(desc.dtype), fmt::join(desc.size, ", "),
                       numerics::hostTypeName(host.type), fmt::join(host.size, ", "));
  }
  if (host.stride.size() != host.size.size()) {
    return error<6203>("tensor '{}' has {} dimensions but the host tensor gives {} strides; pass "
                       "one stride per dimension",
                       desc.name, host.size.size(), host.stride.size());
  }
  return Status::success();
}

} // namespace

Status uploadTensor(const BufferRef &buffer, const spec::TensorDesc &desc,
                    const layout::HostTensorRef &host) {
  SPYRE_RETURN_IF_ERROR(checkTensor(buffer, desc, host));
  const uint64_t bytes = uint64_t(desc.layout.bytes());
  if (bytes == 0) {
    return Status::success();
  }
  SPYRE_ASSIGN_OR_RETURN(Staging staging, makeStaging(bytes));
  SPYRE_RETURN_IF_ERROR(layout::packToDevice(host, desc.stride, desc.layout, staging.get()));
  return buffer->device().copyToDevice(buffer, 0, staging.get(), bytes);
}

Status downloadTensor(const BufferRef &buffer, const spec::TensorDesc &desc,
                      const layout::HostTensorRef &host) {
  SPYRE_RETURN_IF_ERROR(checkTensor(buffer, desc, host));
  const uint64_t bytes = uint64_t(desc.layout.bytes());
  if (bytes == 0) {
    return Status::success();
  }
  SPYRE_ASSIGN_OR_RETURN(Staging staging, makeStaging(bytes));
  SPYRE_RETURN_IF_ERROR(buffer->device().copyToHost(buffer, 0, staging.get(), bytes));
  return layout::unpackFromDevice(staging.get(), desc.layout, desc.stride, host);
}

} // namespace spyre::runtime
