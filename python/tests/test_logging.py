"""Logs, reports of failures, times of compilations and rows of torch.profiler."""

import json
import logging
import os

import pytest
import torch

from torch_spyre import ffdc
from torch_spyre import logging as spyre_logging


@pytest.fixture
def logs():
    yield spyre_logging
    spyre_logging.reset()


def test_components_inherit_levels(logs):
    assert logs.list_components()[0] == "spyre" and len(logs.list_components()) == 9
    assert logs.get_log_level("spyre.runtime") == "WARNING"
    assert logs.get_config_source("spyre.runtime") == "default"
    logs.set_log_level("spyre.inductor", "INFO")
    assert logs.get_log_level("spyre.inductor.passes") == "INFO"
    assert logs.get_config_source("inductor.passes") == "api"
    logs.enable("torch_spyre.runtime")
    assert logs.get_log_level("runtime") == "DEBUG"
    logs.disable("spyre.device")
    config = logs.get_effective_config()
    assert config["spyre.device"] == "DISABLED" and config["spyre"] == "WARNING"
    levels, fallback, path = logs.get_config_for_cpp()
    assert levels["runtime"] == 4 and levels["compiler"] == 3 and levels["device"] == 0
    assert fallback == 2 and path == ""


def test_lines_have_the_documented_format(logs, tmp_path, capsys):
    logs.set_log_level("spyre.runtime", logging.INFO)
    logs.set_log_file(tmp_path / "log.txt")
    logs.get_logger("runtime").info("text %d", 3)
    logs.get_logger("runtime").debug("not this")
    assert (tmp_path / "log.txt").read_text() == "[INFO] [spyre.runtime] text 3\n"
    assert logs.get_log_file() == str(tmp_path / "log.txt")
    assert logs.get_output_config()["file"] == logs.get_log_file()
    logs.set_log_file(None)
    assert logs.get_log_file() is None


def test_lines_of_the_libraries_follow_the_levels(logs, tmp_path, capfd):
    x = torch.ones(8, 64, dtype=torch.float16, device="spyre")
    x + x
    torch.spyre.synchronize()
    capfd.readouterr()
    logs.set_log_level("runtime", "DEBUG")
    logs.set_log_file(tmp_path / "log.txt")
    x + x
    torch.spyre.synchronize()
    text = capfd.readouterr().err
    assert "spyre debug runtime launch" in text
    assert "spyre debug runtime launch" in (tmp_path / "log.txt").read_text()
    logs.disable("runtime")
    logs.enable("device")
    logs.enable("execution")
    del x
    torch.ones(3).to("spyre").cpu()
    text = capfd.readouterr().err
    for line in ("device free token=", "device alloc token=", "execution h2d bytes=128 size=[3]"):
        assert f"spyre debug {line}" in text, text
    assert "execution d2h bytes=128 size=[3] layout=(3, [1, 32], [32, 1]" in text
    assert "runtime" not in text
    logs.disable("spyre")
    for name in logs.list_components():
        logs.disable(name)
    torch.ones(3).to("spyre").cpu()
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "action",
    [
        lambda: spyre_logging.set_log_level("nothing", "INFO"),
        lambda: spyre_logging.set_log_level("spyre", "loud"),
        lambda: spyre_logging.set_log_level("spyre", True),
        lambda: spyre_logging.get_log_level("spyre.inductor.other"),
    ],
)
def test_bad_names_and_levels(action):
    with pytest.raises(ValueError):
        action()


def test_a_log_file_that_cannot_be_opened(logs, tmp_path):
    with pytest.raises(OSError):
        logs.set_log_file(tmp_path / "no" / "such" / "folder")
    assert logs.get_log_file() is None


@pytest.mark.parametrize(
    "variables, component, level, source",
    [
        ({"TORCH_LOGS": "+torch_spyre"}, "spyre.runtime", "DEBUG", "TORCH_LOGS"),
        ({"TORCH_LOGS": "torch_spyre.runtime"}, "spyre.runtime", "INFO", "TORCH_LOGS"),
        ({"TORCH_LOGS": "dynamo,-torch_spyre.device"}, "spyre.device", "ERROR", "TORCH_LOGS"),
        ({"TORCH_SPYRE_DEBUG": "1"}, "spyre.inductor", "DEBUG", "environment"),
        ({"SPYRE_INDUCTOR_LOG": "1"}, "spyre.inductor.passes", "INFO", "environment"),
        (
            {"TORCH_SPYRE_DEBUG": "1", "TORCH_LOGS": "torch_spyre"},
            "spyre",
            "INFO",
            "TORCH_LOGS",
        ),
    ],
)
def test_levels_of_the_environment(logs, variables, component, level, source):
    logs.configure(variables)
    assert logs.get_log_level(component) == level
    assert logs.get_config_source(component) == source


def test_torch_takes_the_names(python):
    done = python(
        "import torch; from torch_spyre import logging; "
        "print(logging.get_log_level('runtime'), logging.get_log_level('device'))",
        env={"TORCH_LOGS": "+torch_spyre.runtime"},
        check=False,
    )
    assert done.returncode == 0 and done.stdout == "DEBUG WARNING\n", done.stderr


