"""Sizes that change between calls: one capture, one program per geometry, numbers right (F13)."""

import copy
import random

import pytest
import torch
from torch.utils._pytree import tree_leaves
from test_models import WIDTH, Decoder, Llama, half, make
from tolerances import relative_error, tolerance

import torch_spyre._C as C
from torch_spyre._inductor import config

GEOMETRIES = [(8, 64, 64), (9, 70, 65), (33, 130, 40)]


def shuffled(items, times=3):
    calls = list(items) * times
    random.Random(20).shuffle(calls)
    return calls


def captures():
    """Graphs Dynamo has captured since the last reset."""
    from torch._dynamo.utils import counters

    return counters["stats"]["unique_graphs"]


@pytest.fixture(autouse=True)
def _fresh_counts():
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    torch.spyre.reset_counters()


def close(result, reference, what=""):
    error = relative_error(result.detach().float().cpu().numpy(), reference.detach().numpy())
    assert error <= tolerance("acceptance", torch.float16), (what, error)


def check_counts(programs, calls, graphs=1):
    counters = torch.spyre.counters()
    assert counters["programs_compiled"] == counters["compile_cache_misses"] == programs
    assert counters["compile_cache_hits"] == calls - programs
    assert counters["fallback_ops"] == counters["graph_fallback_nodes"] == 0
    assert captures() == graphs


def scores(x, y):
    return torch.softmax(x @ y, -1).sum(0) + x.shape[0]


def matrices(m, k, n, call):
    return half(m, k, seed=call), (half(k, n, seed=100 + call).float() * k**-0.5).half()


@pytest.mark.parametrize("how", ["dynamic=True", "mark_dynamic"])
def test_three_geometries_in_any_order(how):
    compiled = torch.compile(scores, dynamic=True if how == "dynamic=True" else None)
    seen = set()
    for call, geometry in enumerate(shuffled(GEOMETRIES)):
        x, y = matrices(*geometry, call)
        a, b = x.to("spyre"), y.to("spyre")
        if how == "mark_dynamic":
            for tensor in (a, b):
                torch._dynamo.mark_dynamic(tensor, [0, 1])
        close(compiled(a, b), scores(x.float(), y.float()), geometry)
        seen.add(geometry)
        check_counts(len(seen), call + 1)


def test_sizes_found_to_change_cost_one_more_capture():
    """And one more program: the first geometry was compiled for a graph of its own."""
    compiled = torch.compile(scores)
    for call, geometry in enumerate(GEOMETRIES * 3):
        x, y = matrices(*geometry, call)
        close(compiled(x.to("spyre"), y.to("spyre")), scores(x.float(), y.float()), geometry)
    check_counts(4, 9, graphs=2)


def test_layouts_and_geometries_are_told_apart_without_dynamo():
    """3 geometries in 2 layouts: the callable finds the program, Dynamo sees one graph."""
    compiled = torch.compile(lambda x: (x * 0.5).exp(), dynamic=True)
    kinds = [(m, n, order) for m, _, n in GEOMETRIES for order in ((0, 1), (1, 0))]
    for call, (m, n, order) in enumerate(shuffled(kinds)):
        x = half(m, n, seed=call)
        layout = C.SpyreTensorLayout([m, n], [n, 1], torch.float16, list(order))
        close(compiled(x.to("spyre", device_layout=layout)), (x.float() * 0.5).exp(), (m, n, order))
    check_counts(6, 18)


def test_strides_are_told_apart(on_device):
    compiled = torch.compile(lambda x: x * 2, dynamic=True)
    for call, (m, _, n) in enumerate(shuffled(GEOMETRIES)):
        x = half(m, n, seed=call)
        given = x.to("spyre").t() if call % 2 else x.to("spyre")
        close(compiled(given), (x.t() if call % 2 else x).float() * 2)
    assert torch.spyre.counters()["programs_compiled"] <= 6


def test_one_token_of_rows_of_any_length_is_one_program(on_device):
    """The stride between rows grows, but there is one row: decoders with a static cache take positions like that."""
    table = half(WIDTH, 16, seed=1)
    compiled = torch.compile(lambda place, table: table[place] * 2)
    weights = table.to("spyre")
    with on_device():
        for length in range(5, 12):
            places = torch.arange(length)[None].to("spyre")[:, -1:]
            close(compiled(places, weights), table[length - 1].float() * 2, length)
    assert captures() == 2
    assert torch.spyre.counters()["programs_compiled"] == 2


