//===- DeviceCopy.cpp - programs of copies --------------------------------------------------===//
#include "DeviceCopy.h"

#include "spyre/Base/Math.h"

#include "Arguments.h"
#include "Eager.h"
#include "EagerCall.h"
#include "Errors.h"
#include "Memory.h"
#include "Programs.h"
#include "RuntimeState.h"
#include "Types.h"
#include "Views.h"
#include "c10/core/DeviceGuard.h"

#include <algorithm>
#include <deque>
#include <shared_mutex>

namespace spyre::plugin {

namespace {

/// Without a program a refusal; \p why where it is one of the planners.
struct CopyProgram {
  Program program;
  std::string why = {};
};

/// Programs lie in device memory, and every offset of a view is one: the oldest go when there are
/// too many.
struct Cache {
  std::shared_mutex mutex;
  KeyMap<CopyProgram> programs;
  std::deque<std::vector<uint64_t>> order;
  size_t limit = 4096;

  /// With the lock held alone.
  CopyProgram remember(KeyRef key, CopyProgram program) {
    const auto [found, isNew] = programs.emplace(key.vec(), std::move(program));
    CopyProgram kept = found->second;
    if (isNew) {
      order.push_back(key.vec());
    }
    while (order.size() > limit) {
      programs.erase(order.front());
      order.pop_front();
    }
    return kept;
  }
};

Cache &cache() {
  static Cache *instance = new Cache();
  return *instance;
}

bool sameStorage(const at::Tensor &a, const at::Tensor &b) {
  return a.storage().unsafeGetStorageImpl() == b.storage().unsafeGetStorageImpl();
}

capi::TensorType storageType(const at::Tensor &tensor) {
  const StorageGeometry &geometry = geometryOf(tensor);
  return {requireHostType(tensor.scalar_type()), geometry.size, geometry.stride};
}

capi::ValueId viewed(capi::GraphBuilder &builder, capi::ValueId storage, const at::Tensor &view) {
  const StorageGeometry &geometry = geometryOf(view);
  return isWholeStorage(view)
             ? storage
             : readView(builder, storage, geometry, requireHostType(view.scalar_type()),
                        planView(geometry, view));
}

/// A transfer is no compilation of the user's: it is neither counted nor recorded nor kept on disk.
Expected<Program> loadCopy(const capi::GraphBuilder &builder, int64_t bytes) {
  CompileSettings settings = eagerSettings(bytes);
  settings.cacheDirectory.clear();
  SPYRE_ASSIGN_OR_RETURN(const std::string graph, builder.text());
  SPYRE_ASSIGN_OR_RETURN(capi::CompileResult result,
                         capi::compileGraph(graph, compileOptions(settings)));
  return loadProgram(result.artifacts, "copy");
}

/// Input 0 is the storage that is written, input 1 the other one.
CopyProgram compileCopy(const at::Tensor &from, const at::Tensor &to) {
  const StorageGeometry &target = geometryOf(to);
  const bool isWhole = isWholeStorage(to);
  const ViewPlan plan = isWhole ? ViewPlan() : planView(target, to);
  if (!isWhole && !canWrite(plan)) {
    return {};
  }
  capi::GraphBuilder builder;
  const capi::ValueId destination = builder.addInput("to", storageType(to), 0, target.layout);
  const capi::ValueId source = sameStorage(from, to) ? destination
                                                     : builder.addInput("from", storageType(from),
                                                                        0, geometryOf(from).layout);
  capi::ValueId contents = viewed(builder, source, from);
  if (from.scalar_type() != to.scalar_type()) {
    const std::vector<int64_t> size = toVector(to.sizes());
    contents = builder.addCall(
        "aten._to_copy.default", {contents}, {{"dtype", dtypeName(to.scalar_type())}},
        {requireHostType(to.scalar_type()), size, rowMajorStrides(size)}, "");
  }
  if (!isWhole) {
    contents =
        writeView(builder, destination, target, requireHostType(to.scalar_type()), plan, contents);
  }
  builder.addMutation(destination, contents);
  Expected<Program> program = loadCopy(builder, 2 * int64_t(to.numel() * to.element_size()));
  constexpr int kFirstOfPlanners = 3000;
  if (!program.ok() && capi::isRefusal(program.status())) {
    const bool isPlanned = program.status().code() >= kFirstOfPlanners;
    return {nullptr, isPlanned ? program.status().message() : ""};
  }
  return {check(std::move(program))};
}

CopyProgram programFor(const at::Tensor &from, const at::Tensor &to) {
  KeyWords words;
  words.push_back(uint64_t(sameStorage(from, to)));
  addTensorToKey(words, from);
  addTensorToKey(words, to);
  const KeyRef key(words.data(), words.size());
  {
    std::shared_lock<std::shared_mutex> lock(cache().mutex);
    if (auto found = cache().programs.find(key); found != cache().programs.end()) {
      return found->second;
    }
  }
  const c10::DeviceGuard guard(to.device());
  CopyProgram program = compileCopy(from, to);
  std::unique_lock<std::shared_mutex> lock(cache().mutex);
  return cache().remember(key, std::move(program));
}

} // namespace

bool copyByProgram(const at::Tensor &from, const at::Tensor &to) {
  if (from.numel() == 0 || from.device() != to.device()) {
    return false;
  }
  const CopyProgram found = programFor(from, to);
  if (!found.program) {
    if (!found.why.empty()) {
      noteFallback("aten.copy_.default", found.why, uint64_t(from.nbytes() + to.nbytes()));
    }
    return false;
  }
  std::vector<runtime::BufferRef> inputs = {bufferOf(to)};
  if (!sameStorage(from, to)) {
    inputs.push_back(bufferOf(from));
  }
  const bool isReplaced = isWholeStorage(to) && !sameStorage(from, to);
  runOnBuffers(found.program, inputs, {}, nullptr, isReplaced ? 0 : -1);
  return true;
}

size_t copyProgramCount() {
  std::shared_lock<std::shared_mutex> lock(cache().mutex);
  return cache().programs.size();
}

void limitCopyPrograms(size_t most) {
  std::unique_lock<std::shared_mutex> lock(cache().mutex);
  cache().limit = std::max<size_t>(most, 1);
}

void forgetCopyPrograms() {
  std::unique_lock<std::shared_mutex> lock(cache().mutex);
  cache().programs.clear();
  cache().order.clear();
}

} // namespace spyre::plugin
