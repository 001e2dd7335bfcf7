"""Writes at places that are data, eager and compiled: on the device, exact, and never outside."""

import math

import pytest
import torch
import torch.nn.functional as F
from tolerances import relative_error, tolerance

TYPES = [torch.float16, torch.float32, torch.int64, torch.bool]


def values(*shape, dtype=torch.float16, seed=0):
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randint(-9, 10, shape, generator=generator)
    return (numbers > 0) if dtype == torch.bool else numbers.to(dtype)


def places(*shape, below, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, below, shape, generator=generator)


def different(count, below, seed=1):
    return torch.randperm(below, generator=torch.Generator().manual_seed(seed))[:count]


def stored(x, index, part):
    x = x.clone()
    x[index] = part
    return x


def some(*shape, count):
    """A mask that is true in ``count`` places."""
    flat = torch.zeros(shape, dtype=torch.bool).reshape(-1)
    flat[different(count, flat.numel())] = True
    return flat.reshape(shape)


def stored_columns(x, index, part):
    x = x.clone()
    x[:, index] = part
    return x


WRITES = {
    "rows": (stored, lambda t: (values(9, 67, dtype=t), different(4, 9), values(4, 67, dtype=t))),
    "one row": (stored, lambda t: (values(9, 67, dtype=t), torch.tensor([3]), values(1, 67, dtype=t))),
    "columns": (
        stored_columns,
        lambda t: (values(5, 70, dtype=t), different(6, 70), values(5, 6, dtype=t)),
    ),
    "a row for all": (
        stored,
        lambda t: (values(9, 67, dtype=t), different(4, 9), values(67, dtype=t)),
    ),
    "rows of a mask": (
        stored,
        lambda t: (values(3, 7, 65, dtype=t), some(3, 7, count=5), values(5, 65, dtype=t)),
    ),
    "elements of a mask": (
        stored,
        lambda t: (values(9, 67, dtype=t), some(9, 67, count=100), values(100, dtype=t)),
    ),
    "a row for a mask": (
        stored,
        lambda t: (values(9, 67, dtype=t), some(9, count=4), values(67, dtype=t)),
    ),
    "index_copy": (
        lambda x, i, s: x.index_copy(1, i, s),
        lambda t: (values(2, 9, 65, dtype=t), different(3, 9), values(2, 3, 65, dtype=t)),
    ),
    "index_fill": (
        lambda x, i, s: x.index_fill(0, i, 1),
        lambda t: (values(9, 65, dtype=t), different(3, 9), values(1, dtype=t)),
    ),
    "scatter": (
        lambda x, i, s: x.scatter(1, i, s),
        lambda t: (
            values(5, 12, dtype=t),
            torch.stack([different(3, 12, seed=k) for k in range(5)]),
            values(5, 3, dtype=t),
        ),
    ),
    "scatter into a part": (
        lambda x, i, s: x.scatter(0, i, s),
        lambda t: (
            values(6, 70, dtype=t),
            torch.stack([different(2, 6, seed=k) for k in range(65)], 1),
            values(4, 67, dtype=t),
        ),
    ),
    "a number": (
        lambda x, i, s: x.scatter(-1, i, 1),
        lambda t: (values(5, 12, dtype=t), places(5, 3, below=12), values(1, dtype=t)),
    ),
    "a mask": (
        lambda x, i, s: torch.masked_fill(x, i.bool(), 1),
        lambda t: (values(5, 70, dtype=t), places(5, 70, below=2), values(1, dtype=t)),
    ),
    "elements in order": (
        lambda x, i, s: x.masked_scatter(i.bool(), s),
        lambda t: (values(3, 33, dtype=t), places(3, 33, below=2), values(3, 33, dtype=t, seed=4)),
    ),
}
SUMS = {
    "index_add": (
        lambda x, i, s: x.index_add(0, i, s),
        lambda t: (values(9, 67, dtype=t), places(14, below=9), values(14, 67, dtype=t)),
    ),
    "accumulate": (
        lambda x, i, s: x.index_put([i], s, accumulate=True),
        lambda t: (values(9, 33, dtype=t), places(14, below=9), values(14, 33, dtype=t)),
    ),
    "scatter_add": (
        lambda x, i, s: x.scatter_add(1, i, s),
        lambda t: (values(5, 9, dtype=t), places(5, 20, below=9), values(5, 20, dtype=t)),
    ),
}


def check(name, table, dtype, run):
    function, arguments = table[name]
    host = arguments(dtype)
    result = run(function)(*(t.to("spyre") for t in host))
    wanted = function(*host)
    assert result.dtype == wanted.dtype and torch.equal(result.cpu(), wanted), name


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_compiled_write(name, dtype, on_device):
    with on_device():
        check(name, WRITES, dtype, torch.compile)


@pytest.mark.parametrize("name", WRITES)
def test_eager_write(name, on_device):
    with on_device():
        check(name, WRITES, torch.float16, lambda function: function)


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int64], ids=str)
def test_sums_at_places(name, dtype, on_device):
    with on_device():
        check(name, SUMS, dtype, torch.compile)
    with on_device():
        check(name, SUMS, dtype, lambda function: function)


def test_of_equal_numbers_the_last_counts(on_device):
    x, i = values(6, 65), torch.tensor([2, 4, 2, 2])
    part = values(4, 65, seed=7)
    with on_device():
        result = torch.compile(stored)(x.to("spyre"), i.to("spyre"), part.to("spyre"))
    wanted = x.clone()
    for number, place in enumerate(i.tolist()):
        wanted[place] = part[number]
    assert torch.equal(result.cpu(), wanted)


