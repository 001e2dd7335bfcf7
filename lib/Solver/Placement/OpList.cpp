//===- OpList.cpp - lifetimes, who may stay, and what it is worth -----------------------------===//
#include "spyre/Solver/Placement/OpList.h"

#include "spyre/Base/Math.h"

#include <algorithm>

namespace spyre::solver::placement {
namespace {

bool contains(const std::vector<int> &list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// Does the operation write the tensor without looking at what was in it?
bool rewrites(const OpStep &op, int tensor) {
  return contains(op.writes, tensor) && !contains(op.reads, tensor) && !op.mutates;
}

/// For each operation the first one from there on that runs another program.
std::vector<int64_t> nextOpaque(const OpList &list) {
  std::vector<int64_t> next(list.ops.size() + 1, int64_t(list.ops.size()));
  for (size_t i = list.ops.size(); i-- > 0;) {
    next[i] = list.ops[i].opaque ? int64_t(i) : next[i + 1];
  }
  return next;
}

Decision mayStay(const OpList &list, const Web &web, const PlacementRules &rules,
                 int64_t capacityBytes, const std::vector<int64_t> &opaque) {
  const OpTensor &tensor = list.tensors[web.tensor];
  if (!tensor.barred.empty()) {
    return Decision::no("barred", "{}", tensor.barred);
  }
  if (!web.firstUseIsRead) {
    const OpStep &writer = list.ops[web.uses.front()];
    if (writer.opaque || writer.mutates) {
      return Decision::no("op-not-allowed", "'{}' {}", writer.name,
                          writer.opaque
                              ? "is another program; an operation of the device could leave it"
                              : "writes into another tensor; a tensor of its own could stay");
    }
    if (!rules.allowedOps.empty() && !rules.allowedOps.contains(writer.name)) {
      return Decision::no("op-not-allowed",
                          "results of '{}' do not stay on the core; name it among the operations "
                          "that may (--lx-ops), or allow all (--lx-all-ops)",
                          writer.name);
    }
  }
  for (int64_t use : web.uses) {
    if (list.ops[use].mutates && contains(list.ops[use].writes, web.tensor) &&
        use != web.uses.front()) {
      return Decision::no("mutation-target", "'{}' writes into it; a result of its own could stay",
                          list.ops[use].name);
    }
  }
  if (const int64_t at = opaque[size_t(web.uses.front())]; at <= web.uses.back()) {
    return Decision::no("opaque-in-lifetime",
                        "'{}' (operation {}) may use any address; it could stay if that ran on the "
                        "device, before its first or after its last use",
                        list.ops[size_t(at)].name, list.numberOf(at));
  }
  if (web.firstUseIsRead && !rules.inputClones) {
    return Decision::no("graph-input",
                        "graph inputs are not copied; allow it (no --no-lx-input-clones; the "
                        "documented planner copies what is read twice, divided alike, and fits)");
  }
  if (web.firstUseIsRead && web.reads() < 2) {
    return Decision::no("read-once",
                        "a copy would cost the one read it saves; only a second reader would "
                        "change that");
  }
  if (tensor.isGraphOutput && !rules.outputClones) {
    return Decision::no("graph-output",
                        "graph outputs are not copied; allow it (no --no-lx-output-clones; the "
                        "documented planner never does)");
  }
  if (!web.firstUseIsRead && web.reads() < 1) {
    return Decision::no("no-consumer", "no operation reads it; only a reader would change that");
  }
  if (rules.cores > 1) {
    if (Decision agree = divisionsAgree(list, web.tensor, web.uses); !agree) {
      return agree;
    }
  }
  if (tensor.coreBytes > capacityBytes) {
    return Decision::no("too-large",
                        "{} bytes on each core, {} are there; divided over {} cores or more, or "
                        "with {} bytes more (DXP_LX_FRAC_AVAIL), it would fit",
                        tensor.coreBytes, capacityBytes,
                        ceilDiv(tensor.totalBytes, std::max<int64_t>(capacityBytes, 1)),
                        tensor.coreBytes - capacityBytes);
  }
  return Decision::yes("candidate", "{} reads, {} bytes on each core", web.reads(),
                       tensor.coreBytes);
}

/// Memory bytes saved if it stays [spec: scratchpad 18.1].
int64_t worthOf(const OpList &list, const Web &web) {
  const OpTensor &tensor = list.tensors[web.tensor];
  int64_t reads = 0; // an operation may read it twice
  for (int64_t use : web.uses) {
    const std::vector<int> &read = list.ops[use].reads;
    reads += std::count(read.begin(), read.end(), web.tensor);
  }
  const int64_t saved = web.firstUseIsRead ? reads - 1 : tensor.isGraphOutput ? reads : reads + 1;
  return std::max<int64_t>(0, saved) * tensor.totalBytes;
}

bool mayTakePlace(const OpList &list, const PlacementRules &rules, const Web &parent,
                  const Web &child) {
  const OpTensor &from = list.tensors[parent.tensor], &to = list.tensors[child.tensor];
  const OpStep &op = list.ops[child.uses.front()];
  if (child.firstUseIsRead || parent.uses.back() != child.uses.front() ||
      !contains(op.reads, parent.tensor) || parent.reads() < 1) {
    return false;
  }
  if (!rules.inPlaceOps.contains(op.name) && !(rules.pointwiseInPlace && op.pointwise)) {
    return false;
  }
  for (size_t i = 0; i < op.reads.size() && !op.aligned.empty(); ++i) {
    if (op.reads[i] == parent.tensor && !op.aligned[i]) {
      return false;
    }
  }
  return from.layout == to.layout && (rules.equalSizesInPlace ? from.coreBytes == to.coreBytes
                                                              : from.coreBytes >= to.coreBytes);
}

void addParents(const OpList &list, const PlacementRules &rules, OpListProblem &made) {
  std::vector<std::vector<int>> livesOf(list.tensors.size());
  for (size_t i = 0; i < made.webs.size(); ++i) {
    livesOf[made.webs[i].tensor].push_back(int(i));
  }
  for (size_t child = 0; child < made.webs.size(); ++child) {
    if (!made.decisions[child] || made.webs[child].firstUseIsRead) {
      continue;
    }
    // In the order the operation reads them.
    const OpStep &op = list.ops[made.webs[child].uses.front()];
    for (int tensor : op.reads) {
      for (int parent : livesOf[tensor]) {
        auto &parents = made.problem.buffers[child].parents;
        if (size_t(parent) != child && made.decisions[parent] &&
            mayTakePlace(list, rules, made.webs[parent], made.webs[child]) &&
            !contains(parents, parent)) {
          parents.push_back(parent);
        }
      }
    }
  }
}

Buffer bufferOf(const OpList &list, const Web &web, const Decision &decision, int life) {
  const OpTensor &tensor = list.tensors[web.tensor];
  Buffer buffer;
  buffer.name = tensor.name + (life > 0 ? fmt::format("'{}", life) : std::string());
  buffer.lower = web.lower();
  buffer.upper = web.upper();
  buffer.sizeBytes = tensor.coreBytes;
  buffer.value = worthOf(list, web);
  buffer.uses = web.uses;
  buffer.firstUseIsRead = web.firstUseIsRead;
  if (!decision) {
    buffer.forbidden = true;
    buffer.forbiddenReason = fmt::format("{}: {}", decision.reason(), decision.detail());
  }
  return buffer;
}

} // namespace

Status validate(const OpList &list) {
  for (size_t i = 0; i < list.ops.size(); ++i) {
    const OpStep &op = list.ops[i];
    for (const std::vector<int> *side : {&op.reads, &op.writes}) {
      for (int tensor : *side) {
        if (tensor < 0 || size_t(tensor) >= list.tensors.size()) {
          return error<3049>("operation {} ('{}') names tensor {}, there are {}", i, op.name,
                             tensor, list.tensors.size());
        }
      }
    }
    if ((!op.readViews.empty() && op.readViews.size() != op.reads.size()) ||
        (!op.writeViews.empty() && op.writeViews.size() != op.writes.size()) ||
        (!op.aligned.empty() && op.aligned.size() != op.reads.size())) {
      return error<3049>("operation {} ('{}') has not one view per access", i, op.name);
    }
    if (op.transientBytes < 0 || op.transientBytes > kMaxBytes) {
      return error<3049>("operation {} ('{}') needs {} bytes of its own", i, op.name,
                         op.transientBytes);
    }
  }
  for (const OpTensor &tensor : list.tensors) {
    if (tensor.coreBytes < 1 || tensor.coreBytes > kMaxBytes || tensor.totalBytes < 1 ||
        tensor.totalBytes > kMaxBytes) {
      return error<3049>("tensor '{}' has {} bytes per core and {} in all, outside 1..{}",
                         tensor.name, tensor.coreBytes, tensor.totalBytes, kMaxBytes);
    }
  }
  return Status::success();
}

std::vector<std::vector<int64_t>> usesOf(const OpList &list) {
  std::vector<std::vector<int64_t>> uses(list.tensors.size());
  for (size_t i = 0; i < list.ops.size(); ++i) {
    for (const std::vector<int> *side : {&list.ops[i].reads, &list.ops[i].writes}) {
      for (int tensor : *side) {
        if (uses[tensor].empty() || uses[tensor].back() != int64_t(i)) {
          uses[tensor].push_back(int64_t(i));
        }
      }
    }
  }
  return uses;
}

std::vector<Web> websOf(const OpList &list, bool split) {
  const auto uses = usesOf(list);
  std::vector<int> order;
  std::vector<char> listed(list.tensors.size(), 0);
  for (const OpStep &op : list.ops) {
    for (int tensor : op.writes) {
      if (!listed[tensor] && !list.tensors[tensor].isGraphInput) {
        listed[tensor] = 1;
        order.push_back(tensor);
      }
    }
  }
  for (size_t i = 0; i < list.tensors.size(); ++i) {
    if (!listed[i]) {
      order.push_back(int(i));
    }
  }
  std::vector<Web> webs;
  for (int tensor : order) {
    for (int64_t use : uses[tensor]) {
      const bool writes = rewrites(list.ops[use], tensor);
      if (use == uses[tensor].front() || (split && writes)) {
        webs.push_back({tensor, {}, !contains(list.ops[use].writes, tensor)});
      }
      webs.back().uses.push_back(use);
    }
  }
  return webs;
}

int64_t bytesPerCore(int64_t totalBytes, int64_t cores) {
  return cores > 1 ? totalBytes / cores : totalBytes;
}

Expected<OpListProblem> makeProblem(const OpList &list, const PlacementRules &rules,
                                    int64_t capacityBytes, int64_t alignment) {
  SPYRE_RETURN_IF_ERROR(validate(list));
  OpListProblem made;
  made.problem.capacityBytes = capacityBytes;
  made.problem.alignment = alignment;
  made.problem.variant = Variant::Pick;
  made.webs = websOf(list, rules.splitWebs);
  std::vector<int> lives(list.tensors.size(), 0);
  const std::vector<int64_t> opaque = nextOpaque(list);
  for (const Web &web : made.webs) {
    made.decisions.push_back(mayStay(list, web, rules, capacityBytes, opaque));
    made.problem.buffers.push_back(bufferOf(list, web, made.decisions.back(), lives[web.tensor]++));
  }
  addParents(list, rules, made);
  for (size_t i = 0; i < list.ops.size(); ++i) {
    if (list.ops[i].transientBytes > 0) {
      made.problem.transients.push_back({int64_t(i), list.ops[i].transientBytes});
    }
  }
  SPYRE_RETURN_IF_ERROR(validate(made.problem));
  return made;
}

int64_t memoryTraffic(const OpList &list, const OpListProblem &made, const Offsets &offsets) {
  // Which life of a tensor an operation touches.
  std::vector<std::vector<std::pair<int64_t, int>>> livesOf(list.tensors.size());
  for (size_t i = 0; i < made.webs.size(); ++i) {
    livesOf[made.webs[i].tensor].push_back({made.webs[i].uses.front(), int(i)});
  }
  auto isOnCore = [&](int tensor, int64_t op) {
    bool result = false;
    for (const auto &[begin, web] : livesOf[tensor]) {
      result = begin <= op ? offsets[web].has_value() : result;
    }
    return result;
  };
  int64_t bytes = 0;
  for (size_t i = 0; i < list.ops.size(); ++i) {
    for (const std::vector<int> *side : {&list.ops[i].reads, &list.ops[i].writes}) {
      for (int tensor : *side) {
        bytes += isOnCore(tensor, int64_t(i)) ? 0 : list.tensors[tensor].totalBytes;
      }
    }
  }
  for (size_t i = 0; i < made.webs.size(); ++i) {
    const OpTensor &tensor = list.tensors[made.webs[i].tensor];
    const bool copied = made.webs[i].firstUseIsRead || tensor.isGraphOutput;
    bytes += offsets[i] && copied ? tensor.totalBytes : 0;
  }
  return bytes;
}

std::vector<int> inputsToClone(const OpList &list, int64_t capacityBytes) {
  std::vector<char> written(list.tensors.size(), 0);
  for (const OpStep &op : list.ops) {
    for (int tensor : op.writes) {
      written[size_t(tensor)] = 1;
    }
  }
  const auto uses = usesOf(list);
  std::vector<int> chosen;
  for (size_t tensor = 0; tensor < list.tensors.size(); ++tensor) {
    const OpTensor &source = list.tensors[tensor];
    if (source.isGraphInput && uses[tensor].size() > 1 && source.coreBytes <= capacityBytes &&
        source.barred.empty() && !written[tensor]) {
      chosen.push_back(int(tensor));
    }
  }
  return chosen;
}

namespace {

class CloneInputsPass : public ScratchpadOptimizationPass {
public:
  std::string_view name() const override { return "clone-inputs"; }

