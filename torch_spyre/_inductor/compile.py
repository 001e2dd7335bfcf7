"""From a Dynamo graph to a callable: AOTAutograd functionalises, C++ gets the nodes.

A graph is compiled at its first call, when the layouts of the inputs are known; a call with other
layouts gets a program of its own. Sizes are fixed: a graph with symbolic sizes is specialised for
each set of sizes it is called with.

What the compiler cannot put on the device comes back here, node by node, and runs on the CPU
between the compiled pieces.
"""

import collections
import contextlib
import dataclasses
import functools
import itertools
import operator
import threading

import torch
from torch.utils._pytree import tree_leaves, tree_map

from torch_spyre import _C
from torch_spyre._inductor import branches, errors, expansion, extensions, folding, hints, lowering
from torch_spyre._inductor import memory, mixed, numbers, passes, places, settings, sizes, streams
from torch_spyre._inductor import propagate_named_dims as named
from torch_spyre.constants import DEVICE_NAME
from torch_spyre.ops import fallbacks, margins, resampling

_names = itertools.count()
# More places are read or written by one operation on the CPU.
_MAX_RUNS = 16
# Sets of sizes for which a graph with symbolic sizes keeps its programs.
_KEPT_SIZES = 256
_LAYER_NORM = torch.ops.aten.native_layer_norm.default


def _on_spyre(value):
    if isinstance(value, torch.Tensor):
        return value.device.type == DEVICE_NAME
    if isinstance(value, torch.device):
        return value.type == DEVICE_NAME
    return False


def _node_values(node):
    value = node.meta.get("example_value", node.meta.get("val"))
    return [] if value is None else tree_leaves(value)


def is_spyre_graph(gm, example_inputs):
    """An input, a constant or a result is on the device, or something is created there."""
    if any(_on_spyre(value) for value in tree_leaves(list(example_inputs))):
        return True
    graph = getattr(gm, "graph", None)
    if graph is None:
        return False
    if any(_on_spyre(tensor) for tensor in itertools.chain(gm.parameters(), gm.buffers())):
        return True
    for node in graph.nodes:
        device = node.kwargs.get("device")
        if device is not None and torch.device(device).type == DEVICE_NAME:
            return True
        if any(_on_spyre(value) for value in _node_values(node)):
            return True
    return False


def compile_graph_module(gm, example_inputs, decompositions=None):
    """The backend: Dynamo's graph module in, callable out."""
    from torch._dynamo.backends.common import aot_autograd

    _refuse_packages()
    margins.install()
    resampling.install()
    with extensions.capturing(decompositions) as active:
        gm = active.run_pre_grad(gm)
        names = [named.text_of(t) if isinstance(t, torch.Tensor) else "" for t in example_inputs]
        own = functools.partial(_compile_aten, active=active, bounded=sizes.bounded(gm, example_inputs))
        compiler = functools.partial(own, names=names)
        return aot_autograd(
            fw_compiler=functools.partial(compiler, shares=_ARGUMENTS),
            bw_compiler=functools.partial(own, is_backward=True),
            inference_compiler=functools.partial(compiler, shares=_ALL),
            decompositions=active.decompositions(),
            keep_inference_input_mutations=True,
        )(gm, example_inputs)


def _refuse_packages():
    from torch._inductor.virtualized import V

    if V.aot_compilation:
        raise RuntimeError(
            "SPYRE-E6520: AOTInductor packages kernels of the host and has none for spyre; "
            "torch_spyre.compile_exported(program).save(directory) writes what runs without Python"
        )


@dataclasses.dataclass(frozen=True)
class _Shares:
    """Whose memory results share that are views in torch. Of arguments torch makes such a view again, from the sizes,
    strides and the offset of the one it gets: without the memory it would begin elsewhere. Of other results AOTAutograd
    sees to it where gradients are computed. ``asked`` are the numbers of the results for which the user asked views."""

    arguments: bool = False
    results: bool = False
    asked: frozenset = frozenset()


_NOTHING, _ARGUMENTS, _ALL = _Shares(), _Shares(arguments=True), _Shares(arguments=True, results=True)


