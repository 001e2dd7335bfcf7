"""Fields of the configuration: defaults, environment, and what each does."""

import importlib.util
import sys
import warnings

import pytest
import torch
import torch_spyre
from torch_spyre import environment
from torch_spyre._inductor import config, settings

FIELDS = {  # field: default, environment variable, text there, value then
    "lx_planning": (True, "LX_PLANNING", "0", False),
    "co_optimizing_lx_planning": (False, "CO_OPTIMIZING_LX_PLANNING", "1", True),
    "allow_all_ops_in_lx_planning": (False, None, None, None),
    "lx_boundary_clones": (False, "LX_BOUNDARY_CLONES", "1", True),
    "dxp_lx_frac_avail": (0.2, "DXP_LX_FRAC_AVAIL", "0.5", 0.5),
    "layout_solver": ("exact", None, None, None),
    "lx_budget_bytes": (0, None, None, None),
    "lx_pins": ({}, None, None, None),
    "lx_forbidden": ([], None, None, None),
    "sencores": (32, "SENCORES", "8", 8),
    "hbm_planning": (True, "SPYRE_INDUCTOR_MEMORY_PLAN", "no", False),
    "chunk_large_tensors": (False, "CHUNK_LARGE_TENSORS", "1", True),
    "uneven_division": (False, "SPYRE_UNEVEN_DIVISION", "1", True),
    "padding": (True, "SPYRE_PADDING", "0", False),
    "global_stick_optimizer": (True, "GLOBAL_STICK_OPTIMIZER", "0", False),
    "enable_fusion": (True, "SPYRE_INDUCTOR_ENABLE_FUSION", "false", False),
    "max_buckets": (32, "MAX_BUCKETS", "16", 16),
    "min_default_granularity": (4, "MIN_DEFAULT_GRANULARITY", "2", 2),
    "ignore_work_division_hints": (False, "SPYRE_INDUCTOR_IGNORE_HINTS", "1", True),
    "core_id_k_fast_emission": (True, "SPYRE_CORE_ID_K_FAST_EMISSION", "0", False),
    "bundle_symbolic_args": (True, "BUNDLE_SYMBOLIC_ARGS", "0", False),
    "unroll_loops": (True, "UNROLL_LOOPS", "0", False),
    "planner": ("best", "SPYRE_PLANNER", "compat", "compat"),
    "compile_cache": (True, "SPYRE_CACHE", "0", False),
    "cache_dir": ("", "SPYRE_CACHE_DIR", "/x", "/x"),
    "cache_limit_mb": (1024, "SPYRE_CACHE_LIMIT_MB", "7", 7),
    "scratchpad_passes": ([], None, None, None),
    "pass_plugins": ([], "SPYRE_PASS_PLUGINS", "a.so:b.so", ["a.so", "b.so"]),
    "pass_pipelines": ({}, None, None, None),
}
READ = {
    "planner",
    "ignore_work_division_hints",
    "sencores",
    "chunk_large_tensors",
    "uneven_division",
    "padding",
    "core_id_k_fast_emission",
    "bundle_symbolic_args",
    "unroll_loops",
    "hbm_planning",
    "global_stick_optimizer",
    "compile_cache",
    "cache_dir",
    "cache_limit_mb",
    "scratchpad_passes",
    "pass_plugins",
    "pass_pipelines",
    "lx_planning",
    "co_optimizing_lx_planning",
    "allow_all_ops_in_lx_planning",
    "layout_solver",
    "lx_budget_bytes",
    "lx_pins",
    "lx_forbidden",
    "dxp_lx_frac_avail",
}


def loaded():
    """The configuration as a new process would have it."""
    spec = importlib.util.spec_from_file_location("config_under_test", config.__file__)
    module = importlib.util.module_from_spec(spec)
    sys.modules["config_under_test"] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["config_under_test"]
    return module


@pytest.fixture
def clean(monkeypatch):
    for _, variable, _, _ in FIELDS.values():
        if variable:
            monkeypatch.delenv(variable, raising=False)
    return monkeypatch


def test_every_field_has_its_default_and_its_variable(clean):
    module = loaded()
    assert {name: getattr(module, name) for name in FIELDS} == {
        name: row[0] for name, row in FIELDS.items()
    }
    assert set(module._config) == set(FIELDS)
    for _, variable, text, _ in FIELDS.values():
        if variable:
            clean.setenv(variable, text)
    module = loaded()
    for name, (_, variable, _, value) in FIELDS.items():
        assert not variable or getattr(module, name) == value, name


def test_the_printed_table_tells_the_defaults_of_the_fields():
    for name, (default, variable, text, value) in FIELDS.items():
        if variable and not isinstance(default, list):
            assert environment.get(variable, {}) == default, name
            assert environment.get(variable, {variable: text}) == value, name


def test_empty_variables_are_none(clean):
    for _, variable, _, _ in FIELDS.values():
        if variable and variable != "SENCORES":
            clean.setenv(variable, "")
    module = loaded()
    for name, (default, *_) in FIELDS.items():
        assert getattr(module, name) == default, name


@pytest.mark.parametrize(
    "variable, text",
    [("SENCORES", "33"), ("SENCORES", "x"), ("SENCORES", ""), ("LX_PLANNING", "2"), ("SPYRE_PLANNER", "worst")],
)
def test_wrong_variables_are_named(clean, variable, text):
    clean.setenv(variable, text)
    with pytest.raises(ValueError, match=f"SPYRE-E6508: {variable}"):
        loaded()


