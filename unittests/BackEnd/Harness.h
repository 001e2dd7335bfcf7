//===- Harness.h - runs OpSpecs through the whole device side -------------------------------===//
//
// OpSpec -> SuperDSC -> JSON text -> SuperDSC -> phase -> program bytes -> simulated device.
// Segments are mapped the way a launch does: argument i is segment i, or i + 1 when a pool takes
// segment 0.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Evaluator/Evaluator.h"
#include "spyre/Program/Program.h"
#include "spyre/Sim/SpyreSim.h"
#include "spyre/Spec/OpSpec.h"
#include "spyre/Spec/SuperDsc.h"

#include <memory>
#include <string>
#include <vector>

namespace spyre::backend::test {

arch::DeviceDesc presetDevice(const std::string &name);

/// The SuperDSC as the back end gets it: emitted, written and read again.
Expected<spec::SuperDsc> throughJson(const spec::OpSpec &spec, int64_t index);
/// One program with one phase per OpSpec, verified.
Expected<program::Program> lowerAll(const std::vector<spec::OpSpec> &specs,
                                    const arch::DeviceDesc &device);

/// Per stick of \p arg, an argument of \p spec: bit i says that bytes 2i and 2i + 1 are no element
/// the operation may use.
std::vector<uint64_t> paddingOf(const spec::OpSpec &spec, const spec::TensorArg &arg);

/// A simulated card that keeps its contents between runs.
class Card {
public:
  explicit Card(const arch::DeviceDesc &device);

  /// Loads \p memory, runs \p program once, reads \p memory back; counters are of this run only.
  /// With \p spec, whose arguments \p memory holds, the card is told which lanes are padding, that
  /// there is nothing in the output yet, and what must be data in it in the end.
  Status run(const program::Program &program, evaluator::Memory &memory,
             const spec::OpSpec *spec = nullptr);
  std::vector<uint8_t> readLx(uint32_t core, uint64_t address, uint64_t bytes);
  /// Keeps the first \p maxEvents events from now on; those kept.
  void trace(uint64_t maxEvents) { spyre_sim_trace(sim.get(), maxEvents); }
  std::vector<spyre_sim_event> events();

  spyre_sim_counters counters{};

private:
  struct Destroy {
    void operator()(spyre_sim *sim) const { spyre_sim_destroy(sim); }
  };
  Status check(int code);

  arch::DeviceDesc device;
  std::unique_ptr<spyre_sim, Destroy> sim;
};

} // namespace spyre::backend::test