def _compile_aten(gm, example_inputs, active, bounded, shares=_NOTHING, names=(), is_backward=False):
    """``names`` are those of the dimensions of the inputs, where the graph has the same ones; ``bounded`` are the sizes
    the user gave bounds."""
    from functorch.compile import make_boxed_func

    gm = active.run_post_grad(gm)
    if is_backward:
        hints.set_aside(gm.graph)
    else:
        hints.check(gm.graph)
    inputs = [node for node in gm.graph.nodes if node.op == "placeholder"]
    for node, text in zip(inputs, names, strict=False) if len(inputs) == len(names) else ():
        node.meta["spyre_dims"] = text
    for node in inputs:
        node.meta["spyre_sizes"] = sizes.text_of(node, bounded)
    if len(_spyre_devices(gm)) > 1:
        # Every program runs on one card; between cards the operations run one by one.
        return make_boxed_func(gm.forward)
    order = streams.separate(gm)
    compiled = make_callable(gm, active, shares)
    return make_boxed_func(order.around(compiled) if order else compiled)


def _spyre_devices(gm):
    """The cards whose tensors the graph uses."""
    values = (value for node in gm.graph.nodes for value in _node_values(node))
    return {value.device for value in values if isinstance(value, torch.Tensor) and _on_spyre(value)}


def make_callable(gm, active=extensions.Extensions(), shares=_NOTHING):
    """A graph of ATen operations, functional but for copies into its arguments, as a callable."""
    _refuse_data_dependent(gm)
    host = numbers.HostNumbers(gm)
    if host.count:
        return numbers.WithHostNumbers(host, make_callable(host.rest, active, shares))
    branches.compile_bodies(gm, functools.partial(make_callable, active=active))
    if mixed.is_mixed(gm):
        # A view is in the stage of what it was taken of, so stages share what the graph would.
        part = functools.partial(make_callable, active=active, shares=shares)
        return mixed.StagedGraph(gm, part)
    shares = dataclasses.replace(shares, asked=memory.asked_views(gm.graph))
    symbolic = any(
        isinstance(size, torch.SymInt)
        for node in gm.graph.nodes
        for value in _node_values(node)
        for size in (
            [value] if not isinstance(value, torch.Tensor) else [*value.shape, *value.stride()]
        )
    )
    return (_SpecialisedGraph if symbolic else _StaticGraph)(gm, active, shares)


def _refuse_data_dependent(gm):
    from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

    numbers = (torch.SymInt, torch.SymFloat, torch.SymBool)
    offenders = [
        node
        for node in gm.graph.nodes
        if any(
            isinstance(value, (torch.Tensor, *numbers)) and free_unbacked_symbols(value)
            for value in _node_values(node)
        )
    ]
    if offenders:
        origins = [node for node in offenders if node.meta.get("unbacked_bindings")]
        _C.refuse_data_dependent(sorted({str(node.target) for node in origins or offenders}))


class _SpecialisedGraph:
    """A graph with symbolic sizes: one static graph per set of sizes, made when it is called. Those
    called last are kept; a set of sizes that was dropped is compiled again."""

    def __init__(self, gm, active, shares):
        self._gm = gm
        self._active = active
        self._shares = shares
        self._graphs = collections.OrderedDict()
        self._lock = threading.Lock()
        inputs = [node for node in gm.graph.nodes if node.op == "placeholder"]
        self._sizes = [node.meta.get("spyre_sizes", "") for node in inputs]
        self._is_used = [bool(node.users) for node in inputs]

    def __call__(self, *args):
        return self._graph_for(args)(*args)

    def compile_for(self, *args):
        return self._graph_for(args).compile_for(*args)

    def _graph_for(self, args):
        key = tuple(sizes.key_of(a) if used else None for a, used in zip(args, self._is_used))
        with self._lock:
            if key in self._graphs:
                self._graphs.move_to_end(key)
                return self._graphs[key]
        graph = self._made_for(args)
        with self._lock:
            graph = self._graphs.setdefault(key, graph)
            while len(self._graphs) > _KEPT_SIZES:
                self._graphs.popitem(last=False)
        return graph

    def _made_for(self, args):
        gm = self._specialise(args)
        inputs = [node for node in gm.graph.nodes if node.op == "placeholder"]
        for node, text in zip(inputs, self._sizes, strict=True):
            node.meta["spyre_sizes"] = text
        return _StaticGraph(gm, self._active, self._shares)

    def _specialise(self, args):
        from torch._subclasses.fake_tensor import FakeTensorMode
        from torch.fx.experimental.proxy_tensor import make_fx

        mode = FakeTensorMode(allow_non_fake_inputs=True)
        with mode:
            fakes = [memory.like(a) if isinstance(a, torch.Tensor) else a for a in args]
        # What the graph creates must not be created here, either.
        with mode, torch.no_grad(), extensions.capturing():
            return make_fx(self._gm, tracing_mode="real")(*fakes)


