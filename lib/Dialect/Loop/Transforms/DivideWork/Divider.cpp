//===- Divider.cpp - what the passes of work division share ---------------------------------===//
#include "Divider.h"

#include "spyre/Dialect/Utils/Attributes.h"

namespace spyre::loop {

namespace division = solver::division;

Expected<DivisionSettings> settingsFrom(const std::optional<DivisionSettings> &given,
                                        const std::string &device, int64_t cores,
                                        int64_t spanLimitBytes, const std::string &planner) {
  if (given) {
    return *given;
  }
  DivisionSettings settings;
  SPYRE_ASSIGN_OR_RETURN(settings.device, arch::DeviceDesc::load(device));
  SPYRE_ASSIGN_OR_RETURN(settings.mode, division::parseMode(planner));
  settings.cores = cores;
  if (spanLimitBytes > 0) {
    settings.device.spanLimitBytes = spanLimitBytes;
  }
  return settings;
}

static mlir::Attribute flat(mlir::MLIRContext *context, const std::map<int64_t, int64_t> &entries) {
  llvm::SmallVector<int64_t> list;
  for (const auto &[coefficient, slices] : entries) {
    list.push_back(coefficient);
    list.push_back(slices);
  }
  return mlir::DenseI64ArrayAttr::get(context, list);
}

void storeSplits(ComputeOp op, const division::StoredSplits &stored) {
  mlir::MLIRContext *context = op.getContext();
  mlir::Builder builder(context);
  op->setAttr(kSpanSplits,
              builder.getDictionaryAttr(
                  {builder.getNamedAttr("output", flat(context, stored.output)),
                   builder.getNamedAttr("reduction", flat(context, stored.reduction))}));
}

static Status readEntries(mlir::DictionaryAttr from, const char *key,
                          std::map<int64_t, int64_t> &entries) {
  auto list = from.getAs<mlir::DenseI64ArrayAttr>(key);
  if (!list || list.size() % 2 != 0) {
    return error<3076>("span_splits needs '{}', a list of coefficients, each with its slices", key);
  }
  for (int64_t i = 0; i < list.size(); i += 2) {
    if (list[i + 1] < 1) {
      return error<3076>("span_splits has {} slices for coefficient {}; give 1 or more",
                         list[i + 1], list[i]);
    }
    entries[list[i]] = list[i + 1];
  }
  return Status::success();
}

Expected<division::StoredSplits> storedSplitsOf(ComputeOp op) {
  division::StoredSplits stored;
  mlir::Attribute attribute = op->getAttr(kSpanSplits);
  if (!attribute) {
    return stored;
  }
  auto from = llvm::dyn_cast<mlir::DictionaryAttr>(attribute);
  if (!from) {
    return error<3076>("span_splits is no dictionary; run spyre-loop-span-reduction");
  }
  SPYRE_RETURN_IF_ERROR(readEntries(from, "output", stored.output));
  SPYRE_RETURN_IF_ERROR(readEntries(from, "reduction", stored.reduction));
  return stored;
}

double priceOf(const DivisionProblem &problem, const arch::DeviceDesc &device,
               llvm::ArrayRef<int64_t> splits) {
  if (splits.empty()) {
    return 0;
  }
  const division::Candidates one{splits.size(), {splits.begin(), splits.end()}};
  double ns = 0;
  division::KernelCosts(device, problem.traits)
      .price(problem.op, division::unitsOf(problem.op), one, std::span(&ns, 1));
  return ns;
}

std::string subjectOf(ComputeOp op) {
  return op.getCallee().str() + " -> " + operandBuffer(op, operandCount(op) - 1).getName().str();
}

void recordSkipped(HostOp op, const char *stage, DecisionTrace *trace) {
  if (trace) {
    trace->record(stage, op.getCallee().str(),
                  Decision::no("host-step", "runs on the CPU: {}", op.getReason().str()),
                  {dialect::sourceLine(op.getLoc()), {}});
  }
}

} // namespace spyre::loop
