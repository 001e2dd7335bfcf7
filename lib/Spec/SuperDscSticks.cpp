//===- SuperDscSticks.cpp - the forms of the quantised families -----------------------------===//
#include "SuperDscSticks.h"

#include <algorithm>

namespace spyre::spec {

using numerics::DataFormat;

namespace {

/// From the inner to the outer part of a stick: symbol and elements.
using Parts = std::vector<std::pair<std::string, int64_t>>;

template <typename... Args>
Status fault(const OpSpec &spec, fmt::format_string<Args...> format, Args &&...values) {
  return error<5001>("op '{}': {}", spec.op, fmt::format(format, std::forward<Args>(values)...));
}

/// Empty for one value per stick.
Parts partsOf(const TensorArg &arg) {
  Parts parts;
  const size_t rank = arg.deviceCoordinates.size();
  for (size_t j = rank; j-- > rank - stickRank(arg);) {
    if (arg.deviceCoordinates[j].kind == Coordinate::Kind::Mod) {
      parts.emplace_back(arg.deviceCoordinates[j].symbol, arg.deviceCoordinates[j].divisor);
    }
  }
  return parts;
}

bool uses(const TensorArg &arg, const std::string &symbol) {
  return std::any_of(arg.deviceCoordinates.begin(), arg.deviceCoordinates.end(),
                     [&](const Coordinate &coordinate) { return coordinate.symbol == symbol; });
}

/// In 8 bits a stick of the second input has two rows.
Status checkNarrowMatmul(const OpSpec &spec) {
  const DataFormat wanted =
      spec.op == "batchmatmulfp8" ? DataFormat::Sen143Fp8 : DataFormat::SenInt8;
  const DataFormat formats[] = {spec.args[0].deviceDtype, spec.args[1].deviceDtype,
                                spec.args[2].deviceDtype};
  if (formats[0] != wanted || formats[1] != wanted || formats[2] != DataFormat::Sen169Fp16) {
    return fault(spec, "formats {}, {} and {}; it multiplies {} into SEN169_FP16, convert first",
                 numerics::formatName(formats[0]), numerics::formatName(formats[1]),
                 numerics::formatName(formats[2]), numerics::formatName(wanted));
  }
  const std::string k = partsOf(spec.args[0])[0].first, n = partsOf(spec.args[2])[0].first;
  return partsOf(spec.args[1]) == Parts{{k, 2}, {n, 64}}
             ? Status::success()
             : fault(spec,
                     "the stick of the second input must be 2 of K ({}) inside 64 of N ({}); "
                     "quantise it with a 'wt' operation",
                     k, n);
}

/// The stick the output must have, \p partner being the other dimension in it.
Parts packedParts(Packing packing, const std::string &dim, const std::string &partner,
                  int64_t lanes) {
  switch (packing) {
  case Packing::Mb:
    return {{dim, 8}, {partner, 2}, {dim, lanes / 16}};
  case Packing::Wt:
    return {{partner, lanes / 64}, {dim, 64}};
  case Packing::Ch:
    break;
  }
  return {{dim, lanes}};
}

Status checkConversion(const OpSpec &spec, const ConversionForm &form) {
  if (spec.args.size() != 2 || spec.isReduction) {
    return fault(spec, "{} arguments{}; a conversion has one input and one output",
                 spec.args.size(), spec.isReduction ? " of a reduction" : "");
  }
  const TensorArg &in = spec.args[0], &out = spec.args[1];
  if (in.deviceDtype != form.from || out.deviceDtype != form.to) {
    return fault(spec, "{} to {}; it converts {} to {}", numerics::formatName(in.deviceDtype),
                 numerics::formatName(out.deviceDtype), numerics::formatName(form.from),
                 numerics::formatName(form.to));
  }
  const Parts from = partsOf(in), to = partsOf(out);
  if (from.empty() || to.empty()) {
    return fault(spec, "a tensor has one value per stick; expand it first");
  }
  const std::string &dim = from[0].first;
  const std::string &partner = to.size() == 2 ? to[0].first : to[to.size() / 2].first;
  const int64_t lanes = numerics::elemsPerStick(out.deviceDtype);
  const Parts wanted = packedParts(form.packing, dim, partner, lanes);
  if (to != wanted || (form.packing != Packing::Ch && partner == dim)) {
    return fault(spec, "the output's stick must be {} ({} is that of the input)",
                 form.packing == Packing::Ch ? "the dimension of the input's stick alone"
                 : form.packing == Packing::Mb
                     ? fmt::format("[{}, 2, 8] with a partner dimension in between", lanes / 16)
                     : fmt::format("[64, {}] with a partner dimension inside", lanes / 64),
                 dim);
  }
  return uses(in, partner)
             ? Status::success()
             : fault(spec, "the input must hold the partner dimension {}; expand it", partner);
}

} // namespace

std::optional<ConversionForm> findConversion(const std::string &op) {
  using enum numerics::DataFormat;
  static constexpr std::pair<const char *, ConversionForm> kForms[] = {
      {"dl16tofp32", {Sen169Fp16, IeeeFp32, Packing::Ch}},
      {"fp32todl16", {IeeeFp32, Sen169Fp16, Packing::Ch}},
      {"fp8todl16", {Sen143Fp8, Sen169Fp16, Packing::Ch}},
      {"qfp8ch", {Sen169Fp16, Sen143Fp8, Packing::Ch}},
      {"qfp8mb", {Sen169Fp16, Sen143Fp8, Packing::Mb}},
      {"qfp8wt", {Sen169Fp16, Sen143Fp8, Packing::Wt}},
      {"csqint8ch", {Sen169Fp16, SenInt8, Packing::Ch}},
      {"csqint8mb", {Sen169Fp16, SenInt8, Packing::Mb}},
      {"csqint8wt", {Sen169Fp16, SenInt8, Packing::Wt}},
      {"csqint4", {Sen169Fp16, SenInt4, Packing::Mb}},
      {"csqint4wt", {Sen169Fp16, SenInt4, Packing::Wt}},
      {"x_int8todl16", {SenInt8, Sen169Fp16, Packing::Ch}},
      {"x_int16tofp32", {SenInt16, IeeeFp32, Packing::Ch}},
      {"x_fp32toint16", {IeeeFp32, SenInt16, Packing::Ch}},
  };
  for (const auto &[name, form] : kForms) {
    if (op == name) {
      return form;
    }
  }
  return std::nullopt;
}

double wordLengthBytes(DataFormat format) {
  constexpr double kStickBytes = 128;
  const int64_t lanes = numerics::elemsPerStick(format);
  return lanes == 0 ? 0 : kStickBytes / double(lanes);
}

Status checkSticks(const OpSpec &spec) {
  const std::optional<ConversionForm> conversion = findConversion(spec.op);
  const bool isNarrowMatmul = spec.op == "batchmatmulfp8" || spec.op == "batchmatmulint8";
  for (size_t i = 0; i < spec.args.size(); ++i) {
    const bool mayHaveMore =
        (isNarrowMatmul && i == 1) || (conversion && i + 1 == spec.args.size());
    if (!mayHaveMore && partsOf(spec.args[i]).size() > 1) {
      return fault(spec, "argument {} has {} dimensions in its stick; one is possible here", i,
                   stickRank(spec.args[i]));
    }
  }
  if (conversion) {
    return checkConversion(spec, *conversion);
  }
  return isNarrowMatmul ? checkNarrowMatmul(spec) : Status::success();
}

Status checkWholeSticks(const std::string &op, const std::string &symbol, int64_t size,
                        int64_t slices, int64_t elements) {
  if (size % (slices * elements) == 0) {
    return Status::success();
  }
  return error<5001>("op '{}': {} cores do not get whole sticks of {} elements from {} = {}; use "
                     "fewer cores",
                     op, slices, elements, symbol, size);
}

} // namespace spyre::spec