class _StaticGraph:
    """Calls the compiled graph with its tensors and puts back what needs no device."""

    def __init__(self, gm, active=extensions.Extensions(), shares=_NOTHING):
        importer = _Importer(gm, active.lowerings(), shares)
        refusals = list(active.refusals)
        nodes = [node for node in gm.graph.nodes if importer.is_made_of_others(node)]
        if nodes:
            gm = expansion.expanded(gm, nodes, refusals)
            importer = _Importer(gm, active.lowerings(), shares)
        importer.run()
        self._hinted = any(hints.text_of(node) for node in gm.graph.nodes)
        self._graph = gm.graph if self._hinted else None
        # No reference back to this object: the callables live in C++, unseen by the collector.
        nodes = _HostNodes(importer.nodes)
        self._constants = importer.constants
        self._inputs = importer.inputs
        self._outputs = importer.outputs
        self._copies = importer.copies
        self._starts = importer.starts
        self._compiled = None
        if importer.device_outputs or importer.mutates:
            self._compiled = passes.logged(_C.CompiledGraph)(
                importer.graph,
                f"graph_{next(_names)}{_readers(gm)}",
                settings.current(active),
                nodes.run,
                functools.partial(fallbacks.warn_host_nodes, refusals),
                importer.device,
            )

    def __call__(self, *args):
        results = []
        memory.check_starts(self._starts, args)
        if self._compiled is not None:
            results = self._compiled(self._tensors(args))
            if self._hinted:
                self._hinted = False
                hints.warn_idle(self._graph, self._compiled.record.decisions)
                self._graph = None
        for argument, result in self._copies:
            args[argument].copy_(results[result])
        place = {
            "result": results.__getitem__,
            "cpu_result": lambda i: results[i].cpu(),
            "input": args.__getitem__,
            "empty": lambda e: torch.empty_strided(
                e.shape, e.stride(), dtype=e.dtype, device=e.device
            ),
            "view": lambda v: memory.view_of(results[v[0]], *v[1:]),
            "input_view": lambda v: memory.view_of(args[v[0]], *v[1:]),
            "constant": torch.Tensor.clone,
            "value": lambda v: v,
        }
        return tuple(place[kind](index) for kind, index in self._outputs)

    def compile_for(self, *args):
        """Compiles without running: the record, and for each input of the model the number of the
        argument (below 0: a constant of the graph) and its tensor."""
        if self._compiled is None:
            raise ValueError("SPYRE-E6520: the program computes nothing; there is nothing to save")
        tensors = self._tensors(args)
        record = self._compiled.compile(tensors)
        return record, [(self._inputs[i], tensors[i]) for i in self._compiled.held_inputs()]

    def _tensors(self, args):
        constants = self._constants.tensors()
        return [args[i] if i >= 0 else constants[-1 - i] for i in self._inputs]


