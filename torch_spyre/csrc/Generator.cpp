//===- Generator.cpp - a CPU generator that belongs to a spyre device -----------------------===//
#include "Generator.h"

#include "ATen/CPUGeneratorImpl.h"
#include "ATen/ops/empty.h"
#include "Errors.h"
#include "Guard.h"
#include "RuntimeState.h"
#include "c10/core/GeneratorImpl.h"

#include <cstring>
#include <map>
#include <mutex>

namespace spyre::plugin {

namespace {

constexpr int kWords = 624;

struct State {
  uint64_t seed;
  int32_t left;
  int32_t seeded;
  uint64_t next;
  uint64_t words[kWords];
};
constexpr int64_t kStateBytes = sizeof(State);
static_assert(kStateBytes == 5016, "the documented size");

/// The waiting normals, as they lie in the upper halves of the first words.
struct WaitingNormals {
  uint32_t flags = 0;
  uint32_t floatBits = 0;
  uint32_t doubleBits[2] = {0, 0};
};
constexpr uint32_t kHasFloat = 1, kHasDouble = 2;
constexpr int kWaitingWords = sizeof(WaitingNormals) / sizeof(uint32_t);

WaitingNormals waitingOf(at::CPUGeneratorImpl &host) {
  WaitingNormals waiting;
  if (std::optional<float> value = host.next_float_normal_sample()) {
    waiting.flags |= kHasFloat;
    std::memcpy(&waiting.floatBits, &*value, sizeof(float));
  }
  if (std::optional<double> value = host.next_double_normal_sample()) {
    waiting.flags |= kHasDouble;
    std::memcpy(waiting.doubleBits, &*value, sizeof(double));
  }
  return waiting;
}

void restoreWaiting(at::CPUGeneratorImpl &host, const WaitingNormals &waiting) {
  float single = 0;
  double twice = 0;
  std::memcpy(&single, &waiting.floatBits, sizeof(float));
  std::memcpy(&twice, waiting.doubleBits, sizeof(double));
  host.set_next_float_normal_sample((waiting.flags & kHasFloat) != 0 ? std::optional<float>(single)
                                                                     : std::nullopt);
  host.set_next_double_normal_sample(
      (waiting.flags & kHasDouble) != 0 ? std::optional<double>(twice) : std::nullopt);
}

State stateOf(at::CPUGeneratorImpl &host) {
  const at::mt19937_data_pod data = host.engine().data();
  State state{data.seed_, data.left_, data.seeded_ ? 1 : 0, data.next_, {}};
  uint32_t waiting[kWaitingWords];
  const WaitingNormals normals = waitingOf(host);
  std::memcpy(waiting, &normals, sizeof(normals));
  for (int i = 0; i < kWords; ++i) {
    state.words[i] = data.state_[size_t(i)];
    if (i < kWaitingWords) {
      state.words[i] |= uint64_t(waiting[i]) << 32;
    }
  }
  return state;
}

void checkState(const State &state) {
  bool sound = (state.seeded == 1) && state.left > 0 && state.left <= kWords &&
               state.next <= uint64_t(kWords) &&
               (state.words[0] >> 32) <= uint64_t(kHasFloat | kHasDouble);
  for (int i = kWaitingWords; i < kWords; ++i) {
    sound = sound && (state.words[i] >> 32) == 0;
  }
  if (!sound) {
    raise(error<6552>("Invalid mt19937 state; give a tensor that get_rng_state() returned"));
  }
}

void restoreState(at::CPUGeneratorImpl &host, const State &state) {
  checkState(state);
  at::mt19937_data_pod data{};
  data.seed_ = state.seed;
  data.left_ = state.left;
  data.seeded_ = true;
  data.next_ = uint32_t(state.next);
  uint32_t waiting[kWaitingWords];
  for (int i = 0; i < kWords; ++i) {
    data.state_[size_t(i)] = uint32_t(state.words[i]);
    if (i < kWaitingWords) {
      waiting[i] = uint32_t(state.words[i] >> 32);
    }
  }
  at::mt19937 engine;
  engine.set_data(data);
  host.set_engine(engine);
  WaitingNormals normals;
  std::memcpy(&normals, waiting, sizeof(normals));
  restoreWaiting(host, normals);
}

class SpyreGeneratorImpl final : public c10::GeneratorImpl {
public:
  SpyreGeneratorImpl(at::Generator host, c10::DeviceIndex index)
      : GeneratorImpl(c10::Device(c10::DeviceType::PrivateUse1, index),
                      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        host(std::move(host)) {}

  void set_current_seed(uint64_t seed) override { host.set_current_seed(seed); }
  void set_offset(uint64_t) override { TORCH_CHECK(false, "Spyre Generator does not use offset"); }
  uint64_t get_offset() const override {
    TORCH_CHECK(false, "Spyre Generator does not use offset");
  }
  uint64_t current_seed() const override { return host.current_seed(); }
  uint64_t seed() override { return host.seed(); }

  void set_state(const c10::TensorImpl &given) override {
    at::detail::check_rng_state(given);
    if (given.numel() != kStateBytes) {
      raise(error<6552>("Expected an RNG state of {} bytes but found {}; give a tensor that "
                        "get_rng_state() returned",
                        kStateBytes, given.numel()));
    }
    State state;
    std::memcpy(&state, given.data(), sizeof(state));
    restoreState(cpu(), state);
  }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    at::Tensor bytes = at::empty({kStateBytes}, c10::ScalarType::Byte);
    const State state = stateOf(cpu());
    std::memcpy(bytes.mutable_data_ptr(), &state, sizeof(state));
    return bytes.getIntrusivePtr();
  }

  const at::Generator &hostSide() const { return host; }

private:
  at::CPUGeneratorImpl &cpu() const {
    return *static_cast<at::CPUGeneratorImpl *>(host.unsafeGetGeneratorImpl());
  }
  SpyreGeneratorImpl *clone_impl() const override {
    return new SpyreGeneratorImpl(host.clone(), device().index());
  }
  at::Generator host;
};

c10::DeviceIndex knownIndex(c10::DeviceIndex index) {
  if (index < 0) {
    return currentDevice();
  }
  checkDeviceIndex(index);
  return index;
}

} // namespace

const at::Generator &defaultGenerator(c10::DeviceIndex index) {
  static std::mutex mutex;
  static auto *generators = new std::map<c10::DeviceIndex, at::Generator>();
  const c10::DeviceIndex known = knownIndex(index);
  std::lock_guard<std::mutex> lock(mutex);
  auto found = generators->find(known);
  if (found == generators->end()) {
    found = generators->emplace(known, newGenerator(known)).first;
  }
  return found->second; // nodes of a map stay where they are
}

at::Generator newGenerator(c10::DeviceIndex index) {
  return at::make_generator<SpyreGeneratorImpl>(at::detail::createCPUGenerator(),
                                                knownIndex(index));
}

at::Generator hostGenerator(const std::optional<at::Generator> &generator, c10::DeviceIndex index) {
  const at::Generator &chosen =
      generator && generator->defined() ? *generator : defaultGenerator(index);
  auto *impl = dynamic_cast<SpyreGeneratorImpl *>(chosen.unsafeGetGeneratorImpl());
  return impl != nullptr ? impl->hostSide() : chosen;
}

} // namespace spyre::plugin
