"""Settings of the compiler. The environment gives defaults; changes hold from the next compile."""

import os
import sys

from torch.utils._config_module import install_config_module

from torch_spyre.environment import flag as _flag
from torch_spyre.environment import get as _get
from torch_spyre.environment import number as _number
from torch_spyre.environment import planners_own as _planners_own


lx_planning: bool = _flag("LX_PLANNING", True)
co_optimizing_lx_planning: bool = _flag("CO_OPTIMIZING_LX_PLANNING", False)
allow_all_ops_in_lx_planning: bool = False
lx_boundary_clones: bool = _flag("LX_BOUNDARY_CLONES", False)
dxp_lx_frac_avail: float = _number("DXP_LX_FRAC_AVAIL", 0.2, 0.0, 1.0)
layout_solver: str = _planners_own("exact")  # greedy with a compat planner
lx_budget_bytes: int = 0  # what if a core had only this much LX to plan; 0: all of the planner's
lx_pins: dict = {}  # what if: buffer to address; names are those of torch_spyre.explain
lx_forbidden: list = []  # what if: buffers that are not to stay in LX
enable_fusion: bool = _flag("SPYRE_INDUCTOR_ENABLE_FUSION", True)
sencores: int = _number("SENCORES", 32, 1, 32)
hbm_planning: bool = _flag("SPYRE_INDUCTOR_MEMORY_PLAN", True)
chunk_large_tensors: bool = _flag("CHUNK_LARGE_TENSORS", False)
uneven_division: bool = _flag("SPYRE_UNEVEN_DIVISION", False)
padding: bool = _flag("SPYRE_PADDING", True)
global_stick_optimizer: bool = _flag("GLOBAL_STICK_OPTIMIZER", True)
max_buckets: int = _number("MAX_BUCKETS", 32, 1, 1 << 20)
min_default_granularity: int = _number("MIN_DEFAULT_GRANULARITY", 4, 1, 1 << 20)
ignore_work_division_hints: bool = _flag("SPYRE_INDUCTOR_IGNORE_HINTS", False)
core_id_k_fast_emission: bool = _flag("SPYRE_CORE_ID_K_FAST_EMISSION", True)
bundle_symbolic_args: bool = _flag("BUNDLE_SYMBOLIC_ARGS", True)
unroll_loops: bool = _flag("UNROLL_LOOPS", True)
compile_cache: bool = _flag("SPYRE_CACHE", True)
cache_dir: str = os.environ.get("SPYRE_CACHE_DIR", "")  # empty: below the user's cache folder
cache_limit_mb: int = _number("SPYRE_CACHE_LIMIT_MB", 1024, 1, 1 << 20)
scratchpad_passes: list = []  # objects of ScratchpadOptimizationPass, run around scratchpad planning
pass_plugins: list = [p for p in os.environ.get("SPYRE_PASS_PLUGINS", "").split(os.pathsep) if p]
pass_pipelines: dict = {}  # point to passes: {"post": "my-pass"}; see passes.py
planner: str = _get("SPYRE_PLANNER")

install_config_module(sys.modules[__name__])
