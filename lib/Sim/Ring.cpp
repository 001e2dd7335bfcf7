//===- Ring.cpp - one Exchange: check, read all, write all ----------------------------------===//
#include "Ring.h"

#include "VectorFunctions.h"

#include <cstring>

namespace spyre::sim {

using program::Function;
using program::Unit;

/// Below this many sticks over all receivers, waking host threads costs more than it brings.
static constexpr double kSerialSticks = 2000;

Status Ring::exchange(std::span<Core> cores, const LaunchContext &context,
                      const PlannedPhase &phase, ThreadPool &pool) {
  const PlannedInstruction &planned = cores[0].stoppedAt();
  const std::vector<int64_t> &peers = phase.source->coreTables[size_t(planned.source->peerTable)];
  receivers.resize(std::max(receivers.size(), cores.size()));
  size_t count = 0;
  for (Core &core : cores) {
    if (!core.beginOrder(Unit::Ring)) {
      return core.fault();
    }
  }
  for (size_t core = 0; core < cores.size(); ++core) {
    if (peers[core] >= 0) {
      receivers[count].core = core;
      receivers[count].peer = size_t(peers[core]);
      // Checks look into the peer's shadow and note the read there: one after the other.
      if (!prepare(cores, context, receivers[count])) {
        return cores[core].fault();
      }
      // Memory is taken here, where running out of it is an error and not the end.
      receivers[count].data.resize(size_t(planned.source->points()) * kStickBytes);
      receivers[count].padding.resize(size_t(planned.source->points()));
      ++count;
    }
  }
  const auto forEachReceiver = [&](const auto &body) {
    if (double(count) * double(planned.source->points()) < kSerialSticks) {
      for (size_t i = 0; i < count; ++i) {
        body(receivers[i]);
      }
    } else {
      pool.parallelFor(count, [&](size_t i) { body(receivers[i]); });
    }
  };
  forEachReceiver([&](Receiver &receiver) { fetch(cores, planned, receiver); });
  forEachReceiver([&](Receiver &receiver) { deliver(cores, context, receiver); });
  for (size_t i = 0; i < count; ++i) {
    SPYRE_RETURN_IF_ERROR(cores[receivers[i].core].fault());
  }
  for (size_t core = 0; core < cores.size(); ++core) {
    if (peers[core] >= 0) {
      cores[core].counters() += planned.cost;
    } else {
      // A core that only serves executes the instruction too, but gets no bytes.
      cores[core].counters().instructions += planned.cost.instructions;
    }
  }
  if (context.trace) {
    advanceClocks(cores, planned);
  }
  return Status::success();
}

bool Ring::prepare(std::span<Core> cores, const LaunchContext &context, Receiver &receiver) {
  Core &core = cores[receiver.core];
  const PlannedInstruction &planned = core.stoppedAt();
  std::array<size_t, 2> owners{receiver.peer, receiver.core};
  if (!core.resolve(planned, owners, receiver.places)) {
    return false;
  }
  if (!context.sanitizer) {
    return true;
  }
  return Core::forEachRun(planned, planned.nest, receiver.places, [&](const Run &run) {
    bool combines = planned.source->function != Function::Copy;
    return core.checkRead(cores[receiver.peer], 0, receiver.places[0], run.operands[0]) &&
           (!combines || core.checkRead(core, 1, receiver.places[1], run.operands[1]));
  });
}

void Ring::fetch(std::span<Core> cores, const PlannedInstruction &planned, Receiver &receiver) {
  Core &peer = cores[receiver.peer];
  size_t next = 0;
  Core::forEachRun(planned, planned.nest, receiver.places, [&](const Run &run) {
    const Access &from = run.operands[0];
    for (int64_t i = 0; i < run.count; ++i, ++next) {
      int64_t address = from.base + i * from.stride;
      std::memcpy(&receiver.data[next * kStickBytes], peer.lx(address), kStickBytes);
      receiver.padding[next] = peer.shadow() != nullptr ? peer.shadow()->paddingAt(address) : 0;
    }
    return true;
  });
}

/// fn(own, peer's) over the 32 lanes of a stick.
static void combineStick(const program::Instruction &source, uint8_t *own, const uint8_t *peers) {
  constexpr int64_t kLanes = kStickBytes / int64_t(sizeof(float));
  alignas(64) float lanes[kLanes];
  std::memcpy(lanes, peers, kStickBytes);
  if (source.format == numerics::DataFormat::IeeeInt32) {
    accumulateSticks(source.function, reinterpret_cast<int32_t *>(own),
                     reinterpret_cast<const int32_t *>(lanes), 1, kLanes);
  } else {
    accumulateSticks(source.function, reinterpret_cast<float *>(own), lanes, 1, kLanes);
  }
}

bool Ring::deliver(std::span<Core> cores, const LaunchContext &context, Receiver &receiver) {
  Core &core = cores[receiver.core];
  const PlannedInstruction &planned = core.stoppedAt();
  bool combines = planned.source->function != Function::Copy;
  size_t next = 0;
  return Core::forEachRun(planned, planned.nest, receiver.places, [&](const Run &run) {
    const Access &to = run.operands[1];
    for (int64_t i = 0; i < run.count; ++i, ++next) {
      int64_t address = to.base + i * to.stride;
      const uint8_t *stick = &receiver.data[next * kStickBytes];
      if (!combines) {
        std::memcpy(core.lx(address), stick, kStickBytes);
      } else {
        combineStick(*planned.source, core.lx(address), stick);
      }
      if (context.sanitizer) {
        uint64_t *mask = core.shadow()->padding(address);
        *mask = combines ? *mask | receiver.padding[next] : receiver.padding[next];
      }
    }
    return core.wrote(1, receiver.places[1], to);
  });
}

/// All ring units start together and are busy until the transfer is over.
void Ring::advanceClocks(std::span<Core> cores, const PlannedInstruction &planned) {
  PlainMoment start;
  for (Core &core : cores) {
    start.cycle = std::max(start.cycle, core.clock().ready(Unit::Ring).cycle);
  }
  for (Core &core : cores) {
    core.clock().hold(Unit::Ring, start);
    core.record(planned);
  }
}

} // namespace spyre::sim
