"""Operations on lists of tensors (``_foreach_*``) in captured graphs: those of the elements, one after the other."""

import torch

aten = torch.ops.aten

#: Operations of elements that have another name than those of lists, or other arguments.
_OTHER_NAMES = {
    "addcdiv": lambda x, y, z, value=1: torch.addcdiv(x, y, z, value=value),
    "addcmul": lambda x, y, z, value=1: torch.addcmul(x, y, z, value=value),
    "clone": lambda x, *, memory_format=None: x.clone(),
    "copy": lambda x, source, non_blocking=False: aten.copy(x, source),
    "maximum": lambda x, y: torch.maximum(x, y) if isinstance(y, torch.Tensor) else torch.clamp_min(x, y),
    "minimum": lambda x, y: torch.minimum(x, y) if isinstance(y, torch.Tensor) else torch.clamp_max(x, y),
    "norm": lambda x, ord=2, dtype=None: torch.linalg.vector_norm(x, ord, dtype=dtype),
    "zero": torch.zeros_like,
}
_LISTS = ("List[Tensor]", "List[number]")


def _of_lists(op, name):
    """Lists go element by element; what is no list is for all elements."""
    function = _OTHER_NAMES.get(name) or getattr(torch, name)
    lists = [str(argument.type) in _LISTS for argument in op._schema.arguments]

    def decomposed(*args, **named):
        count = next(len(argument) for argument, is_list in zip(args, lists) if is_list)
        columns = [argument if is_list else [argument] * count for argument, is_list in zip(args, lists)]
        return [function(*row, **named) for row in zip(*columns)]

    return decomposed


def _is_known(op, name):
    """All names are those of numbers for all elements; scalars in a tensor are the host's."""
    args = op._schema.arguments
    is_plain = not any(a.kwarg_only and str(a.type) in _LISTS for a in args) and args[-1].name != "scalars"
    return (is_plain or op._overloadname == "ScalarList") and (name in _OTHER_NAMES or hasattr(torch, name))


def decompositions():
    """Operator overload -> function."""
    table = {}
    for full in torch._C._dispatch_get_all_op_names():
        base, _, overload = full.removeprefix("aten::").partition(".")
        name = base.removeprefix("_foreach_")
        if not full.startswith("aten::_foreach_") or base.endswith("_") or "out" in overload:
            continue
        op = getattr(getattr(aten, base), overload or "default")
        if _is_known(op, name):
            table[op] = _of_lists(op, name)
    return table
