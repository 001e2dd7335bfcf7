//===- Passes.td - planning passes on loop IR -----------------------------------------------===//
#ifndef SPYRE_DIALECT_LOOP_PASSES_TD
#define SPYRE_DIALECT_LOOP_PASSES_TD

include "mlir/Pass/PassBase.td"

def ElideCopiesPass : Pass<"spyre-loop-elide-copies", "::mlir::ModuleOp"> {
  let summary = "Computes values in the buffer, and the shape, that they are copied to.";
  let description = [{
    Requires: nothing.
    Ensures: no copy from a whole temp to (a part of) an output or another temp is left that only gives elements new
    places, if all operations can access them there; loops that run over several of the new dimensions are split,
    sticks are not.
    Idempotent. Deterministic. Linear in operations.
    Example: `(x @ w).view(4, 24, 128)` writes the three-dimensional result at once; what is concatenated is computed in
    its part.
  }];
  let dependentDialects = ["::spyre::loop::LoopDialect"];
  let constructor = "::spyre::loop::createElideCopiesPass()";
}

def ArrangeConversionsPass : Pass<"spyre-loop-arrange-conversions", "::mlir::ModuleOp"> {
  let summary = "Makes the order in which conversions leave elements a part of the buffers.";
  let description = [{
    Requires: nothing.
    Ensures: no `convert` is left; conversions of the device have their lanes along their last variable. A
    converted dimension has its size rounded up to two sticks and is read in the order of the conversion, or was
    put in order by a copy. Outputs are in order.
    Idempotent. Deterministic. Linear in operations.
    Example: `(x.float() * 2).half()` works on positions and copies nothing.
  }];
  let dependentDialects = ["::spyre::loop::LoopDialect"];
  let constructor = "::spyre::loop::createArrangeConversionsPass()";
}

def PropagateLayoutsPass : Pass<"spyre-loop-propagate-layouts", "::mlir::ModuleOp"> {
  let summary = "Gives every buffer a device layout and inserts copies where operands disagree on the stick.";
  let description = [{
    Requires: inputs and constants carry layouts.
    Ensures: every buffer has a layout; all operands of an operation agree on the stick variable (a copy may
    change it: it then becomes ReStickifyOpHBM); matmul has x along K, y and the result along N.
    Idempotent. Deterministic. Linear in operations (times candidates, at most the number of variables).
    Example: `x + y.t()` with both inputs in default layout gains one copy of y with the other stick.
  }];
  let dependentDialects = ["::spyre::loop::LoopDialect"];
  let constructor = "::spyre::loop::createPropagateLayoutsPass()";
}

def ElideCopyBackPass : Pass<"spyre-loop-elide-copy-back", "::mlir::ModuleOp"> {
  let summary = "Lets operations write the new contents of an input straight into it.";
  let description = [{
    Requires: layouts (spyre-loop-propagate-layouts).
    Ensures: a temp that is copied as a whole into an input is that input, where the sticks agree and nobody
    reads the old contents after the first write; a first copy of the old contents is then dropped as well.
    Idempotent. Deterministic. Linear in operations, times the inputs that are written.
    Example: `x.mul_(2)` reads and writes x and copies nothing.
  }];
  let dependentDialects = ["::spyre::loop::LoopDialect"];
  let constructor = "::spyre::loop::createElideCopyBackPass()";
}

def PadMatmulPass : Pass<"spyre-loop-pad-matmul", "::mlir::ModuleOp"> {
  let summary = "Copies the second matmul operand into a buffer with whole sticks of zeroed rows along K.";
  let description = [{
    Requires: layouts (spyre-loop-propagate-layouts).
    Ensures: the K dimension of every second matmul operand owns a multiple of the stick of rows, those past K
    are zero. The first operand needs nothing: its lanes past K are masked by the unit.
    Idempotent. Deterministic. Linear in operations.
    Example: K = 67 gives a buffer of 128 rows, a fill of rows 67..127 and a copy of rows 0..66.
  }];
  let dependentDialects = ["::spyre::loop::LoopDialect"];
  let constructor = "::spyre::loop::createPadMatmulPass()";
}

def LimitVarsPass : Pass<"spyre-loop-limit-vars", "::mlir::ModuleOp"> {
  let summary = "Runs operations with more variables than the interface has names once per value of their smallest ones.";
  let description = [{
    Requires: layouts.
    Ensures: operations have at most 8 variables, matmuls 7, operations without a stick variable 6, one less where
    an operand selects an entry of a dimension. Reduced variables and those of sticks are kept: where they alone are
    too many, the operation stays as it is and its emission says so.
    Idempotent. Deterministic. Linear in operations, times the values of the variables taken away.
    Example: nine variables of which two have two values become four operations of seven.
  }];
  let dependentDialects = ["::spyre::loop::LoopDialect"];
  let constructor = "::spyre::loop::createLimitVarsPass()";
}

