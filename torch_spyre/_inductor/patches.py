"""The state of torch under which spyre graphs are captured."""

import contextlib
import functools
import threading

from torch_spyre._inductor.extensions import enable_spyre_context  # noqa: F401


def spyre_decompositions():
    """torch's core decompositions without the operations the compiler has itself."""
    from torch_spyre._inductor import model_decompositions

    return {**_known_decompositions(), **model_decompositions.of_others()}


@functools.cache
def _known_decompositions():
    import torch
    from torch._decomp import core_aten_decompositions

    from torch_spyre import _C
    from torch_spyre._inductor import integer_decompositions, model_decompositions
    from torch_spyre._inductor import number_decompositions, single_decompositions, whole_decompositions
    from torch_spyre.ops import index_writes, lists

    own = set(_C.supported_operations())
    table = {**core_aten_decompositions(), **model_decompositions.decompositions()}
    kept = {op: fn for op, fn in table.items() if str(op) not in own}
    # Of some operations the compiler has only a part; these entries cover the rest.
    kept.update(number_decompositions.decompositions())
    kept.update(lists.decompositions())
    for op in (torch.ops.aten.index_add.default, torch.ops.aten.index_copy.default):
        kept[op] = index_writes.from_front(kept[op])
    for module in (integer_decompositions, whole_decompositions, single_decompositions):
        for op, fn in module.decompositions().items():
            kept[op] = either(fn, kept[op]) if op in kept else fn
    return kept


def either(first, second):
    """What the first does not cover goes to the second."""

    def decomposed(*args, **kwargs):
        result = first(*args, **kwargs)
        return second(*args, **kwargs) if result is NotImplemented else result

    return decomposed


class _TypesOfComputation(dict):
    """torch's table of the types that halves are computed in. It reads as empty in threads that
    capture: there half stays half, because the device rounds once per operation anyway."""

    capturing = threading.local()

    def get(self, dtype, default=None):
        if getattr(self.capturing, "depth", 0):
            return default
        return super().get(dtype, default)


@functools.cache
def _table_per_thread():
    import torch._prims_common as prims

    prims._computation_dtype_map = _TypesOfComputation(prims._computation_dtype_map)


@contextlib.contextmanager
def capture_scope():
    """Decompositions of torch keep halves as they are, in this thread alone. Nesting is harmless."""
    _table_per_thread()
    state = _TypesOfComputation.capturing
    state.depth = getattr(state, "depth", 0) + 1
    try:
        yield
    finally:
        state.depth -= 1


@contextlib.contextmanager
def widened_halves():
    """Decompositions of torch compute halves in fp32, as torch defines them, also inside a capture_scope() of this thread."""
    state = _TypesOfComputation.capturing
    depth, state.depth = getattr(state, "depth", 0), 0
    try:
        yield
    finally:
        state.depth = depth
