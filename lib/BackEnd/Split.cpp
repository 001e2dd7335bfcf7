//===- Split.cpp - cohorts of cores and their exchanges -------------------------------------===//
#include "Split.h"

#include <map>

namespace spyre::backend {

using program::Instruction;
using program::Opcode;

namespace {
/// The cores of one cohort by their slice of the reduced dimension; -1 until found.
using Cohort = std::vector<int64_t>;
} // namespace

/// Groups the cores by their slices of all dimensions but \p dim.
static Expected<std::map<std::vector<int64_t>, Cohort>> findCohorts(const Kernel &kernel,
                                                                    const std::string &dim) {
  const spec::SuperDsc &dsc = *kernel.dsc;
  std::map<std::vector<int64_t>, Cohort> cohorts;
  auto fault = [&](size_t core) {
    return error<5302>("{}: core {} has no slice, or that of another core; coreIdToWkSlice_ must "
                       "give each core its own slice",
                       kernel.name, core);
  };
  if (dsc.coreSlice.size() != size_t(dsc.cores)) {
    return fault(dsc.coreSlice.size());
  }
  for (size_t core = 0; core < dsc.coreSlice.size(); ++core) {
    std::vector<int64_t> key;
    int64_t own = 0;
    for (const auto &[name, size] : dsc.size) {
      const int64_t *slice = spec::findDim(dsc.coreSlice[core], name);
      if (!slice || *slice < 0 || *slice >= kernel.slices(name)) {
        return fault(core);
      }
      own = name == dim ? *slice : own;
      key.push_back(name == dim ? 0 : *slice);
    }
    Cohort &cohort = cohorts[key];
    cohort.resize(size_t(kernel.slices(dim)), -1);
    if (cohort[size_t(own)] >= 0) {
      return fault(core);
    }
    cohort[size_t(own)] = int64_t(core);
  }
  return cohorts;
}

static Status checkCohort(const Kernel &kernel, const std::string &dim, const Cohort &cohort) {
  for (size_t slice = 0; slice < cohort.size(); ++slice) {
    if (cohort[slice] < 0) {
      return error<5302>("{}: no core has slice {} of '{}' beside the others of its output",
                         kernel.name, slice, dim);
    }
    // In LX only the root's copy exists.
    const std::vector<int64_t> &start = kernel.output.startAddress;
    if (!kernel.output.inLx && start[size_t(cohort[slice])] != start[size_t(cohort[0])]) {
      return error<5302>("{}: cores {} and {} share a slice of the output ('{}' is reduced) but "
                         "have it at different addresses",
                         kernel.name, cohort[0], cohort[slice], dim);
    }
  }
  return Status::success();
}

Expected<Split> planSplit(const Kernel &kernel, const std::string &dim, bool hasTail,
                          PhaseBuilder &builder) {
  Split split;
  size_t slices = dim.empty() ? 1 : size_t(kernel.slices(dim));
  if (slices == 1) {
    return split;
  }
  SPYRE_ASSIGN_OR_RETURN(auto cohorts, findCohorts(kernel, dim));
  size_t cores = size_t(kernel.dsc->cores);
  std::vector<int64_t> roots(cores, 0), last(cores, 0), others(cores, 1);
  std::vector<std::vector<int64_t>> peers(slices, std::vector<int64_t>(cores, -1));
  for (const auto &[key, cohort] : cohorts) {
    SPYRE_RETURN_IF_ERROR(checkCohort(kernel, dim, cohort));
    roots[size_t(cohort.front())] = 1;
    last[size_t(cohort.back())] = 1;
    others[size_t(cohort.back())] = 0;
    for (size_t slice = 1; slice < slices; ++slice) {
      peers[slice][size_t(cohort.front())] = cohort[slice];
    }
  }
  split.roots = builder.coreTable(roots);
  if (hasTail) {
    split.lastSlice = builder.coreTable(last);
    split.otherSlices = builder.coreTable(others);
  }
  for (size_t slice = 1; slice < slices; ++slice) {
    split.peers.push_back(builder.coreTable(peers[slice]));
  }
  return split;
}

void combineSlices(const Split &split, program::Function function, const Place &acc,
                   int64_t accBytes, PhaseBuilder &builder, bool integers) {
  for (int32_t peers : split.peers) {
    Instruction exchange;
    exchange.opcode = Opcode::Exchange;
    exchange.function = function;
    exchange.peerTable = peers;
    std::vector<const Place *> places{&acc, &acc};
    std::vector<Level> nest = builder.levels(builder.axesOf(acc), places);
    nest.push_back({accBytes / kStickBytes, {kStickBytes, kStickBytes}});
    if (integers) {
      builder.emitAs(numerics::DataFormat::IeeeInt32, exchange, places, std::move(nest));
    } else {
      builder.emit(exchange, places, std::move(nest));
    }
  }
}

} // namespace spyre::backend
