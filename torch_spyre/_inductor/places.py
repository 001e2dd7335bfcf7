"""Positions that are known when a program is compiled: those that a tensor does not have are refused then, with the user's line
(E6132)."""

import os
import re

import torch

aten = torch.ops.aten
_LOCATION = re.compile(r'File "([^"]+)", line (\d+)')


def line_of(node):
    """ "file.py:12" of the user's line, without directories: artifacts do not depend on them."""
    frames = _LOCATION.findall(node.meta.get("stack_trace") or "")
    if not frames:
        return ""
    path, line = frames[-1]
    # A bar separates the location from hints where graphs are built.
    return f"{os.path.basename(path)}:{line}".replace("|", "_")


def operation_of(node):
    """What the user called, also where it was taken apart."""
    return str(node.meta.get("original_aten") or node.target)


def check(positions, allowed, node):
    for position in positions:
        if position not in allowed:
            raise IndexError(
                f"SPYRE-E6132: index {position} of {operation_of(node)} at {line_of(node)} is out of "
                f"range; give {allowed[0]} to {allowed[-1]}"
            )


def compute(node, args, kwargs):
    """The node's result on known tensors. Torch does not always say which position it did not find."""
    try:
        return node.target(*args, **kwargs)
    except (IndexError, RuntimeError):
        for index, allowed in _indices(node.target, args):
            check(index.reshape(-1).tolist(), allowed, node)
        raise


def _indices(target, args):
    if target is aten.index_select.default:
        x, dim, index = args
        return [(index, range(x.shape[dim]))]
    if target is aten.index.Tensor:
        x, indices = args
        return [(i, range(-n, n)) for n, i in zip(x.shape, indices) if i is not None and i.dtype != torch.bool]
    return []
