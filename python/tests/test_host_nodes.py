"""Nodes of a compiled graph that run on the CPU between compiled pieces."""

import gc
import re
import threading
import warnings
import weakref

import pytest
import torch
from tolerances import relative_error, tolerance
from torch.special import i0e, i1e

from torch_spyre._inductor.errors import Unsupported
from torch_spyre.ops.fallbacks import FallbackWarning

pytestmark = pytest.mark.usefixtures("only_on_the_cpu")


@pytest.fixture(autouse=True)
def _sorting_is_the_cpus(monkeypatch):
    """Something has to be: here, to compare no pair of elements is allowed."""
    monkeypatch.setattr("torch_spyre.ops.limits.SORTED.most", 0)


def half(*shape, seed=0):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 0.3).half()


def ranks(rows, columns):
    """Integers without ties that the device holds exactly."""
    generator = torch.Generator().manual_seed(3)
    return torch.stack([torch.randperm(columns, generator=generator) for _ in range(rows)]).half()


def run(function, *inputs, nodes, launches=None):
    """Runs on the device; only ``nodes`` graph nodes (None: any number) ran on the CPU."""
    device_inputs = [t.to("spyre") if isinstance(t, torch.Tensor) else t for t in inputs]
    torch.spyre.reset_counters()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        result = torch.compile(function, dynamic=False)(*device_inputs)
    counters = torch.spyre.counters()
    assert counters["fallback_ops"] == 0
    assert nodes is None or counters["graph_fallback_nodes"] == nodes
    if launches is not None:
        assert counters["programs_launched"] == launches
    return result


def wide(tensor):
    return tensor.float() if tensor.dtype == torch.float16 else tensor


def check(function, *inputs, terms, nodes, launches=None, dtype=torch.float16):
    result = run(function, *inputs, nodes=nodes, launches=launches)
    reference = function(*[wide(t) if isinstance(t, torch.Tensor) else t for t in inputs])
    assert result.device.type == "spyre" and result.shape == reference.shape
    error = relative_error(result.cpu().float().numpy(), reference.float().numpy())
    assert error <= tolerance("chain", dtype, terms), error


def test_between_matmuls():
    x, w = half(64, 128), half(128, 64, seed=1)
    result = run(lambda x, w: i0e(x @ w) @ w.t(), x, w, nodes=1, launches=2)
    x, w = x.float(), w.float()
    # Relative to the magnitudes that are summed: the sums cancel.
    magnitude = (x.abs() @ w.abs()) @ w.abs().t()
    error = (result.cpu().float() - i0e(x @ w) @ w.t()).abs() / magnitude
    assert error.max() <= tolerance("matmulOfMatmul", torch.float16, 128)


