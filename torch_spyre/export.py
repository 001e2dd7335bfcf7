"""Programs of ``torch.export`` on the device: called at once, or saved for use without Python."""

import copy
import json
import os

import torch
from torch.utils import _pytree as pytree

from torch_spyre.constants import DEVICE_NAME


def compile_exported(program):
    """A callable that runs the exported program on the device.

    The program may have been exported on any device; its parameters and buffers are moved, and keep
    what it writes into them. Compiled at the first call of each geometry, or by ``save``.
    """
    return CompiledProgram(program)


class CompiledProgram:
    """What :func:`compile_exported` returns."""

    def __init__(self, program):
        from torch_spyre._inductor import compile as spyre_compile
        from torch_spyre._inductor import extensions

        with extensions.capturing() as active:
            program = _without_tokens(_moved(program).run_decompositions(active.decompositions()))
            graph = active.run_post_grad(_with_mutations(program))
        self._program = program
        self._specs = program.graph_signature.input_specs
        self._graph = spyre_compile.make_callable(graph, active)

    def __call__(self, *args, **kwargs):
        results = self._graph(*self._arguments(args, kwargs))
        return pytree.tree_unflatten(results, self._program.call_spec.out_spec)

    def save(self, directory, *args, **kwargs):
        """Compiles for the given arguments (default: those of the export) and writes ``model/``
        (what spyre-run takes), ``inputs/`` (parameters and buffers as npy), ``signature.json``."""
        if not args and not kwargs:
            args, kwargs = self._program.example_inputs
        directory = os.fspath(directory)
        flat = [_on_device(value) for value in self._arguments(args, kwargs)]
        record, inputs = self._graph.compile_for(*flat)
        os.makedirs(os.path.join(directory, "inputs"), exist_ok=True)
        record.save(os.path.join(directory, "model"))
        entries = [
            self._entry(directory, number, index, tensor)
            for number, (index, tensor) in enumerate(inputs)
        ]
        signature = {
            "inputs": entries,
            "mutated": sorted(
                {spec.target for spec in self._program.graph_signature.output_specs if spec.target}
            ),
        }
        with open(os.path.join(directory, "signature.json"), "w", encoding="utf-8") as file:
            json.dump(signature, file, indent=2, sort_keys=True)
            file.write("\n")
        return directory

    def _entry(self, directory, number, index, tensor):
        """One input of the model: where its contents come from."""
        if index < 0:
            kind, target = "constant", ""
        else:
            spec = self._specs[index]
            kind, target = spec.kind.name.lower(), spec.target or spec.arg.name
        entry = {"kind": kind, "name": target, "dtype": str(tensor.dtype).removeprefix("torch.")}
        if kind != "user_input":
            entry["file"] = f"inputs/{number}.npy"
            _write_npy(os.path.join(directory, entry["file"]), tensor)
        return entry

    def _arguments(self, args, kwargs):
        """Parameters, buffers and the caller's tensors, in the order of the graph."""
        expected = self._program.call_spec.in_spec
        names = expected.child(1).context
        if sorted(names) == sorted(kwargs):
            kwargs = {name: kwargs[name] for name in names}
        flat, spec = pytree.tree_flatten((args, kwargs))
        if spec != expected:
            raise ValueError(
                f"SPYRE-E6520: the program was exported for arguments {expected}, not {spec}; call "
                "it the way it was exported"
            )
        given = iter(flat)
        kind = torch.export.graph_signature.InputKind.USER_INPUT
        return [next(given) if spec.kind == kind else self._state(spec) for spec in self._specs]

    def _state(self, spec):
        state = self._program.state_dict.get(spec.target)
        return self._program.constants[spec.target] if state is None else state.detach()


def _moved(program):
    """The program with everything on the device; the original is left as it is."""
    from torch.export.passes import move_to_device_pass

    moved = copy.copy(program)
    moved._graph_module = copy.deepcopy(program.graph_module)
    # Copying a graph renames what Python has a name for (an argument called "input"); the signature
    # speaks of the nodes by name.
    for node, original in zip(moved._graph_module.graph.nodes, program.graph.nodes):
        node.name, node.target = original.name, original.target
    moved._state_dict = dict(program.state_dict)
    moved._constants = dict(program.constants)
    return move_to_device_pass(moved, f"{DEVICE_NAME}:{torch.spyre.current_device()}")


def _on_device(value):
    """An argument as the program takes it: tensors with dimensions are moved."""
    return value.to(DEVICE_NAME) if isinstance(value, torch.Tensor) and value.dim() else value


def _without_tokens(program):
    """Tokens order operations with effects, such as checks of values; here the order of the graph does."""
    from torch.export._remove_effect_tokens_pass import _remove_effect_tokens

    kinds = torch.export.graph_signature.OutputKind
    has_tokens = any(spec.kind == kinds.TOKEN for spec in program.graph_signature.output_specs)
    return _remove_effect_tokens(program) if has_tokens else program


def _with_mutations(program):
    """The graph with its new contents of buffers and inputs as copies at the end: the way graphs of
    torch.compile have them."""
    kinds = torch.export.graph_signature.OutputKind
    signature = program.graph_signature
    names = {spec.target: spec.arg.name for spec in signature.input_specs if spec.target}
    graph = copy.deepcopy(program.graph)
    # By the names of the signature: copies of nodes may have others.
    placeholders = {
        original.name: node
        for original, node in zip(program.graph.nodes, graph.nodes)
        if node.op == "placeholder"
    }
    output = next(node for node in graph.nodes if node.op == "output")
    results = []
    for spec, value in zip(signature.output_specs, output.args[0]):
        if spec.kind == kinds.USER_OUTPUT:
            results.append(value)
        elif spec.kind in (kinds.BUFFER_MUTATION, kinds.USER_INPUT_MUTATION):
            target = placeholders[names.get(spec.target, spec.target)]
            with graph.inserting_before(output):
                stored = graph.call_function(torch.ops.aten.copy_.default, (target, value))
            stored.meta["val"] = target.meta["val"]
        else:
            raise ValueError(
                f"SPYRE-E6520: the exported program has an output of kind {spec.kind.name}; export "
                "the forward pass only"
            )
    output.args = (tuple(results),)
    return torch.fx.GraphModule(program.graph_module, graph)


def _write_npy(path, tensor):
    """NumPy has neither bfloat16 nor float8: their bits travel as unsigned integers."""
    import numpy

    host = tensor.detach().cpu().contiguous()
    if host.dtype == torch.bfloat16:
        numpy.save(path, host.view(torch.int16).numpy().view(numpy.uint16))
    elif host.dtype.itemsize == 1 and host.dtype.is_floating_point:
        numpy.save(path, host.view(torch.uint8).numpy())
    else:
        numpy.save(path, host.numpy())


__all__ = ["CompiledProgram", "compile_exported"]