def test_numbers_from_the_end_and_several_indices(on_device):
    def function(x, i, j, part):
        x = x.clone()
        x[i, :, j] = part
        return x

    x, i, j = values(4, 3, 5), torch.tensor([0, -1, 2]), torch.tensor([-5, 1, 4])
    part = values(3, 3, seed=2)
    with on_device():
        result = torch.compile(function)(*(t.to("spyre") for t in (x, i, j, part)))
    assert torch.equal(result.cpu(), function(x, i, j, part))


def test_a_cache_gets_a_new_row_in_place(on_device):
    """Keys and values of one step, at a position that is data."""

    def step(cache, position, key):
        cache.index_copy_(2, position, key)
        return cache.sum(2)

    host = values(1, 4, 32, 64)
    cache, compiled = host.to("spyre"), torch.compile(step)
    for position in (5, 6, 31):
        key, at = values(1, 4, 1, 64, seed=position), torch.tensor([position])
        with on_device():
            result = compiled(cache, at.to("spyre"), key.to("spyre"))
        wanted = step(host, at, key)
        assert torch.equal(cache.cpu(), host)
        error = relative_error(result.cpu().float().numpy(), wanted.float().numpy())
        assert error <= tolerance("sum", torch.float16, 32)


WRONG = {
    "index_put": lambda x, i: stored(x, i, x[:1]),
    "index_add": lambda x, i: x.index_add(0, i, x[:1]),
    "index_copy": lambda x, i: x.index_copy(0, i, x[:1]),
    "scatter": lambda x, i: x.scatter(0, i.reshape(1, 1), 3.0),
    "gather": lambda x, i: x.gather(0, i.reshape(1, 1)),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("wrong", [9, 1000, -10])
def test_a_place_that_does_not_exist_stops_the_device(name, wrong, on_device):
    x = values(9, 67)
    device = x.to("spyre")
    with pytest.raises(RuntimeError, match="SPYRE-E7017.*index -?[0-9]+"):
        torch.compile(WRONG[name])(device, torch.tensor([wrong]).to("spyre"))
        torch.spyre.synchronize()
    torch.spyre.reset_device()
    torch._dynamo.reset()  # what a graph keeps on the device is lost, too
    with on_device():
        result = torch.compile(WRONG["index_put"])(x.to("spyre"), torch.tensor([2]).to("spyre"))
    assert torch.equal(result.cpu(), WRONG["index_put"](x, torch.tensor([2])))


@pytest.mark.parametrize("count", [3, 5])
def test_rows_that_a_mask_does_not_ask_for_stop_the_device(count):
    x, mask, rows = values(9, 67), some(9, count=count), values(4, 67)
    with pytest.raises(RuntimeError, match="SPYRE-E7017"):
        torch.compile(stored)(*(t.to("spyre") for t in (x, mask, rows)))
        torch.spyre.synchronize()
    torch.spyre.reset_device()


@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_a_source_with_too_few_elements_stops_the_device(how):
    def function(x, mask, source):
        return x.masked_scatter(mask, source)

    run = torch.compile(function) if how == "compiled" else function
    with pytest.raises(RuntimeError, match="SPYRE-E7017.*holds the index 3, which must be in 0..2"):
        run(values(9, 67).to("spyre"), some(9, 67, count=4).to("spyre"), values(3).to("spyre")).cpu()
    torch.spyre.reset_device()


def unpooled(dims):
    pool, unpool = getattr(F, f"max_pool{dims}d"), getattr(F, f"max_unpool{dims}d")
    return lambda x: unpool(*pool(x, 2, return_indices=True), 2)


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("dims, shape", [(1, (2, 3, 10)), (2, (2, 3, 6, 8)), (3, (2, 2, 4, 4, 6))])
def test_the_largest_return_to_their_places(dims, shape, how, on_device):
    x = torch.randperm(math.prod(shape), generator=torch.Generator().manual_seed(dims)).reshape(shape).half()
    function = unpooled(dims)
    with on_device():
        result = (torch.compile(function) if how == "compiled" else function)(x.to("spyre"))
    assert torch.equal(result.cpu(), function(x))


GRADIENTS = {
    "embedding": (
        lambda w, i: F.embedding(i, w),
        lambda: (values(20, 64), places(3, 7, below=20)),
    ),
    "index_select": (
        lambda x, i: x.index_select(0, i),
        lambda: (values(9, 67), places(12, below=9)),
    ),
    "gather": (lambda x, i: x.gather(1, i), lambda: (values(5, 9), places(5, 4, below=9))),
    "an index": (lambda x, i: x[i], lambda: (values(9, 67), places(12, below=9))),
}


@pytest.mark.parametrize("name", GRADIENTS)
@pytest.mark.parametrize("compiled", [False, True])
def test_backward(name, compiled, on_device):
    function, arguments = GRADIENTS[name]
    x, index = arguments()
    wanted = x.float().requires_grad_()
    (function(wanted, index) ** 2).sum().backward()
    device, at = x.to("spyre").requires_grad_(), index.to("spyre")
    run = torch.compile(function) if compiled else function
    with on_device():
        (run(device, at) ** 2).sum().backward()
        gradient = device.grad.cpu()
    error = relative_error(gradient.float().numpy(), wanted.grad.numpy())
    assert error <= tolerance("matmul", torch.float16, 21), error


def test_more_comparisons_than_fit_are_made_in_blocks(on_device):
    x, i = values(70_000, 1), places(300, below=70_000)
    with on_device():
        result = torch.compile(stored)(x.to("spyre"), i.to("spyre"), values(1).to("spyre"))
    assert torch.equal(result.cpu(), stored(x, i, values(1)))
