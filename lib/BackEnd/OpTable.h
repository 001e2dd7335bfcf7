//===- OpTable.h - which operations the back end lowers, and how ----------------------------===//
//
// One row per operation name of a SuperDSC. A name that is not lowered is documented, known only by
// name, or unknown: different mistakes of the producer with different texts.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Status.h"
#include "spyre/Program/Program.h"

#include <array>
#include <string>

namespace spyre::backend {

enum class OpClass : uint8_t {
  Pointwise,
  Copy,
  Restickify,
  StickReduction,
  NonStickReduction,
  TopK,
  Matmul,
  Convolution,
  /// Pooling and depthwise convolution: channels stay apart.
  Window,
  Scan,
  Conversion,
};

/// How the inputs of a pointwise op become inputs of its Vector function; its constants follow.
enum class VectorForm : uint8_t {
  InOrder,
  /// The second input first.
  Swapped,
  /// Lanes 0 and 1 of the one input are two inputs: mean and mean of squares.
  Pair,
  /// In order; the second input is such a pair, of which lane 0 is used.
  MeanOfPair,
};

/// How sticks of the wider element share one of the narrower, two in 8 bits and four in 4
/// (docs/adr/0019).
enum class Packing : uint8_t {
  None,
  /// Sticks of the same dimension, groups of 8 lanes alternating.
  Ch,
  /// Sticks of two elements of a partner dimension, groups of 8 lanes alternating; in 4 bits two of
  /// each.
  Mb,
  /// Sticks of elements of a partner dimension, single lanes alternating.
  Wt,
};

struct OpInfo {
  const char *name;
  OpClass opClass;
  /// Vector function of a pointwise op, Accumulate function of a reduction.
  program::Function function;
  size_t inputs;
  /// Pointwise: names in constantInfo_, in the order the function takes them; null behind the last.
  std::array<const char *, 2> constants{};
  VectorForm form = VectorForm::InOrder;
  /// Conversions and 8-bit matmuls.
  numerics::DataFormat from = numerics::DataFormat::Invalid;
  numerics::DataFormat to = numerics::DataFormat::Invalid;
  Packing packing = Packing::None;

  /// Whether input and output have different formats, `from` and `to`.
  bool mixesFormats() const { return from != numerics::DataFormat::Invalid; }
  /// Whether the vector unit has the function on IEEE_INT32 lanes, too.
  bool computesIntegers() const;
  /// Whether it has the function on no other lanes.
  bool computesIntegersOnly() const;
  /// Input that holds a pair in lanes 0 and 1, or -1.
  int pairInput() const {
    return form == VectorForm::Pair ? 0 : form == VectorForm::MeanOfPair ? 1 : -1;
  }
};

/// Error: E5307 when \p name is an extension (x_) that \p device does not list.
Status checkExtension(const std::string &name, const arch::DeviceDesc &device);
/// Null where findOp fails.
const OpInfo *lookUpOp(const std::string &name);
/// Error: E5301.
Expected<OpInfo> findOp(const std::string &name);

} // namespace spyre::backend
