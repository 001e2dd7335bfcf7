"""Programs of torch.export: called on the device, saved for the tools, buffers that change."""

import copy
import json
import pathlib

import numpy as np
import pytest
import torch
import torch.nn as nn
from test_models import BLOCKS, WIDTH, Bert, Gpt2, Llama, half, make
from test_tools import tool
from tolerances import relative_error, tolerance

import torch_spyre


def close(result, reference):
    error = relative_error(result.detach().float().cpu().numpy(), reference.detach().numpy())
    assert error <= tolerance("acceptance", torch.float16), error


@pytest.mark.parametrize("where", ["cpu", "spyre"])
@pytest.mark.parametrize("block", [Llama, Gpt2, Bert], ids=lambda block: block.__name__)
def test_blocks(block, where, on_device):
    host, inputs = make(block), BLOCKS[block]
    model = copy.deepcopy(host).to(where)
    with torch.no_grad():
        program = torch.export.export(model, tuple(x.to(where) for x in inputs))
        compiled = torch_spyre.compile_exported(program)
        with on_device():
            result = compiled(*[x.to("spyre") for x in inputs])
        expected = host.float()(*[x.float() if x.is_floating_point() else x for x in inputs])
    assert result.device.type == "spyre"
    close(result, expected)


class Statistics(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.full((64,), 0.5))
        self.register_buffer("sum", torch.zeros(64))
        self.register_buffer("last", torch.zeros(64), persistent=False)

    def forward(self, x, *, extra):
        self.sum.add_(x.sum(0))
        self.last.copy_(x[-1])
        return {"scaled": x * self.scale + extra["shift"], "sum": self.sum * 1}


def statistics():
    host = Statistics().half()
    arguments = (half(6, 64),), {"extra": {"shift": half(64, seed=1)}}
    return host, arguments, torch.export.export(copy.deepcopy(host), *arguments)


def moved(arguments):
    return torch.utils._pytree.tree_map(lambda t: t.to("spyre"), arguments)


def test_buffers_keep_what_is_written(on_device):
    host, arguments, program = statistics()
    compiled = torch_spyre.compile_exported(program)
    host = host.float()
    for _ in range(3):
        args, kwargs = moved(arguments)
        with on_device():
            results = compiled(*args, **kwargs)
        expected = host(arguments[0][0].float(), extra={"shift": half(64, seed=1).float()})
        close(results["scaled"], expected["scaled"])
        close(results["sum"], expected["sum"])
    # The program it was made of is as it was.
    assert program.state_dict["sum"].device.type == "cpu" and not program.state_dict["sum"].any()


def test_inputs_that_are_changed(on_device):
    class Model(nn.Module):
        def forward(self, x):
            x.mul_(0.5)
            return x + 1

    program = torch.export.export(Model(), (half(6, 64),))
    x = half(6, 64).to("spyre")
    compiled = torch_spyre.compile_exported(program)
    with on_device():
        result = compiled(x)
    close(x, half(6, 64).float() * 0.5)
    close(result, half(6, 64).float() * 0.5 + 1)


def test_dynamic_sizes():
    host = make(Llama)
    tokens = torch.export.Dim("tokens", min=3, max=64)  # bounds, no steps
    with torch.no_grad():
        program = torch.export.export(
            host, (half(2, 12, WIDTH),), dynamic_shapes={"x": {1: tokens}}
        )
        compiled = torch_spyre.compile_exported(program)
        host = copy.deepcopy(host).float()
        torch.spyre.reset_counters()
        for count in (5, 17, 5):
            x = half(2, count, WIDTH, seed=count)
            close(compiled(x.to("spyre")), host(x.float()))
    counters = torch.spyre.counters()
    assert counters["programs_compiled"] == 2 and counters["compile_cache_hits"] == 1
    assert counters["fallback_ops"] == counters["graph_fallback_nodes"] == 0


