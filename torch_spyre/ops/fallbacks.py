"""Operations that run on the CPU instead of the device: what the user sees, and how to add more.

``TORCH_SPYRE_CPU_FALLBACK`` says what happens when there is no other way: ``warn`` (once per
operation and line), ``silent``, or ``error``.
"""

import contextlib
import functools
import os
import re
import sys
import warnings

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from torch_spyre import environment
from torch_spyre.constants import DEVICE_NAME
from torch_spyre.ops import limits


class FallbackWarning(UserWarning):
    """An operation on spyre tensors was run on the CPU."""


_TORCH_DIR = os.path.dirname(torch.__file__) + os.sep
_OWN_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _user_frame():
    """The innermost frame outside torch and this package: the line the user wrote."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_TORCH_DIR, _OWN_DIR)):
        frame = frame.f_back
    return frame


@functools.cache
def _policy():
    return environment.get("TORCH_SPYRE_CPU_FALLBACK")


#: How the reason of a refusal ends.
_GATE = re.compile(r"(?s)(.*) \[gate (\d): (\w+)\]\s*")

_OF_TYPES = re.compile(r"\[gate (2: schema|3: dtype)\]")


def _told(why):
    """ ": gate 3 (dtype): ..."; what no gate says is the first one's, as in captured graphs."""
    found = _GATE.fullmatch(why)
    reason, number, name = found.groups() if found else (why, 1, "compatibility")
    return f": gate {number} ({name}): {reason}"


def warn_fallback(operation, why):
    """Called for each fallback when the CPU has its results and before they are sent back. ``why`` may end with the gate
    that refused. Python shows a warning once per text and line."""
    policy = _policy()
    if policy == "error":
        raise RuntimeError(
            f"SPYRE-E6531: {operation} is falling back to cpu{_told(why)}, which TORCH_SPYRE_CPU_FALLBACK=error "
            "forbids; use operations the device has, or allow fallbacks with 'warn' or 'silent'"
        )
    if policy == "warn":
        warn_graph(f"{operation} is falling back to cpu{_told(why)}")


def warn_host_nodes(refusals, text):
    """What runs on the CPU of a graph, and the limits that its formulas met."""
    warn_graph(text + "".join(f"\n  beyond a limit{_told(why)}" for why in refusals))


def warn_downcast(text):
    """Called when int64 values were sent to the device that its 32 bits cannot hold."""
    warn_graph(text, UserWarning)


def warn_graph(text, category=FallbackWarning):
    """Warns at the line that the user wrote. Called once per compiled graph with everything that runs
    on the CPU."""
    frame = _user_frame()
    if frame is None:  # a thread of the autograd engine
        warnings.warn(text, category, stacklevel=1)
        return
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        text,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=registry,
    )


_libraries = {}


def _library(namespace):
    if namespace not in _libraries:
        _libraries[namespace] = torch.library.Library(namespace, "IMPL")
    return _libraries[namespace]


def _overloads(ops):
    from torch_spyre._inductor.decompositions import overloads

    return overloads(ops)


def _target_device(leaves, given):
    if given is not None:
        return torch.device(given)
    devices = {leaf.device for leaf in leaves if isinstance(leaf, torch.Tensor)}
    if len(devices) > 1:
        names = ", ".join(sorted(map(str, devices)))
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found {len(devices)}: {names}"
        )
    return devices.pop() if devices else torch.get_default_device()


class _Move:
    """Tensors to the fallback's device and back. Arguments that share memory share it there, too."""

    def __init__(self, device, leaves=()):
        self._device = torch.device(device)
        self._moved = {}
        self._memory = {}  # of the storages that several of the tensors have parts of
        self.bytes = 0
        tensors = {id(leaf): leaf for leaf in leaves if isinstance(leaf, torch.Tensor)}
        for parts in _by_memory(tensors.values()):
            if len(parts) > 1:
                self._memory[_memory_of(parts[0])] = self._copy_of_memory(parts)

    def _count(self, tensor):
        self.bytes += tensor.numel() * tensor.element_size()

    def _copy_of_memory(self, parts):
        """All elements that the tensors reach, as one row on the fallback's device."""
        extent = max(_end_of(part) for part in parts)
        row = parts[0].detach().as_strided((extent,), (1,), 0)
        self._count(row)
        return row.to(self._device, copy=True)

    def _copy_of(self, tensor):
        memory = self._memory.get(_memory_of(tensor)) if self._memory else None
        if memory is not None:
            return memory.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
        self._count(tensor)
        return tensor.detach().to(self._device, copy=True)

    def there(self, leaf):
        if isinstance(leaf, torch.device):
            return self._device
        if not isinstance(leaf, torch.Tensor):
            return leaf
        if id(leaf) not in self._moved:
            self._moved[id(leaf)] = (leaf, self._copy_of(leaf))
        return self._moved[id(leaf)][1]

    def back(self, leaf, target):
        """The argument that a result is, or the result on ``target``."""
        if not isinstance(leaf, torch.Tensor):
            return leaf
        for original, moved in self._moved.values():
            if moved is leaf:
                return original
        self._count(leaf)
        return leaf.to(target)

    def store(self, original):
        """Contents of an argument that was written."""
        moved = self._moved[id(original)][1]
        if moved.shape != original.shape:
            original.resize_(moved.shape)
        self._count(moved)
        with torch.no_grad():
            original.copy_(moved)