def test_a_block_with_any_number_of_tokens():
    host = make(Llama)
    compiled = torch.compile(copy.deepcopy(host).to("spyre"), dynamic=True)
    host = host.float()
    with torch.no_grad():
        for call, tokens in enumerate(shuffled([5, 12, 17])):
            x = half(2, tokens, WIDTH, seed=call)
            close(compiled(x.to("spyre")), host(x.float()), tokens)
    check_counts(3, 9)


def test_positions_of_a_cache():
    host = make(Decoder)
    device = copy.deepcopy(host).to("spyre")
    host = host.float()
    compiled = torch.compile(device, dynamic=True)
    with torch.no_grad():
        for call, position in enumerate([2, 3, 4, 5, 4, 3]):
            x = half(2, 1, WIDTH, seed=call)
            close(compiled(x.to("spyre"), position), host(x.float(), position), position)
    close(device.keys, host.keys)
    check_counts(4, 6)


def test_mutated_inputs():
    def function(x, y):
        x.mul_(0.5).add_(y)
        return x.shape[0]

    compiled = torch.compile(function, dynamic=True)
    for call, (m, _, n) in enumerate(shuffled(GEOMETRIES)):
        x, y = half(m, n, seed=call), half(n, seed=call + 50)
        device = x.to("spyre")
        assert compiled(device, y.to("spyre")) == m
        close(device, x.float() * 0.5 + y.float())
    check_counts(3, 9)


def test_gradients():
    compiled = torch.compile(lambda x, y: (x @ y).sigmoid().sum(), dynamic=True)
    for call, geometry in enumerate(shuffled(GEOMETRIES, 2)):
        tensors = matrices(*geometry, call)
        host = [t.float().requires_grad_() for t in tensors]
        device = [t.to("spyre").requires_grad_() for t in tensors]
        (host[0] @ host[1]).sigmoid().sum().backward()
        compiled(*device).backward()
        for a, b in zip(device, host):
            close(a.grad, b.grad, geometry)
    assert captures() == 1 and torch.spyre.counters()["programs_compiled"] == 6
    assert torch.spyre.counters()["fallback_ops"] == 0


def test_constants_of_the_graph():
    """Known positions and a table of numbers in a graph of any size."""

    def function(cache, rows):
        cache.index_copy_(1, torch.tensor([1, 3], device=cache.device), rows)
        return cache.sum(1) * torch.tensor([0.5, 0.25] * 32, device=cache.device).half()

    compiled = torch.compile(function, dynamic=True)
    for call, batch in enumerate(shuffled([2, 3, 5])):
        cache, rows = half(batch, 8, 64, seed=call), half(batch, 2, 64, seed=call + 50)
        device, host = cache.to("spyre"), cache.float()
        result = compiled(device, rows.to("spyre"))
        host.index_copy_(1, torch.tensor([1, 3]), rows.float())
        close(device, host, batch)
        close(result, host.sum(1) * torch.tensor([0.5, 0.25] * 32), batch)
    check_counts(3, 9)


def rows(x, w):
    return torch.relu(x @ w) * 2


def marked(tensor, least, largest, dim=0):
    torch._dynamo.mark_dynamic(tensor, dim, min=least, max=largest)
    return tensor


def decided(reason):
    decisions = C.last_compile().decisions
    return [d for d in decisions if d["reason"] == reason]


def divisions():
    """What each operation of the last program is divided into: "c0 8, c1 2 on 16 of 32 cores"."""
    decisions = C.last_compile().decisions
    return [
        d["detail"].split(" at ")[0]
        for d in decisions
        if d["stage"] == "work-distribution" and " of 32 cores" in d["detail"]
    ]


@pytest.mark.parametrize("planner", ["best", "compat"])
def test_sizes_up_to_a_largest_one_are_divided_alike(planner):
    """Steps of 128 up to 1024: one program each, the same slices in all, numbers right."""
    compiled = torch.compile(rows)
    weight = half(256, 128, seed=7).float().mul(1 / 16).half()
    plans = []
    with config.patch(planner=planner):
        for call, count in enumerate([128, 256, 1024, 384]):
            x = half(count, 256, seed=call)
            result = compiled(marked(x.to("spyre"), 128, 1024), weight.to("spyre"))
            close(result, rows(x.float(), weight.float()), count)
            assert len(decided("all-sizes")) == 3, C.last_compile().decisions
            assert "128, 256, ... 1024" in decided("one-of-sizes")[0]["detail"]
            plans.append(divisions())
    assert plans[0] and all(plan == plans[0] for plan in plans)
    check_counts(4, 4)


def test_a_size_between_the_steps_is_divided_for_itself():
    compiled = torch.compile(rows)
    x, weight = half(200, 256), half(256, 128, seed=7).float().mul(1 / 16).half()
    close(
        compiled(marked(x.to("spyre"), 128, 1024), weight.to("spyre")),
        rows(x.float(), weight.float()),
    )
    assert "200, which is none of 128, 256, ... 1024" in decided("other-size")[0]["detail"]
    assert not decided("all-sizes")