def AssignHintsPass : Pass<"spyre-loop-assign-hints", "::mlir::ModuleOp"> {
  let summary = "Turns hints of users into slices and tiles of variables.";
  let description = [{
    Requires: layouts.
    Ensures: an operation whose location carries hints has `hints` (slices per variable), and `loops` with `tiles` for the
    variables that walk the named dimensions, numbered by the scopes of the hints. Errors: SPYRE-E3066, E3077, E3140.
    Idempotent. Deterministic. Linear in operations; nothing is done where there are no hints.
    Example: `work_div = {tokens = 4}` on `x + y` with x of dims [["tokens", 128], ["hidden", 64]]: hints [4, 0].
  }];
  let dependentDialects = ["::spyre::loop::LoopDialect"];
  let constructor = "::spyre::loop::createAssignHintsPass()";
}

def AssignSizesPass : Pass<"spyre-loop-assign-sizes", "::mlir::ModuleOp"> {
  let summary = "Tells variables the sizes that other calls have.";
  let description = [{
    Requires: layouts; `sizes` of input buffers ([[dimension, least, largest], ...]).
    Ensures: an operation with variables that walk such a dimension has `sizes`, two numbers per variable: the step of its
    sizes and the largest one, 0 for those that never change. Errors: SPYRE-E3075, E3145.
    Idempotent. Deterministic. Linear in operations; nothing is done where no input has `sizes`.
    Example: x + y with x of 512 x 64 and sizes [[0, 128, 1024]]: sizes [128, 1024, 0, 0].
  }];
  let dependentDialects = ["::spyre::loop::LoopDialect"];
  let constructor = "::spyre::loop::createAssignSizesPass()";
}

def FormNestsPass : Pass<"spyre-loop-form-nests", "::mlir::ModuleOp"> {
  let summary = "Gives neighbours in the same scopes of hints one nest of loops.";
  let description = [{
    Requires: layouts, and `loops` of spyre-loop-assign-hints.
    Ensures: every loop has a number of its own and a contiguous run of operations; an iteration of it finds all it needs.
    Temps that one iteration needs of itself alone have the size of a tile and `per_tile`.
    Idempotent. Deterministic. Quadratic in the operations of a nest; nothing is done where there are no loops.
    Example: `(x + y) * z` in 4 tiles of rows: one loop with both operations, the sum a quarter of its size.
  }];
  let dependentDialects = ["::spyre::loop::LoopDialect"];
  let constructor = "::spyre::loop::createFormNestsPass()";
  let options = [
    Option<"mostTensors", "most-tensors", "int64_t", "256", "Tensors that a bundle takes beside the pool.">
  ];
}

class DivisionPass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::spyre::loop::LoopDialect"];
}
class DivisionOptions {
  list<Option> all = [
    Option<"cores", "cores", "int64_t", "32", "Cores to divide over.">,
    Option<"device", "device", "std::string", "\"openspyre\"", "Preset or file of the machine.">,
    Option<"spanLimitBytes", "span-limit-bytes", "int64_t", "0",
           "DDR range one core may touch per tensor; 0: the machine's.">,
    Option<"planner", "planner", "std::string", "\"best\"", "best, compat or compat-s1.">
  ];
}
def AllDivisionOptions : DivisionOptions;

def SpanReductionPass : DivisionPass<"spyre-loop-span-reduction"> {
  let summary = "Stores the fewest slices that bring every tensor below the span limit.";
  let description = [{
    Requires: layouts.
    Ensures: an operation one of whose tensors exceeds the limit has `span_splits`: slices by the coefficient of their
    variable in the write index (`output`) or in the first read index (`reduction`). Others have none. The
    documented first pass; planner `best` does not need it. Errors: SPYRE-E3062, E3063.
    Idempotent. Deterministic. Linear in operations, times the divisor combinations of those too large.
    Example: [8192, 1048576] in 16 bits, 17 GB: 64 columns of sticks must be split.
  }];
  let constructor = "::spyre::loop::createSpanReductionPass()";
  let options = AllDivisionOptions.all;
}

