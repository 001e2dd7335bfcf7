//===- Decision.cpp - the decision trace as JSON --------------------------------------------===//
#include "spyre/Base/Decision.h"

#include "spyre/Base/Json.h"

namespace spyre {

std::string DecisionTrace::toJson() const {
  // One object per line: people read traces with grep.
  std::string text = "[";
  const char *separator = "\n";
  for (const Entry &entry : entries) {
    Json object;
    object["stage"] = entry.stage;
    object["subject"] = entry.subject;
    object["taken"] = bool(entry.decision);
    object["reason"] = entry.decision.reason();
    object["detail"] = entry.decision.detail();
    if (!entry.evidence.location.empty()) {
      object["location"] = entry.evidence.location;
    }
    for (const auto &[name, value] : entry.evidence.numbers) {
      object["numbers"][name] = value;
    }
    // Names come from user programs; a byte that is not UTF-8 must not throw here.
    text += separator + object.dump(-1, ' ', false, Json::error_handler_t::replace);
    separator = ",\n";
  }
  return text + (entries.empty() ? "]\n" : "\n]\n");
}

} // namespace spyre
