"""Logs: loggers per component, levels from the environment or from calls, one format.

``TORCH_LOGS="+torch_spyre.runtime"`` (also without ``+``: INFO; with ``-``: ERROR) is read first, then the
older variables (``TORCH_SPYRE_DEBUG``, ``SPYRE_INDUCTOR_LOG``), then the default WARNING; calls made
later win. The C++ libraries write lines of their own (``spyre debug runtime launch bundle=...``) under the
levels of the components they belong to.
"""

import logging
import os

from torch_spyre import environment

ROOT = "spyre"
DISABLED = 60
DEFAULT = logging.WARNING
COMPONENTS = (
    "spyre",
    "spyre.inductor",
    "spyre.inductor.lowering",
    "spyre.inductor.stickify",
    "spyre.inductor.codegen",
    "spyre.inductor.passes",
    "spyre.runtime",
    "spyre.execution",
    "spyre.device",
)
#: Components of the C++ lines and the logger whose level they have.
_CPP = {
    "compiler": "spyre.inductor",
    "cache": "spyre.inductor",
    "backend": "spyre.inductor.codegen",
    "runtime": "spyre.runtime",
    "execution": "spyre.execution",
    "device": "spyre.device",
}
_FORMAT = logging.Formatter("[%(levelname)s] [%(name)s] %(message)s")

_sources = {}
_stream_handler = None
_file_handler = None


def _full_name(component):
    name = str(component)
    if name.startswith("torch_spyre"):
        name = name[len("torch_") :]
    if name != ROOT and not name.startswith(ROOT + "."):
        name = f"{ROOT}.{name}"
    if name not in COMPONENTS:
        raise ValueError(
            f"'{component}' is not a component of the log; list_components() names them"
        )
    return name


def _level_number(level):
    if isinstance(level, str):
        if level.upper() == "DISABLED":
            return DISABLED
        number = logging.getLevelNamesMapping().get(level.upper())
        if number is None:
            raise ValueError(
                f"'{level}' is not a level; give DEBUG, INFO, WARNING, ERROR, CRITICAL or DISABLED"
            )
        return number
    if not isinstance(level, int) or isinstance(level, bool) or level < 0:
        raise ValueError(f"{level!r} is not a level; give a name or a number")
    return level


def get_logger(component):
    return logging.getLogger(_full_name(component))


def list_components():
    return list(COMPONENTS)


def _set(name, level, source):
    logging.getLogger(name).setLevel(level)
    _sources[name] = source
    _install_handler()


def set_log_level(component, level):
    """Level of a component and of those below it that have none of their own."""
    _set(_full_name(component), _level_number(level), "api")
    _tell_cpp()


def enable(component=ROOT, level="DEBUG"):
    set_log_level(component, level)


def disable(component=ROOT):
    set_log_level(component, DISABLED)


def get_log_level(component):
    """Name of the level in force, the parent's where the component has none of its own."""
    level = logging.getLogger(_full_name(component)).getEffectiveLevel()
    return "DISABLED" if level >= DISABLED else logging.getLevelName(level)


def get_effective_config():
    return {name: get_log_level(name) for name in COMPONENTS}


def get_config_source(component):
    """Who set the level: "api", "TORCH_LOGS", "environment" or "default"."""
    name = _full_name(component)
    while name not in _sources and "." in name:
        name = name.rpartition(".")[0]
    return _sources.get(name, "default")


def set_log_file(path):
    """Lines go to this file too; None stops that."""
    global _file_handler
    # Opened first: a path that cannot be opened changes nothing.
    fresh = None if path is None else logging.FileHandler(os.fspath(path))
    root = logging.getLogger(ROOT)
    if _file_handler is not None:
        root.removeHandler(_file_handler)
        _file_handler.close()
    _file_handler = fresh
    if fresh is not None:
        fresh.setFormatter(_FORMAT)
        root.addHandler(fresh)
    _tell_cpp()


def get_log_file():
    return None if _file_handler is None else _file_handler.baseFilename


def get_output_config():
    return {"stream": "stderr", "file": get_log_file(), "format": _FORMAT._fmt}


def get_config_for_cpp():
    """(levels by component of the C++ lines, level of all others, file): what ``_C`` gets."""
    levels = {name: _cpp_level(logger) for name, logger in _CPP.items()}
    return levels, _cpp_level(ROOT), get_log_file() or ""


def _cpp_level(name):
    level = logging.getLogger(name).getEffectiveLevel()
    for number, most in ((4, logging.DEBUG), (3, logging.INFO), (2, logging.WARNING)):
        if level <= most:
            return number
    return 1 if level < DISABLED else 0


def _install_handler():
    global _stream_handler
    if _stream_handler is None:
        _stream_handler = logging.StreamHandler()
        _stream_handler.setFormatter(_FORMAT)
        root = logging.getLogger(ROOT)
        root.addHandler(_stream_handler)
        root.propagate = False


def reset():
    """Forgets all calls: the levels and outputs of the environment again."""
    global _stream_handler
    root = logging.getLogger(ROOT)
    if _stream_handler is not None:
        root.removeHandler(_stream_handler)
        _stream_handler = None
    root.propagate = True
    for name in COMPONENTS:
        logging.getLogger(name).setLevel(logging.NOTSET)
    _sources.clear()
    set_log_file(None)
    configure()


def _tell_cpp():
    from torch_spyre import _C

    _C._route_log(*get_config_for_cpp())


def _torch_logs(text):
    """(component, level) of the entries that concern us; torch has refused malformed ones."""
    for entry in filter(None, (part.strip() for part in text.split(","))):
        level = {"+": logging.DEBUG, "-": logging.ERROR}.get(entry[0], logging.INFO)
        name = entry.lstrip("+-")
        if name == "torch_spyre" or name.startswith("torch_spyre."):
            name = name[len("torch_") :]
            if name in COMPONENTS:
                yield name, level


def configure(variables=os.environ):
    """Levels of the environment; called once, when the package is loaded. Cheap when there are none."""
    logging.getLogger(ROOT).setLevel(DEFAULT)
    found = False
    if environment.flag("SPYRE_INDUCTOR_LOG", False, variables):
        level = variables.get("SPYRE_INDUCTOR_LOG_LEVEL") or "INFO"
        if level.upper() not in logging.getLevelNamesMapping():
            raise ValueError(
                f"SPYRE-E6508: SPYRE_INDUCTOR_LOG_LEVEL is '{level}'; "
                "give DEBUG, INFO, WARNING or ERROR"
            )
        _set("spyre.inductor", level.upper(), "environment")
        found = True
    if environment.flag("TORCH_SPYRE_DEBUG", False, variables):
        _set(ROOT, logging.DEBUG, "environment")
        found = True
    for name, level in _torch_logs(variables.get("TORCH_LOGS") or ""):
        _set(name, level, "TORCH_LOGS")
        found = True
    path = variables.get("SPYRE_LOG_FILE")
    if not found and not path:
        return
    if path:
        set_log_file(path)
    _tell_cpp()