def EvenRowsPass : Pass<"spyre-loop-even-rows", "::mlir::ModuleOp"> {
  let summary = "Pads rows that cores cannot share, or runs the last of them apart.";
  let description = [{
    Requires: layouts; hints and sizes, where there are any.
    Ensures: operations that treat the rows of one extent apart walk more of them (temps between them have as many, inputs
    are copied, with their first rows once more behind the last), or run twice, over as many rows as cores can
    share and over the rest. So do operations over columns whose sticks cores cannot share. The compiler does so only
    where the whole program is cheaper, with what stays in LX; spyre-opt does what the options say. Results do not change.
    Idempotent with options; the compiler looks at three extents per run, and a further run at those that are left.
    Deterministic. Plans the program once per choice; nothing is done where cores can share all rows.
    Example: 997 rows, 32 cores: 1024 rows, or 992 and 5.
  }];
  let dependentDialects = ["::spyre::loop::LoopDialect"];
  let constructor = "::spyre::loop::createEvenRowsPass()";
  let options = [
    Option<"extent", "extent", "int64_t", "0", "Rows to change.">,
    Option<"rows", "rows", "int64_t", "0", "Rows to walk instead; 0: run in two parts.">,
    Option<"even", "even", "int64_t", "0", "Rows of the first part.">,
    Option<"products", "products", "bool", "true", "Products run in two parts, too.">,
    Option<"columns", "columns", "bool", "false", "Sticks of columns are cut, not rows.">
  ];
}

def WorkDistributionPass : DivisionPass<"spyre-loop-work-distribution"> {
  let summary = "Splits each operation over the cores.";
  let description = [{
    Requires: layouts; for the planners compat and compat-s1 what spyre-loop-span-reduction stored.
    Ensures: every operation has `splits`; their product is at most `cores`; every core has whole sticks and the same
    amount of work (with `uneven` set on an operation, one piece of that variable more on the first cores); no core
    touches more DDR per tensor than the machine allows (SPYRE-E3064, E3065); splits keep the machine's rules.
    `span_splits` is gone. Where no division keeps the span limit the operation has `tiles`, the fewest that can be
    divided: it runs as counted loops, and what does not fill a tile is an operation of its own behind them. Planner best
    takes the cheapest of all such splits, compat and compat-s1 the documented one, without what the machine cannot do.
    Idempotent. Deterministic. Linear in operations that differ, times their candidates.
    Example: [256, 192] over 32 cores: c0 (256 rows) is split 32 ways.
  }];
  let constructor = "::spyre::loop::createWorkDistributionPass()";
  let options = !listconcat(AllDivisionOptions.all, [
    Option<"distribute", "distribute", "bool", "true", "Off: what span reduction stored is the plan.">,
    Option<"tile", "tile", "bool", "true", "Operations too large for every division run in tiles; off: an error.">,
    Option<"fastReductions", "fast-reductions", "bool", "true", "Planner best may give partners of a split reduction consecutive cores.">,
    Option<"padding", "padding", "bool", "true", "Planner best may pad a dim and give a result the room for it.">,
    Option<"uneven", "uneven", "bool", "false", "Planner best may use slices that differ by a piece.">
  ]);
}

def NumberCoresPass : DivisionPass<"spyre-loop-number-cores"> {
  let summary = "Gives partners of split reductions consecutive cores where that is cheaper.";
  let description = [{
    Requires: splits; addresses in LX, where LX is planned.
    Ensures: `owners` of a split reduction none of whose tensors is in LX has the reduced variable change fastest, if
    its price is lower so. Splits stay. Planner best only; hinted, tiled and uneven operations stay as they are.
    Idempotent. Deterministic. Linear in operations.
    Example: splits [4, 8]: (core mod 4, core floordiv 4) becomes (core floordiv 8, core mod 8).
  }];
  let constructor = "::spyre::loop::createNumberCoresPass()";
  let options = AllDivisionOptions.all;
}

def PlanPoolPass : Pass<"spyre-loop-plan-pool", "::mlir::ModuleOp"> {
  let summary = "Places intermediates in one pool of device memory, reusing space of dead ones.";
  let description = [{
    Requires: layouts.
    Ensures: every temp has `pool_offset`, a multiple of 128; temps that are live together do not overlap.
    Idempotent. Deterministic. Quadratic in temps in the worst case.
    Example: t0 dies where t2 is born: both may have offset 0.
  }];
  let dependentDialects = ["::spyre::loop::LoopDialect"];
  let constructor = "::spyre::loop::createPlanPoolPass()";
}

def ExplainPass : Pass<"spyre-loop-explain", "::mlir::ModuleOp"> {
  let summary = "Records every copy with its reason, bytes and predicted time, and inputs that are in the wrong layout.";
  let description = [{
    Requires: layouts.
    Ensures: nothing changes. The decision trace has an entry of stage `movement` for each copy and each step on
    the CPU, one with the sums, and one of stage `layout` for each input that is only read in another layout. Without
    a trace it prints them.
    Idempotent. Deterministic. Linear in operations.
    Example: `x + y.t()`: "restickify y -> y_restick", stick-differs, 65536 bytes.
  }];
  let dependentDialects = ["::spyre::loop::LoopDialect"];
  let constructor = "::spyre::loop::createExplainPass()";
}

#endif
