"""The environment variables this package reads, in one table. ``torch.spyre.show_config()`` prints it.

A value that does not fit is an error (SPYRE-E6508) where it is first needed; a name that begins like
ours and is none of them gets a warning with the nearest one.
"""

import dataclasses
import os

TRUE = ("1", "true", "on", "yes")
FALSE = ("0", "false", "off", "no")


@dataclasses.dataclass(frozen=True)
class Variable:
    """``kind`` is "flag", "flag or error", "number", "text", or a tuple of the allowed words."""

    name: str
    default: object
    effect: str
    kind: object = "text"
    low: object = None
    high: object = None


_DEVICE = [
    Variable("FLEX_DEVICE", "", "PF, VF or MOCK: how cards are opened", ("PF", "VF", "MOCK", "")),
    Variable("AIU_WORLD_SIZE", 8, "number of simulated cards", "number", 1, 8),
    Variable("SPYRE_DEVICES", "", "cards to show, in this order"),
    Variable("LOCAL_RANK", "", "card a process of torchrun begins with"),
    Variable("IS_INDUCTOR_SPAWNED_SUBPROCESS", False, "this process never opens a card", "flag"),
    Variable("SPYRE_DEVICE_DESC", "openspyre", "machine description: preset or JSON file"),
    Variable("SPYRE_SIM_THREADS", 0, "host threads of the simulator; 0: per core", "number", 0, 256),
    Variable("SPYRE_BACKEND_CMD", "", "another back end, run as CMD --bundle -d DIR"),
    Variable("SPYRE_CARD_DIR", "", "folder of the cards' locks and state files"),
    Variable("SPYRE_SMI", "", "whether this process tells spyre-smi about itself"),
    Variable("EAGER_MODE", True, "0: eager operations raise instead of compile", "flag"),
    Variable(
        "TORCH_SPYRE_CPU_FALLBACK",
        "warn",
        "what an operation without a device kernel does",
        ("warn", "error", "silent"),
    ),
    Variable(
        "TORCH_SPYRE_DOWNCAST_WARN",
        True,
        "warning for int64 values that 32 bits cannot hold; error: they are refused",
        "flag or error",
    ),
]
_LOGS = [
    Variable("TORCH_SPYRE_DEBUG", False, "all logs at DEBUG", "flag"),
    Variable("TORCH_SPYRE_FFDC", False, "a JSON report per failure", "flag"),
    Variable("TORCH_SPYRE_TIMING", False, "time of each compilation", "flag"),
    Variable("TORCH_SPYRE_TIMING_OUT", "", "JSON file of those times; else standard error"),
    Variable("TORCH_LOGS", "", "torch's own; +torch_spyre[.component] for ours"),
    Variable("SPYRE_INDUCTOR_LOG", False, "older form: log of the compiler", "flag"),
    Variable("SPYRE_INDUCTOR_LOG_LEVEL", "INFO", "its level"),
    Variable("SPYRE_LOG_FILE", "", "file that gets the log too"),
]
_COMPILER = [
    Variable("SENCORES", 32, "cores the compiler uses", "number", 1, 32),
    Variable("LX_PLANNING", True, "plan buffers into LX", "flag"),
    Variable("CO_OPTIMIZING_LX_PLANNING", False, "division and LX plan together", "flag"),
    Variable("DXP_LX_FRAC_AVAIL", 0.2, "share of LX the back end keeps", "number", 0.0, 1.0),
    Variable("LX_BOUNDARY_CLONES", False, "copies at the border of LX plans", "flag"),
    Variable("SPYRE_INDUCTOR_MEMORY_PLAN", True, "intermediates share memory", "flag"),
    Variable("SPYRE_INDUCTOR_ENABLE_FUSION", True, "operations share bundles", "flag"),
    Variable("CHUNK_LARGE_TENSORS", False, "cut tensors that exceed a segment", "flag"),
    Variable("SPYRE_UNEVEN_DIVISION", False, "slices of cores may differ by a piece", "flag"),
    Variable("SPYRE_PADDING", True, "rows that cores cannot share are padded or cut", "flag"),
    Variable("GLOBAL_STICK_OPTIMIZER", True, "layouts for the whole graph", "flag"),
    Variable("MAX_BUCKETS", 32, "programs per symbolic size", "number", 1, 1 << 20),
    Variable("MIN_DEFAULT_GRANULARITY", 4, "smallest bucket", "number", 1, 1 << 20),
    Variable("SPYRE_INDUCTOR_IGNORE_HINTS", False, "ignore hints of work division", "flag"),
    Variable("SPYRE_CORE_ID_K_FAST_EMISSION", True, "k varies fastest over cores", "flag"),
    Variable("BUNDLE_SYMBOLIC_ARGS", True, "addresses are filled in at launch", "flag"),
    Variable("UNROLL_LOOPS", True, "unroll loops of bundles", "flag"),
    Variable("SPYRE_PLANNER", "best", "planner", ("best", "compat", "compat-s1")),
    Variable("SPYRE_CACHE", True, "keep compiled models on disk", "flag"),
    Variable("SPYRE_CACHE_DIR", "", "folder of that cache"),
    Variable("SPYRE_CACHE_LIMIT_MB", 1024, "its size", "number", 1, 1 << 20),
    Variable("SPYRE_PASS_PLUGINS", "", "libraries with MLIR passes"),
]
# Of the existing plug-in and its libraries: accepted, because scripts set them, and without effect.
_COMPATIBLE = [
    Variable("DUMP_SPYRE_CODE", "", "no effect: programs are always SpyreCode"),
    Variable("TORCH_SPYRE_ALLOC_DEBUG", "", "no effect: TORCH_SPYRE_DEBUG logs allocations"),
    Variable("TORCH_SPYRE_DISABLE_AUTO_PIN", "", "no effect: nothing is pinned unasked"),
    Variable("TORCH_SPYRE_NUM_HOST_COMPUTE_STREAMS", "", "no effect: one worker per card"),
    Variable("TORCH_SPYRE_DIST_ENFORCE_WAIT", "", "no effect: no compiled collectives"),
    Variable("TORCH_SPYRE_DIST_SKIP_WAIT", "", "no effect: no compiled collectives"),
    Variable("TORCH_SPYRE_NATIVE_PACKER", "", "no effect: there is one packer"),
]
VARIABLES = {
    variable.name: variable for variable in (*_DEVICE, *_LOGS, *_COMPILER, *_COMPATIBLE)
}
_OWN_PREFIX = "TORCH_SPYRE_"


