"""Where the elements of captured tensors lie in memory, for operations that name strides.

``as_strided`` reaches through views into the memory of the tensor they were taken of. The compiler
knows values, not memory, so such an operation is told in terms of the value that owns the memory.
"""

import dataclasses
import operator

import torch

from torch_spyre._inductor import errors

# Views when they can, else copies: what they return may own its memory.
_MAY_COPY = (torch.ops.aten.reshape.default, torch.ops.aten.contiguous.default)


@dataclasses.dataclass
class Place:
    """Strides and an offset within the memory of the tensor that ``owner`` computes, whose
    dimensions lie there in ``order``, the slowest first."""

    owner: torch.fx.Node
    order: list
    size: list
    stride: list
    offset: int
    is_absolute: bool  # the call says where in the memory, not where behind its tensor


def place_of(node):
    """Of what a call of ``as_strided`` or ``as_strided_scatter`` names."""
    names = (argument.name for argument in node.target._schema.arguments)
    given = {**dict(zip(names, node.args)), **node.kwargs}
    viewed = given["self"].meta["val"]
    offset = given.get("storage_offset")
    is_absolute = offset is not None
    offset = offset if is_absolute else viewed.storage_offset()
    owner = owner_of(given["self"])
    tensor = owner.meta["val"]
    size, stride = [int(s) for s in given["size"]], [int(s) for s in given["stride"]]
    start = int(offset) - int(tensor.storage_offset())
    last = start + sum((n - 1) * step for n, step in zip(size, stride))
    order = order_of(tensor)
    if order is None or start < 0 or last >= tensor.numel():
        _refuse(f"of sizes {size} and strides {stride} from element {offset}", tensor)
    return Place(owner, order, size, stride, start, is_absolute)


def check_starts(starts, args):
    """Arguments whose memory is named by place begin where they began when they were captured."""
    for argument, start in starts.items():
        if args[argument].storage_offset() != start:
            _refuse(f"captured on an argument that began at element {start}", args[argument])


def _refuse(what, tensor):
    raise errors.Unsupported(
        f"SPYRE-E3080: as_strided {what} reaches memory of which the compiled graph is given only "
        f"a part: a tensor of sizes {list(tensor.shape)} and strides {list(tensor.stride())} from "
        f"element {tensor.storage_offset()}; pass the whole tensor and take its parts inside"
    )


def like(tensor):
    """A new tensor that lies in memory like this one."""
    start = tensor.storage_offset()
    if start == 0:
        return torch.empty_strided(
            tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
        )
    reach = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride()))
    places = torch.empty(start + max(reach, 0) + 1, dtype=tensor.dtype, device=tensor.device)
    return places.as_strided(tensor.shape, tensor.stride(), start)


def owner_of(node):
    """The argument or result that a view, or a view of views, was taken of."""
    while node.op == "call_function":
        call = node.args[0] if node.target is operator.getitem else node
        if not _is_view(call):
            break
        node = call.args[0]
    return node


def is_view_of_any(node, owners):
    """A view, in the same type, of one of ``owners``: of an argument, or of what was computed in memory of its own."""
    owner = owner_of(node)
    if owner is node or owner not in owners:
        return False
    tensor, view = owner.meta["val"], node.meta["val"]
    is_alike = tensor.dtype == view.dtype and tensor.device == view.device
    return is_alike and (owner.op == "placeholder" or order_of(tensor) is not None)


def part_of(owner, node):
    """What view_of() is told to find a view again."""
    view, whole = node.meta["val"], owner.meta["val"]
    start = int(view.storage_offset()) - int(whole.storage_offset())
    return whole.stride(), tuple(view.shape), view.stride(), start


def view_of(tensor, whole_stride, size, stride, offset):
    """The part of a result or argument; strides are told for memory in which it lies with ``whole_stride``."""
    # The stride of one element says nothing.
    differs = any(n > 1 and a != b for n, a, b in zip(tensor.shape, tensor.stride(), whole_stride, strict=True))
    if differs:
        kind = {"dtype": tensor.dtype, "device": tensor.device}
        tensor = torch.empty_strided(tensor.shape, whole_stride, **kind).copy_(tensor)
    return tensor.as_strided(size, stride, tensor.storage_offset() + offset)


def asked_views(graph):
    """Numbers of the results that are views because the user asked for views: a sum along a dimension of one element is one,
    too, once it is taken apart, but its result is nobody else's."""
    output = next(node for node in graph.nodes if node.op == "output")
    results = output.args[0] if isinstance(output.args[0], (list, tuple)) else [output.args[0]]
    return frozenset(i for i, result in enumerate(results) if isinstance(result, torch.fx.Node) and _is_asked(result))


def _is_asked(node):
    while node.op == "call_function":
        call = node.args[0] if node.target is operator.getitem else node
        if not _is_view(call):
            break
        if not _aliases(call.meta.get("original_aten") or call.target):
            return False
        node = call.args[0]
    return True


def _is_view(node):
    return node.target not in _MAY_COPY and _aliases(node.target)


def _aliases(target):
    if not isinstance(target, torch._ops.OpOverload):
        return False
    arguments, results = target._schema.arguments, target._schema.returns
    return bool(
        arguments
        and results
        and arguments[0].alias_info is not None
        and not arguments[0].alias_info.is_write
        and results[0].alias_info is not None
    )


def order_of(tensor):
    """Dimensions from the slowest to the fastest; None when elements share a place or leave gaps."""
    sizes, strides = [int(s) for s in tensor.shape], [int(s) for s in tensor.stride()]
    order = sorted(range(len(sizes)), key=lambda d: (-strides[d], d))
    # Where a dimension of one element stands does not matter.
    expected = 1
    for d in reversed([d for d in order if sizes[d] != 1]):
        if strides[d] != expected:
            return None
        expected *= sizes[d]
    return order


__all__ = [
    *("Place", "asked_views", "check_starts", "is_view_of_any", "like", "order_of", "owner_of", "part_of", "place_of"),
    "view_of",
]
