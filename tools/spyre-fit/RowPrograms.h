//===- RowPrograms.h - the programs of the rows, timed without their data -------------------===//
#pragma once

#include "spyre/Arch/DeviceDesc.h"
#include "spyre/Base/Artifacts.h"
#include "spyre/CostModel/TimingRows.h"
#include "spyre/Sim/SpyreSim.h"

#include <memory>

namespace spyre::tools {

/// Text of the row's kernels by file name: <id>.opspec, or <id>.a.opspec and <id>.b.opspec.
Expected<Artifacts> specTexts(const costmodel::TimingRow &row);

class RowPrograms {
public:
  /// Writes the rows' OpSpecs as text, reads them again and lowers them for \p device. Errors:
  /// E7035 (a row that has none), and those of parser and back end.
  static Expected<RowPrograms> compile(const std::vector<costmodel::TimingRow> &rows,
                                       const arch::DeviceDesc &device);

  /// Microseconds (or the ratio) of every row on a machine with the rates \p timing. The programs
  /// stay as they are.
  Expected<std::vector<double>> predict(const arch::Timing &timing);
  /// Bytes over DDR per microsecond of the busiest row, for the check against the peak.
  double fastestDdrGbPerSecond() const { return fastestDdr; }

private:
  struct Destroy {
    void operator()(spyre_sim_timer *timer) const { spyre_sim_timer_destroy(timer); }
  };
  struct Kernel {
    std::unique_ptr<spyre_sim_timer, Destroy> timer;
    arch::DeviceDesc device;
  };
  Expected<double> microseconds(Kernel &kernel, const arch::Timing &timing);

  /// By row.
  std::vector<std::vector<Kernel>> kernels;
  double fastestDdr = 0;
};

} // namespace spyre::tools
