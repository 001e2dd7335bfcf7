//===- Evaluator.cpp - slow reference semantics of OpSpecs ----------------------------------===//
//
// Element by element from the coordinates. Core splits matter only where they are part of the
// result: for reduced symbols (Reductions.cpp). Tensors in LX have no memory of their own here:
// they are whole tensors named by their scratchpad address, which is enough to follow a value from
// the op that writes it to the ops that read it.
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Evaluator/Evaluator.h"

#include "spyre/Base/Math.h"

#include "Elementwise.h"

namespace spyre::evaluator {

using spec::OpSpec;
using spec::Residency;
using spec::TensorArg;

namespace {

bool isArithmetic(numerics::DataFormat format) {
  return format == numerics::DataFormat::Sen169Fp16 || format == numerics::DataFormat::IeeeFp32;
}

class Evaluator {
public:
  explicit Evaluator(Memory &memory) : memory(memory), lx(memory.lx) {}

  Status run(const OpSpec &whole) {
    SPYRE_RETURN_IF_ERROR(spec::verifyOpSpec(whole));
    // Rules count data; index tensors only say where it is.
    OpSpec spec = whole;
    std::erase_if(spec.args, [](const TensorArg &arg) { return arg.isIndex(); });
    SPYRE_RETURN_IF_ERROR(checkRule(spec));
    Operation operation;
    operation.spec = &whole;
    for (const spec::IterationDim &dim : spec.iterationSpace) {
      operation.ranges.push_back(dim.range);
      operation.extents.push_back(dim.range);
    }
    isConversionRule(spec.op) ? padSticks(operation) : padOutputStick(operation);
    SPYRE_RETURN_IF_ERROR(readIndices(operation));
    operation.spec = &spec;
    const TensorArg &output = spec.args.back();
    if (output.residency == Residency::Lx) {
      newLx = lx[output.address];
      // What the op does not write stays, when it is a part of the same tensor.
      if (int64_t(newLx.size()) != tensorBytes(output)) {
        newLx.assign(size_t(tensorBytes(output)), 0);
      }
    }
    for (size_t i = 0; i < spec.args.size(); ++i) {
      SPYRE_ASSIGN_OR_RETURN(TensorView view, bind(operation, i));
      operation.views.push_back(std::move(view));
    }
    SPYRE_RETURN_IF_ERROR(evaluateOp(operation));
    if (output.residency == Residency::Lx) {
      lx[output.address] = std::move(newLx);
    }
    return Status::success();
  }

private:
  Status readIndices(const Operation &operation) {
    indices.clear();
    for (size_t i = 0; i < operation.spec->args.size(); ++i) {
      const TensorArg &arg = operation.spec->args[i];
      if (!arg.isIndex()) {
        break;
      }
      auto index = std::make_shared<IndexView>();
      SPYRE_ASSIGN_OR_RETURN(index->view, bind(operation, i));
      index->copy.assign(index->view.data, index->view.data + tensorBytes(arg));
      indices[arg.name] = std::move(index);
    }
    return Status::success();
  }

  static Status checkRule(const OpSpec &spec) {
    if (isWindowRule(spec.op)) {
      return checkWindow(spec);
    }
    if (isScanRule(spec.op)) {
      return checkScan(spec);
    }
    const bool copies = spec.op == "identity" || spec.op == "ReStickifyOpHBM";
    const bool reduces = spec.isReduction && (isReductionRule(spec.op) || isTopKRule(spec.op));
    const ElementwiseRule *rule = spec.isReduction ? nullptr : findElementwise(spec.op);
    if (!copies && !reduces && !rule && !spec::isMatmul(spec) && !isConversionRule(spec.op)) {
      return error<1401>("op '{}' has no rule in the evaluator{}", spec.op,
                         spec.isReduction ? " as a reduction" : "");
    }
    const size_t wanted = rule ? rule->inputs : spec::isMatmul(spec) ? 2 : 1;
    if (spec.args.size() != wanted + 1) {
      return error<1401>("op '{}' with {} inputs has no rule; it takes {}", spec.op,
                         spec.args.size() - 1, wanted);
    }
    if (rule) {
      return checkElementwise(spec, *rule);
    }
    if (isConversionRule(spec.op)) {
      return checkConversion(spec);
    }
    if (spec.op == "batchmatmulfp8" || spec.op == "batchmatmulint8") {
      return checkNarrowMatmul(spec);
    }
    const bool sumsIntegers = reducesIntegers(spec);
    for (const TensorArg &arg : spec.args) {
      const int64_t bytes = numerics::elementBytes(arg.deviceDtype);
      const bool fits = copies
                            ? bytes > 0 && bytes == numerics::elementBytes(spec.args[0].deviceDtype)
                        : sumsIntegers ? arg.deviceDtype == numerics::DataFormat::IeeeInt32
                                       : isArithmetic(arg.deviceDtype);
      // The indices of a topk are checked by its rule.
      if (!fits && !(isTopKRule(spec.op) && !arg.isInput)) {
        return error<1401>("op '{}' on {} has no rule; convert first", spec.op,
                           numerics::formatName(arg.deviceDtype));
      }
    }
    return Status::success();
  }

  static bool reducesIntegers(const OpSpec &spec) {
    return spec.isReduction && isIntegerReductionRule(spec.op) &&
           spec.args.front().deviceDtype == numerics::DataFormat::IeeeInt32;
  }

