//===- SliceCopies.h - how many slices a rearrangement is put together from -----------------===//
//
// Device addresses only grow with an index, so some views of a framework are made of copies of
// slices. How many decides whether the device does it at all: the op checks ask here, and the
// conversion to loops makes exactly these.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <vector>

namespace spyre::graph {

/// More are not made: the operation runs on the host.
constexpr int64_t kMaxSliceCopies = 256;

/// Factors of \p extent, innermost first; small ones are joined, since a flip moves the whole
/// tensor once per factor.
std::vector<int64_t> flipDigits(int64_t extent);
/// Copies of slices a flip of a dimension of \p extent takes; a large prime factor makes it many.
int64_t flipCopies(int64_t extent);

/// The outermost dimension whose steps the ones inside of it do not fill evenly, or -1.
int64_t findOverlap(const std::vector<int64_t> &shape, const std::vector<int64_t> &stride);
/// Copies of slices a walk of these strides takes: 1 for strides that nest, as many as there are
/// values of the dimensions that do not.
int64_t stridedCopies(const std::vector<int64_t> &shape, const std::vector<int64_t> &stride);

} // namespace spyre::graph
