//===- SpecGenerator.h - random OpSpecs that must be expressible ----------------------------===//
#pragma once

#include "spyre/Base/Random.h"
#include "spyre/Spec/OpSpec.h"

namespace spyre::spec::test {

enum class SpecKind { Pointwise, StickReduction, NonStickReduction, Matmul, Restickify };

struct GeneratorOptions {
  SpecKind kind = SpecKind::Pointwise;
  /// Offsets, bigger buffers and constant dimensions.
  bool slices = true;
  /// Put tensors that are no slices into LX now and then.
  bool lx = false;
};

/// The same op for the same random state; small enough to enumerate all its points.
OpSpec generateSpec(Random &random, const GeneratorOptions &options);

} // namespace spyre::spec::test
