"""Names of the existing Python front end whose work OpenSpyre does in C++.

Importing such a name fails with an error that says where the work is done, because a Python function of that name would
change nothing. ``docs/architecture.md`` has one row per name; a test compares it with this table.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Home:
    """Place of the C++ code that does the work of one module of the existing front end."""

    job: str
    source: str
    #: Option of ``spyre-opt`` that runs this step alone, None if it is not a pass.
    flag: str | None
    #: Functions and classes that the existing module has and this package does not.
    names: tuple[str, ...]

    def how_to_run(self):
        """Returns the command that runs this step."""
        return f"spyre-opt {self.flag}" if self.flag else "spyre-compile --compile-to=opspec"


HOMES = {
    "temp_passes": Home(
        "rewrites of the graph before lowering: matmul forms, padding, scalars",
        "lib/Conversion/GraphToLoop",
        "--spyre-graph-to-loop",
        (
            "mm_to_bmm_pass",
            "mark_direct_unit_bmm_pass",
            "bmm_unflatten_pass",
            "insert_padding",
            "replace_scalar_with_tensor",
            "split_multi_ops",
            "dedup_and_promote_constants",
        ),
    ),
    "deadcode_elimination": Home(
        "removal of operations that no output needs",
        "lib/Conversion/GraphToLoop",
        "--spyre-graph-to-loop",
        ("deadcode_elimination",),
    ),
    "propagate_hints": Home(
        "hints of the user's scopes on the operations of the loop IR",
        "lib/Dialect/Loop/Transforms/DivideWork/AssignHints.cpp",
        "--spyre-loop-assign-hints",
        ("collect_spyre_hints", "recover_spyre_hints", "assign_dim_hints"),
    ),
    "propagate_layouts": Home(
        "choice of a device layout for every buffer",
        "lib/Dialect/Loop/Transforms/PropagateLayouts",
        "--spyre-loop-propagate-layouts",
        ("propagate_spyre_tensor_layouts", "propagate_mutation_layouts", "validate_ops", "FixedTiledLayout"),
    ),
    "optimize_restickify": Home(
        "places of stick changes, chosen for the whole graph",
        "lib/Solver/LayoutChoice.cpp",
        "--spyre-loop-propagate-layouts",
        ("optimize_restickify_locations",),
    ),
    "insert_restickify": Home(
        "copies that change sticks",
        "lib/Dialect/Loop/Transforms/PropagateLayouts",
        "--spyre-loop-propagate-layouts",
        ("finalize_layouts", "insert_restickify"),
    ),
    "padding": Home(
        "alignment of matmul operands",
        "lib/Dialect/Loop/Transforms/PadMatmul.cpp",
        "--spyre-loop-pad-matmul",
        ("insert_bmm_padding",),
    ),
    "work_division": Home(
        "iteration spaces divided over cores",
        "lib/Dialect/Loop/Transforms/DivideWork",
        "--spyre-loop-work-distribution",
        (
            "adjust_it_space_for_sticks",
            "apply_splits",
            "core_split",
            "cost_model_matmul_division",
            "get_per_core_span",
            "multi_dim_iteration_space_split",
            "must_split_vars",
            "prioritize_dimensions",
            "raise_if_per_core_overflow",
            "span_reduction",
            "span_reduction_pass",
            "warn_if_per_core_overflow",
            "work_distribution",
            "work_distribution_pass",
        ),
    ),
    "coarse_tile": Home(
        "loops that hinted operations share",
        "lib/Dialect/Loop/Transforms/DivideWork/FormNests.cpp",
        "--spyre-loop-form-nests",
        ("CoarseTileInfo", "build_loop_scheduler_nodes"),
    ),
    "memory_planning": Home(
        "places of intermediates in the DDR pool",
        "lib/Dialect/Loop/Transforms/PlanPool.cpp",
        "--spyre-loop-plan-pool",
        ("memory_planning",),
    ),
    "scratchpad.allocator": Home(
        "places of buffers in the scratchpads, clones, moved splits",
        "lib/Conversion/LoopToSpec/PlanLx.cpp",
        "--spyre-loop-plan-lx",
        ("CloneInputNodesPass", "DefaultAllocator", "StrategyBCoOptimizingAllocator", "scratchpad_planning"),
    ),
    "fusion": Home("operations grouped to kernels", "lib/Conversion/LoopToSpec", None, ("spyre_fuse_nodes",)),
    "spyre_kernel": Home(
        "operations written as OpSpecs", "lib/Conversion/LoopToSpec", None, ("SpyreKernel", "simplify_op_spec")
    ),
    "scheduler": Home("order and grouping of operations", "lib/Conversion/LoopToSpec", None, ("SuperDSCScheduling",)),
    "wrapper": Home(
        "host code: allocations and launches, as model.json", "lib/Spec/Model.cpp", None, ("SpyrePythonWrapperCodegen",)
    ),
}


def attributes_of(module):
    """Returns the ``__getattr__`` of ``torch_spyre._inductor.<module>``, which has :data:`SOURCE` and :data:`SPYRE_OPT_FLAG`
    and explains the names of :data:`HOMES`."""

    def __getattr__(name):
        if name == "SOURCE":
            return HOMES[module].source
        if name == "SPYRE_OPT_FLAG":
            return HOMES[module].flag
        refuse(module, name)
        raise AttributeError(f"module 'torch_spyre._inductor.{module}' has no attribute {name!r}")

    return __getattr__


def refuse(module, name):
    """Raises ImportError if the existing front end has ``name``, in this module or another one."""
    for home in [HOMES[module], *HOMES.values()]:
        if name in home.names:
            # AttributeError would lose the text: `from module import name` replaces it by its own.
            raise ImportError(
                f"SPYRE-E6580: torch_spyre._inductor.{module} has no {name}: its job ({home.job}) is done in C++ by "
                f"{home.source}; run it with `{home.how_to_run()}`, or change plans with hints and passes "
                "(docs/how-to/extend-the-compiler.md)",
                name=name,
            )
