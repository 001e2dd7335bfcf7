//===- Bundle.cpp - a bundle as a whole: read from files, unrolled --------------------------===//
#include "spyre/Spec/Bundle.h"

#include <algorithm>
#include <charconv>

namespace spyre::spec {

std::string bundleArgumentName(int64_t argument) {
  return argument == kPoolArgument ? "pool" : fmt::format("arg_{}", argument);
}

Expected<int64_t> parseBundleArgument(const std::string &name) {
  if (name == "pool") {
    return kPoolArgument;
  }
  int64_t index = -1;
  if (name.starts_with("arg_")) {
    std::from_chars(name.data() + 4, name.data() + name.size(), index);
  }
  if (index < 0 || index > kMaxBundleArgument || bundleArgumentName(index) != name) {
    return error<5004>("'{}' is no argument of a bundle; those are pool and arg_0 .. arg_{}",
                       name.substr(0, 40), kMaxBundleArgument);
  }
  return index;
}

Bundle Bundle::baked(const std::vector<std::string> &files) {
  Bundle bundle;
  for (const std::string &file : files) {
    bundle.body.emplace_back().execute.file = file;
  }
  return bundle;
}

//===- Unrolling ----------------------------------------------------------------------------===//

/// Executes of \p nodes after unrolling; all that is too much is one number.
static int64_t countExecutes(const std::vector<BundleNode> &nodes) {
  constexpr int64_t kTooMany = int64_t(kMaxBundleExecutes) + 1;
  int64_t total = 0;
  for (const BundleNode &node : nodes) {
    int64_t inside = node.isLoop ? countExecutes(node.body) : 1;
    int64_t times = node.isLoop ? std::min(node.count, kTooMany) : 1;
    total = std::min(total + inside * times, kTooMany);
  }
  return total;
}

static void expandNodes(const std::vector<BundleNode> &nodes, std::vector<int64_t> &indices,
                        std::vector<BundleCall> &calls) {
  for (const BundleNode &node : nodes) {
    if (!node.isLoop) {
      calls.push_back({&node.execute, indices});
      continue;
    }
    // A loop around nothing may count as far as it likes.
    if (countExecutes(node.body) == 0) {
      continue;
    }
    indices.push_back(0);
    for (; indices.back() < node.count; ++indices.back()) {
      expandNodes(node.body, indices, calls);
    }
    indices.pop_back();
  }
}

Expected<std::vector<BundleCall>> expandBundle(const Bundle &bundle) {
  if (countExecutes(bundle.body) > int64_t(kMaxBundleExecutes)) {
    return error<5004>("the bundle executes more than {} operations when its loops are unrolled; "
                       "split the bundle",
                       kMaxBundleExecutes);
  }
  std::vector<BundleCall> calls;
  std::vector<int64_t> indices;
  expandNodes(bundle.body, indices, calls);
  return calls;
}

Expected<int64_t> constantPart(const AddressExpr &address,
                               const std::vector<int64_t> &loopIndices) {
  int64_t value = address.constant;
  for (const AddressExpr::Stride &stride : address.strides) {
    int64_t step = 0;
    if (stride.loop >= loopIndices.size() ||
        __builtin_mul_overflow(stride.bytes, loopIndices[stride.loop], &step) ||
        __builtin_add_overflow(value, step, &value)) {
      return error<5004>("an address with stride {} does not fit 64 bits or names a loop that is "
                         "not around it",
                         stride.bytes);
    }
  }
  return value;
}

//===- Files to SuperDSCs -------------------------------------------------------------------===//

static Status readOperations(const std::vector<BundleNode> &nodes, const Artifacts &files,
                             BundleContents &contents) {
  for (const BundleNode &node : nodes) {
    if (node.isLoop) {
      SPYRE_RETURN_IF_ERROR(readOperations(node.body, files, contents));
      continue;
    }
    const std::string &name = node.execute.file;
    if (contents.operations.count(name)) {
      continue;
    }
    SPYRE_ASSIGN_OR_RETURN(std::string json, findArtifact(files, name));
    Expected<SuperDsc> dsc = readSuperDsc(json);
    if (!dsc) {
      return dsc.status().withContext(name + ": ");
    }
    contents.operations.emplace(name, *std::move(dsc));
  }
  return Status::success();
}

Expected<BundleContents> readBundle(const Artifacts &files) {
  SPYRE_ASSIGN_OR_RETURN(std::string text, findArtifact(files, "bundle.mlir"));
  Expected<Bundle> bundle = parseBundleMlir(text);
  if (!bundle) {
    return bundle.status().withContext("bundle.mlir: ");
  }
  BundleContents contents;
  contents.bundle = *std::move(bundle);
  SPYRE_RETURN_IF_ERROR(readOperations(contents.bundle.body, files, contents));
  return contents;
}

} // namespace spyre::spec
