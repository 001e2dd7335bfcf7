"""What the configuration says to the compiler, in the compiler's own type."""

import os
import warnings

from torch_spyre import _C, environment
from torch_spyre._inductor import config, plugins
from torch_spyre._inductor.scratchpad.passes import ScratchpadOptimizationPass


def cache_directory():
    """Folder of compiled models; empty when there is none."""
    import torch

    if not config.compile_cache or torch.compiler.config.force_disable_caches:
        return ""
    if config.cache_dir:
        return os.path.abspath(config.cache_dir)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return os.path.join(base, "openspyre") if os.path.isabs(base) else ""


#: Fields that the compiler does not read yet, and what it does instead.
NOT_READ = {
    "lx_boundary_clones": "inputs and outputs are copied where that saves traffic",
    "enable_fusion": "operations of a graph share bundles",
    "max_buckets": "every geometry has a program of its own",
    "min_default_granularity": "every geometry has a program of its own",
}
_CHOICES = {
    "layout_solver": (
        *("exact", "greedy", "firstfit", "firstfit-lifetime", "firstfit-score"),
        *("bestfit", "bestfit-lifetime", "bestfit-score", "simulated_annealing", "cpsat"),
    ),
    "planner": ("best", "compat", "compat-s1"),
}
_warned = set()


def _check():
    """Refuses impossible values; says once of each field that was changed in vain."""
    for name, allowed in _CHOICES.items():
        value = getattr(config, name)
        own = name == "layout_solver" and plugins.is_solver(value)
        if not own and value not in allowed:
            raise ValueError(
                f"SPYRE-E6508: config.{name} is {value!r}; give one of {allowed}{plugins.ADVICE.get(name, '')}"
            )
    if wrong := [p for p in config.scratchpad_passes if not isinstance(p, ScratchpadOptimizationPass)]:
        raise ValueError(
            f"SPYRE-E6508: config.scratchpad_passes has {wrong[0]!r}; give objects of subclasses of "
            "torch_spyre._inductor.scratchpad.passes.ScratchpadOptimizationPass"
        )
    if not 1 <= config.sencores <= 32:
        raise ValueError(f"SPYRE-E6508: config.sencores is {config.sencores}; give 1 to 32")
    _check_wishes()
    for name, instead in NOT_READ.items():
        value = getattr(config, name)
        if name not in _warned and value != config._config[name].default:
            _warned.add(name)
            warnings.warn(f"config.{name} = {value!r} has no effect: {instead}", stacklevel=3)


def _check_wishes():
    """Checks ``lx_budget_bytes``, ``lx_pins`` and ``lx_forbidden``."""

    def is_number(value):
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 46

    def refuse(name, advice):
        raise ValueError(f"SPYRE-E6508: config.{name} is {getattr(config, name)!r}; give {advice}")

    if not is_number(config.lx_budget_bytes):
        refuse("lx_budget_bytes", "a number of bytes, 0 for all that planners have")
    pins = config.lx_pins
    if not isinstance(pins, dict) or not all(
        isinstance(name, str) and is_number(address) for name, address in pins.items()
    ):
        refuse("lx_pins", "a dict of buffer names and addresses in LX")
    names = config.lx_forbidden
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        refuse("lx_forbidden", "a list of buffer names")


def eager():
    """The settings of single operations: users' passes are for graphs."""
    _check()
    settings = _C.CompileSettings()
    settings.whole_graph_layouts = config.global_stick_optimizer
    settings.share_pool = config.hbm_planning
    settings.symbolic_arguments = config.bundle_symbolic_args
    settings.unroll_loops = config.unroll_loops
    settings.k_fast_cores = config.core_id_k_fast_emission
    settings.chunk_large_tensors = config.chunk_large_tensors
    settings.uneven_division = config.uneven_division
    settings.padding = config.padding
    settings.cores = config.sencores
    compat = config.planner != "best"
    settings.lx_planning = config.lx_planning
    settings.lx_compat = compat
    settings.lx_move_splits = config.co_optimizing_lx_planning
    # What nobody chose is the planner's own: exact, or greedy for the documented one.
    chosen = isinstance(config.layout_solver, str) and not isinstance(config.layout_solver, environment.PlannersOwn)
    settings.lx_solver = config.layout_solver if chosen else ""
    settings.lx_back_end_share = config.dxp_lx_frac_avail
    settings.lx_all_ops = config.allow_all_ops_in_lx_planning
    settings.lx_budget_bytes = config.lx_budget_bytes
    settings.planner = config.planner
    settings.cache_directory = cache_directory()
    settings.cache_limit_bytes = config.cache_limit_mb << 20
    return settings


def current(extensions=None):
    """The settings of a graph as they are now; a compilation keeps those it began with."""
    if extensions is not None and extensions.options:
        with config.patch(extensions.options):
            return _of_graph(extensions)
    return _of_graph(extensions)


def _of_graph(extensions):
    settings = eager()
    # Wishes name buffers of a graph; single operations have others of the same names.
    settings.lx_pins = dict(config.lx_pins)
    settings.lx_forbidden = list(config.lx_forbidden)
    if plugins.is_solver(config.layout_solver):
        settings.set_solver(config.layout_solver)
    for one in config.scratchpad_passes:
        settings.add_scratchpad_pass(one)
    pipelines = dict(config.pass_pipelines)
    libraries = list(config.pass_plugins)
    if extensions is not None:
        libraries += extensions.plugins()
        for point, function in extensions.functions():
            settings.add_function(point, function)
        for point, text in extensions.pipelines().items():
            pipelines[point] = ",".join(filter(None, (pipelines.get(point), text)))
    settings.pass_plugins = [os.path.abspath(path) for path in dict.fromkeys(libraries)]
    settings.user_passes = pipelines
    return settings
