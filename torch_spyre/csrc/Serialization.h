//===- Serialization.h - storages as host bytes: torch.save, torch.load, deepcopy -----------===//
//
// What a file holds of a spyre storage are the values a CPU tensor would hold, one after the other,
// then zeros up to the size torch expects: any torch can read it with map_location="cpu". How the
// elements lay on the device travels beside the tensor, as a key of its metadata that other devices
// ignore.
//
// A storage is read before its tensor. Until the tensor tells type and shape the storage waits with
// its host bytes, without device memory. See docs/adr/0038-files-and-random-numbers.md.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "ATen/core/Tensor.h"
#include "Memory.h"

namespace spyre::plugin {

/// Host values of the whole storage, as bytes of a CPU storage of the same size. Fails (E6550) when
/// the storage has no type.
c10::Storage hostStorageOf(const c10::Storage &storage);
/// Writes them into a CPU storage that is large enough (E6550).
void copyToHostStorage(const c10::Storage &storage, const c10::Storage &host);
/// Same bits, same layout.
c10::Storage cloneStorage(const c10::Storage &storage);

/// Type and geometry of a waiting storage, as its first tensor has them.
void chooseGeometry(const at::Tensor &tensor);
/// Sends the bytes of a waiting storage that \p tensor describes completely: nothing is missing.
void sendIfWhole(const at::Tensor &tensor);
/// Sends the bytes of a waiting storage to the device.
void sendWaiting(const at::Tensor &tensor);

/// The storage of \p tensor lies in \p geometry from now on; values and views stay.
void moveToGeometry(const at::Tensor &tensor, const StorageGeometry &geometry);

/// Layouts become part of torch's tensor metadata; called once, at import.
void registerSerialization();

} // namespace spyre::plugin