class _GraphConstants:
    """Tensors that belong to a graph. The host keeps them, too: a reset takes the device's."""

    def __init__(self, device):
        self._device = device
        self._host = []
        self._sent = []

    def __len__(self):
        return len(self._host)

    def add(self, tensor):
        """``tensor`` is on the host; returns it where the graph has it."""
        self._host.append(tensor)
        self._sent.append(self._send(tensor))
        return self._sent[-1]

    def tensors(self):
        if _C._lost_memory(self._sent):
            with torch.no_grad():
                self._sent = [self._send(tensor) for tensor in self._host]
        return self._sent

    def _send(self, tensor):
        return tensor.to(self._device) if _C.holds_dtype(tensor.dtype) else tensor


class _HostNodes:
    """Nodes of a graph on CPU tensors. Arguments are what the importer saw; tensors come by the
    number of their graph value."""

    def __init__(self, nodes):
        self._nodes = nodes

    def run(self, number, results, tensors):
        target, args, kwargs = self._nodes[number]
        args, kwargs = tree_map(lambda leaf: self._leaf(leaf, tensors), (args, kwargs))
        with torch.no_grad(), _device_random_numbers(target):
            value = target(*args, **kwargs)
        if not results:
            return [_plain(value)]
        return [_plain(value[i]) for i in results]

    @staticmethod
    def _leaf(leaf, tensors):
        if isinstance(leaf, _C.GraphValue):
            return tensors[leaf.id]
        if isinstance(leaf, torch.device) and leaf.type == DEVICE_NAME:
            return torch.device("cpu")
        if isinstance(leaf, torch.Tensor) and not leaf.numel():  # no value of the graph
            return torch.empty(leaf.shape, dtype=leaf.dtype)
        return leaf


def _plain(tensor):
    return tensor.detach().resolve_conj().resolve_neg()


@contextlib.contextmanager
def _device_random_numbers(target):
    """Random numbers come from the device's generator, as in eager mode."""
    if torch.Tag.nondeterministic_seeded not in getattr(target, "tags", ()):
        yield
        return
    before = torch.get_rng_state()
    torch.set_rng_state(_C._get_host_rng_state())
    try:
        yield
    finally:
        _C._set_host_rng_state(torch.get_rng_state())
        torch.set_rng_state(before)


