"""Eager operations: on the device where the compiler knows them, else on the CPU, counted."""

import warnings

import pytest
import torch
from tolerances import relative_error, tolerance

from torch_spyre.ops.fallbacks import FallbackWarning

pytestmark = pytest.mark.usefixtures("only_on_the_cpu")

UNKNOWN = {
    "lgamma": (lambda x: torch.lgamma(x), "aten.lgamma.default"),
    "digamma": (lambda x: torch.digamma(x), "aten.digamma.default"),
    "nonzero": (lambda x: torch.nonzero(x), "aten.nonzero.default"),
    "index by a mask": (lambda x: x[torch.tensor([True, False, True, True, False])], "aten.index.Tensor"),
    "i0": (lambda x: torch.i0(x), "aten.i0.default"),
}


@pytest.fixture
def x():
    return torch.randn(5, 70, generator=torch.Generator().manual_seed(3))


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_unknown_operations_run_on_the_cpu(name, x):
    function, _ = UNKNOWN[name]
    torch.spyre.reset_counters()
    result = function(x.to("spyre"))
    assert result.device.type == "spyre"
    assert torch.equal(result.cpu(), function(x))
    assert torch.spyre.counters()["fallback_ops"] >= 1
    assert torch.spyre.counters()["fallback_bytes"] > 0
    assert torch.spyre.counters()["programs_launched"] == 0


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_fallbacks_are_counted_by_the_name_the_user_called(x):
    y = x.to("spyre")
    torch.spyre.reset_counters()
    torch.lgamma(y), torch.lgamma(y), y.clone().lgamma_()
    assert torch.spyre.fallback_counts() == {"aten.lgamma.default": 3}
    assert torch.spyre.counters()["fallback_bytes"] == 3 * 2 * y.numel() * 4


def test_a_warning_per_operation_and_line(x):
    y = x.to("spyre")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", FallbackWarning)
        for _ in range(3):
            torch.digamma(y)
        torch.digamma(y)
        torch.lgamma(y)
    texts = [str(w.message) for w in caught]
    told = "is falling back to cpu: gate 1 (compatibility): the device has no kernel and no formula for it"
    assert texts == [f"aten.digamma.default {told}"] * 2 + [f"aten.lgamma.default {told}"]
    assert all(w.category is FallbackWarning and w.filename == __file__ for w in caught)


def test_the_warning_can_be_an_error(x):
    y = x.to("spyre")
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        with pytest.raises(FallbackWarning, match="aten.digamma.default is falling back to cpu"):
            torch.digamma(y)


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
class TestMutation:
    def test_in_place(self, x):
        y = x.to("spyre")
        assert y.lgamma_() is y
        assert torch.equal(y.cpu(), x.lgamma())

    def test_in_place_on_a_view(self, x):
        y, z = x.to("spyre"), x.clone()
        y[1:4, 3::2].digamma_()
        z[1:4, 3::2].digamma_()
        assert torch.equal(y.cpu(), z)

    def test_out_arguments(self, x):
        out = torch.empty(0, device="spyre")
        assert torch.lgamma(x.to("spyre"), out=out) is out
        assert torch.equal(out.cpu(), x.lgamma())
        values, indices = torch.empty(0, device="spyre"), torch.empty(
            0, dtype=torch.int64, device="spyre"
        )
        torch.sort(x.to("spyre"), out=(values, indices))
        assert torch.equal(values.cpu(), x.sort()[0])

    def test_overlapping_arguments(self, x):
        y, z = x.to("spyre"), x.clone()
        for t in (y, z):
            t[0].index_add_(0, torch.tensor([1, 2], dtype=torch.int32, device=t.device), t[1, :2])
            t[0, 1:].copy_(t[0, :-1].clone())
            torch.lgamma(t[0, :60], out=t[0, :60])
        assert torch.equal(y.cpu(), z)

    def test_index_put_and_scatter(self, x):
        y, z = x.to("spyre"), x.clone()
        for t in (y, z):
            t[torch.tensor([0, 2]), torch.tensor([1, 1])] = 9.0
            t.scatter_(1, torch.zeros(5, 1, dtype=torch.int64, device=t.device), 7.0)
        assert torch.equal(y.cpu(), z)

    def test_lists(self, x):
        tensors = [x.to("spyre"), x[:2].to("spyre")]
        torch._foreach_lgamma_(tensors)
        assert torch.equal(tensors[0].cpu(), x.lgamma()) and torch.equal(tensors[1].cpu(), x[:2].lgamma())


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_autograd_through_fallbacks(x):
    a = x.to("spyre").requires_grad_()
    b = x.clone().requires_grad_()
    for t in (a, b):
        (t.lgamma() * t.sigmoid()).sum().backward()
    assert a.grad.device.type == "spyre"
    assert relative_error(a.grad.cpu().numpy(), b.grad.numpy()) <= tolerance("chain", torch.float32, 16)


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_a_module_trains_for_one_step():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(8, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))
    data = torch.randn(4, 8)

    def step(model, inputs):
        optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
        model(inputs).square().mean().backward()
        optimiser.step()
        return [p.detach().cpu().clone() for p in model.parameters()]

    import copy

    reference = step(copy.deepcopy(module), data)
    for a, b in zip(step(module.to("spyre"), data.to("spyre")), reference):
        assert relative_error(a.numpy(), b.numpy()) <= tolerance("chain", torch.float32, 32)


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_torchs_own_errors_come_through(x):
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        x.to("spyre") + torch.ones(3, 3, device="spyre")


def half(*shape, seed=0, scale=1.0):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * scale).half()


