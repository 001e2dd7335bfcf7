//===- Report.cpp - what was divided how, and why -------------------------------------------===//
#include "spyre/Solver/Division/Report.h"

#include "spyre/Solver/Division/Verify.h"

#include <algorithm>

namespace spyre::solver::division {

static bool hasPlan(const Outcome &outcome) {
  return !outcome.skipped && !outcome.plan.owner.empty();
}

//===- Text ---------------------------------------------------------------------------------===//

static std::string spansText(const Outcome &outcome, int64_t limit) {
  std::string text;
  const std::vector<int64_t> spans = trueSpans(outcome.op, outcome.plan);
  for (size_t t = 0; t < spans.size(); ++t) {
    text += fmt::format("{}{} {}", t == 0 ? "" : ", ", outcome.op.tensors[t].name, spans[t]);
  }
  return fmt::format("  spans      {} of {} bytes\n", text, limit);
}

static std::string candidatesText(const Outcome &outcome, size_t most) {
  std::string text;
  const size_t shown = std::min(most, outcome.candidates.size());
  for (size_t i = 0; i < shown; ++i) {
    const PricedSplits &candidate = outcome.candidates[i];
    text += fmt::format("  {:10} {:>12.0f} ns  {:>3} cores  {}\n", i == 0 ? "candidates" : "",
                        candidate.nanoseconds, productOf(candidate.splits),
                        describe(outcome.op, candidate.splits));
  }
  if (outcome.candidates.size() > shown) {
    text += fmt::format("  {:10} and {} more\n", "", outcome.candidates.size() - shown);
  }
  return text;
}

static std::string tilingText(const Outcome &outcome) {
  std::string text;
  for (const TiledPart &part : outcome.tiling->parts) {
    text +=
        fmt::format("  tiles      {} of [{}] from [{}], each divided {} on {} cores, {:.0f} ns\n",
                    part.trips(), fmt::join(part.tileExtent, ", "), fmt::join(part.first, ", "),
                    describe(outcome.op, part.plan.splits), part.plan.cores, part.nanoseconds);
    for (size_t t = 0; t < part.advanceBytes.size() && part.trips() > 1; ++t) {
      text += fmt::format("             {} moves by [{}] bytes\n", outcome.op.tensors[t].name,
                          fmt::join(part.advanceBytes[t], ", "));
    }
  }
  return text;
}

std::string reportText(const Outcome &outcome, const ReportContext &context) {
  const Op &op = outcome.op;
  std::string text = fmt::format("{} '{}' over {}\n", kindName(op.kind), op.name, describe(op));
  text += fmt::format("  asked      {} on {} cores of {}, prices by {}\n",
                      modeName(context.options.mode), context.options.cores, context.device.name,
                      context.prices);
  if (hasPlan(outcome)) {
    const int uneven = outcome.plan.uneven;
    text +=
        fmt::format("  plan       {}{} on {} cores, {:.0f} ns\n", describe(op, outcome.plan.splits),
                    uneven < 0 ? "" : fmt::format(" ({} uneven)", op.dims[size_t(uneven)].name),
                    outcome.plan.cores, outcome.nanoseconds);
    text += spansText(outcome, context.device.spanLimitBytes);
  }
  if (!outcome.verdict.ok()) {
    text += fmt::format("  verdict    {}\n", outcome.verdict.message());
  }
  if (outcome.tiling) {
    text += tilingText(outcome);
  }
  for (const Decision &decision : outcome.decisions) {
    text += fmt::format("  {:10} {}: {}\n", decision ? "because" : "but", decision.reason(),
                        decision.detail());
  }
  return text + candidatesText(outcome, context.candidates);
}

//===- JSON ---------------------------------------------------------------------------------===//

static Json byName(const Op &op, const std::vector<int64_t> &values) {
  Json json = Json::object();
  for (size_t d = 0; d < values.size(); ++d) {
    json[op.dims[d].name] = values[d];
  }
  return json;
}

static Json planJson(const Op &op, const Plan &plan) {
  Json owners = Json::object();
  for (size_t core = 0; core < plan.owner.size(); ++core) {
    owners[std::to_string(core)] = byName(op, plan.owner[core]);
  }
  Json json = {{"numCoresUsed_", plan.cores},
               {"numWkSlicesPerDim_", byName(op, plan.splits)},
               {"coreIdToWkSlice_", owners}};
  if (plan.uneven >= 0) {
    json["uneven"] = op.dims[size_t(plan.uneven)].name;
  }
  return json;
}

static Json tilingJson(const Outcome &outcome) {
  Json parts = Json::array();
  for (const TiledPart &part : outcome.tiling->parts) {
    Json advance = Json::object();
    for (size_t t = 0; t < part.advanceBytes.size(); ++t) {
      advance[outcome.op.tensors[t].name] = byName(outcome.op, part.advanceBytes[t]);
    }
    parts.push_back({{"tileExtent", byName(outcome.op, part.tileExtent)},
                     {"tiles", byName(outcome.op, part.tiles)},
                     {"first", byName(outcome.op, part.first)},
                     {"advanceBytes", advance},
                     {"plan", planJson(outcome.op, part.plan)},
                     {"nanoseconds", part.nanoseconds}});
  }
  return parts;
}

static Json proofJson(const Outcome &outcome) {
  Json rows = Json::array();
  for (const NoDivision::Row &row : outcome.proof->maximal) {
    Json json = {{"splits", byName(outcome.op, row.splits)}};
    if (row.tensor >= 0) {
      json["tensor"] = outcome.op.tensors[size_t(row.tensor)].name;
      json["spanBytes"] = row.spanBytes;
    }
    rows.push_back(json);
  }
  return {{"text", outcome.proof->text},
          {"combinations", outcome.proof->combinations},
          {"needed", byName(outcome.op, outcome.proof->needed)},
          {"maximal", rows}};
}

static Json storedJson(const StoredSplits &stored) {
  Json json = {{"output", Json::object()}, {"reduction", Json::object()}};
  for (const auto &[coefficient, split] : stored.output) {
    json["output"][std::to_string(coefficient)] = split;
  }
  for (const auto &[coefficient, split] : stored.reduction) {
    json["reduction"][std::to_string(coefficient)] = split;
  }
  return json;
}

Json reportJson(const Outcome &outcome, const ReportContext &context) {
  const Op &op = outcome.op;
  Json json = {{"name", op.name},
               {"kind", kindName(op.kind)},
               {"mode", modeName(context.options.mode)},
               {"cores", context.options.cores},
               {"device", context.device.name},
               {"prices", context.prices},
               {"skipped", outcome.skipped}};
  json["extents"] = Json::object();
  for (const Dim &dim : op.dims) {
    json["extents"][dim.name] = dim.extent;
  }
  if (hasPlan(outcome)) {
    json["plan"] = planJson(op, outcome.plan);
    const std::vector<int64_t> spans = trueSpans(op, outcome.plan);
    for (size_t t = 0; t < spans.size(); ++t) {
      json["spanBytes"][op.tensors[t].name] = spans[t];
    }
    json["stored"] = storedJson(outcome.stored);
  }
  json["nanoseconds"] = outcome.nanoseconds;
  json["verdict"] = {{"code", outcome.verdict.code()}, {"text", outcome.verdict.text()}};
  if (outcome.proof) {
    json["proof"] = proofJson(outcome);
  }
  if (outcome.tiling) {
    json["tiling"] = tilingJson(outcome);
  }
  json["decisions"] = Json::array();
  for (const Decision &decision : outcome.decisions) {
    json["decisions"].push_back(
        {{"taken", bool(decision)}, {"reason", decision.reason()}, {"detail", decision.detail()}});
  }
  json["candidatesTried"] = outcome.candidatesTried;
  json["candidates"] = Json::array();
  for (size_t i = 0; i < std::min(context.candidates, outcome.candidates.size()); ++i) {
    json["candidates"].push_back({{"splits", byName(op, outcome.candidates[i].splits)},
                                  {"nanoseconds", outcome.candidates[i].nanoseconds}});
  }
  return json;
}

} // namespace spyre::solver::division