class _Importer:
    """Walks an ATen graph and hands every node to the C++ graph. ``outputs`` says, for each result,
    whether it comes from the device, is one of the arguments, or is a plain value."""

    def __init__(self, gm, lowerings, shares=_NOTHING):
        self.gm = gm
        self._lowerings = lowerings
        self._shares = shares
        self._folded = folding.Constants(gm)
        self._masks = {}
        self.graph = _C.CapturedGraph()
        self.inputs = []  # argument index, or -1 - index of a constant
        self.outputs = []
        self.device = next(iter(_spyre_devices(gm)), torch.device(DEVICE_NAME))
        self.constants = _GraphConstants(self.device)
        self.device_outputs = {}
        self.mutates = False
        self.copies = []  # (argument, result): contents that only the host can store
        self.starts = {}  # argument: where in its memory it must begin
        self.nodes = []  # what to call for the nodes that run on the CPU
        self._numbers = {}
        self._values = {}
        self._arguments = {}
        self._contents = {}  # argument -> its value, and the last copy into it

    def run(self):
        nodes = list(self.gm.graph.nodes)
        # Inputs are numbered first; constants of the module come after the arguments.
        for index, node in enumerate(n for n in nodes if n.op == "placeholder"):
            self._arguments[node] = index
            is_tensor = isinstance(node.meta.get("val"), torch.Tensor)
            if is_tensor and node.users and not self._folded.is_empty(node):
                self._add_input(node, node.meta["val"], index)
        for node in nodes:
            if node.op == "get_attr" and node not in self._folded:
                self._values[node] = operator.attrgetter(node.target)(self.gm)
        for node in self._folded.needed():
            if not self._is_returned_constant(node):
                self._add_constant(node, self._folded.value(node), self._folded.device(node))
        for node in nodes:
            if _is_causal(node):
                self._add_mask(node)
        for node in nodes:
            if not self._folded.is_call(node):
                continue
            if node.target is torch.ops.aten.copy_.default and node.args[0] in self._arguments:
                self._store(node)
            elif node.op == "call_function":
                self._add_call(node)
            elif node.op == "output":
                self._add_mutations()
                self._add_outputs(node.args[0])

    def _type(self, tensor):
        return _C.CapturedType(
            tensor.dtype, [int(s) for s in tensor.shape], [int(s) for s in tensor.stride()]
        )

    def _add_input(self, node, tensor, index):
        names = hints.names_text(node)
        name = node.name + node.meta.get("spyre_dims", f"|{names}" if names else "")
        name += node.meta.get("spyre_sizes", "")
        self._values[node] = self.graph.add_input(name, self._type(tensor))
        self.inputs.append(index)

    def _add_constant(self, node, tensor, device):
        if device.type == "cpu" and tensor.dim() == 0:
            with _real_tensors():
                self._values[node] = tensor.item()
            return
        with _real_tensors():
            held = self.constants.add(tensor.cpu())
        self._add_input(node, held, -len(self.constants))

    def _is_returned_constant(self, node):
        """A constant on the CPU that only the caller sees."""
        on_host = self._folded.device(node).type == "cpu"
        return on_host and all(user.op == "output" for user in node.users)

    def _add_mask(self, node):
        """Causal attention is attention with a mask; equal ones are shared."""
        query, key = node.args[0].meta["val"], node.args[1].meta["val"]
        kind = (int(query.shape[-2]), int(key.shape[-2]), query.dtype)
        if kind not in self._masks:
            with _real_tensors():
                mask = self.constants.add(folding.causal_mask(*kind))
            name = f"causal_{kind[0]}_{kind[1]}"
            self._masks[kind] = self.graph.add_input(name, self._type(mask))
            self.inputs.append(-len(self.constants))
        self._masks[node] = self._masks[kind]

    def _argument(self, value):
        if isinstance(value, torch.fx.Node):
            return self._values[value] if value in self._values else value.meta.get("val")
        if isinstance(value, (list, tuple)):
            return [self._argument(item) for item in value]
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return value.node.hint
        return value

    def _add_call(self, node):
        result = node.meta.get("val")
        if node.target is operator.getitem and isinstance(node.args[0], torch.fx.Node):
            # One of several results: a call of its own that says which. Some are no tensors.
            if not isinstance(result, torch.Tensor):
                self._values[node] = result
            elif node.args[0].target is _LAYER_NORM and node.args[1] != 0:
                self._values[node] = self._statistic(node.args[0], result, node.args[1])
            else:
                self._values[node] = self._call(node.args[0], result, node.args[1])
        elif node.target in _STORES and self._folded.is_empty(node.args[_STORES[node.target]]):
            self._values[node] = self._argument(node.args[0])
        elif self._stores_at_constants(node):
            self._values[node] = self._scatter(node)
        elif self._selects_at_constants(node):
            self._values[node] = self._select(node)
        elif node.target is torch.ops.aten.as_strided.default:
            self._values[node] = self._strided(node)
        elif node.target is torch.ops.aten.as_strided_scatter.default:
            self._values[node] = self._strided_store(node)
        elif isinstance(result, torch.Tensor):
            self._values[node] = self._call(node, result, -1)
        elif not isinstance(result, (list, tuple)):
            self._values[node] = result

    def _call(self, node, result, index):
        if node.target in self._lowerings:
            return self._lowered(node, result)
        name, overload = _operator_name(node.target)
        args = tuple(self._argument(a) for a in self._without_empty_parts(node))
        kwargs = {k: self._argument(v) for k, v in node.kwargs.items()}
        if node in self._masks:
            args, kwargs = _with_mask(args, kwargs, self._masks[node])
        if node.target in folding.FILLS and result.dtype == torch.int64:
            folding.check_fill(args)
        if node not in self._numbers:
            self._numbers[node] = len(self.nodes)
            self.nodes.append((node.target, args, kwargs))
        return self.graph.add_call(
            name,
            overload,
            args,
            kwargs,
            self._type(result),
            _location(node),
            index,
            self._numbers[node],
        )

    def _without_empty_parts(self, node):
        if node.target is not torch.ops.aten.cat.default:
            return node.args
        parts = [part for part in node.args[0] if not self._folded.is_empty(part)]
        return (parts, *node.args[1:])

    def _lowered(self, node, result):
        """Device operations that a user's lowering names."""
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), self._lowering_argument)
        emitter = lowering.Emitter(self.graph, _location(node))
        return emitter.emit(self._lowerings[node.target](*args, **kwargs), result)

    def _lowering_argument(self, node):
        value = self._argument(node)
        is_tensor = isinstance(value, _C.GraphValue)
        return lowering.LoweredTensor(value, node.meta["val"]) if is_tensor else value

    def is_made_of_others(self, node):
        """Torch keeps it whole, and what it becomes depends on what is known of its arguments."""
        if expansion.rule_for(node.target) is None or node.target in self._lowerings:
            return False
        return node not in self._folded and not self._stores_at_constants(node)

    def _stores_at_constants(self, node):
        """index_put at few known places of one dimension."""
        if node.target is not torch.ops.aten.index_put.default:
            return False
        given = [(dim, index) for dim, index in enumerate(node.args[1]) if index is not None]
        if len(given) != 1 or any(node.args[3:]):
            return False
        dim, index = given[0]
        size = int(node.meta["val"].shape[dim])
        return self._has_runs(node, index, range(-size, size))

    def _selects_at_constants(self, node):
        """index_select of few known places."""
        if node.target is not torch.ops.aten.index_select.default:
            return False
        size, dim = node.args[0].meta["val"].shape, node.args[1]
        return len(size) > 0 and self._has_runs(node, node.args[2], range(int(size[dim])))

    def _has_runs(self, node, index, allowed):
        """Known positions that are few runs of neighbours."""
        if index not in self._folded:
            return False
        positions = self._folded.value(index)
        if positions.dtype not in (torch.int64, torch.int32) or positions.dim() != 1:
            return False
        positions = positions.tolist()
        places.check(positions, allowed, node)
        return 0 < len(folding.contiguous_runs(positions)) <= _MAX_RUNS

    def _statistic(self, node, result, index):
        """Mean (1) or reciprocal deviation (2) of a layer norm, for its backward pass; in fp32."""
        aten, location, x = torch.ops.aten, _location(node), node.args[0].meta["val"]
        dims = list(range(x.dim() - len(node.args[1]), x.dim()))

        def made(target, args, shape):
            return self._made(target, args, result, shape, location)

        wide = self._argument(node.args[0])
        if x.dtype != result.dtype:
            wide = self._made(
                aten._to_copy.default, (wide,), result, x.shape, location, {"dtype": result.dtype}
            )
        mean = made(aten.mean.dim, (wide, dims, True), result.shape)
        if index == 1:
            return mean
        rest = made(aten.sub.Tensor, (wide, mean), x.shape)
        square = made(aten.mul.Tensor, (rest, rest), x.shape)
        variance = made(aten.mean.dim, (square, dims, True), result.shape)
        shifted = made(aten.add.Scalar, (variance, node.args[4]), result.shape)
        return made(aten.rsqrt.default, (shifted,), result.shape)

    def _select(self, node):
        """One slice per run of positions, joined."""
        x, dim, index = node.args
        size, shape = x.meta["val"].shape, node.meta["val"].shape
        dim, location, like = dim % len(size), _location(node), node.meta["val"]
        pieces = []
        for _, start, length in folding.contiguous_runs(self._folded.value(index).tolist()):
            cut = [*shape[:dim], length, *shape[dim + 1 :]]
            ends = (self._argument(x), dim, start, start + length)
            pieces.append(self._made(torch.ops.aten.slice.Tensor, ends, like, cut, location))
        return self._made(torch.ops.aten.cat.default, (pieces, dim), like, shape, location)

    def _scatter(self, node):
        """One slice_scatter per run of positions."""
        target, indices, values = node.args[:3]
        dim = next(i for i, index in enumerate(indices) if index is not None)
        into, source = node.meta["val"], values.meta["val"]
        size = into.shape[dim]
        positions = [position % size for position in self._folded.value(indices[dim]).tolist()]
        shape = [*into.shape[:dim], len(positions), *into.shape[dim + 1 :]]
        aten, location = torch.ops.aten, _location(node)
        result, part = self._argument(target), self._argument(values)
        if list(source.shape) != shape:
            part = self._made(aten.expand.default, (part, shape), into, shape, location)
        for place, start, length in folding.contiguous_runs(positions):
            piece = part
            if length != len(positions):
                cut = [*shape[:dim], length, *shape[dim + 1 :]]
                ends = (part, dim, place, place + length)
                piece = self._made(aten.slice.Tensor, ends, into, cut, location)
            ends = (result, piece, dim, start, start + length)
            result = self._made(aten.slice_scatter.default, ends, into, into.shape, location)
        return result

    def _strided(self, node):
        """Strides speak of memory, the compiler of elements in row-major order: of what the memory
        belongs to, with its dimensions in the order they lie there."""
        place = memory.place_of(node)
        args = (self._memory(place, node), place.size, place.stride, place.offset)
        return self._made(node.target, args, node.meta["val"], place.size, _location(node))

    def _strided_store(self, node):
        """New contents for places in memory, then the tensor as it lies in that memory."""
        place, location, result = memory.place_of(node), _location(node), node.meta["val"]
        value, owner = self._memory(place, node), place.owner.meta["val"]
        shape = [owner.shape[d] for d in place.order]
        args = (value, self._argument(node.args[1]), place.size, place.stride, place.offset)
        value = self._made(node.target, args, owner, shape, location)
        tensor = node.args[0].meta["val"]
        start = int(tensor.storage_offset()) - int(owner.storage_offset())
        args = (value, [int(s) for s in tensor.shape], [int(s) for s in tensor.stride()], start)
        target = torch.ops.aten.as_strided.default
        return self._made(target, args, result, result.shape, location, stride=result.stride())

    def _memory(self, place, node):
        """What the memory belongs to, in row-major order of the elements as they lie there."""
        owner, value = place.owner.meta["val"], self._argument(place.owner)
        if place.is_absolute and place.owner in self._arguments:
            self.starts[self._arguments[place.owner]] = owner.storage_offset()
        if place.order == sorted(place.order):
            return value
        shape = [owner.shape[d] for d in place.order]
        ends = (value, place.order)
        return self._made(torch.ops.aten.permute.default, ends, owner, shape, _location(node))

    def _made(self, target, args, like, shape, location, kwargs=None, stride=None):
        """A call that is no node of the graph, with a row-major result unless strides are given."""
        strides = stride or torch.empty(tuple(shape), device="meta").stride()
        kind = _C.CapturedType(like.dtype, [int(s) for s in shape], list(strides))
        name, overload = _operator_name(target)
        self.nodes.append((target, args, kwargs or {}))
        return self.graph.add_call(
            name, overload, args, kwargs or {}, kind, location, -1, len(self.nodes) - 1
        )

    def _store(self, node):
        """A copy into an argument: what follows reads the new contents."""
        argument, contents = node.args[:2]
        old, new = argument.meta["val"], self._argument(contents)
        if not isinstance(new, _C.GraphValue):
            fill = (list(old.shape), new)
            new = self._made(torch.ops.aten.full.default, fill, old, old.shape, _location(node))
        self._contents.setdefault(argument, [self._values[argument], node])[1] = node
        self._values[node] = self._values[argument] = new

    def _add_mutations(self):
        """When everything else is done, arguments have the contents that were stored last."""
        for argument, (value, node) in self._contents.items():
            if self.graph.add_mutation(value, self._values[node]):
                self.mutates = True
            else:
                self.copies.append((self._arguments[argument], self._device_output(node)))

    def _device_output(self, node):
        if node not in self.device_outputs:
            self.device_outputs[node] = len(self.device_outputs)
            self.graph.add_output(self._values[node])
        return self.device_outputs[node]

    def _add_outputs(self, results):
        results = results if isinstance(results, (list, tuple)) else [results]
        owners = {r for r in results if isinstance(r, torch.fx.Node) and r.op == "call_function"}
        # What is in the memory of an argument when the call returns.
        stored = {node.args[1]: self._arguments[argument] for argument, (_, node) in self._contents.items()}
        held = {**self._arguments, **stored}
        for number, result in enumerate(results):
            is_asked = self._shares.arguments and number in self._shares.asked
            if not isinstance(result, torch.fx.Node):
                self.outputs.append(("value", result))
            elif result in self._arguments:
                self.outputs.append(("input", self._arguments[result]))
            elif self._folded.is_empty(result):
                self.outputs.append(("empty", result.meta["val"]))
            elif result in self._folded and self._folded.device(result).type == "cpu":
                self.outputs.append(("constant", self._folded.value(result)))
            elif not isinstance(self._values.get(result), _C.GraphValue):
                self.outputs.append(("value", self._argument(result)))
            elif is_asked and memory.is_view_of_any(result, held):
                owner = memory.owner_of(result)
                self.outputs.append(("input_view", (held[owner], *memory.part_of(owner, result))))
            elif self._shares.results and memory.is_view_of_any(result, owners):
                owner = memory.owner_of(result)
                self.outputs.append(("view", (self._device_output(owner), *memory.part_of(owner, result))))
            else:
                kind = "result" if _on_spyre(result.meta["val"]) else "cpu_result"
                self.outputs.append((kind, self._device_output(result)))


