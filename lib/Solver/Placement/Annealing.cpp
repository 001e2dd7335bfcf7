//===- Annealing.cpp - orders of stacking, changed at random ---------------------------------===//
//
// [spec: scratchpad 11.1] A state is an order; each buffer stands on the highest earlier one it
// meets in time, or in its parent's place, and is out if its top passes the capacity. A step takes
// one buffer out of the order and puts it back where the quality is best or, by chance, somewhere
// worse.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Base/Random.h"

#include "Documented.h"
#include "Overlaps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace spyre::solver::placement {
namespace {

class Annealing {
public:
  Annealing(const Problem &problem, const Overlaps &overlaps, const Offsets &firstFit,
            const Offsets &pins, uint64_t seed)
      : problem(problem), overlaps(overlaps), pins(pins), ceiling(ceilings(problem)), random(seed) {
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      const Buffer &buffer = problem.buffers[i];
      if (!buffer.forbidden && !buffer.pinned && buffer.sizeBytes <= ceiling[i]) {
        order.push_back(int(i));
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return firstFit[a].value_or(INT64_MAX) < firstFit[b].value_or(INT64_MAX);
    });
  }

  Offsets run() {
    quality = stack(order);
    best = order;
    bestQuality = quality;
    const int64_t count = int64_t(order.size());
    // Probing is cubic in the number of buffers: long orders get fewer steps.
    const int64_t affordable = kWork / std::max<int64_t>(1, count * count * 16);
    steps = std::min(std::clamp<int64_t>(30 * count, 500, 5000), affordable);
    cycle = std::max<int64_t>(1, steps / kCycles);
    for (int64_t step = 0; step < steps && !allResident() && count > 1; ++step) {
      move(step);
    }
    stack(best);
    Offsets result = pins;
    for (int buffer : order) {
      if (resident(buffer)) {
        result[buffer] = address[buffer];
      }
    }
    return result;
  }

private:
  static constexpr int64_t kCycles = 4;
  static constexpr int64_t kWork = 20'000'000'000;

  bool resident(int buffer) const {
    return address[buffer] + problem.buffers[buffer].sizeBytes <= ceiling[buffer];
  }

  bool allResident() const {
    return std::all_of(order.begin(), order.end(), [&](int b) { return resident(b); });
  }

  /// Twice (uses + half for a write first) times the size.
  int64_t worth(int buffer) const {
    const Buffer &entry = problem.buffers[buffer];
    return (2 * useCount(entry) + (entry.firstUseIsRead ? 0 : 1)) * entry.sizeBytes;
  }

