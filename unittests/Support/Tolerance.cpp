//===- Tolerance.cpp - how far a result of the device may be from the host's ----------------===//
//
// The formula is stated in the table itself.
//===--------------------------------------------------------------------------------------------===//
#include "Support/Tolerance.h"

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace spyre::testing {

using Json = nlohmann::json;

static const std::string &tableText() {
  static const std::string text = [] {
    std::ifstream file(SPYRE_TOLERANCE_TABLE);
    std::ostringstream content;
    content << file.rdbuf();
    return content.str();
  }();
  return text;
}

static const Json &entry(const Json &table, const char *section, const std::string &name) {
  const auto found = table.at(section).find(name);
  if (found == table.at(section).end()) {
    throw std::runtime_error("the table of tolerances has no '" + name + "' in " + section);
  }
  return *found;
}

/// Half a unit of the last of \p fractionBits bits.
static double halfUnit(int fractionBits) { return std::ldexp(1.0, -(fractionBits + 1)); }

static double evaluate(const Json &table, const std::string &operation, const std::string &dtype,
                       int64_t terms) {
  const Json &rule = entry(table, "operations", operation);
  auto coefficient = [&](const std::string &name) {
    return rule.value(name, 0.0) + rule.value(name + "PerTerm", 0.0) * double(terms);
  };
  const Json &format = entry(table, "formats", dtype);
  double rounding = 0;
  for (const Json &bits : format.at("fractionBits")) {
    rounding += halfUnit(bits.get<int>());
  }
  const double host =
      format.contains("hostFractionBits") ? halfUnit(format["hostFractionBits"].get<int>()) : 0;
  return rule.value("fixed", 0.0) + coefficient("roundings") * rounding +
         coefficient("ulpsFp32") * std::ldexp(1.0, -23) + host;
}

double toleranceFrom(const std::string &json, const std::string &operation,
                     const std::string &dtype, int64_t terms) {
  return evaluate(Json::parse(json), operation, dtype, terms);
}

double tolerance(const std::string &operation, const std::string &dtype, int64_t terms) {
  static const Json table = Json::parse(tableText());
  return evaluate(table, operation, dtype, terms);
}

double hostAbsoluteTolerance() {
  static const Json table = Json::parse(tableText());
  return std::ldexp(0.5, table.at("host").at("smallestExponent").get<int>());
}

} // namespace spyre::testing
