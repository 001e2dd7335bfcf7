"""What users add to the compiler, and which of it holds for one compilation.

Registered decompositions and lowerings hold for the process; ``enable_spyre_context`` adds to them
for what is compiled, or handed to ``torch.compile(..., backend="spyre")``, inside of it. Nothing of
torch is changed by being in the context, only while one of our graphs is captured.
"""

import contextlib
import contextvars
import sys
import threading

from torch_spyre._inductor import hints
from torch_spyre.constants import DEVICE_NAME

_stack = contextvars.ContextVar("spyre_extensions", default=())
_options = contextvars.ContextVar("spyre_options", default={})
_capture_lock = threading.RLock()


class _Layer:
    """What one context adds."""

    def __init__(self, passes, decompositions, lowerings):
        from torch_spyre._inductor import lowering
        from torch_spyre._inductor.decompositions import overloads

        self.passes = passes
        self.decompositions = {
            op: fn for key, fn in (decompositions or {}).items() for op in overloads(key)
        }
        self.lowerings = {
            op: lowering.checked(op, fn) for key, fn in (lowerings or {}).items() for op in overloads(key)
        }


class Extensions:
    """Everything that holds for one compilation, fixed when it begins."""

    def __init__(self, layers=(), table=None, options=None):
        self._layers = tuple(layers)
        self._table = table
        self._inductor_passes = _inductor_passes()
        self.options = dict(options or {})  # fields of the configuration, for this compilation alone
        self.refusals = []  # of formulas, while it was captured: limits of sizes

    @classmethod
    def current(cls, table=None):
        return cls(_stack.get(), table, _options.get())

    def passes_at(self, point):
        """Torch's own setting first, then the contexts from the outside in."""
        given = [p for layer in self._layers for p in layer.passes if p.point == point]
        own = self._inductor_passes.get(point)
        return [*([own] if own is not None else []), *(p for p in given if p.has_callables())]

    def lowerings(self):
        from torch_spyre._inductor import lowering

        table = dict(lowering.spyre_lowerings)
        for layer in self._layers:
            table.update(layer.lowerings)
        return table

    def decompositions(self):
        """Torch's, without what the device has itself; then the caller's, the registered ones and
        those of the contexts. What has a lowering is not taken apart."""
        from torch._decomp import core_aten_decompositions

        from torch_spyre._inductor import customops, decompositions, model_decompositions, patches

        table = {**patches.spyre_decompositions(), **customops.decompositions()}
        table.update(model_decompositions.of_others())
        if hasattr(self._table, "items"):
            core = core_aten_decompositions()
            # A caller that hands torch's own table on has not chosen its entries.
            table.update({op: fn for op, fn in self._table.items() if core.get(op) is not fn})
        table.update(decompositions.spyre_decompositions)
        for layer in self._layers:
            table.update(layer.decompositions)
        for op in self.lowerings():
            table.pop(op, None)
        return table

    def plugins(self):
        return [path for layer in self._layers for p in layer.passes for path in p.plugins]

    def pipelines(self):
        """Point to the text of its MLIR passes."""
        texts = {}
        for layer in self._layers:
            for p in layer.passes:
                if p.mlir:
                    texts.setdefault(p.point, []).append(p.mlir)
        return {point: ",".join(parts) for point, parts in texts.items()}

    def functions(self):
        """(point, callable on operations), in the order they run."""
        given = [p for layer in self._layers for p in layer.passes if not p.takes_fx and p.has_callables()]
        return [(p.point, one) for p in given for one in (p.passes if p.has_only_passes() else [p])]

    def run_pre_grad(self, gm):
        passes = self.passes_at("pre-grad")
        for p in passes:
            p(gm.graph)
        return _checked(gm) if passes else gm

    def run_post_grad(self, gm):
        hints.warn_if_any(gm.graph)
        passes = [*self.passes_at("pre"), *self.passes_at("post")]
        for p in passes:
            p(gm.graph)
        return _with_types(_checked(gm)) if passes else gm


_INDUCTOR_FIELDS = {
    "pre-grad": "pre_grad_custom_pass",
    "pre": "post_grad_custom_pre_pass",
    "post": "post_grad_custom_post_pass",
}


def _inductor_passes():
    """The pass at each point that a user has set for Inductor: spyre graphs run it, too."""
    config = sys.modules.get("torch._inductor.config")
    if config is None:  # nobody has set anything
        return {}
    return {point: getattr(config, field, None) for point, field in _INDUCTOR_FIELDS.items()}


@contextlib.contextmanager
def options(fields):
    """Fields of the configuration for what begins to compile inside, also where it ends later: a
    graph with symbolic sizes is compiled at its calls."""
    token = _options.set({**_options.get(), **fields})
    try:
        yield
    finally:
        _options.reset(token)


def _checked(gm):
    gm.graph.lint()
    gm.recompile()
    return gm


def _with_types(gm):
    """The types of all values, computed again: passes need not give them."""
    from torch._guards import detect_fake_mode
    from torch.fx.passes.fake_tensor_prop import FakeTensorProp

    values = [node.meta.get("val") for node in gm.graph.nodes if node.op == "placeholder"]
    mode = detect_fake_mode(values)
    if mode is not None:
        FakeTensorProp(gm, mode).propagate_dont_convert_inputs(*values)
    return gm


@contextlib.contextmanager
def enable_spyre_context(*arguments, passes=(), decompositions=None, lowerings=None):
    """Passes (instances of the six classes of ``passes``, by position or keyword), decompositions
    and lowerings (operation to function) for spyre graphs. Contexts nest; inner ones win."""
    from torch_spyre._inductor.passes import SpyrePasses

    given = [p for p in arguments if isinstance(p, SpyrePasses)]
    for p in passes:
        if not isinstance(p, SpyrePasses):
            raise TypeError(f"{p!r} is none of the six classes of torch_spyre._inductor.passes")
        given.append(p)
    layers = (*_stack.get(), _Layer(given, decompositions, lowerings))
    token = _stack.set(layers)
    try:
        with _backend_of(layers):
            yield
    finally:
        _stack.reset(token)


@contextlib.contextmanager
def _backend_of(layers):
    """``torch.compile(backend="spyre")`` looks its backend up at once and compiles later: what it
    finds inside the context remembers the context."""
    from torch._dynamo.backends import registry

    def spyre(model, example_inputs, **options):
        token = _stack.set(layers)
        try:
            return plain(model, example_inputs, **options)
        finally:
            _stack.reset(token)

    registry.lookup_backend(DEVICE_NAME)
    outside = registry._COMPILER_FNS[DEVICE_NAME]
    plain = spyre._spyre_plain = getattr(outside, "_spyre_plain", outside)
    registry._COMPILER_FNS[DEVICE_NAME] = spyre
    try:
        yield
    finally:
        registry._COMPILER_FNS[DEVICE_NAME] = outside


@contextlib.contextmanager
def capturing(table=None):
    """One compilation: torch is as our graphs need it, one thread at a time."""
    from torch_spyre._inductor import patches
    from torch_spyre.ops import limits

    extensions = Extensions.current(table)
    with _capture_lock, patches.capture_scope(), limits.collecting(extensions.refusals):
        yield extensions


