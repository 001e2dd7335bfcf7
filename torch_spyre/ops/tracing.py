"""What an eager operation is made of, in operations the compiler has.

The same decompositions as for captured graphs: the operation is run once on fake tensors, and the
graph of that run becomes one program. C++ asks here when it sees a call for the first time.
"""

import contextlib
import logging
import operator
import threading

import torch
from torch.utils._pytree import tree_map

from torch_spyre.ops import limits

#: Types the device holds, and computes nothing in.
_CONVERTED = (torch.float8_e4m3fn, torch.float8_e5m2fnuz)
#: Answer for operations that neither the compiler nor any decomposition knows.
UNKNOWN = "unknown"


#: Rows of the compiler that round more often than their decompositions do, in some of their forms, or bound what has no
#: bound.
PREFERRED = (
    "aten.clamp.default",
    "aten.clamp_max.default",
    "aten.clamp_min.default",
    "aten.gelu.default",
    "aten.hardtanh.default",
    "aten.mean.default",
    "aten.mean.dim",
    "aten.pow.Tensor_Scalar",
    "aten.sum.default",
    "aten.sum.dim_IntList",
)


def _scaled(operation):
    def decomposed(x, y, *, alpha=1):
        return NotImplemented if alpha == 1 else operation(x, y * alpha)

    return decomposed


def _eager_only():
    """Operations of which the compiler has only a part."""
    from torch_spyre._inductor import integer_decompositions, number_decompositions
    from torch_spyre._inductor.patches import either
    from torch_spyre.ops import index_writes, normalisations

    integers = integer_decompositions.decompositions()
    numbers = number_decompositions.decompositions()
    aten = torch.ops.aten
    return {
        **normalisations.eager_decompositions(),
        aten.index_put.default: index_writes.index_put,
        aten._unsafe_index_put.default: index_writes.index_put,
        aten._index_put_impl.default: lambda x, i, v, accumulate=False, unsafe=False: (
            index_writes.index_put(x, i, v, accumulate)
        ),
        aten.native_layer_norm.default: number_decompositions.layer_norm,
        aten.add.Tensor: either(numbers[aten.add.Tensor], _scaled(torch.add)),
        aten.sub.Tensor: either(number_decompositions.subtracted, _scaled(torch.sub)),
        aten.addmv.default: either(numbers[aten.addmv.default], integers[aten.addmv.default]),
    }


_quiet = threading.local()


def _is_told(_record):
    return not getattr(_quiet, "active", False)


logging.getLogger("torch._subclasses.fake_tensor").addFilter(_is_told)


@contextlib.contextmanager
def _without_tracebacks():
    """Torch logs what fails on fake tensors with its whole stack; the user is about to get the same
    error, in the words of the CPU."""
    _quiet.active = True
    try:
        yield
    finally:
        _quiet.active = False


def _overload(name, overload):
    namespace, base = name.split("::")
    return getattr(getattr(getattr(torch.ops, namespace), base), overload or "default")


def _fake(tensor):
    return torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )


def _with_tensors(op, args):
    """Only some operations take a number for a tensor from Python; C++ has it as a tensor."""
    name = op._schema.name.split("::")[1]
    if torch._C._should_allow_numbers_as_tensors(name):
        return args
    schema = op._schema.arguments
    return [
        torch.tensor(value) if str(a.type) == "Tensor" and isinstance(value, (int, float)) else value
        for a, value in zip(schema, args)
    ]


def _with_number(op, args):
    """The overload for a number, where one stands for a tensor."""
    schema = op._schema.arguments
    wanted = [
        "number" if str(a.type) == "Tensor" and isinstance(value, (int, float)) else str(a.type)
        for a, value in zip(schema, args)
    ]
    if "number" not in wanted:
        return op
    wanted += [str(a.type) for a in schema[len(wanted) :]]
    names = [a.name for a in schema]
    for overload in op.overloadpacket.overloads():
        other = getattr(op.overloadpacket, overload)
        if [str(a.type) for a in other._schema.arguments] == wanted and [
            a.name for a in other._schema.arguments
        ] == names:
            return other
    return op


