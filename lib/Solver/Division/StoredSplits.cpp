//===- StoredSplits.cpp - splits to coefficients and back -----------------------------------===//
#include "spyre/Solver/Division/StoredSplits.h"

namespace spyre::solver::division {

StoredSplits encodeSplits(const Splits &splits, const std::vector<int64_t> &write,
                          const std::vector<int64_t> &read) {
  StoredSplits stored;
  for (size_t d = 0; d < splits.size(); ++d) {
    if (splits[d] <= 1) {
      continue;
    }
    if (write[d] != 0) {
      stored.output[write[d]] = splits[d];
    } else if (read[d] != 0) {
      stored.reduction[read[d]] = splits[d];
    }
  }
  return stored;
}

static int64_t valueOf(const std::map<int64_t, int64_t> &splits, int64_t coefficient) {
  auto found = splits.find(coefficient);
  return found == splits.end() ? 1 : found->second;
}

Splits decodeSplits(const StoredSplits &stored, const std::vector<int64_t> &write,
                    const std::vector<int64_t> &read, const std::vector<int64_t> &extents) {
  Splits splits(extents.size(), 1);
  for (size_t d = 0; d < extents.size(); ++d) {
    // A dim of one element may share its stride with a neighbour and must not take its split.
    if (extents[d] <= 1) {
      continue;
    }
    if (write[d] != 0) {
      splits[d] = valueOf(stored.output, write[d]);
    } else if (read[d] != 0) {
      splits[d] = valueOf(stored.reduction, read[d]);
    }
  }
  return splits;
}

const std::vector<int64_t> &writeIndex(const Op &op) { return op.output().index; }

const std::vector<int64_t> &readIndex(const Op &op) {
  for (const Tensor &tensor : op.tensors) {
    if (tensor.access != Access::Table) {
      return tensor.index;
    }
  }
  return op.output().index;
}

} // namespace spyre::solver::division
