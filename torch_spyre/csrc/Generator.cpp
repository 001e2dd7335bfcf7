//===- Generator.cpp - a CPU generator that belongs to the spyre device ---------------------===//
#include "Generator.h"

#include "ATen/CPUGeneratorImpl.h"
#include "Guard.h"
#include "RuntimeState.h"
#include "c10/core/GeneratorImpl.h"

#include <array>

namespace spyre::plugin {

namespace {

class SpyreGeneratorImpl final : public c10::GeneratorImpl {
public:
  SpyreGeneratorImpl(at::Generator host, c10::Device device)
      : GeneratorImpl(device, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        host(std::move(host)) {}

  void set_current_seed(uint64_t seed) override { host.set_current_seed(seed); }
  void set_offset(uint64_t) override { TORCH_CHECK(false, "Spyre Generator does not use offset"); }
  uint64_t get_offset() const override {
    TORCH_CHECK(false, "Spyre Generator does not use offset");
  }
  uint64_t current_seed() const override { return host.current_seed(); }
  uint64_t seed() override { return host.seed(); }
  void set_state(const c10::TensorImpl &state) override {
    host.unsafeGetGeneratorImpl()->set_state(state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return host.unsafeGetGeneratorImpl()->get_state();
  }

  const at::Generator &hostSide() const { return host; }

private:
  SpyreGeneratorImpl *clone_impl() const override {
    return new SpyreGeneratorImpl(host.clone(), device());
  }
  at::Generator host;
};

c10::DeviceIndex indexOrCurrent(c10::DeviceIndex index) {
  return withIndex(c10::Device(c10::DeviceType::PrivateUse1, index)).index();
}

} // namespace

const at::Generator &defaultGenerator(c10::DeviceIndex index) {
  static const auto *generators = [] {
    auto *made = new std::array<at::Generator, runtime::kMaxCards>();
    for (int i = 0; i < deviceCount(); ++i) {
      (*made)[size_t(i)] = newGenerator(c10::DeviceIndex(i));
    }
    return made;
  }();
  return (*generators)[size_t(indexOrCurrent(index))];
}

at::Generator newGenerator(c10::DeviceIndex index) {
  return at::make_generator<SpyreGeneratorImpl>(
      at::detail::createCPUGenerator(),
      c10::Device(c10::DeviceType::PrivateUse1, indexOrCurrent(index)));
}

at::Generator hostGenerator(const std::optional<at::Generator> &generator) {
  const at::Generator &chosen = generator && generator->defined() ? *generator : defaultGenerator();
  auto *impl = dynamic_cast<SpyreGeneratorImpl *>(chosen.unsafeGetGeneratorImpl());
  return impl != nullptr ? impl->hostSide() : chosen;
}

} // namespace spyre::plugin
