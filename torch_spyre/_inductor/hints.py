"""Hints of users on regions of their program. They stand on the nodes of the captured graph, where
passes of users can read them; the compiler gets those that speak of named dimensions with the
location of each node."""

import itertools
import warnings
import weakref

import torch

from torch_spyre._inductor import places

_PREFIX = "_hint_"
_ASIDE = "spyre_hints_aside"
_TILES = ("num_tiles_per_dim", "tiles", "slices")
_READ = {"work_div": dict, "named_dims": (list, tuple), **dict.fromkeys(_TILES, dict)}
_numbers = itertools.count()
_warned = set()
_places = weakref.WeakKeyDictionary()


@torch._dynamo.assume_constant_result
def _next_number():
    """Fixed while a function is captured: its guards must not depend on it."""
    return next(_numbers)


def spyre_hint(**hint):
    """Context manager: every operation inside carries ``hint``, after those of outer contexts.
    Dimensions it names are those of ``propagate_named_dims``. Only what is compiled for the device
    reads hints, so only there they are checked."""
    from torch.fx.traceback import annotate

    return annotate({f"{_PREFIX}{_next_number()}": hint})


def _counts(hint, key):
    counts = hint.get(key)
    return counts if isinstance(counts, dict) else {}


def _numbered_hints(node):
    """Number and hint of each scope around a node, outermost first."""
    custom = node.meta.get("custom") or {}
    numbers = sorted(int(key[len(_PREFIX) :]) for key in custom if key.startswith(_PREFIX))
    return [(number, custom[f"{_PREFIX}{number}"]) for number in numbers]


def get_op_hints(node):
    """Hints of a node of an FX graph, outermost first."""
    return [hint for _, hint in _numbered_hints(node)]


def check(graph):
    """Refuses hints that name dimensions wrongly, with the line of a call under them."""
    from torch_spyre._inductor import propagate_named_dims as named

    checked = set()
    for node in graph.nodes:
        for number, hint in _numbered_hints(node):
            if number in checked:
                continue
            checked.add(number)
            try:
                named.check_hint(hint)
            except (KeyError, ValueError, NotImplementedError) as error:
                where = places.line_of(node)
                raise type(error)(f"{error.args[0]} (hint at {where})" if where else error.args[0]) from None


def _scopes(graph):
    """Places of scopes in the order of their numbers: the same graph always has the same text."""
    if graph not in _places:
        numbers = {number for node in graph.nodes for number, _ in _numbered_hints(node)}
        _places[graph] = {number: place for place, number in enumerate(sorted(numbers))}
    return _places[graph]


def _entries(node, keys):
    """Count and scope by dimension, outermost scope first; of several the innermost."""
    entries = {}
    for number, hint in _numbered_hints(node):
        for key in keys:
            for name, count in _counts(hint, key).items():
                entries.pop(name, None)
                entries[name] = (count, _scopes(node.graph)[number])
    return entries


def text_of(node):
    """What the compiler reads of a node's hints, with the scope of each: "|work_div=tokens:4@0|tiles=
    rows:2@1". Of entries for the same dimension the innermost counts. Backward passes have none: hints
    speak of the calls that the user wrote."""
    from torch_spyre._inductor import config

    if node.meta.get(_ASIDE):
        return ""
    kinds = {"tiles": _TILES}
    if not config.ignore_work_division_hints:
        kinds = {"work_div": ("work_div",), **kinds}
    text = ""
    for kind, keys in kinds.items():
        entries = _entries(node, keys)
        if entries:
            counts = ",".join(f"{name}:{count}@{scope}" for name, (count, scope) in entries.items())
            text += f"|{kind}={counts}"
    names = names_text(node)
    return f"{text}|named_dims={names}" if names else text


def set_aside(graph):
    """The compiler reads no hints of this graph."""
    for node in graph.nodes:
        node.meta[_ASIDE] = True


def names_text(node):
    """Names by ``named_dims`` for a result that is made of no input, and for results of the same
    shape that are made of it: "tokens:2048,batch:2*rows:64"."""
    if "spyre_names" not in node.meta:
        node.meta["spyre_names"] = _given_names(node)
    return node.meta["spyre_names"]


def _given_names(node):
    from torch_spyre._inductor import propagate_named_dims as named

    shape = getattr(node.meta.get("val"), "shape", ())
    if node.op != "call_function" or not len(shape):
        return ""
    for source in node.all_input_nodes:
        if getattr(source.meta.get("val"), "shape", ()) == shape and names_text(source):
            return names_text(source)
    given = [hint["named_dims"] for hint in get_op_hints(node) if "named_dims" in hint]
    if node.all_input_nodes or not given or not isinstance(given[-1], (list, tuple)):
        return ""
    try:
        return named.dims_text(named.grouped(shape, given[-1]))
    except ValueError as error:  # Operations are rewritten to others, which have results of their own.
        warnings.warn(f"{node.target} gets no names: {error}", stacklevel=2)
        return ""


def warn_if_any(graph):
    """Once per process and key, of hints the compiler has no use for: they are for users' passes."""
    for hint in (h for node in graph.nodes for h in get_op_hints(node)):
        for key, value in hint.items():
            if key not in _warned and not isinstance(value, _READ.get(key, ())):
                _warned.add(key)
                warnings.warn(
                    f"spyre_hint({key}={value!r}) is not read by the planners; they read "
                    f"{', '.join(_READ)}, by names of dimensions",
                    stacklevel=2,
                )


def warn_idle(graph, decisions):
    """Of entries that no call asked the device to follow: views, calls that run on the CPU."""
    followed = {entry["detail"].split(":")[0] for entry in decisions if entry["reason"] == "hint-followed"}
    told = set(followed)
    for node in graph.nodes:
        for kind, keys in (("work_div", ("work_div",)), ("tiles", _TILES)):
            for name, (count, _) in _entries(node, keys).items():
                text = f"{kind} {name}={count}"
                if text not in told:
                    told.add(text)
                    warnings.warn(
                        f"the hint {text} has no effect: {node.target} under it computes nothing on "
                        "the device",
                        stacklevel=2,
                    )
