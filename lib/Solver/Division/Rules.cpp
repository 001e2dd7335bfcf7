//===- Rules.cpp - the capability table applied to one operation ----------------------------===//
#include "spyre/Solver/Division/Rules.h"

#include "spyre/Base/Math.h"

#include <algorithm>
#include <numeric>

namespace spyre::solver::division {

namespace {

class RuleBook {
public:
  RuleBook(const Op &op, const Units &units, const arch::DivisionRules &rules, int64_t cores)
      : op(op), units(units), rules(rules), cores(cores) {
    for (int64_t basis : units.basis) {
      found.dims.push_back({divisorsUpTo(basis, cores), ""});
    }
  }

  Expected<Domains> apply() {
    for (size_t d = 0; d < op.dims.size(); ++d) {
      sticks(d);
      windows(d);
      loops(d);
      results(d);
      indirect(d);
    }
    if (op.kind == Kind::Reduction && rules.multiReduction && reducedDims() > 1) {
      for (size_t d = 0; d < op.dims.size(); ++d) {
        blockIf(op.dims[d].reduced, d, "multiReduction");
      }
    }
    for (size_t d = 0; d < op.dims.size(); ++d) {
      if (found.dims[d].splits.empty()) {
        return error<3071>("'{}': rule {} leaves {} ({} pieces) no number of slices on {} cores; "
                           "use another size or more cores",
                           op.name, found.dims[d].rule, op.dims[d].name, units.basis[d], cores);
      }
    }
    return found;
  }

private:
  template <typename Predicate>
  void keep(size_t d, const char *rule, Predicate allowed) {
    Domain &domain = found.dims[d];
    const size_t before = domain.splits.size();
    std::erase_if(domain.splits, [&](int64_t split) { return !allowed(split); });
    if (domain.splits.size() != before && *domain.rule == '\0') {
      domain.rule = rule;
    }
  }
  void blockIf(bool condition, size_t d, const char *rule) {
    if (condition) {
      keep(d, rule, [](int64_t split) { return split == 1; });
    }
  }

  int64_t reducedDims() const {
    return std::count_if(op.dims.begin(), op.dims.end(),
                         [](const Dim &dim) { return dim.reduced && dim.extent > 1; });
  }

  void sticks(size_t d) {
    const Dim &dim = op.dims[d];
    const bool partial = units.stick[d] && units.extent[d] % units.elems[d] != 0;
    blockIf(rules.coordinateMask && dim.reduced && partial, d, "coordinateMask");
    blockIf(rules.restickifyPadding && op.kind == Kind::Restickify && partial, d,
            "restickifyPadding");
    blockIf(dim.role == Role::Scan, d, "scan");
    blockIf(rules.secondStickDim && dim.role == Role::SecondStick, d, "secondStickDim");
    const bool staggered = std::any_of(op.tensors.begin(), op.tensors.end(),
                                       [](const Tensor &tensor) { return tensor.staggered; });
    blockIf(rules.staggeredMatmulK && op.kind == Kind::Matmul && dim.reduced && staggered, d,
            "staggeredMatmulK");
  }

  void windows(size_t d) {
    const Dim &dim = op.dims[d];
    const bool conv = op.kind == Kind::Conv || op.kind == Kind::DepthwiseConv;
    blockIf(rules.convSpatial && conv && op.windowStride > 1 && dim.role == Role::Spatial, d,
            "convSpatial");
    const bool window = (op.kind == Kind::Pool && dim.reduced) ||
                        (op.kind == Kind::Conv && dim.role == Role::Kernel && dim.extent > 1) ||
                        (op.kind == Kind::DepthwiseConv && dim.reduced && !isWritten(d));
    blockIf(rules.reductionWindow && window, d, "reductionWindow");
    if (rules.overlappingWindow && dim.role == Role::Window) {
      overlapping(d);
    }
  }

  bool isWritten(size_t d) const {
    const std::vector<int64_t> &index = op.output().index;
    return !index.empty() && index[d] != 0;
  }

  /// A window that is reduced shares elements with its neighbours: whoever moves it is split
  /// entirely; one that is copied out stays within the dimension it is read from.
  void overlapping(size_t d) {
    for (const Tensor &tensor : op.tensors) {
      for (size_t c = 0; c < tensor.coordinates.size() && !tensor.output; ++c) {
        const std::vector<Term> &terms = tensor.coordinates[c].terms;
        if (std::none_of(terms.begin(), terms.end(),
                         [&](const Term &term) { return size_t(term.dim) == d; })) {
          continue;
        }
        const int64_t size = tensor.deviceSize[c];
        keep(d, "overlappingWindow",
             [&](int64_t split) { return ceilDiv(units.extent[d], split) <= size; });
        for (const Term &term : terms) {
          const size_t outer = size_t(term.dim);
          if (op.dims[d].reduced && outer != d) {
            keep(outer, "overlappingWindow",
                 [&](int64_t split) { return split == units.basis[outer]; });
          }
        }
      }
    }
  }

  void loops(size_t d) {
    const Dim &dim = op.dims[d];
    blockIf(rules.coarseTileLocal && dim.tiles > 1 && dim.hint == 0 && !op.tileCopy, d,
            "coarseTileLocal");
    if (rules.carriedReductionRow && dim.role == Role::Carried) {
      keep(d, "carriedReductionRow", [&](int64_t split) { return split == dim.requiredSplit; });
    }
    for (const Tensor &tensor : op.tensors) {
      if (rules.directReadSourceStick && tensor.directRead && op.loopTrips >= 3 &&
          laneDim(tensor) == int(d)) {
        keep(d, "directReadSourceStick", [&](int64_t split) {
          return split == 1 || units.extent[d] % (split * tensor.elemsPerStick()) == 0;
        });
      }
    }
    if (rules.alignedOwnership && dim.segments.size() > 1) {
      keep(d, "alignedOwnership", [&](int64_t split) { return isOneBlock(d, split); });
    }
  }