  /// Addresses of all buffers in \p sequence; returns the quality.
  int64_t stack(const std::vector<int> &sequence) {
    address.assign(problem.buffers.size(), -1);
    handedOver.assign(problem.buffers.size(), 0);
    int64_t sum = 0;
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      if (pins[i]) {
        address[i] = *pins[i];
      }
    }
    for (int buffer : sequence) {
      address[buffer] = addressOf(buffer);
      sum += resident(buffer) ? worth(buffer) : 0;
    }
    return sum;
  }

  int64_t addressOf(int buffer) {
    const Buffer &entry = problem.buffers[buffer];
    for (int parent : entry.parents) {
      if (address[parent] >= 0 && !handedOver[parent] && onlyParentThere(buffer, parent)) {
        handedOver[parent] = 1;
        return address[parent];
      }
    }
    int64_t top = 0;
    for (const int *other = overlaps.begin(buffer); other != overlaps.end(buffer); ++other) {
      if (address[*other] >= 0) {
        top = std::max(top, address[*other] + problem.buffers[*other].sizeBytes);
      }
    }
    return alignUp(top, problem.alignmentOf(entry));
  }

  bool onlyParentThere(int buffer, int parent) const {
    const Buffer &entry = problem.buffers[buffer];
    const int64_t low = address[parent], high = low + entry.sizeBytes;
    if (low % problem.alignmentOf(entry) != 0) {
      return false;
    }
    return std::none_of(overlaps.begin(buffer), overlaps.end(buffer), [&](int other) {
      return other != parent && address[other] >= 0 && address[other] < high &&
             low < address[other] + problem.buffers[other].sizeBytes;
    });
  }

  /// Residents are taken more often than others.
  size_t pickPosition() {
    int64_t residents = 0;
    for (int buffer : order) {
      residents += resident(buffer) ? 1 : 0;
    }
    const int64_t n = int64_t(order.size());
    const int64_t total = residents * n + (n - residents) * (residents + 1);
    int64_t at = int64_t(random.below(uint64_t(total)));
    for (size_t i = 0; i < order.size(); ++i) {
      at -= resident(order[i]) ? n : residents + 1;
      if (at < 0) {
        return i;
      }
    }
    return order.size() - 1;
  }

  double temperature(int64_t step) const {
    const double a = -std::log(0.8), b = -std::log(0.01), delta = std::sqrt(b / a);
    const double centre = samples == 0 ? firstCentre(delta) : meanChange / std::sqrt(a * b);
    const double progress = double(step % cycle) / double(cycle);
    return centre * std::pow(delta, 1 - 2 * progress);
  }

  double firstCentre(double delta) const {
    double peak = 1;
    for (int buffer : order) {
      peak = std::max(peak, double(2 * problem.buffers[buffer].sizeBytes));
    }
    return peak / 300 / delta;
  }

  void learn(double change) {
    const double rate = 2.0 / double(cycle);
    const int64_t warm = std::min<int64_t>(std::max<int64_t>(1, cycle / 4), 20);
    ++samples;
    meanChange = samples <= warm ? meanChange + (change - meanChange) / double(samples)
                                 : meanChange + rate * (change - meanChange);
  }

  void move(int64_t step) {
    const size_t from = pickPosition();
    const int buffer = order[from];
    size_t limit = order.size();
    if (!resident(buffer)) {
      // Addresses only grow with the position: beyond the last resident it stays out.
      for (limit = order.size(); limit > 0 && !resident(order[limit - 1]); --limit) {
      }
      limit = std::min(order.size(), limit + 1);
    }
    std::vector<int> rest = order;
    rest.erase(rest.begin() + std::ptrdiff_t(from));
    std::vector<std::pair<int64_t, size_t>> probes;
    double sum = 0;
    int changes = 0;
    std::vector<int> trial;
    for (size_t to = 0; to < limit; ++to) {
      if (to == from) {
        continue;
      }
      trial = rest;
      trial.insert(trial.begin() + std::ptrdiff_t(to), buffer);
      const int64_t probed = stack(trial);
      probes.push_back({-probed, to});
      if (probed != quality) {
        sum += std::abs(double(probed - quality));
        ++changes;
      }
    }
    if (changes > 0) {
      learn(sum / changes);
    }
    std::sort(probes.begin(), probes.end());
    const double heat = temperature(step);
    for (const auto &[negative, to] : probes) {
      const double change = double(-negative - quality);
      if (change > 0 || random.uniform(0, 1) < std::exp(change / heat)) {
        rest.insert(rest.begin() + std::ptrdiff_t(to), buffer);
        order = std::move(rest);
        quality = -negative;
        break;
      }
    }
    stack(order);
    bubble();
    if (quality > bestQuality) {
      bestQuality = quality;
      best = order;
    }
  }

  /// Neighbours in the order that never meet: the lower top first. Neutral now, a help later.
  void bubble() {
    for (size_t i = 1; i < order.size(); ++i) {
      const Buffer &left = problem.buffers[order[i - 1]], &right = problem.buffers[order[i]];
      if (!overlapInTime(left, right) &&
          address[order[i - 1]] + left.sizeBytes > address[order[i]] + right.sizeBytes) {
        std::swap(order[i - 1], order[i]);
      }
    }
    quality = stack(order);
  }

  const Problem &problem;
  const Overlaps &overlaps;
  const Offsets &pins;
  std::vector<int64_t> ceiling;
  Random random;
  std::vector<int> order, best;
  std::vector<int64_t> address;
  std::vector<char> handedOver;
  int64_t quality = 0, bestQuality = 0, steps = 0, cycle = 1, samples = 0;
  double meanChange = 0;
};

} // namespace

Expected<Plan> AnnealingSolver::plan(const Problem &problem, Variant variant) const {
  SPYRE_ASSIGN_OR_RETURN(Offsets pins, startDocumented(problem, variant));
  SPYRE_ASSIGN_OR_RETURN(Plan firstFit, FitSolver(options, false).plan(problem, variant));
  if (firstFit.certificate.proof == Proof::AllPlaced) {
    return firstFit;
  }
  SPYRE_ASSIGN_OR_RETURN(Overlaps overlaps, Overlaps::of(problem));
  Annealing annealing(problem, overlaps, firstFit.offsets, pins, options.seed);
  Plan plan = finishDocumented(problem, annealing.run());
  // The start is kept if nothing better was found.
  return plan.certificate.value >= firstFit.certificate.value ? plan : firstFit;
}

} // namespace spyre::solver::placement
