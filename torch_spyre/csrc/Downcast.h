//===- Downcast.h - int64 values that the device cannot hold ---------------------------------===//
//
// Integers on the device have 32 bits. Every upload stores the nearest of them; a value that this
// changes is reported.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include "ATen/core/Tensor.h"

#include <functional>
#include <string>

namespace spyre::plugin {

/// Whether such values get a warning: once per process, or each time under
/// torch.set_warn_always(True).
bool downcastWarning();
void setDowncastWarning(bool enabled);
/// Whether such values are an error (E6130) instead.
void setDowncastCheck(bool enabled);
/// Shows a warning to the user.
void setDowncastHook(std::function<void(const std::string &text)> hook);

/// Reports values that 32 bits cannot hold. \p dense has the elements of \p host in any order
/// without gaps; other types than int64 pass.
Status checkDowncast(const at::Tensor &dense, const at::Tensor &host);

} // namespace spyre::plugin
