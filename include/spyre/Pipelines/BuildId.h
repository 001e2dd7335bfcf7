//===- BuildId.h - which compiler this is ---------------------------------------------------===//
#pragma once

namespace spyre::pipelines {

/// Hash, made when the compiler is built, of its sources, its tools and their flags: what one build
/// compiled, another may not take for its own.
const char *buildId();

} // namespace spyre::pipelines
