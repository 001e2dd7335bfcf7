//===- PlanCommand.cpp - spyre-plan's sub-commands ------------------------------------------===//
#include "PlanCommand.h"

#include "DivideCommand.h"
#include "PlacementCommands.h"

#include <ostream>

namespace spyre::tools {

int planCommand(int argc, const char *const *argv, const PlanEnvironment &environment,
                std::ostream &out, std::ostream &err) {
  CLI::App app("The planners without the compiler.", "spyre-plan");
  app.require_subcommand(1);
  DivideCommand divide;
  PlacementCommands placement;
  divide.declare(app);
  placement.declare(app);
  app.footer("Exit codes: 0 there is a plan, 1 there is none or the input is at fault, 2 internal "
             "error.\n\nExamples:\n"
             "  spyre-compile graph.mlir -o model --dump-lx-problem p.json\n"
             "  spyre-plan solve p.json\n"
             "  spyre-plan explain p.json --forbid t0\n"
             "  spyre-plan draw p.json -o map.html\n"
             "  spyre-plan solve --variant fit --capacity 1280 buffers.csv -o plan.csv\n"
             "  spyre-plan divide operations.json --cores 16");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error, out, err) == 0 ? 0 : 1;
  }
  try {
    bool good = true;
    const Status status =
        divide.chosen() ? divide.run(environment, out, good) : placement.run(out, good);
    if (!status.ok()) {
      err << "spyre-plan: " << status.message() << '\n';
    }
    return status.ok() && good ? 0 : 1;
  } catch (const std::exception &exception) {
    err << "spyre-plan: internal error: " << exception.what() << '\n';
    return 2;
  }
}

} // namespace spyre::tools
