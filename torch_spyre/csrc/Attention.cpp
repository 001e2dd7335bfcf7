//===- Attention.cpp - which attention torch chooses for spyre tensors ----------------------===//
//
// scaled_dot_product_attention asks the device. While a graph is captured for inference the answer
// is the one operation the compiler takes as a whole; its backward pass does not exist, so graphs
// that need one, and eager calls, get torch's own composition.
//===--------------------------------------------------------------------------------------------===//
#include "ATen/native/transformers/attention.h"

#include "ATen/SDPBackend.h"
#include "ATen/core/Tensor.h"
#include "ATen/core/grad_mode.h"
#include "ATen/native/DispatchStub.h"

namespace spyre::plugin {

namespace {

bool isCaptured(const at::Tensor &tensor) {
  return tensor.key_set().has(c10::DispatchKey::Python) ||
         tensor.key_set().has(c10::DispatchKey::Functionalize);
}

int64_t chooseAttention(const at::Tensor &query, const at::Tensor &key, const at::Tensor &value,
                        const std::optional<at::Tensor> &mask, double dropout, bool /*isCausal*/,
                        std::optional<double> /*scale*/, bool /*enableGqa*/) {
  const bool differentiates =
      at::GradMode::is_enabled() &&
      (query.requires_grad() || key.requires_grad() || value.requires_grad() ||
       (mask && mask->defined() && mask->requires_grad()));
  const bool isWhole = isCaptured(query) && !differentiates && dropout == 0 &&
                       (query.scalar_type() == c10::ScalarType::Half ||
                        query.scalar_type() == c10::ScalarType::BFloat16);
  return int64_t(isWhole ? at::SDPBackend::overrideable : at::SDPBackend::math);
}

} // namespace

} // namespace spyre::plugin

namespace at::native {

REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &spyre::plugin::chooseAttention)

} // namespace at::native