  /// Slices take the outermost segment first; a core's part is one block when every segment but the
  /// last one cut is cut entirely. [spec: work-division 16.4]
  bool isOneBlock(size_t d, int64_t split) const {
    std::vector<int64_t> segments = op.dims[d].segments;
    segments.front() = ceilDiv(segments.front(), units.elems[d]);
    for (size_t i = segments.size(); i-- > 0;) {
      const int64_t factor = std::gcd(split, segments[i]);
      split /= factor;
      if (split > 1 && factor != segments[i]) {
        return false;
      }
    }
    return split == 1;
  }

  void results(size_t d) {
    const bool topK = op.kind == Kind::TopK && rules.topK;
    const bool byIndex = op.kind == Kind::KeepByIndex && rules.keepByIndex;
    if (!topK && !byIndex) {
      return;
    }
    const char *rule = topK ? "topK" : "keepByIndex";
    const Dim &dim = op.dims[d];
    blockIf(dim.role == Role::Search || (topK && dim.reduced), d, rule);
    blockIf(byIndex && dim.role == Role::EnclosesSearch, d, rule);
    if (dim.role != Role::Results) {
      return;
    }
    int64_t least = 0;
    for (int64_t split : found.dims[d].splits) {
      if (least == 0 && units.extent[d] / split <= rules.topKResultsPerCore) {
        least = split;
      }
    }
    keep(d, rule, [&](int64_t split) { return split == least; });
  }

  /// A core has whole sticks of indices, or a part of one. [spec: work-division 0.1]
  void sharedSticks(size_t d) {
    for (const Tensor &tensor : op.tensors) {
      const int64_t lanes = tensor.elemsPerStick();
      if (tensor.sharesSticks && laneDim(tensor) == int(d)) {
        keep(d, "indexSticks", [&](int64_t split) {
          const int64_t each = units.extent[d] / split;
          return split == 1 || each <= lanes || each % lanes == 0;
        });
      }
    }
  }

  void indirect(size_t d) {
    sharedSticks(d);
    if (!rules.indirectAccess) {
      return;
    }
    int64_t indices = 0;
    for (const Tensor &tensor : op.tensors) {
      indices += tensor.access == Access::Index ? 1 : 0;
      blockIf(tensor.access == Access::Table && occursIn(tensor, int(d)), d, "indirectAccess");
      if (tensor.access == Access::Index && laneDim(tensor) == int(d) &&
          units.extent[d] % tensor.elemsPerStick() != 0) {
        const bool padded = op.kind == Kind::Gather && hasRoom(d, tensor.elemsPerStick());
        blockIf(!padded, d, "indirectAccess");
      }
    }
    blockIf(op.kind == Kind::ScatterAdd || (op.kind == Kind::Scatter && indices > 1), d,
            "indirectAccess");
  }

  /// The result has places for the entries of a padded last stick.
  bool hasRoom(size_t d, int64_t lanes) const {
    const Tensor &out = op.output();
    for (size_t c = 0; c < out.coordinates.size(); ++c) {
      int64_t most = 0;
      bool concerned = false;
      for (const Term &term : out.coordinates[c].terms) {
        const size_t v = size_t(term.dim);
        concerned = concerned || v == d;
        most += term.at((v == d ? roundUp(units.extent[v], lanes) : units.extent[v]) - 1);
      }
      if (concerned && most >= out.deviceSize[c]) {
        return false;
      }
    }
    return true;
  }

  const Op &op;
  const Units &units;
  const arch::DivisionRules &rules;
  int64_t cores;
  Domains found;
};

} // namespace

Expected<Domains> domainsOf(const Op &op, const Units &units, const arch::DeviceDesc &device,
                            int64_t cores) {
  return RuleBook(op, units, device.division, cores).apply();
}

Status checkRules(const Op &op, const arch::DeviceDesc &device, int64_t cores,
                  const Splits &splits) {
  const Units units = unitsOf(op);
  SPYRE_ASSIGN_OR_RETURN(Domains domains, domainsOf(op, units, device, cores));
  std::vector<std::string> reduced;
  for (size_t d = 0; d < splits.size(); ++d) {
    const Domain &domain = domains.dims[d];
    if (std::find(domain.splits.begin(), domain.splits.end(), splits[d]) == domain.splits.end()) {
      return error<3069>("'{}': {} slices of {} ({} pieces) are not possible{}; possible: {{{}}}",
                         op.name, splits[d], op.dims[d].name, units.basis[d],
                         *domain.rule ? fmt::format(" by rule {}", domain.rule) : std::string(),
                         fmt::join(domain.splits, ", "));
    }
    if (splits[d] > 1 && !units.output[d]) {
      reduced.push_back(op.dims[d].name);
    }
  }
  if (int64_t(reduced.size()) > device.division.splitReductions) {
    return error<3063>("'{}': {} reduction dimensions are split ({}), at most {} can be; reduce "
                       "one dimension after the other",
                       op.name, reduced.size(), fmt::join(reduced, ", "),
                       device.division.splitReductions);
  }
  return Status::success();
}

} // namespace spyre::solver::division
