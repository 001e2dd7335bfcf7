//===- Report.cpp - tables of residuals -----------------------------------------------------===//
#include "Report.h"

#include "spyre/CostModel/Fit.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace spyre::tools {

using costmodel::medianAbsolute;
using costmodel::rankCorrelation;
using costmodel::RowKind;
using costmodel::RowSet;
using costmodel::TimingRow;

namespace {

class Report {
public:
  Report(const std::vector<TimingRow> &rows, std::span<const double> predicted)
      : rows(rows), predicted(predicted) {}

  std::string text(const arch::DeviceDesc &device, double fastestDdr) {
    for (RowSet set : {RowSet::Fit, RowSet::Holdout, RowSet::Rank}) {
      addRows(set);
    }
    addFamilies();
    addTargets(device, fastestDdr);
    return std::move(out);
  }

private:
  void addRows(RowSet set) {
    out += fmt::format("\n{:<30}{:<21}{:>12}{:>12}{:>9}\n",
                       fmt::format("rows of set {}", costmodel::setName(set)), "family",
                       "published", "clock", "error");
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].set == set) {
        out += fmt::format("{:<30}{:<21}{:>12.3f}{:>12.3f}{:>+8.1f}%\n", rows[i].id, rows[i].family,
                           rows[i].value, predicted[i], percent(i));
      }
    }
  }
  double percent(size_t i) const { return 100 * costmodel::relativeError(rows[i], predicted[i]); }

  template <typename Want>
  std::vector<double> errorsOf(Want want) const {
    std::vector<double> errors;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (want(rows[i])) {
        errors.push_back(percent(i));
      }
    }
    return errors;
  }
  template <typename Want>
  double rankOf(Want want) const {
    std::vector<double> published, clock;
    for (size_t i = 0; i < rows.size(); ++i) {
      if (want(rows[i])) {
        published.push_back(rows[i].value);
        clock.push_back(predicted[i]);
      }
    }
    return rankCorrelation(published, clock);
  }

  void addFamilies() {
    out += fmt::format("\n{:<24}{:>6}{:>14}{:>18}{:>8}\n", "family", "rows", "fit median",
                       "hold-out median", "rank");
    std::map<std::string, size_t> families;
    for (const TimingRow &row : rows) {
      ++families[row.family];
    }
    for (const auto &[family, count] : families) {
      auto in = [&](RowSet set) {
        return [&, set](const TimingRow &row) { return row.family == family && row.set == set; };
      };
      auto median = [](const std::vector<double> &errors) {
        return errors.empty() ? std::string("-") : fmt::format("{:.1f}%", medianAbsolute(errors));
      };
      double rank = rankOf([&](const TimingRow &row) { return row.family == family; });
      out += fmt::format("{:<24}{:>6}{:>14}{:>18}{:>8.3f}\n", family, count,
                         median(errorsOf(in(RowSet::Fit))), median(errorsOf(in(RowSet::Holdout))),
                         rank);
      bool isTime = std::none_of(rows.begin(), rows.end(), [&](const TimingRow &row) {
        return row.family == family && (row.isRatio() || row.kind == RowKind::Rank);
      });
      if (isTime) {
        worstFamily = std::max(worstFamily, medianAbsolute(errorsOf(in(RowSet::Holdout))));
      }
      bool isOrderOnly = std::any_of(rows.begin(), rows.end(), [&](const TimingRow &row) {
        return row.family == family && row.kind == RowKind::Rank;
      });
      if (isOrderOnly) {
        orderOnly += fmt::format("{}{} ({:.3f})", orderOnly.empty() ? "" : ", ", family, rank);
      } else if (count >= 4) {
        worstRank = std::min(worstRank, rank);
      }
    }
  }

  void target(const std::string &what, const std::string &found, bool met) {
    out += fmt::format("{:<74}{:>14}  {}\n", what, found, met ? "met" : "missed");
  }
  void addTargets(const arch::DeviceDesc &device, double fastestDdr) {
    out += fmt::format("\n{:<74}{:>14}\n", "target", "found");
    std::vector<double> times =
        errorsOf([](const TimingRow &row) { return row.set == RowSet::Holdout && !row.isRatio(); });
    target("hold-out, measured and law: median error <= 15 %",
           fmt::format("{:.1f}%", medianAbsolute(times)), medianAbsolute(times) <= 15);
    target("the same per family: <= 25 %", fmt::format("{:.1f}%", worstFamily), worstFamily <= 25);
    double worstRatio = 0;
    for (double error : errorsOf([](const TimingRow &row) { return row.isRatio(); })) {
      worstRatio = std::max(worstRatio, std::abs(error));
    }
    target("ratio rows: every one within 15 %", fmt::format("{:.1f}%", worstRatio),
           worstRatio <= 15);
    std::string leftOut = orderOnly.empty() ? "" : " without " + orderOnly;
    target(fmt::format("rank correlation per family of 4+ rows{}: >= 0.9", leftOut),
           fmt::format("{:.3f}", worstRank), worstRank >= 0.9);
    double prefill =
        rankOf([](const TimingRow &row) { return row.isRatio() && row.id.ends_with("prefill"); });
    target("rank correlation of the prefill ratios: 1", fmt::format("{:.3f}", prefill),
           prefill > 0.999);
    double small =
        rankOf([](const TimingRow &row) { return row.kind == RowKind::Rank && row.cores == 1; });
    target("the one-core softmax rows in their order", fmt::format("{:.3f}", small), small > 0.999);
    double peak = device.timing.ddrPeakBytesPerCycle * device.timing.clockGhz;
    target(fmt::format("no rate of DDR above its peak of {:.1f} GB/s", peak),
           fmt::format("{:.1f} GB/s", fastestDdr), fastestDdr <= peak);
    double narrow = timeOf("mm-1x4096x25600"), wide = timeOf("mm-1x4096x26624");
    if (narrow > 0 && wide > 0) {
      target("M=1: N=26624 on 32 cores before N=25600 on 25",
             fmt::format("{:.0f} < {:.0f}", wide, narrow), wide < narrow);
    }
  }
  double timeOf(const std::string &id) const {
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].id == id) {
        return predicted[i];
      }
    }
    return 0;
  }

  const std::vector<TimingRow> &rows;
  std::span<const double> predicted;
  std::string out;
  double worstFamily = 0, worstRank = 1;
  /// Families of order-only rows, with their rank correlation; the target leaves them out by name.
  std::string orderOnly;
};

} // namespace

std::string reportText(const std::vector<TimingRow> &rows, std::span<const double> predicted,
                       const arch::DeviceDesc &device, double fastestDdr) {
  return Report(rows, predicted).text(device, fastestDdr);
}

} // namespace spyre::tools
