"""PyTorch device ``spyre``: registration, user API and capture. The work is done in C++ (``_C``).

``import torch`` alone is enough: torch calls :func:`_autoload` through the entry point group
``torch.backends``. Nothing is printed and no device is started.
"""

import atexit
import contextvars
import importlib
import importlib.util
import os
import threading
import warnings

from torch_spyre.constants import DEVICE_NAME

__version__ = "0.1.0"

_loaded = False


def _autoload():
    """Makes the device known to torch; called once, at the end of ``import torch``."""
    global _loaded
    if _loaded:
        return
    _loaded = True

    import torch

    torch.utils.rename_privateuse1_backend(DEVICE_NAME)
    from torch_spyre import _C, amp, backends, device_module, environment, logging, model_utils
    from torch_spyre import random, serialization, streams, tensor_patches
    from torch_spyre._inductor import customops, hooks  # noqa: F401
    from torch_spyre.ops import ctc, factories, factors, fallbacks, layers, optimizers, out_forms  # noqa: F401
    from torch_spyre.ops import recurrent, tracing  # noqa: F401

    torch._register_device_module(DEVICE_NAME, device_module)
    torch.utils.generate_methods_for_privateuse1_backend()
    environment.warn_unknown()
    downcast = environment.get_at_import("TORCH_SPYRE_DOWNCAST_WARN")
    _C.set_downcast_warning(downcast is True)
    debug = os.environ.get("TORCH_SPYRE_DEBUG", "").lower() in environment.TRUE
    _C._set_downcast_check(downcast == "error" or (debug and downcast is True))
    try:
        logging.configure()
    except (OSError, ValueError) as error:  # torch must stay usable
        warnings.warn(f"settings of the logs of torch_spyre are left out: {error}", stacklevel=2)
    _C._set_fallback_hook(_unseen_by_dynamo(fallbacks.warn_fallback))
    _C._set_downcast_hook(_unseen_by_dynamo(fallbacks.warn_downcast))
    _C._set_settings_hook(_unseen_by_dynamo(_eager_settings))
    if environment.get_at_import("TORCH_SPYRE_FFDC"):
        _C._set_failure_hook(_unseen_by_dynamo(_report_failure))
    _C._set_trace_hook(_unseen_by_dynamo(_trace_eager))
    for name in tracing.PREFERRED:
        _C.prefer_decomposition(name)
    _C._set_eager_enabled(environment.get_at_import("EAGER_MODE"))
    ctc.install()
    factors.install()
    recurrent.install()
    layers.install()
    optimizers.install()
    out_forms.install()
    tensor_patches.install()
    serialization.install()
    random.install()
    streams.install(_C)
    amp.install()
    backends.install()
    model_utils.patch_module_to_for_spyre()
    hooks.install()
    atexit.register(_C._shut_down)  # before the interpreter goes: workers must not outlive it


def _unseen_by_dynamo(hook):
    """Where a compiled function has parts that run eagerly, Dynamo compiles whatever Python they
    call; what C++ calls here is no part of the user's program."""
    from torch._C._dynamo import eval_frame

    skip = eval_frame._FrameAction.SKIP
    strategy = eval_frame._FrameExecStrategy(skip, skip)
    eval_frame.set_code_exec_strategy(hook.__code__, strategy)
    return hook


def _report_failure(message):
    from torch_spyre import ffdc

    ffdc.report_failure(message)


def _trace_eager(*call):
    return _unobserved(_traced, *call)


def _traced(*call):
    from torch_spyre.ops import tracing

    return tracing.trace(*call)


def _unobserved(function, *arguments):
    """While torch's profiler runs: in a thread of its own, which it does not follow. What the
    compiler does in Python is no part of the user's program, and modules imported under
    ``with_stack=True`` leave names in the profile that cannot be read."""
    import torch

    if not torch.autograd._profiler_enabled():
        return function(*arguments)
    outcome = []
    context = contextvars.copy_context()

    def run():
        try:
            outcome.append((context.run(function, *arguments), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    result, error = outcome[0]
    if error is not None:
        raise error
    return result


def _eager_settings():
    return _unobserved(_settings)


def _settings():
    from torch_spyre._inductor import settings

    return settings.eager()


def explain(function, *args, **kwargs):
    """Compiles and runs ``function(*args, **kwargs)`` and says what the compiler did and why:
    ``print(torch_spyre.explain(model, x))``. See :class:`torch_spyre.explanation.Explanation`."""
    from torch_spyre import explanation

    return explanation.explain(function, *args, **kwargs)


def last_compile():
    """The last compilation of this process: ``name``, ``graph``, ``artifacts`` (path -> bytes),
    ``decisions``, ``save(directory)``. None before the first."""
    from torch_spyre import _C

    return _C.last_compile()


def compile_exported(program):
    """An ``ExportedProgram`` as a callable on the device, with ``save(directory)``."""
    from torch_spyre import export

    return export.compile_exported(program)


def save_artifacts(directory):
    """Writes the artifacts of the last compilation: model.json, bundles, device programs."""
    record = last_compile()
    if record is None:
        raise RuntimeError(
            "nothing has been compiled in this process; call a compiled function first"
        )
    record.save(os.fspath(directory))
    return directory


def submodule(package, name):
    """Imports ``name`` of ``package``, for packages whose submodules are attributes without an import."""
    path = f"{package}.{name}"
    if name.startswith("__") or importlib.util.find_spec(path) is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return importlib.import_module(path)


def __getattr__(name):
    return submodule(__name__, name)


# Last, because torch calls _autoload at the end of its own import. Every submodule can be imported
# before torch, too: Python runs this file first.
import torch  # noqa: E402, F401
