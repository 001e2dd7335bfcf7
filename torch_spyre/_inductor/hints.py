"""Hints of users on regions of their program. They stand on the nodes of the captured graph; passes
of users can read them. The compiler's planners do not yet, and a compilation says so."""

import itertools
import warnings

import torch

_PREFIX = "_hint_"
_numbers = itertools.count()
_warned = False


@torch._dynamo.assume_constant_result
def _next_number():
    """Fixed while a function is captured: its guards must not depend on it."""
    return next(_numbers)


@torch._dynamo.assume_constant_result
def _check(hint):
    from torch_spyre._inductor import propagate_named_dims

    propagate_named_dims.check_hint(hint)


def spyre_hint(**hint):
    """Context manager: every operation inside carries ``hint``, after those of outer contexts.
    Dimensions it names are those of ``propagate_named_dims``."""
    from torch.fx.traceback import annotate

    _check(hint)
    return annotate({f"{_PREFIX}{_next_number()}": hint})


def get_op_hints(node):
    """Hints of a node of an FX graph, outermost first."""
    custom = node.meta.get("custom") or {}
    numbers = sorted(int(key[len(_PREFIX) :]) for key in custom if key.startswith(_PREFIX))
    return [custom[f"{_PREFIX}{number}"] for number in numbers]


def warn_if_any(graph):
    """Once per process."""
    global _warned
    if not _warned and any(get_op_hints(node) for node in graph.nodes):
        _warned = True
        warnings.warn("hints of spyre_hint are not read by the planners", stacklevel=2)
