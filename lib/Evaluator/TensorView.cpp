//===- TensorView.cpp - elements of an argument by the values of the iteration symbols ------===//
//
// All bounds are checked when a view is made; the loops then run without checks.
//===--------------------------------------------------------------------------------------------===//
#include "TensorView.h"

#include "spyre/Base/Math.h"

#include <cstring>

namespace spyre::evaluator {

using spec::Coordinate;

static constexpr int64_t kStickBytes = 128;

int64_t tensorBytes(const spec::TensorArg &arg) {
  int64_t elements = 1;
  for (int64_t size : arg.deviceSize) {
    elements *= size; // In range: verifyOpSpec.
  }
  return elements / numerics::elemsPerStick(arg.deviceDtype) * kStickBytes;
}

TensorView::Part TensorView::partOf(int64_t offsetElems) const {
  const int64_t perByte = lanes / kStickBytes;
  const int bitsEach = int(8 / perByte);
  return {data + offsetElems / perByte, int(offsetElems % perByte) * bitsEach, (1 << bitsEach) - 1};
}

float TensorView::load(int64_t offsetElems) const {
  if (format == numerics::DataFormat::Sen169Fp16) {
    uint16_t element = 0;
    std::memcpy(&element, bits(offsetElems), sizeof(element));
    return numerics::dl16ToFloat(element);
  }
  float element = 0;
  if (elementBytes == 0) {
    const Part part = partOf(offsetElems);
    const uint8_t first = uint8_t(*part.byte >> part.shift & part.mask);
    numerics::deviceToFloat(format, &first, &element, 1);
    return element;
  }
  numerics::deviceToFloat(format, bits(offsetElems), &element, 1);
  return element;
}

void TensorView::store(int64_t offsetElems, float value) const {
  uint8_t element[sizeof(float)] = {};
  if (format == numerics::DataFormat::Sen169Fp16) {
    const uint16_t rounded = numerics::floatToDl16(value);
    std::memcpy(element, &rounded, sizeof(rounded));
  } else {
    numerics::floatToDevice(format, &value, element, 1);
  }
  if (elementBytes == 0) {
    const Part part = partOf(offsetElems);
    *part.byte =
        uint8_t((*part.byte & ~(part.mask << part.shift)) | (element[0] & part.mask) << part.shift);
    return;
  }
  storeBits(offsetElems, element);
}

void TensorView::storeBits(int64_t offsetElems, const uint8_t *source) const {
  // Aliasing: the source may be the element itself (an operation in place).
  uint8_t element[8] = {};
  if (source) {
    std::memcpy(element, source, size_t(elementBytes));
  }
  const int64_t count = stick < 0 ? lanes : 1;
  for (int64_t lane = 0; lane < count; ++lane) {
    std::memcpy(data + (offsetElems + lane) * elementBytes, element, size_t(elementBytes));
  }
}

/// What value \p at of the coordinate's symbol adds, without the constant part.
static int64_t symbolPart(const Coordinate &coordinate, int64_t at) {
  switch (coordinate.kind) {
  case Coordinate::Kind::Constant:
  case Coordinate::Kind::Indirect:
    return 0;
  case Coordinate::Kind::Symbol:
    return at;
  case Coordinate::Kind::Floor:
    return at / coordinate.divisor;
  case Coordinate::Kind::Mod:
    return at / coordinate.inner % coordinate.divisor;
  case Coordinate::Kind::Window:
    return at * coordinate.factor;
  }
  return 0;
}

static int64_t symbolIndex(const spec::OpSpec &spec, const std::string &name) {
  for (size_t i = 0; i < spec.iterationSpace.size(); ++i) {
    if (spec.iterationSpace[i].symbol == name) {
      return int64_t(i);
    }
  }
  return -1;
}

int64_t TensorView::indirectElems(const Point &point) const { return index->at(point) * rowElems; }

int64_t IndexView::at(const Point &point) const {
  int32_t value = 0;
  std::memcpy(&value, copy.data() + view.offset(point) * view.elementBytes, sizeof(value));
  return value;
}

/// Every index the operation can read chooses one of \p rows.
static Status checkIndices(const spec::OpSpec &spec, const IndexView &index,
                           const std::string &name, int64_t rows,
                           const std::vector<int64_t> &extents) {
  Point point(spec.iterationSpace.size(), 0);
  std::vector<size_t> symbols;
  std::vector<int64_t> ranges;
  for (size_t i = 0; i < spec.iterationSpace.size(); ++i) {
    ranges.push_back(spec.iterationSpace[i].range);
    if (index.view.uses[i]) {
      symbols.push_back(i);
      if (extents[i] > ranges[i]) {
        return error<1402>("op '{}': '{}' has no indices for the padding of {}, the stick; "
                           "restickify first",
                           spec.op, name, spec.iterationSpace[i].symbol);
      }
    }
  }
  Status status = Status::success();
  forEachPoint(point, symbols, ranges, [&] {
    const int64_t row = index.at(point);
    if (status.ok() && (row < 0 || row >= rows)) {
      status = error<1402>("op '{}': '{}' holds the index {}; it must be in 0..{}", spec.op, name,
                           row, rows - 1);
    }
  });
  return status;
}

Expected<TensorView> makeTensorView(const spec::OpSpec &spec, size_t argument,
                                    const std::vector<int64_t> &extents, uint8_t *data,
                                    int64_t dataBytes, const IndexViews &indices) {
  const spec::TensorArg &arg = spec.args[argument];
  TensorView view;
  view.data = data;
  view.format = arg.deviceDtype;
  view.elementBytes = numerics::elementBytes(arg.deviceDtype);
  view.lanes = numerics::elemsPerStick(arg.deviceDtype);
  if (tensorBytes(arg) > dataBytes) {
    return error<1402>("op '{}', argument {}: the tensor has {} bytes, its buffer only {}; bind a "
                       "buffer of the size of the layout",
                       spec.op, argument, tensorBytes(arg), dataBytes);
  }
  const std::vector<int64_t> strides = rowMajorStrides(arg.deviceSize);
  view.uses.assign(extents.size(), false);
  view.stickElems.assign(extents.size(), 1);
  for (int64_t extent : extents) {
    view.contribution.emplace_back(size_t(extent), 0);
  }
  for (size_t j = 0; j < arg.deviceSize.size(); ++j) {
    const Coordinate &coordinate = arg.deviceCoordinates[j];
    view.baseElems += coordinate.offset * strides[j];
    if (coordinate.kind == Coordinate::Kind::Constant) {
      continue;
    }
    if (coordinate.kind == Coordinate::Kind::Indirect) {
      view.index = indices.at(coordinate.symbol);
      view.rowElems = strides[j];
      SPYRE_RETURN_IF_ERROR(
          checkIndices(spec, *view.index, coordinate.symbol, arg.deviceSize[j], extents));
      continue;
    }
    const size_t symbol = size_t(symbolIndex(spec, coordinate.symbol));
    view.uses[symbol] = true;
    if (coordinate.kind == Coordinate::Kind::Mod) {
      view.stickElems[symbol] *= coordinate.divisor;
      const bool isMost =
          view.stick < 0 || view.stickElems[symbol] > view.stickElems[size_t(view.stick)];
      view.stick = isMost ? int64_t(symbol) : view.stick;
    }
    for (int64_t at = 0; at < extents[symbol]; ++at) {
      const int64_t part = symbolPart(coordinate, at);
      if (part + coordinate.offset >= arg.deviceSize[j]) {
        return error<1402>("op '{}', argument {}: {} = {} is outside of device dimension {} of "
                           "size {}; pad the tensor to whole sticks of {}",
                           spec.op, argument, coordinate.symbol, at, j, arg.deviceSize[j],
                           coordinate.symbol);
      }
      view.contribution[symbol][size_t(at)] += part * strides[j];
    }
    if (coordinate.kind == Coordinate::Kind::Window) {
      // The sum of both parts is in range: verifyOpSpec, and neither symbol is a padded stick.
      const size_t window = size_t(symbolIndex(spec, coordinate.windowSymbol));
      view.uses[window] = true;
      for (int64_t at = 0; at < extents[window]; ++at) {
        view.contribution[window][size_t(at)] += at * coordinate.windowFactor * strides[j];
      }
    }
  }
  return view;
}

void forEachPoint(Point &point, const std::vector<size_t> &symbols, const Box &box,
                  const std::function<void()> &body) {
  for (size_t symbol : symbols) {
    point[symbol] = box.begin[symbol];
  }
  for (;;) {
    body();
    size_t i = symbols.size();
    while (i > 0 && ++point[symbols[i - 1]] == box.end[symbols[i - 1]]) {
      --i;
      point[symbols[i]] = box.begin[symbols[i]];
    }
    if (i == 0) {
      return;
    }
  }
}

void forEachPoint(Point &point, const std::vector<size_t> &symbols,
                  const std::vector<int64_t> &limits, const std::function<void()> &body) {
  forEachPoint(point, symbols, Box{std::vector<int64_t>(limits.size(), 0), limits}, body);
}

static std::vector<size_t> symbolsWith(const Operation &operation, bool inOutput) {
  std::vector<size_t> symbols;
  for (size_t i = 0; i < operation.ranges.size(); ++i) {
    if (operation.output().uses[i] == inOutput) {
      symbols.push_back(i);
    }
  }
  return symbols;
}

std::vector<size_t> outputSymbols(const Operation &operation) {
  return symbolsWith(operation, /*inOutput=*/true);
}

std::vector<size_t> reducedSymbols(const Operation &operation) {
  return symbolsWith(operation, /*inOutput=*/false);
}

} // namespace spyre::evaluator