KNOWN = {
    "add": (lambda a, b: a + b, "pointwise"),
    "mul": (lambda a, b: a * b, "pointwise"),
    "add scalar": (lambda a, b: a + 1.5, "pointwise"),
    "mul scalar": (lambda a, b: 0.25 * a, "pointwise"),
    "exp": (lambda a, b: torch.exp(a), "exp"),
    "where": (lambda a, b: torch.where(a > b, a, b), "select"),
    "mm": (lambda a, b: a @ b.t(), "matmul"),
    "sum": (lambda a, b: a.sum(0), "sum"),
    "amax": (lambda a, b: a.amax(1), "select"),
}


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_known_operations_run_on_the_device(name):
    function, kind = KNOWN[name]
    a, b = half(6, 130), half(6, 130, seed=1)
    torch.spyre.reset_counters()
    result = function(a.to("spyre"), b.to("spyre"))
    counters = torch.spyre.counters()
    assert counters["programs_launched"] >= 1, counters
    assert set(torch.spyre.fallback_counts()) <= {"aten.gt.Tensor"}
    reference = function(a.float(), b.float())
    assert relative_error(result.float().cpu().numpy(), reference.numpy()) <= tolerance(
        kind, a.dtype, 130
    )
    assert result.device_tensor_layout() == torch.empty_like(result).device_tensor_layout()


def test_eager_programs_are_cached_by_geometry_and_constants():
    a = half(6, 130).to("spyre")
    torch.spyre.reset_counters()
    for _ in range(3):
        a + a
    first = torch.spyre.counters()
    assert (
        first["compile_cache_misses"],
        first["compile_cache_hits"],
        first["programs_compiled"],
    ) == (1, 2, 1)
    a + 1.0, a + 2.0, a[:3] + a[:3]
    assert torch.spyre.counters()["compile_cache_misses"] == 4


def test_in_place_and_out_forms_of_known_operations(on_device):
    a, b = half(6, 130), half(6, 130, seed=1)
    x, y = a.to("spyre"), b.to("spyre")
    out = torch.empty(0, dtype=torch.float16, device="spyre")
    with on_device():
        x += y
        x[1:3].mul_(0.5)
        torch.exp(y, out=out)
    reference = a.float() + b.float()
    reference[1:3] *= 0.5
    assert relative_error(x.float().cpu().numpy(), reference.numpy()) <= tolerance(
        "pointwise", a.dtype
    )
    assert relative_error(out.float().cpu().numpy(), b.float().exp().numpy()) <= tolerance(
        "exp", a.dtype
    )
    with pytest.raises(RuntimeError, match="shape|size"):
        y[0].add_(x)


def test_views_as_operands_give_the_values_of_the_view(on_device):
    a = half(70, 130)
    x = a.to("spyre")
    with on_device():
        results = [x.t() + x.t(), x[3:, 5:] * 2.0, x[::2].exp(), x[:, 7] + x[:, 8]]
    f = a.float()
    references = [f.t() + f.t(), f[3:, 5:] * 2.0, f[::2].exp(), f[:, 7] + f[:, 8]]
    for result, reference in zip(results, references):
        assert relative_error(result.float().cpu().numpy(), reference.numpy()) <= tolerance(
            "exp", a.dtype
        )


def _registered(schema, function):
    """An operation of a test with the schema, whose calls on the device run the function on the CPU."""
    from torch_spyre.ops.fallbacks import register_fallback

    name = schema.partition("(")[0]
    torch.library.define(f"spyre_test::{name}", schema[len(name) :])
    torch.library.impl(f"spyre_test::{name}", "cpu", function)
    op = getattr(torch.ops.spyre_test, name).default
    register_fallback(op)(function)
    return op


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_arguments_that_share_memory_share_it_on_the_cpu():
    """The operation writes one view and reads the other, which overlaps it."""

    def shift(target, source):
        for place in range(target.numel()):
            target[place] = source[place] + 1

    op = _registered("shift(Tensor(a!) target, Tensor source) -> ()", shift)
    host = torch.zeros(3, 8)
    device = host.to("spyre")
    for tensor in (host, device):
        op(tensor[1, 1:], tensor[1, :-1])
    assert torch.equal(host[1], torch.arange(8.0)) and torch.equal(device.cpu(), host)


@pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")
def test_lists_of_tensors_that_share_memory_are_written(x):
    def raise_first(tensors):
        tensors[0].add_(1)

    first = _registered("first(Tensor(a!)[] tensors) -> ()", raise_first)
    y = x.to("spyre")
    first([y[0], y[1]])
    expected = x.clone()
    expected[0] += 1
    assert torch.equal(y.cpu(), expected)


def test_a_formula_with_a_fault_is_told(monkeypatch, caplog):
    from torch_spyre._inductor import extensions

    import torch_spyre._C as extension

    def broken(tensor):
        raise KeyError("nothing has this name")

    torch.library.define("spyre_test::broken", "(Tensor x) -> Tensor")
    torch.library.impl("spyre_test::broken", "cpu", lambda x: x + 1)
    torch.library.register_fake("spyre_test::broken", torch.empty_like)
    table = extensions.Extensions.decompositions
    monkeypatch.setattr(
        extensions.Extensions,
        "decompositions",
        lambda self: {**table(self), torch.ops.spyre_test.broken.default: broken},
    )
    extension.clear_eager_cache()
    with pytest.warns(FallbackWarning, match="formula of spyre_test.broken.default failed with KeyError"):
        result = torch.ops.spyre_test.broken(torch.ones(3, device="spyre"))
    assert torch.equal(result.cpu(), torch.full((3,), 2.0))
    assert any(record.exc_info and record.exc_info[0] is KeyError for record in caplog.records)
