//===- TensorView.h - elements of an argument by the values of the iteration symbols --------===//
//
// The only thing the evaluator knows about memory: a tensor is row-major over its device size, and
// the position of an element is the sum of what each symbol's value contributes through the
// coordinates. The contributions are tabulated once: the evaluator is only as slow as it must be.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "spyre/Base/Status.h"
#include "spyre/Spec/OpSpec.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace spyre::evaluator {

struct IndexView;

/// Values of the iteration symbols, in the order of the iteration space.
using Point = std::vector<int64_t>;

struct TensorView {
  uint8_t *data = nullptr;
  numerics::DataFormat format = numerics::DataFormat::Sen169Fp16;
  /// 0 for elements of fewer than 8 bits, which are the lowest bits of their byte first.
  int64_t elementBytes = 0;
  int64_t lanes = 0;
  /// Symbol with most of the lanes, -1 for one value per stick.
  int64_t stick = -1;
  /// Elements of each symbol in one stick; 1 when it is not in the stick.
  std::vector<int64_t> stickElems;
  int64_t baseElems = 0;
  /// contribution[symbol][value] in elements.
  std::vector<std::vector<int64_t>> contribution;
  std::vector<bool> uses;
  /// Chooses the entry along one dimension, whose entries are `rowElems` apart; may be null.
  std::shared_ptr<const IndexView> index;
  int64_t rowElems = 0;

  int64_t offset(const Point &point) const {
    int64_t elems = baseElems + (index ? indirectElems(point) : 0);
    for (size_t symbol = 0; symbol < point.size(); ++symbol) {
      elems += contribution[symbol][size_t(point[symbol])];
    }
    return elems;
  }
  int64_t indirectElems(const Point &point) const;
  /// Any format with a stick; Sen169Fp16 and IeeeFp32 are the quick ones.
  float load(int64_t offsetElems) const;
  /// Rounds once. A tensor with one value per stick holds it in all lanes.
  void store(int64_t offsetElems, float value) const;
  /// The element's bits from \p source, or zero bits for nullptr. Of whole bytes only.
  void storeBits(int64_t offsetElems, const uint8_t *source) const;
  const uint8_t *bits(int64_t offsetElems) const { return data + offsetElems * elementBytes; }

private:
  /// Of elements that share a byte: which byte, and which of its bits.
  struct Part {
    uint8_t *byte;
    int shift, mask;
  };
  Part partOf(int64_t offsetElems) const;
};

/// An index tensor as it was before the operation.
struct IndexView {
  TensorView view;
  std::vector<uint8_t> copy;

  int64_t at(const Point &point) const;
};
/// Of a tensor that verifyOpSpec has seen.
int64_t tensorBytes(const spec::TensorArg &arg);

/// By name.
using IndexViews = std::map<std::string, std::shared_ptr<const IndexView>>;

/// \p extents: how far each symbol runs, at least its range (padded sticks). \p data holds
/// \p dataBytes. Indirect coordinates find their tensors in \p indices; each index is checked.
/// Error: E1402.
Expected<TensorView> makeTensorView(const spec::OpSpec &spec, size_t argument,
                                    const std::vector<int64_t> &extents, uint8_t *data,
                                    int64_t dataBytes, const IndexViews &indices = {});

/// One operation with its arguments in memory.
struct Operation {
  const spec::OpSpec *spec = nullptr;
  /// Range of each symbol, and the range with the output's stick (of a conversion: every symbol
  /// that is in a stick) padded to whole sticks.
  std::vector<int64_t> ranges, extents;
  std::vector<TensorView> views;

  const TensorView &output() const { return views.back(); }
};

/// A box of points: from begin up to, not including, end. One entry per symbol.
struct Box {
  std::vector<int64_t> begin, end;
};

/// Calls \p body for all values of \p symbols inside \p box (first symbol slowest); the other
/// entries of \p point stay as they are. Afterwards those of \p symbols are at the begin.
void forEachPoint(Point &point, const std::vector<size_t> &symbols, const Box &box,
                  const std::function<void()> &body);
/// The same from 0 up to \p limits.
void forEachPoint(Point &point, const std::vector<size_t> &symbols,
                  const std::vector<int64_t> &limits, const std::function<void()> &body);

/// Symbols the output has, and those it lacks.
std::vector<size_t> outputSymbols(const Operation &operation);
std::vector<size_t> reducedSymbols(const Operation &operation);

/// Whether evaluateReduction knows \p op.
bool isReductionRule(const std::string &op);
/// Whether evaluateIntegerReduction does, on IEEE_INT32.
bool isIntegerReductionRule(const std::string &op);
void evaluateIntegerReduction(const Operation &operation);
/// Whether evaluateTopK does.
bool isTopKRule(const std::string &op);

/// Whether evaluateWindow does: convolutions and pooling.
bool isWindowRule(const std::string &op);
/// Whether evaluateScan does.
bool isScanRule(const std::string &op);
/// Number of inputs, formats. Error: E1401.
Status checkWindow(const spec::OpSpec &spec);
Status checkScan(const spec::OpSpec &spec);
/// Whether evaluateConversion knows \p op.
bool isConversionRule(const std::string &op);
/// Formats, constants and sticks. Error: E1401.
Status checkConversion(const spec::OpSpec &spec);
/// \p operation must have passed the check.
void evaluateConversion(const Operation &operation);

/// Errors: E1401.
Status evaluateWindow(const Operation &operation);
void evaluateScan(const Operation &operation);
Status evaluateMatmul(const Operation &operation);
Status evaluateReduction(const Operation &operation);
Status evaluateTopK(const Operation &operation);

} // namespace spyre::evaluator