def _memory_of(tensor):
    """Key of the memory behind a spyre tensor; None elsewhere and for tensors without elements."""
    if tensor.device.type != DEVICE_NAME or not tensor.numel():
        return None
    return tensor.untyped_storage()._cdata, tensor.dtype


def _by_memory(tensors):
    groups = {}
    for tensor in tensors:
        key = _memory_of(tensor)
        if key is not None:
            groups.setdefault(key, []).append(tensor)
    return groups.values()


def _end_of(tensor):
    """Number of the first element of the memory behind those of the tensor."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return tensor.storage_offset() + 1 + sum((size - 1) * stride for size, stride in steps)


def _map(function, tree):
    leaves, structure = tree_flatten(tree)
    return tree_unflatten([function(leaf) for leaf in leaves], structure)


def kernel_for(op, function, device="cpu", said=None, reason="the device has no kernel and no formula for it"):
    """A kernel of ``op`` that runs the function on the device. Warnings call it ``said``, and give the reason where a call
    has none."""
    from torch_spyre import _C

    said = said or str(op)
    written = [
        (i, a.name, a.kwarg_only)
        for i, a in enumerate(op._schema.arguments)
        if a.alias_info is not None and a.alias_info.is_write
    ]

    def kernel(*args, why="", **kwargs):
        if "out" in kwargs and not isinstance(kwargs["out"], torch.Tensor):
            raise TypeError(f"out= of {op} must be a Tensor, not {type(kwargs['out']).__name__}")
        leaves = tree_flatten((args, kwargs))[0]
        target = _target_device(leaves, kwargs.get("device"))
        move = _Move(device, leaves)
        given, named = _map(move.there, (args, kwargs))
        try:
            with torch.no_grad():
                result = function(*given, **named)
        except Exception:
            # Arguments that torch refuses raise its error alone, unless the device names a type that the CPU lacks, too.
            if _OF_TYPES.search(why):
                warn_fallback(said, why)
            raise
        warn_fallback(said, why or reason)
        out = kwargs.get("out")
        if out is not None and result is not named["out"]:
            # The function need not know about out=.
            named["out"].resize_(result.shape).copy_(result)
            result = named["out"]
        for index, name, by_name in written:
            original = kwargs.get(name) if by_name or index >= len(args) else args[index]
            for tensor in tree_flatten(original)[0]:
                if isinstance(tensor, torch.Tensor):
                    move.store(tensor)
        result = _map(lambda leaf: move.back(leaf, target), result)
        _C.count_fallback(said, move.bytes)
        return result

    return kernel


def check(op, *args, **named):
    """Results without values. Raises what torch says of shapes and types that it refuses."""
    with contextlib.suppress(NotImplementedError), torch.no_grad():  # not all operations have such a form
        return op(*_map(_like, args), **_map(_like, named))


def _like(value, device="meta"):
    """A tensor of the same type and shape."""
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device)


def _of_nothing(op, args, named, results):
    """Handles empty tensors without a transfer. Results that need values are computed on the CPU."""
    given = [leaf for leaf in tree_flatten((args, named))[0] if isinstance(leaf, torch.Tensor)]
    made = [leaf for leaf in tree_flatten(results)[0] if isinstance(leaf, torch.Tensor)]
    device = given[0].device
    if made and not any(t.numel() for t in made):
        return _map(lambda leaf: _like(leaf, device), results)
    if any(t.numel() for t in given):
        return NotImplemented
    found = op(*_map(lambda leaf: _like(leaf, "cpu"), args), **_map(lambda leaf: _like(leaf, "cpu"), named))
    return _map(lambda leaf: leaf.to(device) if isinstance(leaf, torch.Tensor) else leaf, found)


def _computed(op, function, args, named):
    try:
        results = check(op, *args, **named)
    except Exception as error:  # what torch refuses, the CPU refuses in torch's words
        limits.note_failure(op, error)
        return NotImplemented
    result = _of_nothing(op, args, named, results)
    return function(*args, **named) if result is NotImplemented else result


def otherwise_on_cpu(function, op):
    """A kernel of ``op``: the function, and the CPU for what it does not cover, and for the words of what torch refuses."""
    on_cpu = kernel_for(op, op, reason="its formula does not cover these arguments")

    def kernel(*args, **named):
        reasons = []
        with limits.noting(reasons):
            result = _computed(op, function, args, named)
        return on_cpu(*args, why="".join(reasons), **named) if result is NotImplemented else result

    return kernel


def register_fallback(ops, device="cpu"):
    """Decorator: calls of ``ops`` on spyre tensors run the function on ``device``.

    ``ops`` is an operation (``torch.ops.aten.sin``), an overload, or a list of them; in-place and
    ``out=`` overloads may be among them. Tensors, also those in lists, are moved there and results
    back; arguments the operation writes get their new contents. A warning names the operation once
    per line."""

    def register(function):
        for op in _overloads(ops):
            namespace, name = op.name().split("::")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # replacing our own kernel is the purpose
                _library(namespace).impl(
                    name,
                    kernel_for(op, function, device, reason=f"it was registered to run on {device}"),
                    "PrivateUse1",
                    allow_override=True,
                )
            fallback_ops.append(op)
        return function

    return register


#: Everything that was registered.
fallback_ops = []


def register_fallback_default(ops, device="cpu"):
    """Registers ``ops`` to run themselves on ``device``."""
    for op in _overloads(ops):
        register_fallback(op, device)(op)
