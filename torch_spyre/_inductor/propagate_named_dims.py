"""Names for the dimensions of tensors, which hints can speak of.

    declare_tensor_dim("tokens", 2048)
    name_tensor_dims(x, ["tokens", "hidden"])
    with spyre_hint(work_div={"tokens": 4}): ...

Names are given from the outermost dimension to the innermost and describe the elements of a tensor:
one dimension may hold several of them one inside the other, as after flatten(). They follow the
tensor object, its views, and its copies on other devices; in a compiled graph they follow the elements
from operation to operation (spyre-loop-assign-hints). A tensor keeps the sizes that its names had when
they were given.
"""

import operator

import torch
from torch.utils.weak import WeakTensorKeyDictionary

_sizes = {}
# Tensor -> for each dimension its names with their sizes.
_names = WeakTensorKeyDictionary()


def declare_tensor_dim(name, size):
    """Makes ``name`` a dimension of ``size`` elements from now on, whatever it was before."""
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"SPYRE-E1601: {name!r} is no name of a dimension; give an identifier")
    if isinstance(size, bool) or not hasattr(size, "__index__") or operator.index(size) < 1:
        raise ValueError(
            f"SPYRE-E1601: dimension '{name}' has size {size!r}; give a positive integer"
        )
    _sizes[name] = operator.index(size)


def size_of(name):
    """Elements of a declared dimension."""
    if name not in _sizes:
        known = ", ".join(sorted(_sizes)) or "none"
        raise KeyError(
            f"SPYRE-E1601: dimension {name!r} is not declared (known: {known}); "
            "declare_tensor_dim it first"
        )
    return _sizes[name]


def name_tensor_dims(tensor, names):
    """Gives the dimensions of ``tensor`` names, and returns it."""
    _names[tensor] = grouped(tensor.shape, names)
    return tensor


def copy_names(source, target):
    """Gives ``target``, a copy of ``source`` on another device, its names. Returns ``target``."""
    if _names and not torch.compiler.is_compiling() and target is not source:
        give_names(target, _sized_names(source))
    return target


def take_names(tensor):
    """Removes and returns what :func:`give_names` takes. Torch swaps no tensors that something refers to weakly."""
    return _names.pop(tensor, None)


def give_names(tensor, names):
    if names is not None:
        _names[tensor] = names


def grouped(shape, names):
    """Names and sizes of what each dimension of a tensor of that shape is made of."""
    names, shape = list(names), tuple(int(extent) for extent in shape)
    if len(set(names)) != len(names):
        raise ValueError(f"SPYRE-E1601: {names} names a dimension twice; give each name once")
    sizes = [size_of(name) for name in names]
    groups = _groups(list(shape), sizes)
    if groups is None:
        named = ", ".join(f"{name}={size}" for name, size in zip(names, sizes, strict=True))
        raise ValueError(
            f"SPYRE-E1601: the names [{named}] do not make up the shape {shape}; give one "
            "name per dimension, or for one dimension those of the dimensions it was flattened from"
        )
    return [[(names[i], sizes[i]) for i in group] for group in groups]


def _groups(shape, sizes):
    """For each dimension the positions of the names it is made of, at least one; or None."""
    groups, at = [], 0
    for left, extent in zip(range(len(shape), 0, -1), shape, strict=True):
        group, product = [], 1
        # Sizes of 1 may belong to either side: as many as the dimensions that follow leave over.
        while at < len(sizes) - (left - 1) and (not group or product * sizes[at] <= extent):
            product *= sizes[at]
            group.append(at)
            at += 1
        if product != extent or not group:
            return None
        groups.append(group)
    return groups if at == len(sizes) else None


def names_of(tensor):
    """Names per dimension, outermost first; None where nothing is known. A view whose shape still
    follows from the names of its base has them, too."""
    names = _sized_names(tensor)
    return None if names is None else [[name for name, _ in group] for group in names]


def _sized_names(tensor):
    if tensor in _names:
        return _names[tensor]
    base = getattr(tensor, "_base", None)
    if base is None or base not in _names:
        return None
    flat = [named for group in _names[base] for named in group]
    groups = _groups(list(tensor.shape), [size for _, size in flat])
    if groups is None or not tensor.is_contiguous():
        return None
    return [[flat[i] for i in group] for group in groups]


def text_of(tensor):
    """What the compiler reads of an input's names: "|tokens:2048,batch:2*rows:64"."""
    names = _sized_names(tensor)
    return "" if names is None else "|" + dims_text(names)


def dims_text(names):
    """ "tokens:2048,batch:2*rows:64" of names and sizes per dimension."""
    return ",".join("*".join(f"{name}:{size}" for name, size in group) for group in names)


def check_hint(hint):
    """Refuses a hint that speaks of dimensions nobody declared, or asks for too many parts of one."""
    names = hint.get("named_dims")
    for name in names if isinstance(names, (list, tuple)) else ():
        size_of(name)
    for key in ("num_tiles_per_dim", "tiles", "slices", "work_div"):
        counts = hint.get(key)
        if not isinstance(counts, dict):
            continue
        if key != "work_div" and len(counts) != 1:
            raise NotImplementedError(
                f"SPYRE-E1601: {key} has {len(counts)} dimensions; give one, and nest spyre_hint for "
                "more"
            )
        for name, count in counts.items():
            size = size_of(name)
            if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= size:
                raise ValueError(
                    f"SPYRE-E1601: {key} asks for {count!r} parts of dimension '{name}'; give 1 to "
                    f"{size}"
                )


def reset():
    """Forgets all names, those of tensors as well."""
    _sizes.clear()
    _names.clear()