def test_sizes_of_sticks_are_divided_for_themselves():
    compiled = torch.compile(lambda x: x.exp())
    for columns in (128, 512):
        x = half(64, columns)
        close(compiled(marked(x.to("spyre"), 128, 512, dim=1)), x.float().exp(), columns)
        assert "cut in sticks" in decided("own-size")[0]["detail"]


def test_steps_that_do_not_divide_the_largest_size_are_an_error():
    compiled = torch.compile(rows)
    x, weight = half(200, 256), half(256, 128)
    with pytest.raises(Exception, match="SPYRE-E3075.*steps of 100 up to 1024"):
        compiled(marked(x.to("spyre"), 100, 1024), weight.to("spyre"))


def test_bounds_that_torch_found_are_no_steps(on_device):
    """A branch bounds the size; nobody asked for all between."""

    def function(x):
        return x * 2 if 65 < x.shape[0] < 129 else x

    compiled = torch.compile(function, dynamic=True)
    x = half(70, 64)
    with on_device():
        close(compiled(x.to("spyre")), x.float() * 2)
    assert not decided("all-sizes") and not decided("other-size")


def test_sizes_beyond_the_largest_one_are_refused_by_torch():
    compiled = torch.compile(rows)
    x, weight = half(2048, 256), half(256, 128)
    with pytest.raises(Exception, match=r"2048 not in range \[128, 1024\]"):
        compiled(marked(x.to("spyre"), 128, 1024), weight.to("spyre"))


# A number that changes from call to call becomes a symbol, and a result that is a part of an argument is one that torch
# makes again from where ours begins.
PARTS = {
    "select": lambda x, n: x.select(0, n),
    "rows": lambda x, n: x[n:] if n > 0 else x[:n],
    "turned": lambda x, n: x.transpose(0, 1)[1, n],
    "with another": lambda x, n: (x.select(1, n), (x * 2).sum()),
    "stored before": lambda x, n: (x.add_(1), x.select(0, n))[1],
    "stored after": lambda x, n: (x.select(0, n), x.mul_(2))[0],
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_arguments_begin_where_they_do(name):
    function = PARTS[name]
    compiled = torch.compile(function)
    for number in (1, 2, -1, 3, -2):
        x = torch.arange(125.0).reshape(5, 5, 5)
        device = x.to("spyre")
        results, wanted = compiled(device, number), function(x, number)
        for result, want in zip(tree_leaves(results), tree_leaves(wanted), strict=True):
            assert torch.equal(result.cpu(), want), number
        assert torch.equal(device.cpu(), x)
        part = tree_leaves(results)[0]
        assert part.untyped_storage().data_ptr() == device.untyped_storage().data_ptr(), "shares its memory, as in torch"


def test_parts_of_arguments_have_gradients():
    compiled = torch.compile(lambda x, n: (x.select(0, n), (x * 2).sum()))
    for number in (0, 2, -1, 3):
        x = torch.arange(125.0).reshape(5, 5, 5)
        device = x.to("spyre").requires_grad_()
        part, total = compiled(device, number)
        assert torch.equal(part.detach().cpu(), x.select(0, number))
        (part.sum() + total).backward()
        wanted = torch.full_like(x, 2.0)
        wanted.select(0, number).add_(1)
        assert torch.equal(device.grad.cpu(), wanted)


def test_meshes_of_other_sizes():
    compiled = torch.compile(lambda *t, indexing: torch.meshgrid(*t, indexing=indexing))
    for sizes in ((3, 0), (3, 2), (4, 0), (4, 5)):
        given = [torch.arange(n) if n else torch.tensor(7) for n in sizes]
        for indexing in ("xy", "ij"):
            results = compiled(*[t.to("spyre") for t in given], indexing=indexing)
            for result, want in zip(results, torch.meshgrid(*given, indexing=indexing), strict=True):
                assert torch.equal(result.cpu(), want)


def test_results_that_happen_to_be_views_are_nobody_elses():
    """A product along a dimension of one element is taken apart into a view, but is no view in torch."""
    for function in (lambda x: x.prod(0), lambda x: x.repeat(1, 1), lambda x: x.flip(0), lambda x: x.cumsum(0)):
        for dynamic in (False, True):
            torch._dynamo.reset()
            x = torch.tensor([[3.0, 4.0]]).to("spyre")
            result = torch.compile(function, dynamic=dynamic)(x)
            result.add_(1)
            assert x.tolist() == [[3.0, 4.0]]
