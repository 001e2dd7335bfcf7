"""Where torch reaches us. Torch's compiler modules are slow to import, so each hook waits until
torch imports the module it concerns.

1. ``torch._inductor.compile_fx.compile_fx``: spyre graphs to us, all others to the original.
2. ``torch._dynamo.backends.registry``: the backend name "spyre".
3. ``torch._dynamo.device_interface``: what Dynamo asks about the device.
4. ``torch._inductor``: its ``codecache`` is an attribute whether or not it has been imported.
"""

import contextlib
import difflib
import functools
import importlib
import importlib.abc
import sys

from torch_spyre.constants import DEVICE_NAME


def _watched(compiler):
    """The compiler and what it returns with reports of failures and times, where those are on. A
    graph is compiled at its first call."""
    from torch_spyre import ffdc, timing

    if not ffdc.enabled() and not timing.enabled():
        return compiler

    def guarded(function, stage):
        timed = timing.timed(stage, function) if timing.enabled() else function

        @functools.wraps(function)
        def call(*args, **kwargs):
            with ffdc.capture(kernel_name="graph"):
                return timed(*args, **kwargs)

        return call

    def compile_graph(*args):
        return guarded(guarded(compiler, "capture")(*args), "first_call")

    return compile_graph


def _patch_compile_fx(module):
    original = module.compile_fx
    if getattr(original, "_spyre_wrapped", False):
        return

    @functools.wraps(original)
    def compile_fx(model_, example_inputs_, *args, **kwargs):
        from torch_spyre._inductor import compile as spyre_compile

        if spyre_compile.is_spyre_graph(model_, example_inputs_):
            table = kwargs.get("decompositions")
            with _inductor_options(kwargs.get("config_patches")):
                return _watched(spyre_compile.compile_graph_module)(model_, example_inputs_, table)
        return original(model_, example_inputs_, *args, **kwargs)

    compile_fx._spyre_wrapped = True
    module.compile_fx = compile_fx


def _inductor_options(patches):
    """Context manager: Inductor's configuration as ``torch.compile(options=)`` asks for it."""
    if not patches:
        return contextlib.nullcontext()
    from torch._inductor import config

    return config.patch(patches)


def _checked_options(options, mode):
    """Fields of our configuration and of Inductor's that ``options`` and ``mode`` of a call of
    ``torch.compile(backend="spyre")`` set, as two dicts. Raises E6508 for names that neither has."""
    from torch._inductor import config as inductor
    from torch._inductor import list_mode_options

    from torch_spyre._inductor import config

    modes = list_mode_options()
    if mode is not None and mode not in modes:
        raise ValueError(f"SPYRE-E6508: mode of torch.compile is {mode!r}; give one of {sorted(modes)}")
    own, others = {}, dict(modes.get(mode, {}))
    for name, value in (options or {}).items():
        field = name.replace("-", "_")
        if field in config._config:
            own[field] = value
        elif field in inductor._config:
            others[field] = value
        else:
            names = [n for known in (config, inductor) for n in known._config if not n.startswith("_")]
            nearest = difflib.get_close_matches(field, names, n=1, cutoff=0.0)
            raise ValueError(
                f"SPYRE-E6508: options of torch.compile has {name!r}, which is a field neither of "
                f"torch_spyre._inductor.config nor of torch._inductor.config; did you mean {nearest[0]!r}?"
            )
    return own, others


def _patch_registry(module):
    def spyre(model, example_inputs, *, options=None, mode=None):
        from torch_spyre._inductor import compile as spyre_compile
        from torch_spyre._inductor import config, extensions

        own, others = _checked_options(options, mode)
        if not spyre_compile.is_spyre_graph(model, example_inputs):
            return model.forward  # nothing of it is on the device: it runs as it was captured
        with extensions.options(own), config.patch(own), _inductor_options(others):
            return _watched(spyre_compile.compile_graph_module)(model, example_inputs)

    module.register_backend(spyre, name=DEVICE_NAME)


def _patch_device_interface(module):
    from torch_spyre._inductor import device_interface

    device_interface.register(module)


def _patch_inductor(module):
    def find(name):
        if name == "codecache":
            return importlib.import_module("torch._inductor.codecache")
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

    module.__getattr__ = find


_PATCHES = {
    "torch._inductor": _patch_inductor,
    "torch._inductor.compile_fx": _patch_compile_fx,
    "torch._dynamo.backends.registry": _patch_registry,
    "torch._dynamo.device_interface": _patch_device_interface,
}


class _PatchingLoader(importlib.abc.Loader):
    """Loads a module as usual, then patches it."""

    def __init__(self, loader, patch):
        self._loader = loader
        self._patch = patch

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        self._patch(module)

    def __getattr__(self, name):
        return getattr(self._loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self):
        self._waiting = dict(_PATCHES)

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in self._waiting:
            return None
        spec = self._found_by_others(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _PatchingLoader(spec.loader, lambda module: self.patch(fullname, module))
        return spec

    def _found_by_others(self, *wanted):
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(*wanted) for finder in others)
        return next((spec for spec in specs if spec is not None), None)

    def patch(self, fullname, module):
        """Patches a loaded module. An import that fails leaves its patch waiting for the next one."""
        _PATCHES[fullname](module)
        self._waiting.pop(fullname, None)


def install():
    """Patches what is loaded and waits for the rest."""
    finder = _Finder()
    for name in _PATCHES:
        if name in sys.modules:
            finder.patch(name, sys.modules[name])
    sys.meta_path.insert(0, finder)