@pytest.mark.parametrize(
    ("name", "function", "nodes", "launches"),
    [
        ("input only", lambda x: i0e(x) + 1, 1, 1),
        ("returned", lambda x: i0e(x * 2), 1, 1),
        ("several in a row", lambda x: i0e(i1e(i0e(x))) + 1, 3, 1),
        ("one input, two readers", lambda x: i0e(x) + i1e(x), 2, 1),
        ("a view is copied first", lambda x: i0e(x.t()[3:10]), 1, 1),
        ("view of a result", lambda x: i0e(x).t()[3:10] * 1, 1, 1),
        ("attribute", lambda x: torch.pow((x * 0 + 1).bfloat16(), 70001.0).half() + x, 1, 2),
        ("one of a pair", lambda x: torch.kthvalue(x.abs(), 3, 1)[0] + 1, 1, 2),
        ("too many dimensions", lambda x: i0e(x.view([2] * 7 + [8, 8])).view(64, 128) * 2, 3, 1),
        ("empty", lambda x: torch.cat([i0e(x[:0]), x * 2]), 0, 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_numbers(name, function, nodes, launches):
    result = run(function, half(64, 128), nodes=nodes, launches=launches)
    reference = function(half(64, 128).float())
    assert result.device.type == "spyre" and result.shape == reference.shape
    error = relative_error(result.cpu().float().numpy(), reference.numpy())
    assert error <= tolerance("chain", torch.float16, 6), error


def test_several_results_and_indices():
    x = ranks(64, 128)
    values, indices = run(lambda x: torch.sort(x * 2, dim=1), x, nodes=1, launches=1)
    expected = torch.sort(x * 2, dim=1)
    assert indices.dtype == torch.int64 and indices.device.type == "spyre"
    assert torch.equal(values.cpu(), expected[0]) and torch.equal(indices.cpu(), expected[1])


def test_one_of_several_results():
    x = ranks(64, 128)
    result = run(lambda x: torch.kthvalue(x * 2, 70, dim=1)[1], x, nodes=1, launches=1)
    assert torch.equal(result.cpu(), torch.kthvalue(x * 2, 70, dim=1)[1])


def test_index_results_are_moved_by_the_device():
    x = ranks(64, 128)
    result = run(lambda x: torch.sort(x, dim=1)[1][:, 2:7], x, nodes=1, launches=1)
    assert torch.equal(result.cpu(), torch.sort(x, dim=1)[1][:, 2:7])


def test_lists_of_indices():
    x, rows = half(64, 128), torch.tensor([1, 3, 63])
    put = torch.ops.aten.index_put.default
    check(lambda x, i: put(x, [None, i[:2]], x[:, 4:6]) * 2, x, rows, terms=3, nodes=0)


def test_types_the_device_does_not_hold_stay_on_the_host():
    x = half(64, 128)
    check(lambda x: (x.double().exp() * 2).half() + 1, x, terms=6, nodes=4, launches=1)
    counters = torch.spyre.counters()
    # fp16 in, fp16 out: float64 moved nowhere.
    assert counters["fallback_bytes"] == 2 * x.numel() * 2
    assert counters["h2d_bytes"] == x.numel() * 2


def test_complex_values_stay_on_the_host():
    # fp16 itself is no type of the CPU's FFT.
    def function(x):
        return torch.fft.rfft(x.float()).abs().half() + 1

    # At least the transform and abs; the conversions around them may run on either side.
    check(function, half(4, 64), terms=6, nodes=None)
    assert 2 <= torch.spyre.counters()["graph_fallback_nodes"] <= 4


def test_float64_scalars_of_the_caller():
    x, scale = half(64, 128), torch.tensor(2.0, dtype=torch.float64)
    with pytest.warns(FallbackWarning):
        result = torch.compile(lambda x, s: (x.double() * s).half() + 1)(x.to("spyre"), scale)
    error = relative_error(result.cpu().float().numpy(), (x.float() * 2 + 1).numpy())
    assert error <= tolerance("chain", torch.float16, 3)


def test_results_of_other_types_are_refused():
    with pytest.raises(Unsupported, match=r"SPYRE-E6506.*result 1 \(float64\)"):
        run(lambda x: (x + 1, x.double()), half(4, 64), nodes=0)


def test_results_on_the_cpu_are_on_the_cpu():
    x = half(4, 64)
    result = run(lambda x: (x * 2).cpu(), x, nodes=0)
    assert result.device.type == "cpu"
    error = relative_error(result.float().numpy(), (x.float() * 2).numpy())
    assert error <= tolerance("chain", torch.float16, 2)


def test_backward():
    def function(x, w):
        return (i0e(x @ w) * 0.5).cumsum(1).sum()

    x, w = half(32, 64), half(64, 32, seed=1)
    grads = []
    for device in ("cpu", "spyre"):
        leaves = [
            t.detach().to(device) if device == "spyre" else t.detach().float() for t in (x, w)
        ]
        for leaf in leaves:
            leaf.requires_grad_()
        if device == "cpu":
            function(*leaves).backward()
        else:
            torch.spyre.reset_counters()
            with pytest.warns(FallbackWarning) as raised:
                torch.compile(function)(*leaves).backward()
            # One message for the forward graph and one for the backward graph.
            assert len([w for w in raised if w.category is FallbackWarning]) == 2
        grads.append([leaf.grad.cpu().float() for leaf in leaves])
    counters = torch.spyre.counters()
    assert counters["fallback_ops"] == 0
    assert counters["graph_fallback_nodes"] >= 2 and counters["programs_launched"] >= 2
    # d/dx = (cos(x @ w) * steps) @ w.T; relative to the magnitudes that are summed.
    steps = (0.5 * torch.arange(32, 0, -1.0)).expand(32, 32)
    magnitudes = [steps @ w.float().abs().t(), x.float().abs().t() @ steps]
    for spyre, cpu, magnitude in zip(grads[1], grads[0], magnitudes):
        error = ((spyre - cpu).abs() / magnitude).max()
        assert error <= tolerance("matmulOfMatmul", torch.float16, 64), error


def test_random_numbers_are_those_of_eager_mode():
    def function(x):
        return torch.rand(4, 64, device=x.device, dtype=torch.float16) + x

    x = torch.zeros(4, 64).half().to("spyre")
    cpu_state = torch.get_rng_state()
    torch.manual_seed(7)
    first = run(function, x, nodes=1)
    before = torch.get_rng_state()
    second = run(function, x, nodes=1)
    assert torch.equal(torch.get_rng_state(), before), "the CPU's own stream is not disturbed"
    torch.manual_seed(7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        assert torch.equal(first.cpu(), function(x).cpu())
        assert torch.equal(second.cpu(), function(x).cpu())
    assert not torch.equal(first.cpu(), second.cpu())
    torch.set_rng_state(cpu_state)


def test_one_warning_lists_everything():
    def function(x):
        y = i0e(x) + i0e(x * 2)
        return torch.pow(y.bfloat16(), 70001.0).lgamma()

    x = half(4, 64).to("spyre")
    compiled = torch.compile(function)
    with pytest.warns(FallbackWarning) as raised:
        compiled(x)
    (text,) = [str(w.message) for w in raised if w.category is FallbackWarning]
    lines = text.splitlines()
    assert "4 node(s)" in lines[0] and len(lines) == 4
    line = r"test_host_nodes.py:\d+: gate"
    assert re.search(rf"aten.special_i0e.default x2 at {line} 1 \(compatibility\): .*; \d+ bytes", text)
    assert re.search(rf"aten.pow.Tensor_Scalar x1 at {line} 2 \(schema\): .*exponent.*; 512 bytes", text)
    assert re.search(rf"aten.lgamma.default x1 at {line} 1 \(compatibility\)", text)
    moved = int(re.search(r"(\d+) bytes moved per call", text)[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        torch.spyre.reset_counters()
        compiled(x)
    counters = torch.spyre.counters()
    assert counters["fallback_bytes"] == moved
    assert counters["graph_fallback_nodes"] == 4


def test_sizes_that_depend_on_values():
    x = half(4, 64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        # Dynamo cuts the graph there.
        result = torch.compile(lambda x: torch.nonzero(x * 2 > 0) + 0)(x.to("spyre"))
    assert torch.equal(result.cpu(), torch.nonzero(x * 2 > 0))
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        with pytest.raises(Exception, match="SPYRE-E6514.*: aten.nonzero.default; "):
            torch.compile(lambda x: torch.nonzero(x))(x.to("spyre"))


@pytest.fixture(scope="module")
def library():
    @torch.library.custom_op("host_nodes::fails", mutates_args=())
    def fails(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("out of beans")

    @torch.library.custom_op("host_nodes::lies", mutates_args=())
    def lies(x: torch.Tensor) -> torch.Tensor:
        return x[:3].clone()

    @torch.library.custom_op("host_nodes::sees_cpu", mutates_args=())
    def sees_cpu(x: torch.Tensor, ys: list[torch.Tensor], scale: float) -> torch.Tensor:
        assert x.device.type == "cpu" and all(y.device.type == "cpu" for y in ys)
        return x * scale + ys[1]

    for op in (fails, lies):
        op.register_fake(torch.empty_like)
    sees_cpu.register_fake(lambda x, ys, scale: torch.empty_like(x))
    return fails, lies, sees_cpu


def test_custom_operations(library):
    x = half(4, 64)
    result = run(lambda x: library[2](x, [x * 2, x], 3.0) + 1, x, nodes=1)
    error = relative_error(result.cpu().float().numpy(), (x.float() * 4 + 1).numpy())
    assert error <= tolerance("chain", torch.float16, 4)


def test_exceptions_of_a_node_are_the_users(library):
    with pytest.raises(ValueError, match="out of beans"):
        run(lambda x: library[0](x) + 1, half(4, 64), nodes=0)


def test_a_result_that_is_not_as_promised_is_an_error(library):
    with pytest.raises(RuntimeError, match=r"SPYRE-E6515.*\[3, 64\].*\[4, 64\]"):
        run(lambda x: library[1](x) + 1, half(4, 64), nodes=0)


def test_threads():
    compiled = torch.compile(lambda x: i0e(x * 2) * 2)
    inputs = [half(16, 64, seed=i) for i in range(4)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        expected = [compiled(x.to("spyre")).cpu() for x in inputs]
    results = {}

    def work(i):
        for _ in range(5):
            results[i] = compiled(inputs[i].to("spyre")).cpu()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(results[i], expected[i]) for i in range(4))


def test_memory_comes_back():
    x = half(64, 128).to("spyre")
    compiled = torch.compile(lambda x: i0e(x * 2) * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        compiled(x)
    torch.spyre.synchronize()  # what lies between device and CPU parts belongs to the queued work
    before = torch.spyre.memory_allocated()
    for _ in range(3):
        compiled(x)
    torch.spyre.synchronize()
    assert torch.spyre.memory_allocated() == before


def test_graphs_are_collected():
    from torch_spyre._inductor import compile as compiler

    gm = torch.fx.symbolic_trace(lambda x: torch.ops.aten.special_i0e.default(x))
    for node in gm.graph.nodes:
        if node.op != "output":
            node.meta["val"] = torch.empty(4, 64, dtype=torch.float16, device="meta")
    graph = compiler._StaticGraph(gm)
    watched = weakref.ref(graph)
    del graph
    gc.collect()
    assert watched() is None