def _graph_of(op, args, kwargs, inputs, table):
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    places = {id(tensor): i for i, tensor in enumerate(inputs)}

    def run(*values):
        def leaf(value):
            return values[places[id(value)]] if isinstance(value, torch.Tensor) else value

        given, named = tree_map(leaf, (args, kwargs))
        return op(*_with_tensors(op, given), **named)

    # Torch would run what it has no fake kernel for on tensors of the device, and ask here again.
    mode = FakeTensorMode(allow_fallback_kernels=False)
    with mode:
        fakes = [_fake(tensor) for tensor in inputs]
        gm = make_fx(run, decomposition_table=table, tracing_mode="real")(*fakes)
    gm.graph.eliminate_dead_code()
    return gm


def _is_refused(op, args, kwargs, inputs):
    """Whether torch refuses the shapes or types. Formulas do not ask; not all operations have a kernel that does."""
    from torch._subclasses import fake_tensor as fake

    places = {id(tensor): i for i, tensor in enumerate(inputs)}
    with fake.FakeTensorMode(allow_fallback_kernels=False):
        fakes = [_fake(tensor) for tensor in inputs]
        given, named = tree_map(
            lambda value: fakes[places[id(value)]] if isinstance(value, torch.Tensor) else value, (args, kwargs)
        )
        try:
            op(*_with_tensors(op, given), **named)
        except (
            NotImplementedError,
            fake.DataDependentOutputException,
            fake.DynamicOutputShapeException,
            fake.UnsupportedOperatorException,
        ):
            return False
        except limits.REFUSALS:
            return True
    return False


def _calls(gm):
    return [
        node.target
        for node in gm.graph.nodes
        if node.op == "call_function" and node.target is not operator.getitem
    ]


def _is_functional(target):
    return isinstance(target, torch._ops.OpOverload) and not target._schema.is_mutable


def _note_type(inputs):
    """A formula says no more than that it does not cover a call; with types that are only converted, that is why."""
    for tensor in inputs:
        if tensor.dtype in _CONVERTED:
            name = str(tensor.dtype).removeprefix("torch.")
            limits.note(f"{name} is only converted; convert with .to(torch.float16) first [gate 3: dtype]")


def trace(name, overload, args, kwargs, inputs, reasons=None):
    """(graph, sources of its inputs, constants, results), None, or UNKNOWN. The limit of a formula that refused is put into
    the list."""
    with limits.noting(reasons):
        return _trace(name, overload, args, kwargs, inputs)


def _trace(name, overload, args, kwargs, inputs):
    from torch.utils._python_dispatch import _disable_current_modes

    from torch_spyre import _C
    from torch_spyre._inductor import extensions
    from torch_spyre._inductor.compile import _Importer

    op = _with_number(_overload(name, overload), args)
    known = set(_C.supported_operations())
    with _disable_current_modes(), torch.no_grad(), extensions.capturing() as active:
        table = {**active.decompositions(), **_eager_only()}
        try:
            with _without_tracebacks():
                if _is_refused(op, args, kwargs, inputs):
                    return None
                gm = _graph_of(op, args, kwargs, inputs, table)
        except Exception as error:  # what torch refuses, the CPU refuses in torch's words
            limits.note_failure(op, error)
            return None
        calls = _calls(gm)
        lowered = active.lowerings()
        if op in calls and str(op) not in known and op not in lowered:
            # A decomposition may cover other types or forms: it is asked again.
            if op in table:
                _note_type(inputs)
            return None if op in table else UNKNOWN
        # C++ asked for a call with one result as it is.
        is_same = calls == [op] and len(op._schema.returns) == 1
        if is_same or not all(map(_is_functional, calls)):
            return None
        importer = _Importer(gm, lowered)
        importer.run()
    results = [_result(kind, value) for kind, value in importer.outputs]
    if None in results or not importer.device_outputs or importer.mutates or importer.copies:
        return None
    return importer.graph, importer.inputs, importer.constants.tensors(), results


def _result(kind, value):
    if kind == "result":
        return ("output", value)
    if kind == "empty":
        return ("empty", list(value.shape), value.dtype)
    return ("none",) if kind == "value" and value is None else None
