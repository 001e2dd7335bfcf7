"""Compilations on several threads: each gets its own results, and other threads see nothing of a capture."""

import threading

import pytest
import torch
import torch_spyre
from tolerances import tolerance

from torch_spyre import device_module
from torch_spyre._inductor import patches


def half(*shape, seed=0):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)).half()


def together(*functions):
    """Calls all at once on threads of their own; returns their results in order."""
    results, errors = [None] * len(functions), []
    start = threading.Barrier(len(functions))

    def run(number):
        start.wait()
        try:
            results[number] = functions[number]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


def test_a_compilation_returns_its_own_record(monkeypatch):
    """Another thread compiles between the end of a compilation and the question for its record."""
    kept = []
    make = torch_spyre._C.CompiledGraph
    monkeypatch.setattr(torch_spyre._C, "CompiledGraph", lambda *given: kept.append(make(*given)) or kept[-1])
    x = half(8, 64).to("spyre")
    with torch.no_grad():
        first = torch.compile(lambda t: t.exp().exp())(x)
        second = torch.compile(lambda t: t.tanh().tanh())(x)
    assert first.shape == second.shape and len(kept) == 2
    assert "aten.exp" in kept[0].record.graph and "aten.tanh" in kept[1].record.graph
    assert torch_spyre.last_compile().name == kept[1].record.name
    record = kept[0].compile([x])
    assert "aten.exp" in record.graph and "aten.tanh" not in record.graph


def test_explanations_on_two_threads_do_not_mix():
    x = half(8, 64).to("spyre")

    def explained(function):
        return lambda: [torch_spyre.explain(function, x) for _ in range(3)]

    def rows(explanation):
        return {row["name"].split(".")[0] for row in explanation.operations}

    together(lambda: (x + x).cpu(), lambda: (x * x).cpu())
    exps, tanhs = together(explained(lambda t: t.exp().exp()), explained(lambda t: t.tanh().tanh()))
    for explanation in exps + tanhs:
        assert len(explanation.graphs) == 1
    assert all("exp" in str(e) and "tanh" not in str(e) for e in exps)
    assert all("tanh" in str(e) and "exp" not in str(e).replace("explain", "") for e in tanhs)


def test_an_explanation_has_the_backward_pass_of_its_thread_and_no_eager_operations():
    x = half(8, 64).to("spyre").requires_grad_()

    def function(t):
        (t * t).sum().backward()
        return t.grad

    explanation = torch_spyre.explain(function, x)
    names = [name for name, _ in explanation.graphs]
    assert names and all(name.startswith("graph_") for name in names)
    eager = torch_spyre.explain(lambda t: torch.ops.spyre.softplus(t, 1.0, 20.0), x.detach())
    assert all(name.startswith("graph_") for name, _ in eager.graphs)


def test_eager_operations_of_our_own_are_not_graphs():
    torch_spyre._C.clear_eager_cache()
    x = half(8, 64).to("spyre")
    with torch_spyre._C.CompileLog() as log:
        torch.ops.spyre.gelu(x)
    assert log.records and all(record.is_eager for record in log.records)
    with torch_spyre._C.CompileLog() as outer:
        with torch_spyre._C.CompileLog() as inner, torch.no_grad():
            torch.compile(lambda t: t * 3)(x)
    assert [record.is_eager for record in inner.records] == [False] and outer.records == []


def test_other_threads_keep_the_types_they_compute_in():
    import torch._prims_common as prims

    entered, left = threading.Event(), threading.Event()
    seen = []

    def watch():
        entered.wait()
        seen.append(prims.get_computation_dtype(torch.float16))
        seen.append(torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed())
        left.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    with patches.capture_scope():
        assert prims.get_computation_dtype(torch.float16) == torch.float16
        entered.set()
        left.wait()
    watcher.join()
    assert seen == [torch.float32, False]
    assert prims.get_computation_dtype(torch.float16) == torch.float32


@pytest.mark.parametrize(
    "options, dynamic",
    [
        ({}, True),
        ({"is_causal": True}, False),
        ({"scale": -0.3}, False),
        ({"dropout_p": 0.1}, False),
        ({"enable_gqa": True}, True),
    ],
)
def test_attention_with_gradients_is_captured_in_half(options, dynamic):
    graphs = []

    def backend(gm, example_inputs):
        from functorch.compile import make_boxed_func
        from torch._dynamo.backends.common import aot_autograd

        from torch_spyre._inductor import extensions

        def note(graph, _inputs):
            graphs.append(graph)
            return make_boxed_func(graph.forward)

        with extensions.capturing() as active:
            return aot_autograd(fw_compiler=note, decompositions=active.decompositions())(gm, example_inputs)

    heads = 2 if options.get("enable_gqa") else 4
    q, k, v = (half(2, h, 8, 16, seed=s).to("spyre").requires_grad_() for s, h in ((0, 4), (1, heads), (2, heads)))
    attention = torch.nn.functional.scaled_dot_product_attention
    torch.compile(lambda *qkv: attention(*qkv, **options), backend=backend, dynamic=dynamic)(q, k, v)
    # The formula of softmax's gradient sums products, so it is in fp32.
    values = [node.meta.get("val") for node in graphs[0].graph.nodes]
    types = {value.dtype for value in values if isinstance(value, torch.Tensor)}
    assert torch.float16 in types and torch.float32 not in types


def test_attention_with_a_negative_scale(on_device):
    q, k, v = (half(1, 2, 8, 16, seed=s).to("spyre").requires_grad_() for s in range(3))
    attention = torch.nn.functional.scaled_dot_product_attention
    with on_device():
        result = attention(q, k, v, scale=-0.3)
    expected = attention(*(t.detach().cpu().float() for t in (q, k, v)), scale=-0.3)
    error = (result.detach().cpu().float() - expected).abs().max() / expected.abs().max()
    assert error <= tolerance("chain", torch.float16, 6), float(error)


def test_what_waits_for_the_device_is_done_once_and_in_order(monkeypatch):
    done = []
    monkeypatch.setattr(device_module._C, "is_started", lambda: False)
    for number in range(100):
        device_module._lazy_call(lambda number=number: done.append(number))
    assert done == []
    monkeypatch.undo()
    together(*[device_module._lazy_init] * 4)
    assert done == list(range(100))


def test_programs_of_sizes_that_were_not_used_for_long_are_dropped(monkeypatch):
    from torch_spyre._inductor import compile as compiler

    graphs = []
    original = compiler._SpecialisedGraph.__init__

    def init(self, *given):
        original(self, *given)
        graphs.append(self)

    monkeypatch.setattr(compiler._SpecialisedGraph, "__init__", init)
    monkeypatch.setattr(compiler, "_KEPT_SIZES", 3)
    compiled = torch.compile(lambda t: t * 2, dynamic=True)
    with torch.no_grad():
        for length in (4, 5, 6, 4, 7, 8, 4):
            x = torch.arange(length * 64).reshape(length, 64).half()
            assert torch.equal(compiled(x.to("spyre")).cpu(), x * 2)
    (graph,) = graphs
    assert len(graph._graphs) == 3
    torch.spyre.reset_counters()
    with torch.no_grad():
        compiled(half(4, 64).to("spyre")), compiled(half(8, 64).to("spyre"))
    assert torch.spyre.counters()["programs_compiled"] == 0
