"""Hints of users on regions of their program. They stand on the nodes of the captured graph, where
passes of users can read them; the compiler gets those that speak of named dimensions with the
location of each node."""

import itertools
import warnings

import torch

_PREFIX = "_hint_"
_TILES = ("num_tiles_per_dim", "tiles", "slices")
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


def _counts(hint, key):
    counts = hint.get(key)
    return counts if isinstance(counts, dict) else {}


def text_of(node):
    """What the compiler reads of a node's hints: "|work_div=tokens:4|tiles=rows:2". Of entries for
    the same dimension the innermost counts."""
    from torch_spyre._inductor import config

    work, tiles = {}, {}
    for hint in get_op_hints(node):
        if not config.ignore_work_division_hints:
            work.update(_counts(hint, "work_div"))
        for key in _TILES:
            tiles.update(_counts(hint, key))
    text = ""
    for kind, entries in (("work_div", work), ("tiles", tiles)):
        if entries:
            counts = ",".join(f"{name}:{count}" for name, count in entries.items())
            text += f"|{kind}={counts}"
    return text


def _is_read(hint):
    return all(
        key in ("work_div", *_TILES) and isinstance(value, dict) for key, value in hint.items()
    )


def warn_if_any(graph):
    """Once per process, of hints the compiler has no use for."""
    global _warned
    if not _warned and any(not _is_read(h) for node in graph.nodes for h in get_op_hints(node)):
        _warned = True
        warnings.warn("hints of spyre_hint are not read by the planners", stacklevel=2)
