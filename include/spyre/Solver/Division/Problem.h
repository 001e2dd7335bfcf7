//===- Problem.h - one operation whose iteration space is divided over the cores ------------===//
//
// An operation runs over iteration variables (dims). Each tensor is a device layout, outermost
// dimension first, the last one the lanes of a 128-byte stick, and one coordinate per device
// dimension: a sum of terms of one variable each. Splitting a variable in s equal slices gives each
// of the product of all s a core. A plan for a whole graph holds many such operations; nothing here
// refers to another one. [spec: work-division 1]
//
//     c = a + b, [128, 200] in 16 bits      dims    c0 128, c1 200
//     device [4, 128, 64]                   coords  c1/64, c0, c1%64
//     splits c0 32, c1 1                    32 cores of 4 rows
//
// Glossary: a *stick variable* runs along the lanes of some tensor and is counted in sticks; its
// *units* are sticks, those of any other variable are elements. The *span* is the range of device
// memory one core touches of one tensor.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include <cstdint>
#include <string>
#include <vector>

namespace spyre::solver::division {

enum class Kind {
  Pointwise,
  Reduction,
  Matmul,
  Restickify,
  Gather,
  Scatter,
  ScatterAdd,
  TopK,
  KeepByIndex,
  Conv,
  DepthwiseConv,
  Pool,
  /// Host steps, allocations, anything no pass divides.
  Other,
};

/// What a variable is beyond a range of numbers, where a rule asks.
enum class Role {
  Plain,
  /// Kernel of a convolution, or the window of pooling.
  Kernel,
  /// Rows and columns of a convolution's result.
  Spatial,
  /// The axis top-k searches, and the axis of its k results.
  Search,
  Results,
  /// Encloses a searched axis of more than one stick.
  EnclosesSearch,
  /// Window of an unfold: shares its coordinate with the variable that moves it.
  Window,
  /// Row that is carried from one stage to the next with Dim::requiredSplit.
  Carried,
  /// Second variable of a two-dimensional stick.
  SecondStick,
  /// Each step needs the one before it: stays whole.
  Scan,
};

struct Dim {
  std::string name;
  /// Elements; the largest size where the size is known only at run time.
  int64_t extent = 1;
  /// Elements cores walk, with padding behind the extent that is read as well; 0: the extent.
  int64_t walked = 0;
  /// Sums, maxima ... run over it.
  bool reduced = false;
  /// 0: the size is fixed; else every size is a multiple of it, and slices must divide it.
  int64_t granularity = 0;
  /// What the user asked for; 0: nothing.
  int64_t hint = 0;
  /// The operation's own loop runs over it in this many tiles; cores divide one tile.
  int64_t tiles = 1;
  Role role = Role::Plain;
  /// Split of a carried row.
  int64_t requiredSplit = 0;
  /// Ranges the variable is stored in, innermost first; empty: one.
  std::vector<int64_t> segments = {};
};

/// ((v * step) mod wrap) / divisor, rounded down; no wrap when it is 0.
struct Term {
  int dim = 0;
  int64_t step = 1;
  int64_t wrap = 0;
  int64_t divisor = 1;

  int64_t at(int64_t value) const {
    const int64_t scaled = value * step;
    return (wrap > 0 ? scaled % wrap : scaled) / divisor;
  }
};

struct Coordinate {
  std::vector<Term> terms = {};
  int64_t offset = 0;
};

enum class Access {
  Direct,
  /// Read or written at places that are known at run time only.
  Table,
  /// Holds such places.
  Index,
};

struct Tensor {
  std::string name;
  /// Outermost first; the last is the number of elements of a stick. Real sizes, with padding.
  std::vector<int64_t> deviceSize = {};
  /// One per device dimension.
  std::vector<Coordinate> coordinates = {};
  /// Coefficient of each dim in the flat host index; needed for the stored form of splits.
  std::vector<int64_t> index = {};
  /// Bytes of an element on the host; 0: as on the device.
  int64_t hostItemBytes = 0;
  bool output = false;
  Access access = Access::Direct;
  /// Whoever makes it can give it more room: dims may be padded beyond deviceSize.
  bool growable = false;
  /// Read from DDR without a copy in between.
  bool directRead = false;
  /// Elements of a stick are not in ascending order, or fill two dimensions.
  bool staggered = false;
  /// Cores may have parts of the same stick: its lanes make no units. Of indices.
  bool sharesSticks = false;

  int64_t elemsPerStick() const { return deviceSize.back(); }
};

struct Op {
  std::string name;
  Kind kind = Kind::Pointwise;
  std::vector<Dim> dims = {};
  /// Inputs in the order they are read, then the outputs.
  std::vector<Tensor> tensors = {};
  /// Vector operations per point, where it is not a matrix product.
  double operations = 1;
  /// Step of a convolution's window.
  int64_t windowStride = 1;
  /// Trips of the loop nest around the operation.
  int64_t loopTrips = 1;
  /// A copy that tiling inserted.
  bool tileCopy = false;

  const Tensor &output() const { return tensors.back(); }
};

constexpr int64_t kStickBytes = 128;
constexpr size_t kMaxDims = 12;
constexpr size_t kMaxTensors = 64;
constexpr size_t kMaxDeviceDims = 12;
/// Extents, sizes and addresses in sticks stay below this: sums of a few of them fit 64 bits.
constexpr int64_t kMaxCount = int64_t(1) << 40;

const char *kindName(Kind kind);
const char *roleName(Role role);
/// Everything the other functions rely on. Errors: E3060.
Status checkOp(const Op &op);
/// "m 512, n 4096".
std::string describe(const Op &op);

} // namespace spyre::solver::division
