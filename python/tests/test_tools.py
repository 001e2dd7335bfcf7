"""The way without Python gives the same bytes: spyre-compile and spyre-run against torch.compile."""

import pathlib
import subprocess

import numpy as np
import pytest
import torch

import torch_spyre

BIN = pathlib.Path(__file__).resolve().parents[2] / "build" / "bin"


def tool(name, *arguments, code=0):
    done = subprocess.run(
        [BIN / name, *map(str, arguments)], text=True, capture_output=True, timeout=300
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def files(directory):
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in pathlib.Path(directory).rglob("*")
        if path.is_file()
    }


def as_npy(tensor, path):
    """NumPy has no bfloat16: it travels as uint16."""
    if tensor.dtype == torch.bfloat16:
        np.save(path, tensor.view(torch.int16).numpy().view(np.uint16))
    else:
        np.save(path, tensor.numpy())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape", [(256, 512, 192), (55, 67, 130)])
def test_tools_give_the_bytes_of_the_python_path(shape, dtype, tmp_path, on_device):
    m, k, n = shape
    generator = torch.Generator().manual_seed(1)
    x = (torch.randn(m, k, generator=generator) / k**0.5).to(dtype)
    y = torch.randn(k, n, generator=generator).to(dtype)
    with on_device():
        result = torch.compile(lambda a, b: (a @ b).exp().sum(0))(x.to("spyre"), y.to("spyre")).cpu()

    torch_spyre.save_artifacts(tmp_path / "python")
    (tmp_path / "graph.mlir").write_text(torch_spyre.last_compile().graph)
    tool("spyre-compile", tmp_path / "graph.mlir", "-o", tmp_path / "tool")
    assert files(tmp_path / "tool") == files(tmp_path / "python")

    as_npy(x, tmp_path / "x.npy")
    as_npy(y, tmp_path / "y.npy")
    as_npy(result, tmp_path / "want.npy")
    extra = ["--dtype", "bfloat16"] if dtype == torch.bfloat16 else []
    tool(
        "spyre-run",
        tmp_path / "tool",
        *["--input", tmp_path / "x.npy", "--input", tmp_path / "y.npy"],
        *["--output", tmp_path / "z.npy", *extra],
    )
    assert (tmp_path / "z.npy").read_bytes() == (tmp_path / "want.npy").read_bytes()


def test_bad_files_are_numbered_errors_and_write_nothing(tmp_path):
    (tmp_path / "broken.mlir").write_text("func.func @main(")
    done = tool("spyre-compile", tmp_path / "broken.mlir", "-o", tmp_path / "out", code=1)
    assert "SPYRE-E1001" in done.stderr
    done = tool("spyre-run", tmp_path, "--output", tmp_path / "z.npy", code=1)
    assert "SPYRE-E" in done.stderr
    assert not (tmp_path / "out").exists() and not (tmp_path / "z.npy").exists()
