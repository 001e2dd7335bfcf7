//===- DivideCommand.h - spyre-plan divide: work of operations over cores -------------------===//
#pragma once

#include "spyre/Base/Status.h"

#include "CLI/CLI.hpp"
#include "PlanCommand.h"

namespace spyre::tools {

struct DivideOptions {
  bool uneven = false;
  std::string input, device = "openspyre", output = "-";
  std::optional<std::string> cores, mode;
  bool json = false, spanOnly = false, noPadding = false, ignoreHints = false, rates = false;
  size_t candidates = 10;
};

class DivideCommand {
public:
  void declare(CLI::App &app);
  bool chosen() const;
  /// \p good: every operation has a plan.
  Status run(const PlanEnvironment &environment, std::ostream &out, bool &good);

private:
  CLI::App *command = nullptr;
  DivideOptions options;
};

} // namespace spyre::tools
