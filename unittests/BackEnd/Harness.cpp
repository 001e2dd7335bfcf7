//===- Harness.cpp - see Harness.h ----------------------------------------------------------===//
#include "Harness.h"

#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Base/Math.h"

namespace spyre::backend::test {

arch::DeviceDesc presetDevice(const std::string &name) {
  Expected<arch::DeviceDesc> device = arch::DeviceDesc::preset(name);
  SPYRE_CHECK(device.ok(), "presets exist");
  return *device;
}

Expected<spec::SuperDsc> throughJson(const spec::OpSpec &spec, int64_t index) {
  SPYRE_ASSIGN_OR_RETURN(spec::SuperDsc dsc, spec::emitSuperDsc(spec, index));
  return spec::readSuperDsc(spec::writeSuperDsc(dsc));
}

Expected<program::Program> lowerAll(const std::vector<spec::OpSpec> &specs,
                                    const arch::DeviceDesc &device) {
  program::Program program;
  for (size_t i = 0; i < specs.size(); ++i) {
    SPYRE_ASSIGN_OR_RETURN(spec::SuperDsc dsc, throughJson(specs[i], int64_t(i)));
    SPYRE_RETURN_IF_ERROR(spec::verifySuperDsc(dsc, device));
    SPYRE_ASSIGN_OR_RETURN(program::Phase phase, lowerSuperDsc(dsc, device));
    program.phases.push_back(std::move(phase));
  }
  SPYRE_RETURN_IF_ERROR(program::verifyProgram(program, device));
  return program;
}

Card::Card(const arch::DeviceDesc &device) : device(device) {
  std::string json = device.toJson();
  spyre_sim_config config{json.c_str(), 1, 1};
  const char *error = nullptr;
  sim.reset(spyre_sim_create(&config, &error));
  SPYRE_CHECK(sim != nullptr, "the simulator accepts every preset");
}

Status Card::check(int code) {
  return code == 0 ? Status::success() : Status(7000, spyre_sim_last_error(sim.get()));
}

Status Card::run(const program::Program &program, evaluator::Memory &memory) {
  std::vector<std::vector<uint8_t> *> buffers;
  if (!memory.pool.empty()) {
    buffers.push_back(&memory.pool);
  }
  for (std::vector<uint8_t> &argument : memory.arguments) {
    buffers.push_back(&argument);
  }
  std::vector<spyre_sim_segment> segments(size_t(device.segments), {0, 0});
  uint64_t next = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    segments[i] = {next, buffers[i]->size()};
    SPYRE_RETURN_IF_ERROR(
        check(spyre_sim_write(sim.get(), next, buffers[i]->data(), buffers[i]->size())));
    next += uint64_t(roundUp(int64_t(buffers[i]->size()), 4096));
  }
  std::string bytes = program::writeProgram(program);
  bytes.resize(size_t(roundUp(int64_t(bytes.size()), 128)), '\0');
  segments[size_t(device.programSegment())] = {next, 128 + bytes.size()};
  SPYRE_RETURN_IF_ERROR(check(spyre_sim_write(sim.get(), next + 128, bytes.data(), bytes.size())));

  spyre_sim_reset_counters(sim.get());
  uint64_t address = uint64_t(device.segmentBase(device.programSegment())) + 128;
  SPYRE_RETURN_IF_ERROR(check(spyre_sim_launch(sim.get(), address, bytes.size(), segments.data(),
                                               uint32_t(segments.size()))));
  spyre_sim_get_counters(sim.get(), &counters);
  for (size_t i = 0; i < buffers.size(); ++i) {
    SPYRE_RETURN_IF_ERROR(check(spyre_sim_read(sim.get(), segments[i].physical_base,
                                               buffers[i]->data(), buffers[i]->size())));
  }
  return Status::success();
}

std::vector<uint8_t> Card::readLx(uint32_t core, uint64_t address, uint64_t bytes) {
  std::vector<uint8_t> data(bytes);
  SPYRE_CHECK(spyre_sim_read_lx(sim.get(), core, address, data.data(), bytes) == 0,
              "tests read inside LX");
  return data;
}

} // namespace spyre::backend::test