def _real_tensors():
    """Capture runs under modes that give every call a fake result."""
    from torch.utils._python_dispatch import _disable_current_modes

    return _disable_current_modes()


# Place of what is stored; storing nothing leaves the target as it is.
_STORES = {
    torch.ops.aten.slice_scatter.default: 1,
    torch.ops.aten.index_put.default: 2,
    torch.ops.aten.as_strided_scatter.default: 1,
}
_ATTENTION = (
    torch.ops.aten._scaled_dot_product_fused_attention_overrideable.default,
    torch.ops.aten.scaled_dot_product_attention.default,
)


def _is_causal(node):
    """Attention with the flag and without a mask of its own; both have the same places."""
    if node.target not in _ATTENTION:
        return False
    flag = node.args[5] if len(node.args) > 5 else node.kwargs.get("is_causal", False)
    mask = node.args[3] if len(node.args) > 3 else None
    return flag is True and mask is None and not {"attn_mask", "attn_bias"} & set(node.kwargs)


def _with_mask(args, kwargs, mask):
    """Attention with the mask in place of the flag."""
    dropout = args[4] if len(args) > 4 else kwargs.get("dropout_p", 0.0)
    rest = {k: v for k, v in kwargs.items() if k not in ("dropout_p", "is_causal")}
    return (*args[:3], mask, dropout, False, *args[6:]), rest


def _operator_name(target):
    """("aten::add", "Tensor"); other callables keep their Python name."""
    if isinstance(target, torch._ops.OpOverload):
        return target._schema.name, target._overloadname
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order::{target.name()}", "default"
    return f"python::{getattr(target, '__name__', target)}", "default"


#: Operations that read at places that are data; all that do are made of them.
_READERS = {
    torch.ops.aten.embedding.default,
    torch.ops.aten.gather.default,
    torch.ops.aten.index.Tensor,
    torch.ops.aten.index_select.default,
}


def _readers(gm):
    """ "|aten.index_copy.default at train.py:12": what the user called and where, for errors of the
    device about a number."""
    readers = [node for node in gm.graph.nodes if node.target in _READERS]
    found = [
        f"{places.operation_of(node)} at {line}" if (line := places.line_of(node)) else places.operation_of(node)
        for node in readers
    ]
    return "|" + ", ".join(dict.fromkeys(found)) if found else ""


def _location(node):
    """The user's line, and what he hinted there: "file.py:12|work_div=tokens:4"."""
    return places.line_of(node) + hints.text_of(node)


__all__ = ["compile_graph_module", "is_spyre_graph", "errors"]
