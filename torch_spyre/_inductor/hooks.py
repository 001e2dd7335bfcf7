"""Where torch reaches us. Torch's compiler modules are slow to import, so each hook waits until
torch imports the module it concerns.

1. ``torch._inductor.compile_fx.compile_fx``: spyre graphs to us, all others to the original.
2. ``torch._dynamo.backends.registry``: the backend name "spyre".
3. ``torch._dynamo.device_interface``: what Dynamo asks about the device.
"""

import functools
import importlib.abc
import importlib.util
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
            return _watched(spyre_compile.compile_graph_module)(model_, example_inputs_, table)
        return original(model_, example_inputs_, *args, **kwargs)

    compile_fx._spyre_wrapped = True
    module.compile_fx = compile_fx


def _patch_registry(module):
    def spyre(model, example_inputs, **_options):
        from torch_spyre._inductor import compile as spyre_compile

        if not spyre_compile.is_spyre_graph(model, example_inputs):
            return model.forward  # nothing of it is on the device: it runs as it was captured
        return _watched(spyre_compile.compile_graph_module)(model, example_inputs)

    module.register_backend(spyre, name=DEVICE_NAME)


def _patch_device_interface(module):
    from torch_spyre._inductor import device_interface

    device_interface.register(module)


_PATCHES = {
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
        patch = self._waiting.pop(fullname, None)
        if patch is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _PatchingLoader(spec.loader, patch)
        return spec


def install():
    """Patches what is loaded and waits for the rest."""
    finder = _Finder()
    for name in _PATCHES:
        if name in sys.modules:
            finder._waiting.pop(name)(sys.modules[name])
    sys.meta_path.insert(0, finder)
