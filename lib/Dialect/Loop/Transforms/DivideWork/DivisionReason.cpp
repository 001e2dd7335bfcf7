//===- DivisionReason.cpp - see DivisionReason.h --------------------------------------------===//
#include "spyre/Dialect/Loop/Transforms/DivisionReason.h"

#include "mlir/IR/Builders.h"

namespace spyre::loop {

static constexpr const char *kReason = "reason", *kDetail = "detail", *kCandidates = "candidates",
                            *kSplits = "splits";

static std::string textOf(mlir::DictionaryAttr from, const char *key) {
  auto text = from.getAs<mlir::StringAttr>(key);
  return text ? text.str() : "";
}

void setDivisionReason(ComputeOp op, const DivisionReason &reason) {
  mlir::Builder builder(op.getContext());
  op->setAttr(kDivisionReason,
              builder.getDictionaryAttr(
                  {builder.getNamedAttr(kReason, builder.getStringAttr(reason.reason)),
                   builder.getNamedAttr(kDetail, builder.getStringAttr(reason.detail)),
                   builder.getNamedAttr(kCandidates, builder.getStringAttr(reason.candidates)),
                   builder.getNamedAttr(kSplits, op.getSplitsAttr())}));
}

void changeDivisionReason(ComputeOp op, const Decision &decision) {
  if (auto from = op->getAttrOfType<mlir::DictionaryAttr>(kDivisionReason)) {
    setDivisionReason(op, {decision.reason(), decision.detail(), textOf(from, kCandidates)});
  }
}

std::optional<DivisionReason> divisionReasonOf(ComputeOp op) {
  auto from = op->getAttrOfType<mlir::DictionaryAttr>(kDivisionReason);
  if (!from) {
    return std::nullopt;
  }
  DivisionReason reason{textOf(from, kReason), textOf(from, kDetail), textOf(from, kCandidates)};
  if (from.get(kSplits) != op.getSplitsAttr()) {
    reason.detail = "a later pass changed the splits that were chosen so: " + reason.detail;
    reason.reason = "changed-later";
  }
  return reason;
}

} // namespace spyre::loop
