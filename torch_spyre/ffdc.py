"""First failure data capture: with TORCH_SPYRE_FFDC=1 failures of compilations and launches leave JSON
reports, one for each chain of exceptions. What C++ told of with the same words lately gets no second
one, and the newest reports are kept, not all. Writing one never hides the failure itself."""

import collections
import contextlib
import datetime
import json
import os
import re
import stat
import tempfile
import threading
import traceback

from torch_spyre import environment

CATEGORIES = ("compile_frontend", "compile_backend", "runtime_launch", "unimplemented", "unknown")
_KEPT = 50
_MOST_PATHS = 20
_MOST_PER_PATTERN = 5
_PATTERNS = ("bundle.mlir", "spyrecode.json", "sdsc_*.json", "model.json")
_NAME = re.compile(r"ffdc_([a-z_]+)_(\d{8}T\d{6})_(\d{6})_(\d+)\.json")
_OPERATION = re.compile(r"operation '([^']+)'")
_CODE = re.compile(r"SPYRE-E(\d{4})")
_SEEN = "_spyre_ffdc_report"


def enabled():
    return environment.get("TORCH_SPYRE_FFDC")


def default_directory():
    root = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if root:
        return os.path.join(root, "torch-spyre", "ffdc_reports")
    try:
        from torch._inductor.runtime.cache_dir_utils import default_cache_dir

        return os.path.join(default_cache_dir(), "torch-spyre", "ffdc_reports")
    except Exception:
        return os.path.join(tempfile.gettempdir(), "torch-spyre-ffdc")


def category_of(error):
    """By type and by the number of the error."""
    from torch_spyre._inductor.errors import Unsupported

    if isinstance(error, Unsupported):
        return "unimplemented"
    found = _CODE.search(str(error))
    if found is None:
        return "unknown"
    layer = int(found[1]) // 1000
    if layer in (6, 7):
        return "runtime_launch"
    return "compile_frontend" if layer in (1, 2) else "compile_backend"


_told = collections.OrderedDict()  # messages report_failure wrote about, newest last
_inside = threading.local()


def report_failure(message):
    """Called by C++ before it raises an error of the compiler or the device: also those have a
    report that no Python of ours surrounds. An error that is raised again gets no second one."""
    operation = _OPERATION.search(message)
    key = message[operation.start() :] if operation else message  # before it: who was refused
    if getattr(_inside, "capture", 0) or key in _told or not enabled():
        return
    _told[key] = True
    while len(_told) > _KEPT:
        _told.popitem(last=False)
    write_report(
        RuntimeError(message),
        kernel_name=operation[1] if operation else None,
        stack=traceback.extract_stack()[:-2],
    )


@contextlib.contextmanager
def capture(kernel_name=None, code_dir=None):
    """Reports an exception that leaves the block, once per chain of exceptions."""
    depth = getattr(_inside, "capture", 0)
    _inside.capture = depth + 1
    try:
        yield
    except Exception as error:
        with contextlib.suppress(Exception):
            if enabled() and not _already_reported(error):
                path = write_report(error, kernel_name=kernel_name, code_dir=code_dir)
                setattr(error, _SEEN, path)
        raise
    finally:
        _inside.capture = depth


def _already_reported(error):
    while error is not None:
        if hasattr(error, _SEEN):
            return True
        error = error.__cause__ or error.__context__
    return False


def write_report(error, *, kernel_name=None, code_dir=None, output_dir=None, stack=None):
    """Writes the report and returns its path."""
    directory = output_dir or default_directory()
    os.makedirs(directory, mode=0o700, exist_ok=True)
    category = category_of(error)
    now = datetime.datetime.now(datetime.timezone.utc)
    name = f"ffdc_{category}_{now:%Y%m%dT%H%M%S}_{now:%f}_{os.getpid()}.json"
    path = os.path.join(directory, name)
    report = _report(error, category, now, kernel_name, code_dir, stack)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump(report, file, indent=1, default=str)
    _remove_old(directory)
    return path


def _report(error, category, now, kernel_name, code_dir, stack=None):
    problems = []

    def section(function, *arguments):
        try:
            return function(*arguments)
        except Exception as problem:  # a report with a hole is better than none
            problems.append(f"{function.__name__}: {problem}")
            return None

    report = {
        "metadata": section(_metadata, now),
        "failure": section(_failure, error, category, stack),
        "artifacts": {"paths": section(_artifacts, code_dir)},
        "environment": section(_environment),
        "runtime": {"kernel_name": kernel_name, "code_dir": code_dir},
        "hardware_state": section(_hardware),
    }
    fields = {**report, **{f"runtime.{k}": v for k, v in report["runtime"].items()}}
    missing = [name for name, value in fields.items() if value in (None, {}, [])]
    report["collector"] = {
        "completeness_pct": round(100 * (len(fields) - len(missing)) / len(fields)),
        "missing_fields": missing,
        "collector_errors": problems,
    }
    return report


def _metadata(now):
    import torch

    import torch_spyre

    return {
        "time": now.isoformat(),
        "pid": os.getpid(),
        "torch": torch.__version__,
        "torch_spyre": torch_spyre.__version__,
    }


def _failure(error, category, stack):
    """``stack`` is that of an error which C++ is about to raise."""
    frames = traceback.extract_tb(error.__traceback__) if stack is None else stack
    last = frames[-1] if frames else None
    return {
        "category": category,
        "exception_type": type(error).__name__,
        "message": str(error),
        "file": last and last.filename,
        "lineno": last and last.lineno,
        "traceback": traceback.format_list(stack or []) + traceback.format_exception(error),
    }


def _artifacts(code_dir):
    import glob

    paths = []
    if code_dir:
        for pattern in _PATTERNS:
            found = glob.glob(os.path.join(glob.escape(code_dir), "**", pattern), recursive=True)
            paths += sorted(found)[:_MOST_PER_PATTERN]
    return paths[:_MOST_PATHS]


def _environment():
    return {name: value for name, value in os.environ.items() if name in environment.VARIABLES}


def _hardware():
    import torch

    state = {"initialized": torch.spyre.is_initialized(), "devices": torch.spyre.device_count()}
    if state["initialized"]:
        state["counters"] = torch.spyre.counters()
        state["memory"] = dict(torch.spyre.memory_stats())
    return state


def _reports(directory):
    """Names of reports, oldest first; links, pipes and others are none."""
    names = []
    for name in os.listdir(directory):
        found = _NAME.fullmatch(name)
        with contextlib.suppress(OSError):
            if found and stat.S_ISREG(os.lstat(os.path.join(directory, name)).st_mode):
                names.append((found[2], found[3], name))
    return [name for _, _, name in sorted(names)]


def _remove_old(directory):
    for name in _reports(directory)[:-_KEPT]:
        with contextlib.suppress(OSError):
            os.remove(os.path.join(directory, name))


def get_diagnostic_report(output_dir=None):
    """The newest readable report as a dict with ``_report_path``; None if there is none."""
    directory = output_dir or default_directory()
    try:
        names = _reports(directory)
    except OSError:
        return None
    for name in reversed(names):
        path = os.path.join(directory, name)
        with contextlib.suppress(OSError, ValueError):
            with open(path) as file:
                report = json.load(file)
            if isinstance(report, dict):
                return {**report, "_report_path": path}
    return None
