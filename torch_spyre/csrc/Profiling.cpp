//===- Profiling.cpp - device times for torch's profiler ------------------------------------===//
//
// torch.autograd.profiler with use_device="spyre" brackets every operation with two events. They
// are events of the current stream, so the times are those of the simulated clock.
//===--------------------------------------------------------------------------------------------===//
#include "Guard.h"
#include "Module.h"
#include "RuntimeState.h"
#include "c10/core/DeviceGuard.h"
#include "c10/core/Event.h"
#include "c10/util/ApproximateClock.h"
#include "torch/csrc/profiler/stubs/base.h"

namespace spyre::plugin {

namespace {

using torch::profiler::impl::ProfilerVoidEventStub;

class ProfilerMethods final : public torch::profiler::impl::ProfilerStubs {
public:
  void record(c10::DeviceIndex *device, ProfilerVoidEventStub *event,
              int64_t *cpuNanoseconds) const override {
    const c10::DeviceIndex index = currentDevice();
    if (device != nullptr) {
      *device = index;
    }
    auto made =
        std::make_shared<c10::Event>(c10::DeviceType::PrivateUse1, c10::EventFlag::BACKEND_DEFAULT);
    if (cpuNanoseconds != nullptr) {
      *cpuNanoseconds = c10::getTime();
    }
    made->record(c10::Stream(c10::Stream::UNSAFE, {c10::DeviceType::PrivateUse1, index},
                             c10::StreamId(currentStream(index))));
    *event = std::move(made);
  }
  /// Microseconds.
  float elapsed(const ProfilerVoidEventStub *first,
                const ProfilerVoidEventStub *second) const override {
    auto *from = static_cast<c10::Event *>(first->get());
    auto *to = static_cast<c10::Event *>(second->get());
    from->synchronize();
    to->synchronize();
    return float(from->elapsedTime(*to) * 1000.0);
  }
  void mark(const char *) const override {}
  void rangePush(const char *) const override {}
  void rangePop() const override {}
  bool enabled() const override { return true; }
  /// Those that run: looking at a profile opens no card.
  void onEachDevice(std::function<void(int)> operation) const override {
    for (int i = 0; i < deviceCount(); ++i) {
      if (deviceStarted(c10::DeviceIndex(i))) {
        const c10::DeviceGuard guard({c10::DeviceType::PrivateUse1, c10::DeviceIndex(i)});
        operation(i);
      }
    }
  }
  void synchronize() const override { synchronizeDevice(-1); }
};

} // namespace

void registerProfilerMethods() {
  static auto *methods = new ProfilerMethods();
  torch::profiler::impl::registerPrivateUse1Methods(methods);
}

} // namespace spyre::plugin