def test_a_saved_program_runs_without_python(tmp_path):
    host = make(Gpt2)
    x = half(2, 12, WIDTH)
    with torch.no_grad():
        compiled = torch_spyre.compile_exported(torch.export.export(host, (x,)))
        torch.spyre.reset_counters()
        compiled.save(tmp_path)
        assert torch.spyre.counters()["programs_launched"] == 0
        result = compiled(x.to("spyre")).cpu()
    np.save(tmp_path / "x.npy", x.numpy())
    signature = json.loads((tmp_path / "signature.json").read_text())
    names = {entry["name"] for entry in signature["inputs"]}
    assert {"qkv", "up_bias", "seen", "x"} <= names and signature["mutated"] == []
    inputs = []
    for entry in signature["inputs"]:
        inputs += ["--input", tmp_path / entry.get("file", "x.npy")]
    tool("spyre-run", tmp_path / "model", *inputs, "--output", tmp_path / "y.npy")
    assert np.array_equal(np.load(tmp_path / "y.npy"), result.numpy())
    # The folder itself brings the weights; the user's inputs have names.
    for given in (f"x={tmp_path / 'x.npy'}", tmp_path / "x.npy"):
        (tmp_path / "y.npy").unlink()
        tool("spyre-run", tmp_path, "--input", given, "--output", tmp_path / "y.npy", "--dtype", "x=float16")
        assert np.array_equal(np.load(tmp_path / "y.npy"), result.numpy())
    _check_refusals(tmp_path)


def _check_refusals(saved):
    def refused(*arguments):
        return tool("spyre-run", saved, *arguments, code=1).stderr

    x = saved / "x.npy"
    assert "SPYRE-E6302: the model has 1 inputs to give (x) but 0" in refused()
    assert "SPYRE-E6302: --input z=z.npy: the model has no input 'z'; the inputs to give are x" in refused("--input", "z=z.npy")
    assert "the saved model brings the contents of 'qkv'" in refused("--input", f"qkv={x}")
    assert "SPYRE-E6302: --input x=" in refused("--input", f"x={x}", "--input", f"x={x}")
    assert "SPYRE-E9001" in refused("--input", "x=none.npy")
    weight = next((saved / "inputs").iterdir())
    weight.rename(saved / "elsewhere")
    assert "SPYRE-E6305" in refused("--input", f"x={x}") and weight.name in refused("--input", f"x={x}")
    (saved / "elsewhere").rename(weight)
    signature = (saved / "signature.json").read_text()
    (saved / "signature.json").write_text(signature[:-30])
    assert "SPYRE-E9101" in refused("--input", f"x={x}")
    (saved / "signature.json").write_text('{"inputs": [{"kind": "user_input", "name": "x"}]}')
    assert "SPYRE-E6305" in refused("--input", f"x={x}")
    (saved / "signature.json").write_text('{"inputs": [{"kind": "parameter"}]}')
    assert "SPYRE-E9102" in refused("--input", f"x={x}")


def test_saving_again_gives_the_same_files(tmp_path):
    def files(directory):
        return {
            path.relative_to(directory): path.read_bytes()
            for path in pathlib.Path(directory).rglob("*")
            if path.is_file()
        }

    _, _, program = statistics()
    for name in ("a", "b"):
        torch_spyre.compile_exported(program).save(tmp_path / name)
    assert files(tmp_path / "a") == files(tmp_path / "b")
    signature = json.loads((tmp_path / "a" / "signature.json").read_text())
    assert signature["mutated"] == ["last", "sum"]


def test_other_arguments_are_refused():
    _, arguments, program = statistics()
    compiled = torch_spyre.compile_exported(program)
    args, _ = moved(arguments)
    with pytest.raises(ValueError, match="(?s)SPYRE-E6520.*the way it was exported"):
        compiled(*args)


def test_what_computes_nothing_is_not_saved(tmp_path):
    class Identity(nn.Module):
        def forward(self, x):
            return x

    compiled = torch_spyre.compile_exported(torch.export.export(Identity(), (half(6, 64),)))
    x = half(6, 64).to("spyre")
    assert torch.equal(compiled(x).cpu(), x.cpu())
    with pytest.raises(ValueError, match="SPYRE-E6520"):
        compiled.save(tmp_path)


class Named(nn.Module):
    """Arguments and a buffer with names that Python itself uses."""

    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(3))

    def forward(self, input, len):
        input.add_(1)
        self.sum.add_(len)
        return input * 2 + self.sum


def test_names_of_arguments_that_python_has(on_device):
    given = [torch.full((2, 3), 0.5, dtype=torch.float16), torch.ones(3, dtype=torch.float16)]
    compiled = torch_spyre.compile_exported(torch.export.export(Named().half(), tuple(given)))
    device = [x.to("spyre") for x in given]
    with on_device():
        result = compiled(*device)
    assert torch.equal(result.cpu(), torch.full((2, 3), 4.0, dtype=torch.float16))
    assert torch.equal(device[0].cpu(), torch.full((2, 3), 1.5, dtype=torch.float16))
