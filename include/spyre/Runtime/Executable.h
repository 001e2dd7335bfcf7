//===- Executable.h - load and run a compiled model -----------------------------------------===//
//
// Reads model.json and the SpyreCode of each bundle, nothing else. Loading copies the programs to
// the device once; run() binds buffers to segments and launches the steps in order.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Artifacts.h"
#include "spyre/Layout/Transfer.h"
#include "spyre/Runtime/Device.h"
#include "spyre/Runtime/Streams.h"
#include "spyre/Spec/Model.h"

#include <functional>

namespace spyre::runtime {

/// Runs a CPU step. \p bufferOf gives the device buffer of a name, or null for a host value.
using BufferLookup = std::function<BufferRef(const std::string &name)>;
using HostStepRunner =
    std::function<Status(const spec::CpuStep &step, const BufferLookup &bufferOf)>;

/// Facts that only the caller of a run knows.
struct RunOptions {
  /// Python line that asked for it, for errors; null: not known.
  std::shared_ptr<const std::string> location;
  /// Number of the input that the run writes anew as a whole, without reading it; -1: none.
  int64_t replacedInput = -1;
};

class Executable {
public:
  /// \p label names its operations in errors and profiles; else its bundles' directories do.
  /// Errors: E6001-E6002 (model.json), E5201 (spyrecode.json), E6201 (compiled for another
  /// machine), E6202 (a binary is missing or has the wrong size), E6111 (the temporaries or a
  /// tensor are larger than a segment), E6102 (tensors and temporaries exceed the memory of the
  /// device, or the code finds no room). The sizes are checked before anything is allocated.
  static Expected<std::shared_ptr<Executable>>
  load(std::shared_ptr<Device> device, const Artifacts &artifacts, const std::string &label = "");
  ~Executable();

  const spec::Model &model() const;
  const std::shared_ptr<Device> &device() const;

  /// One buffer per input and output of the model, in order, at least layout.bytes() each. CPU
  /// steps are given to \p host, which may use the device, this executable included. Errors: E6203
  /// (wrong number or size), E6206 (CPU steps and nobody to run them), whatever the device reports,
  /// and the fault that poisoned an input.
  Status run(const std::vector<BufferRef> &inputs, const std::vector<BufferRef> &outputs,
             const HostStepRunner &host = nullptr);
  /// The same on a stream: every launch is an operation of its own, and the call returns when all
  /// are queued. Before a CPU step it waits for the stream; the step runs on the caller's thread.
  Status submit(StreamId stream, const std::vector<BufferRef> &inputs,
                const std::vector<BufferRef> &outputs, const HostStepRunner &host = nullptr,
                const RunOptions &options = {});
  /// True when its programs take addresses from data, so that a number in a tensor can be wrong.
  bool readsIndices() const;

  /// Takes the programs off the device; queued launches keep theirs, the next run loads them again.
  void evict();
  /// Gives the memory of temporaries back; queued launches keep theirs, the next run allocates it
  /// again.
  void releaseTemporaries();
  /// A number that grows with every run of any executable.
  uint64_t lastUse() const;

private:
  Executable();
  struct State;
  std::unique_ptr<State> state;
};

/// Host tensor -> device buffer in \p desc's layout and back; host strides may differ from
/// desc.stride.
Status uploadTensor(const BufferRef &buffer, const spec::TensorDesc &desc,
                    const layout::HostTensorRef &host);
Status downloadTensor(const BufferRef &buffer, const spec::TensorDesc &desc,
                      const layout::HostTensorRef &host);

} // namespace spyre::runtime
