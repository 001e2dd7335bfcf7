//===- NoDivision.cpp - the proof that no even division exists ------------------------------===//
//
// Slices that are cut further reach no further, so only combinations that cannot be refined within
// the cores need a witness: a tensor that is too large for some core, or a loop that counts too
// far.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Math.h"

#include "BestDivision.h"
#include "Search.h"

#include <algorithm>

namespace spyre::solver::division {

namespace {

class Prover {
public:
  Prover(const Op &op, const arch::DeviceDesc &device, int64_t cores)
      : op(op), device(device), cores(cores), units(unitsOf(op)), reaches(op, units, device) {
    for (int64_t basis : units.basis) {
      divisors.push_back(divisorsUpTo(basis, cores));
    }
  }

  std::optional<NoDivision> run() {
    Splits trial(op.dims.size(), 1);
    enumerate(trial, 0, 1);
    if (legal || proof.combinations > int64_t(kMaxCandidates)) {
      return std::nullopt;
    }
    findNeeded();
    proof.text = explain();
    return std::move(proof);
  }

private:
  struct Fault {
    int tensor = -1;
    int64_t bytes = 0;
    bool any = false;
  };

  Fault faultOf(const Splits &splits) const {
    for (size_t t = 0; t < reaches.tensors(); ++t) {
      int64_t sticks = 1 + reaches.anyRow(t);
      for (size_t d = 0; d < splits.size(); ++d) {
        sticks += reaches.sticks(t, d, splits[d]);
      }
      if (sticks * kStickBytes > device.spanLimitBytes) {
        return {reaches.tensor(t), sticks * kStickBytes, true};
      }
    }
    const int64_t most = device.division.maxTripCount;
    for (size_t d = 0; d < splits.size(); ++d) {
      if (most > 0 && ceilDiv(units.count[d], splits[d]) > most) {
        return {-1, 0, true};
      }
    }
    return {};
  }

  bool canRefine(const Splits &splits, int64_t used) const {
    for (size_t d = 0; d < splits.size(); ++d) {
      for (int64_t split : divisors[d]) {
        if (split > splits[d] && split % splits[d] == 0 && used / splits[d] * split <= cores) {
          return true;
        }
      }
    }
    return false;
  }

  void enumerate(Splits &trial, size_t next, int64_t used) {
    if (legal || proof.combinations > int64_t(kMaxCandidates)) {
      return;
    }
    if (next == trial.size()) {
      ++proof.combinations;
      if (canRefine(trial, used)) {
        return;
      }
      const Fault fault = faultOf(trial);
      legal = !fault.any;
      proof.maximal.push_back({trial, fault.tensor, fault.bytes});
      return;
    }
    for (int64_t split : divisors[next]) {
      if (used * split > cores) {
        break;
      }
      trial[next] = split;
      enumerate(trial, next + 1, used * split);
    }
    trial[next] = 1;
  }

  /// What each dim needs while all others are cut as far as they go.
  void findNeeded() {
    Splits finest;
    for (int64_t basis : units.basis) {
      finest.push_back(basis);
    }
    for (size_t d = 0; d < op.dims.size(); ++d) {
      int64_t least = 0;
      Splits trial = finest;
      for (int64_t split : divisors[d]) {
        trial[d] = split;
        if (!faultOf(trial).any) {
          least = split;
          break;
        }
      }
      proof.needed.push_back(least);
    }
  }

  std::string explain() const {
    std::string needs;
    int64_t product = 1;
    for (size_t d = 0; d < proof.needed.size(); ++d) {
      const std::string &name = op.dims[d].name;
      if (proof.needed[d] == 0) {
        needs += fmt::format("; no number of slices of {} up to {} suffices (its {} pieces allow "
                             "{{{}}})",
                             name, cores, units.basis[d], fmt::join(divisors[d], ", "));
      } else if (proof.needed[d] > 1) {
        needs += fmt::format("; {} needs at least {} slices", name, proof.needed[d]);
        product *= proof.needed[d];
      }
    }
    if (product > cores) {
      needs += fmt::format(": {} cores of {}", product, cores);
    }
    std::string witness;
    for (const NoDivision::Row &row : proof.maximal) {
      if (row.tensor >= 0 && witness.empty()) {
        witness =
            fmt::format("; with {} a core spans {} of {} bytes of {}", describe(op, row.splits),
                        row.spanBytes, device.spanLimitBytes, op.tensors[size_t(row.tensor)].name);
      }
    }
    return fmt::format("no even division without padding exists: all {} combinations on {} cores "
                       "were tried{}{}",
                       proof.combinations, cores, needs, witness);
  }

  const Op &op;
  const arch::DeviceDesc &device;
  int64_t cores;
  Units units;
  Reaches reaches;
  std::vector<std::vector<int64_t>> divisors;
  bool legal = false;
  NoDivision proof;
};

} // namespace

std::optional<NoDivision> proveNoDivision(const Op &op, const arch::DeviceDesc &device,
                                          int64_t cores) {
  return Prover(op, device, cores).run();
}

} // namespace spyre::solver::division
