//===- Search.cpp - enumeration with exact spans --------------------------------------------===//
#include "Search.h"

#include "spyre/Base/Math.h"

#include <algorithm>
#include <array>

namespace spyre::solver::division {

/// Values of a wrapped variable that are looked at one by one.
static constexpr int64_t kMostValues = 4096;

Reaches::Reaches(const Op &op, const Units &units, const arch::DeviceDesc &device)
    : units(units), dims(op.dims.size()) {
  for (size_t t = 0; t < op.tensors.size(); ++t) {
    const Tensor &tensor = op.tensors[t];
    const bool table = tensor.access == Access::Table;
    if (table && device.division.indirectTablesExceedSpan) {
      continue;
    }
    tensorOf.push_back(int(t));
    int64_t stride = 1, any = 0;
    for (size_t d = tensor.deviceSize.size() - 1; d-- > 0;) {
      any += table && tensor.coordinates[d].terms.empty() ? (tensor.deviceSize[d] - 1) * stride : 0;
      stride *= tensor.deviceSize[d];
    }
    fixed.push_back(any);
    for (size_t dim = 0; dim < dims; ++dim) {
      begins.push_back(parts.size());
      stride = 1;
      for (size_t d = tensor.deviceSize.size() - 1; d-- > 0;) {
        for (const Term &term : tensor.coordinates[d].terms) {
          if (size_t(term.dim) == dim) {
            parts.push_back({&term, stride});
          }
        }
        stride *= tensor.deviceSize[d];
      }
    }
  }
  begins.push_back(parts.size());
}

int64_t Reaches::wrappedReach(std::span<const Part> parts, int64_t low, int64_t high) {
  if (high - low >= kMostValues) {
    int64_t most = 0;
    for (const auto &[term, stride] : parts) {
      const int64_t values =
          term->wrap > 0 ? (term->wrap - 1) / term->divisor : term->at(high) - term->at(low);
      most += values * stride;
    }
    return most;
  }
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (int64_t value = low; value <= high; ++value) {
    int64_t address = 0;
    for (const auto &[term, stride] : parts) {
      address += term->at(value) * stride;
    }
    first = std::min(first, address);
    last = std::max(last, address);
  }
  return last - first;
}

int64_t Reaches::sticks(size_t i, size_t dim, int64_t split) const {
  const size_t begin = begins[i * dims + dim], end = begins[i * dims + dim + 1];
  const std::span<const Part> along(parts.data() + begin, end - begin);
  if (along.empty()) {
    return 0;
  }
  bool wraps = false, alike = true;
  const int64_t each = ceilDiv(units.count[dim], split) * units.elems[dim];
  for (const Part &part : along) {
    wraps = wraps || part.term->wrap > 0;
    alike = alike && each * part.term->step % part.term->divisor == 0;
  }
  int64_t most = 0;
  // Slices that begin where a coordinate changes are all alike, and the first one is whole.
  const int64_t looked = alike && !wraps ? 1 : split;
  for (int64_t s = 0; s < looked; ++s) {
    const int64_t low = s * each, high = std::min(units.walked[dim], low + each) - 1;
    int64_t reach = 0;
    if (wraps) {
      reach = wrappedReach(along, low, high);
    } else {
      for (const auto &[term, stride] : along) {
        reach += (term->at(high) - term->at(low)) * stride;
      }
    }
    most = std::max(most, reach);
  }
  return most;
}

namespace {

class Enumeration {
public:
  Enumeration(const Op &op, const Units &units, const arch::DeviceDesc &device,
              const Domains &domains, int64_t cores)
      : dims(op.dims.size()), reaches(op, units, device), cores(cores),
        limitSticks(device.spanLimitBytes / kStickBytes),
        splitReductions(device.division.splitReductions) {
    tensors = reaches.tensors();
    result.candidates.dims = dims;
    used.assign((dims + 1) * std::max<size_t>(tensors, 1), 0);
    for (size_t t = 0; t < tensors; ++t) {
      used[t] = 1 + reaches.anyRow(t);
    }
    for (size_t d = 0; d < dims; ++d) {
      for (int64_t split : domains.dims[d].splits) {
        const int64_t trips = ceilDiv(units.count[d], split);
        if (device.division.maxTripCount > 0 && trips > device.division.maxTripCount) {
          continue;
        }
        options[d].push_back({split, int(sticks.size()), split > 1 && !units.output[d]});
        for (size_t t = 0; t < tensors; ++t) {
          sticks.push_back(reaches.sticks(t, d, split));
        }
      }
    }
  }

  SearchResult run() {
    extend(0, 1, 0);
    return std::move(result);
  }

private:
  struct Option {
    int64_t split;
    int sticks;
    bool reduces;
  };

  void extend(size_t d, int64_t taken, int64_t reduced) {
    if (d == dims) {
      if (result.candidates.size() >= kMaxCandidates) {
        result.cut = true;
        return;
      }
      result.candidates.splits.insert(result.candidates.splits.end(), chosen.begin(),
                                      chosen.begin() + std::ptrdiff_t(dims));
      return;
    }
    const int64_t *before = &used[d * tensors];
    int64_t *after = &used[(d + 1) * tensors];
    for (const Option &option : options[d]) {
      if (taken * option.split > cores || result.cut) {
        break;
      }
      if (option.reduces && reduced >= splitReductions) {
        continue;
      }
      bool fits = true;
      for (size_t t = 0; t < tensors; ++t) {
        after[t] = before[t] + sticks[size_t(option.sticks) + t];
        fits = fits && after[t] <= limitSticks;
      }
      if (fits) {
        chosen[d] = int32_t(option.split);
        extend(d + 1, taken * option.split, reduced + (option.reduces ? 1 : 0));
      }
    }
  }

  size_t dims, tensors = 0;
  Reaches reaches;
  int64_t cores, limitSticks, splitReductions;
  std::array<std::vector<Option>, kMaxDims> options;
  std::vector<int64_t> sticks, used;
  std::array<int32_t, kMaxDims> chosen{};
  SearchResult result;
};

} // namespace

SearchResult searchDivisions(const Op &op, const Units &units, const arch::DeviceDesc &device,
                             const Domains &domains, int64_t cores) {
  return Enumeration(op, units, device, domains, cores).run();
}

} // namespace spyre::solver::division
