//===- Autocast.cpp - which operations torch.autocast("spyre") casts ------------------------===//
//
// The lists are torch's own, those CUDA uses; operations outside them fall through. torch's macros
// need every operator's header: this is the one unit that includes them.
//===--------------------------------------------------------------------------------------------===//
#include "ATen/autocast_mode.h"

namespace spyre::plugin {

namespace {

at::Tensor refuseBinaryCrossEntropy(const at::Tensor &, const at::Tensor &,
                                    const std::optional<at::Tensor> &, int64_t) {
  TORCH_CHECK(false, "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to "
                     "autocast.\nUse torch.nn.functional.binary_cross_entropy_with_logits or "
                     "torch.nn.BCEWithLogitsLoss, or leave autocast for this call");
}

} // namespace

} // namespace spyre::plugin

// The macros name their parts as inside this namespace.
namespace at::autocast {

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

#define SPYRE_LOWER_PRECISION(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define SPYRE_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define SPYRE_FP32_SET_OPT_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define SPYRE_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
  AT_FORALL_LOWER_PRECISION_FP(SPYRE_LOWER_PRECISION)
  AT_FORALL_FP32(SPYRE_FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(SPYRE_FP32_SET_OPT_DTYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(SPYRE_PROMOTE)
  m.impl(TORCH_SELECTIVE_NAME("aten::binary_cross_entropy"),
         TORCH_FN((&spyre::plugin::refuseBinaryCrossEntropy)));
}

} // namespace at::autocast
