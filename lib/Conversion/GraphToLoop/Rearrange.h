//===- Rearrange.h - views that no address rule can express, by copies of slices ------------===//
//
// Device addresses only ever grow with an index, and each step of one belongs to one index. What a
// framework calls a view and is not of this kind is put together from slices, each of which is:
//
//     windows that overlap    one copy per element of the window, or per window
//     flip                    digit by digit: an index reversed is each of its digits reversed
//     diagonal                a walk of rows + 1 through the matrix as one dimension
//     as_strided              a walk through the storage as one dimension
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "LoopBuilder.h"

namespace spyre {

/// Windows of \p size elements, \p step apart, along \p dim; their elements are the last dimension.
views::View unfoldDim(LoopBuilder &loops, const views::View &value, int64_t dim, int64_t size,
                      int64_t step);

views::View flipDim(LoopBuilder &loops, const views::View &value, int64_t dim);

/// Elements (i + start1, i + start2) of dimensions \p dim1 and \p dim2, as the last dimension.
views::View diagonalOf(LoopBuilder &loops, const views::View &value, int64_t dim1, int64_t dim2,
                       int64_t offset);

/// The elements of \p value in row-major order, read with \p shape, \p stride and \p offset.
views::View stridedView(LoopBuilder &loops, const views::View &value,
                        const std::vector<int64_t> &shape, const std::vector<int64_t> &stride,
                        int64_t offset);

} // namespace spyre