  Status run(OpList &list, int64_t capacityBytes) const override {
    SPYRE_RETURN_IF_ERROR(validate(list));
    std::vector<OpStep> copies;
    for (int tensor : inputsToClone(list, capacityBytes)) {
      OpTensor copy = list.tensors[size_t(tensor)];
      copy.name += "_lx";
      copy.isGraphInput = false;
      list.tensors.push_back(copy);
      const int target = int(list.tensors.size()) - 1;
      OpStep clone;
      clone.name = "clone";
      clone.reads = {tensor};
      clone.writes = {target};
      redirect(list, tensor, target, clone);
      copies.push_back(std::move(clone));
    }
    list.ops.insert(list.ops.begin(), copies.begin(), copies.end());
    return Status::success();
  }

private:
  /// Readers read the copy; the copy is divided as its first reader reads it.
  static void redirect(OpList &list, int from, int to, OpStep &clone) {
    for (OpStep &op : list.ops) {
      for (size_t i = 0; i < op.reads.size(); ++i) {
        if (op.reads[i] != from) {
          continue;
        }
        op.reads[i] = to;
        if (clone.readViews.empty() && !op.readViews.empty()) {
          clone.readViews = clone.writeViews = {op.readViews[i]};
        }
      }
    }
  }
};

} // namespace

std::unique_ptr<ScratchpadOptimizationPass> createCloneInputsPass() {
  return std::make_unique<CloneInputsPass>();
}

} // namespace spyre::solver::placement
