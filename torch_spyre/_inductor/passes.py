"""The six points where users' passes run.

Pre-grad, pre and post take callables on a ``torch.fx.Graph``; the three others take callables on a list of
:class:`torch_spyre._inductor.plugins.Operation`. All but pre-grad take MLIR passes of plug-in libraries, as text that
``spyre-opt`` would take. Our own passes are in C++; the table in docs/architecture.md says where.

    with enable_spyre_context(CustomPostPasses([my_fx_pass])): ...
    with enable_spyre_context(CustomPreFusionPasses([my_division])): ...
    with enable_spyre_context(CustomPreSchedulingPasses(mlir="my-pass", plugins=["mine.so"])): ...
"""

import hashlib
import inspect
import logging
import os

log = logging.getLogger("spyre.inductor.passes")


__all__ = [
    "CustomPostFusionPasses",
    "CustomPostPasses",
    "CustomPreFusionPasses",
    "CustomPreGradPasses",
    "CustomPrePasses",
    "CustomPreSchedulingPasses",
]


class SpyrePasses:
    """A list of passes at one point. Also a callable of its own, so that it can be given to the
    options of Inductor."""

    point = None
    takes_fx = False
    takes_mlir = True

    def __init__(self, passes=(), *, mlir="", plugins=()):
        self.passes = list(passes)
        self.mlir = mlir
        self.plugins = [os.path.abspath(path) for path in plugins]
        if wrong := [one for one in self.passes if not callable(one)]:
            raise TypeError(f"{type(self).__name__} takes a list of callables, not {wrong[0]!r}")
        if (self.mlir or self.plugins) and not self.takes_mlir:
            raise TypeError(f"{type(self).__name__} takes callables on torch.fx.Graph only")

    def __call__(self, graph):
        """``graph``: a ``torch.fx.Graph``, or the operations of a graph where ``takes_fx`` is False."""
        for one in self.passes:
            one(graph)

    def has_callables(self):
        """Returns True if there are callables, or if a user's class is one itself."""
        return bool(self.passes) or not self.has_only_passes()

    def has_only_passes(self):
        """Returns True unless a user's class is a callable of its own."""
        return type(self).__call__ is SpyrePasses.__call__

    def uuid(self):
        """Changes with the passes; Inductor asks for it."""
        digest = hashlib.sha256(f"{self.point}|{self.mlir}".encode())
        for one in self.passes:
            try:
                digest.update(inspect.getsource(one).encode())
            except (OSError, TypeError):
                digest.update(repr(one).encode())
        for path in self.plugins:
            with open(path, "rb") as library:
                digest.update(library.read())
        return digest.hexdigest()


class CustomPreGradPasses(SpyrePasses):
    """The graph as Dynamo captured it, before differentiation."""

    point = "pre-grad"
    takes_fx = True
    takes_mlir = False


class CustomPrePasses(SpyrePasses):
    """The ATen graph: FX first of all; MLIR on graph IR as it was captured."""

    point = "pre"
    takes_fx = True


class CustomPostPasses(SpyrePasses):
    """FX last before the compiler gets the graph; MLIR on graph IR after decompositions."""

    point = "post"
    takes_fx = True


class CustomPreSchedulingPasses(SpyrePasses):
    """Loop IR before layouts are chosen; callables set hints for the division."""

    point = "pre-scheduling"


class CustomPreFusionPasses(SpyrePasses):
    """Loop IR with layouts and the division over cores, which callables set anew."""

    point = "pre-fusion"


class CustomPostFusionPasses(SpyrePasses):
    """Planned loop IR, last before OpSpecs are made; callables see the places in the scratchpads."""

    point = "post-fusion"


class _Listed:
    """A compiled graph that lists its operations in the log after its first call."""

    def __init__(self, compiled):
        self._compiled = compiled
        self._is_listed = False

    def __call__(self, tensors):
        results = self._compiled(tensors)
        if not self._is_listed:
            self._is_listed = True
            log.info("%s", _format_operations(self._compiled.record))
        return results

    def __getattr__(self, name):
        return getattr(self._compiled, name)


def logged(make):
    """``make`` itself, or, when ``spyre.inductor.passes`` logs at INFO, one whose graphs list their
    operations after their first call."""
    if not log.isEnabledFor(logging.INFO):
        return make
    return lambda *arguments: _Listed(make(*arguments))


def _format_operations(operations=None):
    """Loop IR for people. Text of loop IR gives its operations and buffers; a compile record, or
    None for the last one, gives them before and after the planning passes."""
    import torch_spyre
    from torch_spyre import _C
    from torch_spyre._inductor import settings

    if isinstance(operations, str):
        return _C.describe_loops(operations)
    record = operations if operations is not None else torch_spyre.last_compile()
    if record is None:
        raise RuntimeError(
            "nothing has been compiled in this process; call a compiled function first"
        )
    phases = _C.loop_phases(record.graph, settings.current())
    return "".join(
        f"{title} planning:\n{_C.describe_loops(phases[phase])}"
        for title, phase in (("before", "loop"), ("after", "division"))
    )