def compiled(**patch):
    """Artifacts of a graph with transposed reads and several intermediates."""

    def function(x, y):
        a = (x + y.t()).exp()
        b = (a * 2.0).t() + y
        return (b.exp() @ a).relu().sum(0)

    x = torch.arange(64 * 128).reshape(64, 128).half() / 8192
    torch._dynamo.reset()
    with torch.no_grad(), config.patch(**patch):
        result = torch.compile(function)(x.to("spyre"), x.t().contiguous().to("spyre"))
    counters = torch.spyre.counters()
    assert counters["fallback_ops"] == 0 and counters["graph_fallback_nodes"] == 0
    return torch_spyre.last_compile().artifacts, result.cpu()


def pool_bytes(artifacts):
    import json

    return json.loads(artifacts["model.json"])["pool_bytes"]


def test_fields_that_reach_the_compiler(on_device):
    assert READ | set(settings.NOT_READ) == set(FIELDS) and not READ & set(settings.NOT_READ)
    with on_device():
        alone, expected = compiled(sencores=1, lx_planning=False)
        planned, result = compiled(sencores=1)
        assert torch.equal(result, expected)
        assert pool_bytes(alone) > pool_bytes(planned), "what stays in LX needs no pool"
        base, expected = compiled(lx_planning=False)
        apart, result = compiled(hbm_planning=False, lx_planning=False)
        assert torch.equal(result, expected)
        assert pool_bytes(apart) > pool_bytes(base), "no place is used twice"
        one, result = compiled(sencores=1, lx_planning=False)
        assert torch.equal(result, expected) and one != base


def test_layouts_of_each_operation_for_itself():
    """The sum could follow either operand; only what comes later says which is better."""

    def function(a, b, c):
        s = c.t() + a
        return ((s + a).t() + b).exp(), s.t() + s

    copies, results = {}, {}
    x = torch.arange(128 * 128).reshape(128, 128).half() / 16384
    for whole in (True, False):
        torch._dynamo.reset()
        with config.patch(global_stick_optimizer=whole), torch.no_grad():
            inputs = [(x * scale).to("spyre") for scale in (1.0, 0.5, 0.25)]
            results[whole] = [r.cpu() for r in torch.compile(function)(*inputs)]
        artifacts = torch_spyre.last_compile().artifacts
        specs = b"".join(v for k, v in artifacts.items() if k.endswith("op_spec.txt"))
        copies[whole] = specs.count(b"ReStickifyOpHBM")
    assert copies[True] < copies[False], copies
    assert all(torch.equal(a, b) for a, b in zip(*results.values()))


@pytest.mark.parametrize("name", sorted(settings.NOT_READ))
def test_fields_without_effect_say_so_once(name):
    default, _, _, value = FIELDS[name]
    assert value != default
    settings._warned.discard(name)
    x = torch.ones(4, 64).half().to("spyre")
    with config.patch({name: value}), torch.no_grad():
        with pytest.warns(UserWarning, match=f"config.{name} = .* has no effect"):
            torch.compile(lambda t: t.exp())(x)
        torch._dynamo.reset()
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*has no effect.*")
            torch.compile(lambda t: t.exp())(x)


def test_a_chosen_solver_is_honoured():
    """The default is the planner's own; whoever writes "exact" gets it, with the documented planner, too."""
    with config.patch(planner="compat"):
        assert settings.eager().lx_solver == ""
        with config.patch(layout_solver="exact"):
            assert settings.eager().lx_solver == "exact"
        assert settings.eager().lx_solver == "", "a patch that ended is no choice"
        assert not settings.eager().lx_all_ops
    assert config.layout_solver == "exact" and settings.eager().lx_solver == ""


@pytest.mark.parametrize("planner", ["best", "compat"])
def test_the_solver_that_runs_is_the_chosen_one(planner):
    x = torch.ones(128, 256).half().to("spyre")
    for solver in ("exact", "greedy", "firstfit", "bestfit-lifetime"):
        torch._dynamo.reset()
        with config.patch(planner=planner, layout_solver=solver), torch.no_grad():
            plan = torch_spyre.explain(lambda t: t.exp().abs().sum(0), x).scratchpads
        total = [e for e in plan if e["subject"] == "all"]
        assert total and f"solver {solver}," in total[0]["detail"]


def test_the_documented_planner_keeps_the_documented_results_only():
    x = torch.ones(128, 256).half().to("spyre")

    def neg_stays(**patch):
        torch._dynamo.reset()
        with config.patch(planner="compat", sencores=1, **patch), torch.no_grad():
            plan = torch_spyre.explain(lambda t: (-t).abs().sum(0), x).scratchpads
        entries = [e for e in plan if e["subject"] == "t0"]
        assert len(entries) == 1
        return entries[0]

    barred = neg_stays()
    assert not barred["taken"] and barred["reason"] == "op-not-allowed", barred
    assert neg_stays(allow_all_ops_in_lx_planning=True)["taken"]


@pytest.mark.parametrize(
    "name, value",
    [
        ("planner", "x"),
        ("layout_solver", "x"),
        ("sencores", 0),
        ("lx_budget_bytes", -1),
        ("lx_pins", {"t0": "here"}),
        ("lx_pins", ["t0"]),
        ("lx_forbidden", "t0"),
    ],
)
def test_impossible_values_are_refused(name, value):
    x = torch.ones(4, 64).half().to("spyre")
    with config.patch({name: value}), torch.no_grad():
        with pytest.raises(Exception, match=f"SPYRE-E6508: config.{name}"):
            torch.compile(lambda t: t.exp())(x)
