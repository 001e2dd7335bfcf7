//===- Units.cpp - stick-adjusted sizes and the documented span -----------------------------===//
#include "spyre/Solver/Division/Units.h"

#include "spyre/Base/Math.h"

#include <algorithm>

namespace spyre::solver::division {

int laneDim(const Tensor &tensor) {
  const std::vector<Term> &lanes = tensor.coordinates.back().terms;
  return lanes.size() == 1 ? lanes.front().dim : -1;
}

bool occursIn(const Tensor &tensor, int dim) {
  for (const Coordinate &coordinate : tensor.coordinates) {
    for (const Term &term : coordinate.terms) {
      if (term.dim == dim) {
        return true;
      }
    }
  }
  return false;
}

Units unitsOf(const Op &op) {
  Units units;
  const size_t dims = op.dims.size();
  units.extent.resize(dims);
  units.elems.assign(dims, 1);
  units.stick.assign(dims, false);
  units.output.assign(dims, false);
  for (const Tensor &tensor : op.tensors) {
    if (int dim = laneDim(tensor); dim >= 0 && !tensor.sharesSticks) {
      units.stick[size_t(dim)] = true;
      units.elems[size_t(dim)] = std::max(units.elems[size_t(dim)], tensor.elemsPerStick());
    }
  }
  for (size_t d = 0; d < dims; ++d) {
    const Dim &dim = op.dims[d];
    units.extent[d] = dim.extent / dim.tiles;
    units.walked.push_back(dim.walked > 0 ? dim.walked : units.extent[d]);
    units.count.push_back(ceilDiv(units.extent[d], units.elems[d]));
    units.basis.push_back(dim.granularity > 0 && !units.stick[d] ? dim.granularity
                                                                 : units.count[d]);
  }
  const std::vector<Coordinate> &written = op.output().coordinates;
  for (size_t d = 0; d + 1 < written.size(); ++d) {
    for (const Term &term : written[d].terms) {
      units.output[size_t(term.dim)] = true;
    }
  }
  return units;
}

std::vector<int64_t> divisorsUpTo(int64_t value, int64_t most) {
  std::vector<int64_t> found;
  for (int64_t i = 1; i <= std::min(value, most); ++i) {
    if (value % i == 0) {
      found.push_back(i);
    }
  }
  return found;
}

int64_t coreSplit(int64_t size, int64_t cores) {
  for (int64_t split = std::min(size, cores); split > 1; --split) {
    if (size % split == 0) {
      return split;
    }
  }
  return 1;
}

int64_t productOf(const Splits &splits) {
  int64_t product = 1;
  for (int64_t split : splits) {
    product *= std::max<int64_t>(split, 1);
  }
  return product;
}

std::string describe(const Op &op, const Splits &splits) {
  std::string text;
  for (size_t d = 0; d < splits.size(); ++d) {
    if (splits[d] > 1) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", op.dims[d].name, splits[d]);
    }
  }
  return text.empty() ? "none" : text;
}

int64_t documentedSpan(const Op &op, const Units &units, const Tensor &tensor, const Splits &splits,
                       SpanBytes how) {
  (void)op;
  const int64_t itemBytes = how == SpanBytes::HostItems && tensor.hostItemBytes > 0
                                ? tensor.hostItemBytes
                                : kStickBytes / tensor.elemsPerStick();
  int64_t inner = tensor.elemsPerStick() * itemBytes;
  const int64_t least = how == SpanBytes::HostItems ? itemBytes : inner;
  for (size_t d = 1; d + 1 < tensor.deviceSize.size(); ++d) {
    inner *= tensor.deviceSize[d];
  }
  for (size_t d = 0; d + 1 < tensor.deviceSize.size(); ++d) {
    int64_t size = 1;
    for (const Term &term : tensor.coordinates[d].terms) {
      const size_t v = size_t(term.dim);
      const int64_t slices = v < splits.size() ? std::max<int64_t>(splits[v], 1) : 1;
      size += term.at(std::max<int64_t>(units.extent[v] / slices, 1) - 1) - term.at(0);
    }
    if (size > 1) {
      return size * inner;
    }
    inner /= d + 2 < tensor.deviceSize.size() ? tensor.deviceSize[d + 1] : 1;
  }
  return least;
}

} // namespace spyre::solver::division