class PlannersOwn(str):
    """A value that nobody chose: each planner has its own."""


def planners_own(text):
    return PlannersOwn(text)


def _bad(name, text, advice):
    return ValueError(f"SPYRE-E6508: {name} is '{text}'; give {advice}")


def flag(name, default, environment=os.environ):
    text = environment.get(name) or ""
    if text == "":
        return default
    if text.lower() in TRUE:
        return True
    if text.lower() in FALSE:
        return False
    raise _bad(name, text, "0 or 1")


# An empty variable counts as unset, but for these: a script that computes a number of cores and gets none is wrong.
_NEVER_EMPTY = ("SENCORES",)


def number(name, default, low, high, environment=os.environ):
    text = environment.get(name) or ""
    if text == "" and not (name in _NEVER_EMPTY and name in environment):
        return default
    try:
        value = type(default)(text)
    except ValueError:
        value = None
    if value is None or not low <= value <= high:
        raise _bad(name, text, f"a number from {low} to {high}")
    return value


def word(name, default, allowed, environment=os.environ):
    """One of the words ``allowed``. Those in lower case may be written in any case."""
    text = environment.get(name) or default
    for written in (text, text.lower()):
        if written in allowed:
            return written
    raise _bad(name, text, "one of " + ", ".join(filter(None, allowed)))


def get(name, environment=os.environ):
    """The value of a variable of the table, parsed."""
    variable = VARIABLES[name]
    if variable.kind == "flag":
        return flag(name, variable.default, environment)
    if variable.kind == "flag or error":
        text = environment.get(name) or ""
        return "error" if text.lower() == "error" else flag(name, variable.default, environment)
    if variable.kind == "number":
        return number(name, variable.default, variable.low, variable.high, environment)
    if isinstance(variable.kind, tuple):
        return word(name, variable.default, variable.kind, environment)
    return environment.get(name) or variable.default


def get_at_import(name):
    """Like :func:`get`; a value that does not fit is a warning, because nobody can use torch at all
    when its import fails. The default holds then."""
    try:
        return get(name)
    except ValueError as error:
        import warnings

        warnings.warn(f"{error}; {VARIABLES[name].default!r} is used", stacklevel=2)
        return VARIABLES[name].default


def effective(environment=os.environ):
    """Rows (name, value, "environment" or "default", effect). Malformed values raise."""
    return [
        (
            name,
            get(name, environment),
            "environment" if environment.get(name) else "default",
            variable.effect,
        )
        for name, variable in VARIABLES.items()
    ]


def unknown_names(environment=os.environ):
    """(name, nearest valid name or None) of variables that begin like ours and are not."""
    import difflib

    own = [name for name in VARIABLES if name.startswith(_OWN_PREFIX)]
    result = []
    for name in sorted(environment):
        if name.startswith(_OWN_PREFIX) and name not in VARIABLES:
            nearest = difflib.get_close_matches(name, own, n=1, cutoff=0.0)
            result.append((name, nearest[0] if nearest else None))
    return result


def warn_unknown(environment=os.environ):
    if not any(name.startswith(_OWN_PREFIX) for name in environment):
        return
    import warnings

    for name, nearest in unknown_names(environment):
        warnings.warn(
            f"{name} is not a variable of torch_spyre; did you mean {nearest}?", stacklevel=2
        )


def text():
    rows = effective()
    width = max(len(name) for name, *_ in rows)
    return "\n".join(
        f"{name:<{width}}  {value!s:<12}  {source:<11}  {effect}"
        for name, value, source, effect in rows
    )
