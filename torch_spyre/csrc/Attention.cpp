//===- Attention.cpp - scaled_dot_product_attention on spyre tensors ------------------------===//
//
// torch asks the device which form it wants. Without gradients that is the one operation the
// compiler takes as a whole, captured or eager; its backward pass does not exist, so calls that
// need one are composed of operations that have one. Torch's own composition computes half in fp32,
// which the device's matmuls do not take; ours stays in half.
//===--------------------------------------------------------------------------------------------===//
#include "ATen/native/transformers/attention.h"

#include "ATen/SDPBackend.h"
#include "ATen/core/Tensor.h"
#include "ATen/core/grad_mode.h"
#include "ATen/native/DispatchStub.h"
#include "ATen/ops/_safe_softmax.h"
#include "ATen/ops/_scaled_dot_product_attention_math_native.h"
#include "ATen/ops/dropout.h"
#include "ATen/ops/full.h"
#include "ATen/ops/logical_not.h"
#include "ATen/ops/matmul.h"
#include "ATen/ops/ones.h"
#include "ATen/ops/scalar_tensor.h"
#include "ATen/ops/triu.h"
#include "ATen/ops/where.h"
#include "Copy.h"
#include "Eager.h"
#include "Memory.h"
#include "torch/library.h"

#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

namespace spyre::plugin {

namespace {

int64_t chooseAttention(const at::Tensor &query, const at::Tensor &key, const at::Tensor &value,
                        const std::optional<at::Tensor> &mask, double dropout, bool /*isCausal*/,
                        std::optional<double> /*scale*/, bool /*enableGqa*/) {
  const bool differentiates =
      at::GradMode::is_enabled() &&
      (query.requires_grad() || key.requires_grad() || value.requires_grad() ||
       (mask && mask->defined() && mask->requires_grad()));
  const bool isWhole = !differentiates && dropout == 0 &&
                       (query.scalar_type() == c10::ScalarType::Half ||
                        query.scalar_type() == c10::ScalarType::BFloat16);
  return int64_t(isWhole ? at::SDPBackend::overrideable : at::SDPBackend::math);
}

/// What is added to scores so that no row sees later columns; equal ones are kept until a reset.
at::Tensor causalMask(const at::Tensor &query, const at::Tensor &key) {
  constexpr size_t kKept = 64;
  using Kind = std::tuple<int64_t, int64_t, c10::ScalarType, c10::DeviceIndex>;
  static std::mutex mutex;
  static auto *kept = new std::map<Kind, at::Tensor>();
  const Kind kind(query.size(-2), key.size(-2), query.scalar_type(), query.device().index());
  std::lock_guard<std::mutex> lock(mutex);
  if (auto found = kept->find(kind); found != kept->end() && !lostMemory({found->second})) {
    return found->second;
  }
  if (kept->size() >= kKept) {
    kept->clear();
  }
  const at::Tensor host =
      at::triu(at::full({query.size(-2), key.size(-2)}, -std::numeric_limits<double>::infinity(),
                        at::TensorOptions(query.scalar_type())),
               1);
  at::Tensor mask = makeDefaultTensor(host.sizes(), host.scalar_type(), query.device());
  copyTensor(host, mask);
  return kept->insert_or_assign(kind, mask).first->second;
}

bool isCaptured(const at::Tensor &tensor) {
  return tensor.key_set().has(c10::DispatchKey::Python) ||
         tensor.key_set().has(c10::DispatchKey::Functionalize);
}

/// Heads of keys and values repeated for groups of query heads.
at::Tensor repeatHeads(const at::Tensor &x, int64_t heads) {
  if (x.dim() < 3 || x.size(-3) == heads) {
    return x;
  }
  std::vector<int64_t> joined = x.sizes().vec(), grouped = joined;
  const size_t dim = joined.size() - 3;
  const int64_t own = joined[dim];
  TORCH_CHECK(own > 0 && heads % own == 0, "attention: ", heads, " query heads for ", own,
              " key heads");
  grouped.insert(grouped.begin() + int64_t(dim) + 1, heads / own);
  joined[dim] = heads;
  return x.unsqueeze(int64_t(dim) + 1).expand(grouped).reshape(joined);
}

/// 0 where the mask is true, -inf elsewhere.
at::Tensor addedMask(const at::Tensor &mask, const at::TensorOptions &options) {
  const at::Tensor hidden = at::scalar_tensor(-std::numeric_limits<double>::infinity(), options);
  return at::where(mask, at::scalar_tensor(0.0, options), hidden);
}

/// torch's own composition for captured halves, whose sizes may be symbols, without its detour over
/// fp32. torch has a setting that leaves the detour out, but for all threads.
std::tuple<at::Tensor, at::Tensor> capturedHalves(const at::Tensor &query, const at::Tensor &key,
                                                  const at::Tensor &value,
                                                  std::optional<at::Tensor> mask, double dropout,
                                                  bool isCausal, std::optional<double> scale,
                                                  bool enableGqa) {
  TORCH_CHECK(!(isCausal && mask && mask->defined()),
              "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
              "is_causal=True");
  const bool isNegative = scale && *scale < 0;
  const c10::SymFloat root = (scale ? c10::SymFloat(std::abs(*scale))
                                    : c10::SymFloat(1.0) / c10::SymFloat(query.sym_size(-1)).sqrt())
                                 .sqrt();
  const at::Tensor scaled = query.mul(at::Scalar(isNegative ? c10::SymFloat(0.0) - root : root));
  if (isCausal) {
    const at::Tensor ones = at::ones_symint({query.sym_size(-2), key.sym_size(-2)},
                                            query.options().dtype(c10::ScalarType::Bool));
    mask = addedMask(ones.tril(), query.options());
  } else if (mask && mask->defined() && mask->scalar_type() == c10::ScalarType::Bool) {
    mask = addedMask(*mask, query.options());
  }
  at::Tensor keys = key, values = value;
  if (enableGqa) {
    keys = key.repeat_interleave_symint(query.sym_size(-3) / key.sym_size(-3), -3);
    values = value.repeat_interleave_symint(query.sym_size(-3) / value.sym_size(-3), -3);
  }
  at::Tensor scores = at::matmul(scaled, keys.transpose(-2, -1).mul(at::Scalar(root)));
  if (mask && mask->defined()) {
    // A mask of fp32 beside halves is legal; the weights are halves again.
    scores = scores.add(*mask).to(query.scalar_type());
  }
  at::Tensor weights = at::_safe_softmax(scores, -1);
  if (dropout > 0) {
    weights = at::dropout(weights, dropout, /*train=*/true);
  }
  return {at::matmul(weights, values), weights};
}

/// softmax(q kT * scale + mask) v, of operations that can be differentiated.
std::tuple<at::Tensor, at::Tensor> composedAttention(const at::Tensor &query, const at::Tensor &key,
                                                     const at::Tensor &value,
                                                     const std::optional<at::Tensor> &mask,
                                                     double dropout, bool isCausal,
                                                     const std::optional<at::Tensor> &dropoutMask,
                                                     std::optional<double> scale, bool enableGqa) {
  const bool hasDropoutMask = dropoutMask && dropoutMask->defined();
  const bool isHalf = query.scalar_type() == c10::ScalarType::Half ||
                      query.scalar_type() == c10::ScalarType::BFloat16;
  if (isCaptured(query) && isHalf && !hasDropoutMask) {
    return capturedHalves(query, key, value, mask, dropout, isCausal, scale, enableGqa);
  }
  if (isCaptured(query) || hasDropoutMask) {
    return at::native::_scaled_dot_product_attention_math(query, key, value, mask, dropout,
                                                          isCausal, dropoutMask, scale, enableGqa);
  }
  const double wanted = scale.value_or(1.0 / std::sqrt(double(query.size(-1))));
  const double factor = std::sqrt(std::abs(wanted));
  const int64_t heads = query.dim() > 2 ? query.size(-3) : 1;
  const at::Tensor keys = enableGqa ? repeatHeads(key, heads) : key;
  const at::Tensor values = enableGqa ? repeatHeads(value, heads) : value;
  at::Tensor scores =
      at::matmul(query.mul(std::copysign(factor, wanted)), keys.mul(factor).transpose(-2, -1));
  const bool hasMask = mask && mask->defined();
  TORCH_CHECK(!(isCausal && hasMask), "_scaled_dot_product_attention: Explicit attn_mask should "
                                      "not be set when is_causal=True");
  if (isCausal) {
    scores = scores.add(causalMask(query, key));
  } else if (hasMask && mask->scalar_type() == c10::ScalarType::Bool) {
    scores = scores.masked_fill(mask->logical_not(), -std::numeric_limits<double>::infinity());
  } else if (hasMask) {
    scores = scores.add(*mask).to(query.scalar_type());
  }
  at::Tensor weights = at::_safe_softmax(scores, -1);
  if (dropout > 0) {
    weights = at::dropout(weights, dropout, /*train=*/true);
  }
  return {at::matmul(weights, values), weights};
}

/// Only the output is computed: what else torch lists is for a backward pass there is none of.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, c10::SymInt, c10::SymInt, at::Tensor,
           at::Tensor, at::Tensor>
attention(const at::Tensor &query, const at::Tensor &key, const at::Tensor &value,
          const std::optional<at::Tensor> &bias, double dropout, bool isCausal,
          bool /*returnDebugMask*/, std::optional<double> scale) {
  TORCH_CHECK(dropout == 0, "attention with dropout is not supported on spyre; set dropout_p=0");
  const bool hasBias = bias && bias->defined();
  const bool needsMask = isCausal && !hasBias;
  const at::Tensor mask = hasBias ? *bias : needsMask ? causalMask(query, key) : at::Tensor();
  static const c10::OperatorHandle whole =
      c10::Dispatcher::singleton().findSchemaOrThrow("aten::scaled_dot_product_attention", "");
  const bool sharesHeads = query.dim() > 2 && query.size(-3) != key.size(-3);
  torch::jit::Stack stack;
  torch::jit::push(stack, query, key, value, mask.defined() ? c10::IValue(mask) : c10::IValue(),
                   0.0, false, scale, sharesHeads);
  at::Tensor output =
      runCompiled(whole, &stack)
          ? stack.back().toTensor()
          : std::get<0>(composedAttention(
                query, key, value, mask.defined() ? std::optional<at::Tensor>(mask) : std::nullopt,
                0.0, false, std::nullopt, scale, sharesHeads));
  return {output,       at::Tensor(), at::Tensor(), at::Tensor(), query.size(-2),
          key.size(-2), at::Tensor(), at::Tensor(), at::Tensor()};
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_scaled_dot_product_fused_attention_overrideable", attention);
  m.impl("_scaled_dot_product_attention_math", composedAttention);
}

TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) {
  m.impl("_scaled_dot_product_attention_math", composedAttention);
}

} // namespace spyre::plugin

namespace at::native {

REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &spyre::plugin::chooseAttention)

} // namespace at::native
