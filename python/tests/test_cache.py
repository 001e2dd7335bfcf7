"""Compiled models outlive the process: a second one finds what the first compiled."""

import itertools
import json
import os
import pathlib
import subprocess
import sys

import pytest
import torch
import torch_spyre
from conftest import run_python
from torch_spyre._inductor import config, settings

BIN = pathlib.Path(__file__).resolve().parents[2] / "build" / "bin"

PROGRAM = """
import hashlib, json, torch
import torch_spyre
def f(x):
    return (x @ x).exp() * 0.25
x = (torch.arange(64 * 64).reshape(64, 64) % 7 * 0.03125).half()
device = x.to("spyre")
with torch.no_grad():
    result = torch.compile(f)(device)
c = torch.spyre.counters()
assert c["fallback_ops"] == 0 and c["graph_fallback_nodes"] == 0 and c["programs_launched"] > 0, c
record = torch_spyre.last_compile()
digest = hashlib.sha256()
for name, contents in sorted(record.artifacts.items()):
    digest.update(name.encode() + b"\\0" + contents)
print(json.dumps({
    "compiled": c["programs_compiled"], "hits": c["compile_cache_hits"],
    "misses": c["compile_cache_misses"], "kept": record.from_cache,
    "bytes": digest.hexdigest(), "decisions": len(record.decisions),
    "result": hashlib.sha256(result.cpu().numpy().tobytes()).hexdigest()}))
"""


def run(folder):
    env = {"SPYRE_CACHE": "1", "SPYRE_CACHE_DIR": str(folder)}
    return json.loads(run_python(PROGRAM, env=env))


def files(folder):
    return sorted(path for path in pathlib.Path(folder).rglob("*") if path.is_file())


@pytest.fixture
def warm(tmp_path):
    """A folder with the program in it, and what its compilation said."""
    return tmp_path, run(tmp_path)


def test_second_process_finds_the_same_bytes(warm):
    folder, first = warm
    assert (first["compiled"], first["hits"], first["misses"], first["kept"]) == (1, 0, 1, False)
    second = run(folder)
    assert (second["compiled"], second["hits"], second["misses"], second["kept"]) == (0, 1, 0, True)
    for what in ("bytes", "decisions", "result"):
        assert second[what] == first[what]


def compile_here(folder, factor=0.25, transpose=False, **settings):
    """Programs compiled and artifacts, in this process, as a new function."""
    x = (torch.arange(64 * 64).reshape(64, 64) % 7 * 0.03125).half().to("spyre")
    torch._dynamo.reset()
    torch.spyre.reset_counters()
    with config.patch(compile_cache=True, cache_dir=str(folder)), config.patch(settings):
        with torch.no_grad():
            torch.compile(lambda a, b: (a @ b).exp() * factor)(x, x.t() if transpose else x)
    counters = torch.spyre.counters()
    assert counters["programs_compiled"] == counters["compile_cache_misses"]
    assert counters["compile_cache_hits"] == 1 - counters["programs_compiled"]
    return counters["programs_compiled"], torch_spyre.last_compile().artifacts


def test_damaged_entries_are_compiled_again(tmp_path):
    compiled, artifacts = compile_here(tmp_path)
    assert compiled == 1
    (path,) = files(tmp_path)
    whole = path.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 4]) + whole[middle + 1 :]
    for damaged in (whole[:middle], flipped, b"not an entry", b""):
        path.write_bytes(damaged)
        assert compile_here(tmp_path) == (1, artifacts)
        assert path.read_bytes() == whole, "stored again, the same"
    assert compile_here(tmp_path) == (0, artifacts)


#: Settings that change, or may change, what is compiled.
_CHANGES = (
    {"factor": 0.5},
    {"transpose": True},
    {"sencores": 4},
    {"lx_planning": False},
    {"co_optimizing_lx_planning": True},
    {"allow_all_ops_in_lx_planning": True},
    {"dxp_lx_frac_avail": 0.3},
    {"layout_solver": "greedy"},
    {"lx_budget_bytes": 1 << 18},
    {"hbm_planning": False},
    {"chunk_large_tensors": True},
    {"uneven_division": True},
    {"padding": False},
    {"global_stick_optimizer": False},
    {"core_id_k_fast_emission": False},
    {"bundle_symbolic_args": False},
    {"unroll_loops": False},
    {"planner": "compat"},
)


#: Settings outside of the key: wishes about one program, places of entries, and settings without an effect.
_OTHERS = {
    *("lx_pins", "lx_forbidden", "pass_plugins", "pass_pipelines", "ignore_work_division_hints"),
    *("compile_cache", "cache_dir", "cache_limit_mb"),
    "scratchpad_passes",  # nothing is kept of what they take part in
    *settings.NOT_READ,
}


def test_every_setting_is_part_of_the_key_or_is_known_not_to_be():
    assert {*itertools.chain(*_CHANGES)} - {"factor", "transpose"} | _OTHERS == set(config._config)


def test_changes_are_misses(tmp_path):
    compile_here(tmp_path)
    for change in _CHANGES:
        assert compile_here(tmp_path, **change)[0] == 1, change
        assert compile_here(tmp_path, **change)[0] == 0, change


def test_another_back_end_is_a_miss(tmp_path, monkeypatch):
    _, own = compile_here(tmp_path)
    monkeypatch.setenv("SPYRE_BACKEND_CMD", str(BIN / "spyre-backend"))
    assert compile_here(tmp_path) == (1, own)
    assert compile_here(tmp_path) == (0, own)


def test_a_folder_nobody_can_write_is_no_error(tmp_path):
    (tmp_path / "file").write_text("x")
    for folder in ("/proc/none", tmp_path / "file"):
        assert compile_here(folder)[0] == 1


def test_switched_off(tmp_path):
    assert compile_here(tmp_path, compile_cache=False)[0] == 1
    with torch.compiler.config.patch(force_disable_caches=True):
        assert compile_here(tmp_path)[0] == 1
    assert files(tmp_path) == []


def test_default_folder_is_below_the_users_cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compile_here("")[0] == 1
    assert len(files(tmp_path / "openspyre")) == 1


def test_processes_at_once(tmp_path):
    env = {**os.environ, "SPYRE_CACHE": "1", "SPYRE_CACHE_DIR": str(tmp_path)}
    both = [
        subprocess.Popen([sys.executable, "-c", PROGRAM], env=env, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    results = [json.loads(process.communicate()[0]) for process in both]
    assert results[0]["bytes"] == results[1]["bytes"]
    assert results[0]["result"] == results[1]["result"]
    assert len(files(tmp_path)) == 1, "one entry, no temporary file"
    assert run(tmp_path)["compiled"] == 0


def test_eager_operations_are_kept_too(tmp_path):
    x = torch.full((8, 64), 0.5).half().to("spyre")
    with config.patch(compile_cache=True, cache_dir=str(tmp_path)):
        (x.exp() + 0.8125).cpu()
    assert len(files(tmp_path)) == 2
