//===- RowPrograms.cpp - OpSpec text to a timed program -------------------------------------===//
#include "RowPrograms.h"

#include "spyre/BackEnd/BackEnd.h"
#include "spyre/Spec/SuperDsc.h"

#include "TimingSpecs.h"

#include <algorithm>
#include <cmath>

namespace spyre::tools {

using costmodel::TimingRow;

Expected<Artifacts> specTexts(const TimingRow &row) {
  SPYRE_ASSIGN_OR_RETURN(bench::RowSpecs specs, bench::specsOf(row));
  Artifacts texts;
  for (size_t i = 0; i < specs.kernels.size(); ++i) {
    const char *suffix = specs.kernels.size() == 1 ? "" : i == 0 ? ".a" : ".b";
    texts[row.id + suffix + ".opspec"] =
        fmt::format("# {}: {}, {}, {}\n", row.id, row.op, row.shape, row.split) +
        spec::writeOpSpecs(specs.kernels[i]);
  }
  return texts;
}

static Expected<std::string> lower(const std::string &text, const arch::DeviceDesc &device) {
  SPYRE_ASSIGN_OR_RETURN(std::vector<spec::OpSpec> specs, spec::parseOpSpecs(text));
  std::vector<spec::SuperDsc> operations;
  for (const spec::OpSpec &op : specs) {
    SPYRE_RETURN_IF_ERROR(spec::verifyOpSpec(op));
    SPYRE_ASSIGN_OR_RETURN(spec::SuperDsc dsc, spec::emitSuperDsc(op, int64_t(operations.size())));
    SPYRE_RETURN_IF_ERROR(spec::verifySuperDsc(dsc, device));
    operations.push_back(std::move(dsc));
  }
  SPYRE_ASSIGN_OR_RETURN(program::Program program, backend::lowerSuperDscs(operations, device));
  return program::writeProgram(program);
}

Expected<RowPrograms> RowPrograms::compile(const std::vector<TimingRow> &rows,
                                           const arch::DeviceDesc &device) {
  RowPrograms programs;
  for (const TimingRow &row : rows) {
    SPYRE_ASSIGN_OR_RETURN(bench::RowSpecs specs, bench::specsOf(row));
    SPYRE_ASSIGN_OR_RETURN(Artifacts texts, specTexts(row));
    std::vector<Kernel> kernels;
    for (const auto &[file, text] : texts) {
      Kernel kernel{nullptr, device};
      if (specs.lxPlannerBytes >= 0) {
        kernel.device.lxPlannerBytes = specs.lxPlannerBytes;
      }
      Expected<std::string> bytes = lower(text, kernel.device);
      if (!bytes.ok()) {
        return bytes.status().withContext(file + ": ");
      }
      const char *fault = "";
      kernel.timer.reset(spyre_sim_timer_create(bytes->data(), bytes->size(), &fault));
      if (!kernel.timer) {
        return error<7035>("{}: {}", file, fault);
      }
      kernels.push_back(std::move(kernel));
    }
    programs.kernels.push_back(std::move(kernels));
  }
  return programs;
}

Expected<double> RowPrograms::microseconds(Kernel &kernel, const arch::Timing &timing) {
  kernel.device.timing = timing;
  std::string json = kernel.device.toJson();
  spyre_sim_counters counters{};
  const char *fault = "";
  if (spyre_sim_timer_run(kernel.timer.get(), json.c_str(), &counters, &fault) != 0) {
    return error<7035>("{}", fault);
  }
  // Published are kernel times: what host and card need to agree on a launch is not in them.
  double cycles = double(counters.cycles) - std::ceil(timing.launchOverheadCycles);
  double nanoseconds = cycles / timing.clockGhz;
  double bytes = double(counters.ddr_read_bytes + counters.ddr_write_bytes);
  fastestDdr = std::max(fastestDdr, bytes / nanoseconds);
  return nanoseconds / 1000;
}

Expected<std::vector<double>> RowPrograms::predict(const arch::Timing &timing) {
  std::vector<double> predicted;
  fastestDdr = 0;
  for (std::vector<Kernel> &row : kernels) {
    SPYRE_ASSIGN_OR_RETURN(double time, microseconds(row[0], timing));
    if (row.size() == 2) {
      SPYRE_ASSIGN_OR_RETURN(double other, microseconds(row[1], timing));
      time /= other;
    }
    predicted.push_back(time);
  }
  return predicted;
}

} // namespace spyre::tools