def test_failures_leave_a_report(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_SPYRE_FFDC", "1")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    assert torch.spyre.get_diagnostic_report() is None
    with pytest.raises(RuntimeError, match="E6105"), ffdc.capture():
        with ffdc.capture(kernel_name="kernel_7"):
            raise RuntimeError("SPYRE-E6105: broken")
    folder = tmp_path / "torch-spyre" / "ffdc_reports"
    (name,) = os.listdir(folder)  # the inner one only
    assert name.startswith("ffdc_runtime_launch_") and name.endswith(f"_{os.getpid()}.json")
    assert oct(folder.stat().st_mode & 0o777) == "0o700"
    assert oct((folder / name).stat().st_mode & 0o777) == "0o600"
    report = torch.spyre.get_diagnostic_report()
    assert report["_report_path"] == str(folder / name)
    assert report["failure"]["exception_type"] == "RuntimeError"
    assert report["failure"]["category"] == "runtime_launch" and report["failure"]["lineno"] > 0
    assert report["runtime"]["kernel_name"] == "kernel_7"
    assert report["environment"]["TORCH_SPYRE_FFDC"] == "1"
    assert report["collector"]["collector_errors"] == []
    assert "runtime.code_dir" in report["collector"]["missing_fields"]


def test_failures_of_eager_operations_and_copies_leave_a_report(tmp_path, python):
    code = """
import glob, json, torch, torch_spyre._C as C
x = torch.ones(64, 64, device="spyre", dtype=torch.float16)
torch.spyre.synchronize()

def fails(function, kind, text):
    known = set(glob.glob("**/ffdc_*.json", recursive=True))
    C._inject_fault(0, kind)
    for _ in range(2):  # the second time the stream repeats the same error
        try:
            function()
            torch.spyre.synchronize()
        except RuntimeError as error:
            assert text in str(error), error
    (path,) = set(glob.glob("**/ffdc_*.json", recursive=True)) - known
    return json.load(open(path))

report = fails(lambda: x + x, "page_fault_store", "SPYRE-E6150")
assert report["runtime"]["kernel_name"] == "aten.add.Tensor"
assert report["failure"]["category"] == "runtime_launch"
assert any("fails" in line for line in report["failure"]["traceback"])
torch.spyre.reset_device()
x = torch.ones(64, 64, device="spyre", dtype=torch.float16)
assert "SPYRE-E6153" in fails(x.cpu, "dma_crc", "SPYRE-E6153")["failure"]["message"]
known = len(glob.glob("**/ffdc_*.json", recursive=True))
try:  # what users give is no failure
    x + torch.ones(64, 64, device="spyre:1", dtype=torch.float16)
except RuntimeError:
    pass
assert len(glob.glob("**/ffdc_*.json", recursive=True)) == known
"""
    python(
        code, cwd=tmp_path, env={"TORCH_SPYRE_FFDC": "1", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    )


@pytest.mark.parametrize(
    "text, category",
    [
        ("SPYRE-E7002: x", "runtime_launch"),
        ("SPYRE-E1006: x", "compile_frontend"),
        ("SPYRE-E2008: x", "compile_frontend"),
        ("SPYRE-E3061: x", "compile_backend"),
        ("SPYRE-E6203: x", "runtime_launch"),
        ("plain", "unknown"),
    ],
)
def test_categories(text, category):
    assert ffdc.category_of(RuntimeError(text)) == category
    from torch_spyre._inductor.errors import Unsupported

    assert ffdc.category_of(Unsupported(text)) == "unimplemented"


def test_reports_are_limited_and_odd_files_ignored(tmp_path):
    for _ in range(53):
        ffdc.write_report(RuntimeError("x"), output_dir=tmp_path)
    assert len(os.listdir(tmp_path)) == 50
    newest = "ffdc_unknown_29990101T000000_000000_1.json"
    (tmp_path / newest).write_text("no json")
    os.symlink("/dev/null", tmp_path / "ffdc_unknown_29990101T000001_000000_1.json")
    os.mkfifo(tmp_path / "ffdc_unknown_29990101T000002_000000_1.json")
    report = torch.spyre.get_diagnostic_report(tmp_path)
    assert report is not None and newest not in report["_report_path"]
    assert torch.spyre.get_diagnostic_report(tmp_path / "nowhere") is None


def test_compiled_graphs_report_and_are_timed(tmp_path, python):
    code = """
import torch, pytest
x = torch.ones(8, 64, dtype=torch.float16, device="spyre")
torch.compile(lambda t: t + t)(x)
@torch.compile(backend="spyre", fullgraph=True)
def broken(t):
    return t + 1
import torch_spyre._inductor.compile as c
c._StaticGraph.__call__ = lambda *a, **k: (_ for _ in ()).throw(RuntimeError("SPYRE-E6105: x"))
try:
    broken(x)
except RuntimeError as error:
    assert "SPYRE-E6105" in str(error)
else:
    raise AssertionError
assert torch.spyre.get_diagnostic_report()["failure"]["category"] == "runtime_launch"
"""
    python(
        code,
        env={
            "TORCH_SPYRE_FFDC": "1",
            "TORCHINDUCTOR_CACHE_DIR": str(tmp_path),
            "TORCH_SPYRE_TIMING": "1",
            "TORCH_SPYRE_TIMING_OUT": str(tmp_path / "times.json"),
        },
    )
    rows = json.loads((tmp_path / "times.json").read_text())
    assert rows and rows[0]["stage"] == "first_call" and rows[0]["seconds"] > 0


def test_profiler_shows_launches_copies_and_memory():
    from torch.profiler import ProfilerActivity, profile

    assert torch.spyre.profiler.is_available()
    x = torch.ones(64, 64, dtype=torch.float16)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        y = x.to("spyre")
        (y + y).cpu()
        torch.spyre.synchronize()
        del y
    events = recorded.events()
    names = [event.name for event in events]
    for name in ("launch::Compute", "launch::H2D", "launch::D2H", "host::synchronize"):
        assert names.count(name) == 1, (name, names)
    memory = [event.self_device_memory_usage for event in events]
    assert max(memory) == 8192
    assert "launch::Compute" in recorded.key_averages().table()
