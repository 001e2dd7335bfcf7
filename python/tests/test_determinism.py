"""Same program, same bytes: whatever the hash seed, the thread count or the place of the project."""

import hashlib
import pathlib
import shutil

import torch_spyre

PROGRAM = """
import sys, torch, torch_spyre
f = torch.compile(lambda a, b: (a @ b).exp().sum(0) + a.amax(1).sum())
a, b = torch.ones(55, 67, dtype=torch.float16), torch.full((67, 130), 0.01, dtype=torch.float16)
result = f(a.to("spyre"), b.to("spyre"))
torch_spyre.save_artifacts(sys.argv[1])
record = torch_spyre.last_compile()
open(sys.argv[1] + ".graph", "w").write(record.graph)
assert torch_spyre.__file__.startswith(sys.argv[2]), torch_spyre.__file__
print(result.cpu().tolist(), record.decisions)
"""


def checkout(directory):
    """The package in another place, as another clone would have it."""
    source = pathlib.Path(torch_spyre.__file__).parent
    shutil.copytree(
        source, directory / "torch_spyre", ignore=shutil.ignore_patterns("csrc", "__pycache__")
    )
    return directory


def digest(directory):
    files = sorted(p for p in pathlib.Path(directory).rglob("*") if p.is_file())
    assert any(p.name == "model.json" for p in files)
    return {
        str(p.relative_to(directory)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files
    }


def test_artifacts_do_not_depend_on_the_process(python, tmp_path):
    reports = []
    for name, seed, threads in (("one", "0", "1"), ("two", "12345", "3")):
        cwd = tmp_path / f"cwd-{name}"
        cwd.mkdir()
        clone = checkout(tmp_path / f"clone-{name}")
        out = python(
            PROGRAM,
            args=[tmp_path / name, clone],
            cwd=cwd,
            env={
                "PYTHONHASHSEED": seed,
                "SPYRE_SIM_THREADS": threads,
                "PYTHONPATH": str(clone),
            },
        )
        reports.append((out, digest(tmp_path / name), (tmp_path / f"{name}.graph").read_text()))
    assert reports[0] == reports[1]
    assert str(tmp_path) not in reports[0][2]
