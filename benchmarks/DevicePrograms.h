//===- DevicePrograms.h - programs of the speed table, as text assembly ---------------------===//
//
// Written the way a good back end would: work divided over all cores, tiles that fit LX, long runs.
// Tensors are row-blocked as the default layout does: stick (column block, row) of a matrix with R
// rows is at (columnBlock * R + row) * 128.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include <cstdint>
#include <string>

namespace spyre::bench {

/// out(rows, columns) = a(rows, depth) x b(depth, columns), cut 8 x 4 over 32 cores.
std::string matmulProgram(int64_t rows, int64_t depth, int64_t columns);
/// out = function(a, b) on \p sticks sticks each; "add" or "mul".
std::string pointwiseProgram(const std::string &function, int64_t sticks);
/// out = function(a); "exp".
std::string unaryProgram(const std::string &function, int64_t sticks);
/// Along the columns of a (rows, columns) matrix; rows are divided over the cores.
std::string layerNormProgram(int64_t rows, int64_t columns);
std::string softmaxProgram(int64_t rows, int64_t columns);
/// The stick goes from the columns to the rows.
std::string restickifyProgram(int64_t rows, int64_t columns);

} // namespace spyre::bench
