//===- Random.cpp - random operations that have no generator argument -----------------------===//
//
// The fallback hands the device's generator to operations that take one. Dropout takes none: run on
// the CPU as it is it would draw from the CPU's stream, and seeding the device would not repeat it.
//===--------------------------------------------------------------------------------------------===//
#include "ATen/ops/empty.h"
#include "ATen/ops/empty_like.h"
#include "ATen/ops/mul.h"
#include "ATen/ops/ones_like.h"
#include "Copy.h"
#include "Generator.h"
#include "torch/library.h"

namespace spyre::plugin {

namespace {

at::Tensor drawMask(const at::Tensor &input, double keep) {
  at::Tensor host = at::empty(input.sizes(), c10::ScalarType::Bool);
  at::Generator generator = hostGenerator(std::nullopt, input.device().index());
  host.bernoulli_(keep, generator);
  at::Tensor mask = at::empty_like(input, input.options().dtype(c10::ScalarType::Bool),
                                   c10::MemoryFormat::Contiguous);
  copyTensor(host, mask);
  return mask;
}

std::tuple<at::Tensor, at::Tensor> nativeDropout(const at::Tensor &input, double p,
                                                 std::optional<bool> train) {
  if (input.numel() == 0 || !train.value_or(true)) {
    return {input.clone(), at::ones_like(input, input.options().dtype(c10::ScalarType::Bool))};
  }
  const double keep = 1.0 - p;
  at::Tensor mask = drawMask(input, keep);
  const double scale = keep == 0.0 ? 0.0 : 1.0 / keep;
  return {at::mul(at::mul(input, mask), scale), mask};
}

} // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("native_dropout", nativeDropout); }

} // namespace spyre::plugin
