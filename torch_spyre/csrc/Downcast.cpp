//===- Downcast.cpp - see Downcast.h --------------------------------------------------------===//
#include "Downcast.h"

#include "spyre/Numerics/Narrowing.h"

#include "ATen/Parallel.h"
#include "ATen/ops/argmax.h"
#include "ATen/ops/ne.h"
#include "Types.h"
#include "c10/util/Exception.h"
#include "fmt/ranges.h"

#include <atomic>

namespace spyre::plugin {

namespace {

std::atomic<bool> warnOnDowncast{true};
std::atomic<bool> checkOnDowncast{false};
std::atomic<bool> wasWarned{false};

using Hook = std::function<void(const std::string &text)>;

Hook &hook() {
  static auto *instance = new Hook();
  return *instance;
}

std::vector<int64_t> indexOf(int64_t position, c10::IntArrayRef size) {
  std::vector<int64_t> index(size.size());
  for (size_t i = size.size(); i-- > 0;) {
    index[i] = position % size[i];
    position /= size[i];
  }
  return index;
}

int64_t countBeyond(const at::Tensor &dense) {
  constexpr int64_t kGrain = 1 << 17;
  const auto *values = dense.const_data_ptr<int64_t>();
  return at::parallel_reduce(
      0, dense.numel(), kGrain, int64_t(0),
      [&](int64_t begin, int64_t end, int64_t before) {
        return before + numerics::countBeyondInt32(values + begin, end - begin);
      },
      std::plus<>());
}

/// "2 of 5 values do not fit ...", with the first one in row-major order.
std::string describe(const at::Tensor &host, int64_t beyond) {
  const at::Tensor flat = host.reshape({-1});
  const at::Tensor isBeyond = at::ne(flat.to(c10::ScalarType::Int), flat);
  const int64_t first = at::argmax(isBeyond.to(c10::ScalarType::Byte)).item<int64_t>();
  return fmt::format("Spyre does not support int64: {} of {} values do not fit the device's 32-bit "
                     "integers, the first is {} at index [{}]",
                     beyond, host.numel(), flat[first].item<int64_t>(),
                     fmt::join(indexOf(first, host.sizes()), ", "));
}

} // namespace

bool downcastWarning() { return warnOnDowncast; }
void setDowncastWarning(bool enabled) { warnOnDowncast = enabled; }
void setDowncastCheck(bool enabled) { checkOnDowncast = enabled; }
void setDowncastHook(Hook given) { hook() = std::move(given); }

Status checkDowncast(const at::Tensor &dense, const at::Tensor &host) {
  if (host.scalar_type() != c10::ScalarType::Long || (!checkOnDowncast && !warnOnDowncast)) {
    return Status::success();
  }
  const int64_t beyond = countBeyond(dense);
  if (beyond == 0) {
    return Status::success();
  }
  if (checkOnDowncast) {
    return error<6130>("{}; keep the tensor on the CPU, or unset TORCH_SPYRE_DOWNCAST_WARN and "
                       "TORCH_SPYRE_DEBUG to store the nearest 32-bit numbers",
                       describe(host, beyond));
  }
  if (hook() && (!wasWarned.exchange(true) || c10::WarningUtils::get_warnAlways())) {
    hook()(describe(host, beyond) +
           "; they become the nearest 32-bit numbers. TORCH_SPYRE_DOWNCAST_WARN=error refuses such "
           "tensors, =0 silences this warning");
  }
  return Status::success();
}

} // namespace spyre::plugin