  static Status checkNarrowMatmul(const OpSpec &spec) {
    const numerics::DataFormat wanted = spec.op == "batchmatmulfp8"
                                            ? numerics::DataFormat::Sen143Fp8
                                            : numerics::DataFormat::SenInt8;
    for (const TensorArg &arg : spec.args) {
      const bool fits = arg.isInput ? arg.deviceDtype == wanted
                                    : arg.deviceDtype == numerics::DataFormat::Sen169Fp16;
      if (!fits) {
        return error<1401>("op '{}' on {} has no rule; it multiplies {} into SEN169_FP16", spec.op,
                           numerics::formatName(arg.deviceDtype), numerics::formatName(wanted));
      }
    }
    return Status::success();
  }

  /// A conversion takes whole sticks on both sides.
  static void padSticks(Operation &operation) {
    for (size_t i = 0; i < operation.extents.size(); ++i) {
      for (const TensorArg &arg : operation.spec->args) {
        const int64_t elems = spec::stickElements(arg, operation.spec->iterationSpace[i].symbol);
        operation.extents[i] = std::max(operation.extents[i], roundUp(operation.ranges[i], elems));
      }
    }
  }

  /// The lanes of the last, partly filled stick are computed like the others: whole sticks of the
  /// argument that has the most lanes.
  static void padOutputStick(Operation &operation) {
    const spec::Coordinate &outputLane = operation.spec->args.back().deviceCoordinates.back();
    for (size_t i = 0; i < operation.extents.size(); ++i) {
      for (const TensorArg &arg : operation.spec->args) {
        const spec::Coordinate &lane = arg.deviceCoordinates.back();
        if (!arg.isIndex() && outputLane.kind == spec::Coordinate::Kind::Mod &&
            lane.kind == outputLane.kind && lane.symbol == outputLane.symbol &&
            operation.spec->iterationSpace[i].symbol == lane.symbol) {
          operation.extents[i] =
              std::max(operation.extents[i], roundUp(operation.ranges[i], lane.divisor));
        }
      }
    }
  }

  Expected<TensorView> bind(const Operation &operation, size_t argument) {
    const OpSpec &spec = *operation.spec;
    const TensorArg &arg = spec.args[argument];
    const bool isOutput = argument + 1 == spec.args.size();
    std::vector<uint8_t> *buffer = nullptr;
    int64_t offset = 0;
    switch (arg.residency) {
    case Residency::Hbm: // The address is that of the segment, where the buffer begins.
      if (arg.argIndex < int64_t(memory.arguments.size())) {
        buffer = &memory.arguments[size_t(arg.argIndex)];
      }
      break;
    case Residency::Pool:
      buffer = &memory.pool;
      offset = arg.address;
      break;
    case Residency::Lx:
      if (isOutput) {
        buffer = &newLx;
      } else if (auto found = lx.find(arg.address); found != lx.end()) {
        buffer = &found->second;
      }
      break;
    }
    if (!buffer || offset > int64_t(buffer->size())) {
      return error<1402>("op '{}', argument {}: no memory at its place (argument {}, address {}); "
                         "bind it, or write it before it is read",
                         spec.op, argument, arg.argIndex, arg.address);
    }
    // A restickify drops what lies beyond the true size, so only its output is padded.
    const bool padded = isOutput || spec.op != "ReStickifyOpHBM";
    return makeTensorView(spec, argument, padded ? operation.extents : operation.ranges,
                          buffer->data() + offset, int64_t(buffer->size()) - offset, indices);
  }

  static Status evaluateOp(const Operation &operation) {
    const OpSpec &spec = *operation.spec;
    if (spec::isMatmul(spec)) {
      return evaluateMatmul(operation);
    }
    if (isWindowRule(spec.op)) {
      return evaluateWindow(operation);
    }
    if (isScanRule(spec.op)) {
      evaluateScan(operation);
      return Status::success();
    }
    if (spec.isReduction && isTopKRule(spec.op)) {
      return evaluateTopK(operation);
    }
    if (reducesIntegers(spec)) {
      evaluateIntegerReduction(operation);
      return Status::success();
    }
    if (spec.isReduction) {
      return evaluateReduction(operation);
    }
    if (isConversionRule(spec.op)) {
      evaluateConversion(operation);
      return Status::success();
    }
    if (const ElementwiseRule *rule = findElementwise(spec.op)) {
      evaluateElementwise(operation, *rule);
      return Status::success();
    }
    return evaluateCopy(operation);
  }

  static Status evaluateCopy(const Operation &operation) {
    const TensorView &in = operation.views[0], &out = operation.output();
    const bool restickify = operation.spec->op == "ReStickifyOpHBM";
    if (restickify && (in.stick < 0 || out.stick < 0)) {
      return error<1401>("ReStickifyOpHBM of a tensor with one value per stick has no rule; each "
                         "side has one stick symbol");
    }
    Point point(operation.ranges.size(), 0);
    forEachPoint(point, outputSymbols(operation), operation.extents, [&] {
      const bool beyond =
          restickify && point[size_t(out.stick)] >= operation.ranges[size_t(out.stick)];
      out.storeBits(out.offset(point), beyond ? nullptr : in.bits(in.offset(point)));
    });
    return Status::success();
  }

  Memory &memory;
  std::map<int64_t, std::vector<uint8_t>> &lx;
  /// Of the running op.
  IndexViews indices;
  /// The LX output of the running op; it may have the address of an input.
  std::vector<uint8_t> newLx;
};

} // namespace

Status evaluate(const std::vector<OpSpec> &specs, Memory &memory) {
  Evaluator evaluator(memory);
  for (size_t i = 0; i < specs.size(); ++i) {
    if (Status status = evaluator.run(specs[i]); !status.ok()) {
      return status.withContext(fmt::format("operation {}: ", i));
    }
  }
  return Status::success();
}

} // namespace spyre::evaluator
