"""Numbers outside of a dimension: an error of the device that names operation, number and bound at the next synchronisation.
What it leaves intact is in test_contained_faults.py."""

import pytest
import torch
import torch.nn.functional as F

ROWS = 8


def columns(index):
    return index[:, None].expand(3, 5)


READS = {
    "aten.embedding.default": lambda t, i: F.embedding(i, t),
    "aten.index_select.default": lambda t, i: torch.index_select(t, 0, i),
    "aten.index.Tensor": lambda t, i: t[i],
    "aten.gather.default": lambda t, i: torch.gather(t, 0, columns(i)),
}
WRITES = {
    "aten.scatter.src": lambda t, i: t.scatter(0, columns(i), t[:3]),
    "aten.scatter_add.default": lambda t, i: t.scatter_add(0, columns(i), t[:3]),
    "aten.scatter_reduce.two": lambda t, i: t.scatter_reduce(0, columns(i), t[:3], "amax"),
    "aten._index_put_impl": lambda t, i: t.index_put([i], t[:3]),
    "aten.index_copy.default": lambda t, i: t.index_copy(0, i, t[:3]),
    "aten.index_add.default": lambda t, i: t.index_add(0, i, t[:3]),
}


def stored_in_sticks(t, i):
    t = t.clone()
    t[:, :, i] = t[:, :, :3]
    return t


#: Of a table [SIZES]: several numbers, dimensions that are not the first, and the one of the sticks; with the number of places
#: that each index tensor may name.
SIZES = (6, 3, 70)
FROM_THE_END = {
    "two numbers": (lambda t, i, j: t[i, j], (6, 3)),
    "three numbers": (lambda t, i, j, k: t[i, j, k], (6, 3, 70)),
    "numbers apart": (lambda t, i, j: t[i, :, j], (6, 70)),
    "numbers behind": (lambda t, i, j: t[:, i, j], (3, 70)),
    "numbers that broadcast": (lambda t, i, j: t[i[:, None], j], (6, 3)),
    "sticks": (lambda t, i: t[:, :, i], (70,)),
    "take": (torch.take, (6 * 3 * 70,)),
    "put": (lambda t, i: t.put(i, t[0, 0, :3]), (6 * 3 * 70,)),
    "put sums": (lambda t, i: t.put(i, t[0, 0, :3], accumulate=True), (6 * 3 * 70,)),
    "store at two numbers": (lambda t, i, j: t.index_put([i, j], t[0, :]), (6, 3)),
    "store in place": (lambda t, i, j: t.clone().index_put_([i, j], t[0, :]), (6, 3)),
    "sums at two numbers": (lambda t, i, j: t.index_put([i, j], t[0, :], accumulate=True), (6, 3)),
    "store in sticks": (stored_in_sticks, (70,)),
    "fill": (lambda t, i: t.index_fill(1, i, 2.0), (3,)),
    "fill sticks": (lambda t, i: t.index_fill(2, i, 2.0), (70,)),
}
FROM_THE_FRONT = {
    "index_select": (lambda t, i: t.index_select(1, i), (3,)),
    "index_select of sticks": (lambda t, i: t.index_select(2, i), (70,)),
    "gather": (lambda t, i: t.gather(1, i.reshape(1, 3, 1).expand(6, 3, 5)), (3,)),
    "gather of sticks": (lambda t, i: t.gather(2, i.expand(6, 3, 3)), (70,)),
    "embedding": (lambda t, i: F.embedding(i, t[:, 0]), (6,)),
    "scatter": (lambda t, i: t.scatter(1, i.reshape(1, 3, 1).expand(6, 3, 70), t), (3,)),
    "scatter in sticks": (lambda t, i: t.scatter(2, i.expand(6, 3, 3), t[:, :, :3]), (70,)),
    "scatter_add": (lambda t, i: t.scatter_add(2, i.expand(6, 3, 3), t[:, :, :3]), (70,)),
    "scatter_reduce": (lambda t, i: t.scatter_reduce(1, i.reshape(1, 3, 1).expand(6, 3, 70), t, "amin"), (3,)),
    "index_copy": (lambda t, i: t.index_copy(1, i, t), (3,)),
    "index_copy of sticks": (lambda t, i: t.index_copy(2, i, t[:, :, :3]), (70,)),
    "max_unpool": (lambda t, i: F.max_unpool2d(t[:2, :1, :3], i.expand(2, 1, 3), (1, 3)), (9,)),
    "index_add": (lambda t, i: t.index_add(1, i, t), (3,)),
    "index_add of sticks": (lambda t, i: t.index_add(2, i, t[:, :, :3]), (70,)),
}


def fails(run, *arguments):
    with pytest.raises(RuntimeError, match="SPYRE-E7017") as raised:
        run(*arguments)
        torch.spyre.synchronize()
    return str(raised.value)


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("number", [ROWS, -ROWS - 1])
@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_a_number_outside_is_an_error(name, number, how):
    function = {**READS, **WRITES}[name]
    run = torch.compile(function) if how == "compiled" else function
    table = torch.arange(ROWS * 5.0).reshape(ROWS, 5).to("spyre")
    index = torch.tensor([0, number, 2]).to("spyre")
    with pytest.raises(RuntimeError, match=rf"SPYRE-E7017.*must be in 0\.\.{ROWS - 1}") as raised:
        run(table, index)
        torch.spyre.synchronize()
    text = str(raised.value)
    assert f"the index {number}," in text
    # Captured index_put is no longer called by its inner name.
    assert (name if how == "eager" else name.replace("_index_put_impl", "index_put")) in text


def test_the_device_works_afterwards():
    index = torch.tensor([ROWS]).to("spyre")
    table = torch.ones(ROWS, 5).to("spyre")
    with pytest.raises(RuntimeError, match="E7017"):
        table[index].cpu()
    assert table.sum().item() == ROWS * 5
    torch.spyre.reset_device()
    assert table.sum().item() == ROWS * 5


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("number", [ROWS, -(1 << 20)])
@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_memory_outside_of_the_tensor_is_not_touched(name, number, how):
    """Neighbours of a table keep their bits when a number points at them, and so does the table."""
    function = {**READS, **WRITES}[name]
    run = torch.compile(function) if how == "compiled" else function
    neighbours = [torch.full((ROWS, 5), 7.0 + i).to("spyre") for i in range(3)]
    table = torch.arange(ROWS * 5.0).reshape(ROWS, 5).to("spyre")
    neighbours += [torch.full((ROWS, 5), 17.0 + i).to("spyre") for i in range(3)]
    index = torch.tensor([0, number, 2]).to("spyre")
    torch.spyre.synchronize()
    fails(run, table, index)
    assert table.cpu().equal(torch.arange(ROWS * 5.0).reshape(ROWS, 5))
    for value, neighbour in zip((7, 8, 9, 17, 18, 19), neighbours):
        assert (neighbour.cpu() == value).all(), value


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("name", [*FROM_THE_END, *FROM_THE_FRONT])
def test_every_number_has_the_bound_of_its_own_dimension(name, how):
    """Also where all numbers of a call together would name a place that exists."""
    function, sizes = {**FROM_THE_END, **FROM_THE_FRONT}[name]
    run = torch.compile(function) if how == "compiled" else function
    host = torch.arange(6.0 * 3 * 70).reshape(SIZES)
    before, table, after = (t.to("spyre") for t in (host + 1, host, host + 2))
    for at, size in enumerate(sizes):
        for number in (size, -size - 1, 1 << 20, -(1 << 20)):
            indices = [torch.tensor([0, 1, 2]) for _ in sizes]
            indices[at][1] = number
            text = fails(run, table, *(index.to("spyre") for index in indices))
            assert f"holds the index {number}, which must be in 0..{size - 1}" in text, (name, at)
    for tensor, wanted in ((before, host + 1), (table, host), (after, host + 2)):
        assert tensor.cpu().equal(wanted)


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("name", FROM_THE_END)
def test_numbers_inside_from_both_ends(name, how, on_device):
    function, sizes = FROM_THE_END[name]
    run = torch.compile(function) if how == "compiled" else function
    host = torch.arange(6.0 * 3 * 70).reshape(SIZES)
    # Of equal places the CPU may write any, so places differ where nothing is added up.
    indices = [torch.tensor([0, -size if "sum" in name else 1 - size, size - 1]) for size in sizes]
    wanted = function(host, *indices)
    with on_device():
        result = run(host.to("spyre"), *(index.to("spyre") for index in indices))
    assert result.cpu().equal(wanted)


@pytest.mark.parametrize("name", FROM_THE_FRONT)
def test_numbers_do_not_count_from_the_end_where_torch_does_not_say_so(name):
    function, (size,) = FROM_THE_FRONT[name]
    text = fails(function, torch.ones(SIZES).to("spyre"), torch.tensor([0, -1, 2]).to("spyre"))
    assert f"holds the index -1, which must be in 0..{size - 1}" in text


@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_take_along_dim_takes_the_rest_as_on_the_cpu(how, on_device):
    def function(t, i):
        return torch.take_along_dim(t, i.expand(6, 3, 4), 2)

    table, index = torch.arange(6.0 * 3 * 70).reshape(SIZES), torch.tensor([0, 70, -71, -1])
    with on_device():
        result = (torch.compile(function) if how == "compiled" else function)(table.to("spyre"), index.to("spyre"))
    assert result.cpu().equal(function(table, index))


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("number", [(1 << 32) + 1, -(1 << 32) + 1, 1 << 31, torch.iinfo(torch.int64).min])
def test_indices_of_the_cpu_do_not_wrap(number, how):
    """The device has 32 bits: what is beyond is outside of every dimension, too."""
    run = torch.compile(lambda t, i: t[i]) if how == "compiled" else lambda t, i: t[i]
    nearest = max(min(number, (1 << 31) - 1), -(1 << 31))
    text = fails(run, torch.ones(ROWS, 5).to("spyre"), torch.tensor([0, number, 2]))
    assert f"holds the index {nearest}, which must be in 0..{ROWS - 1}" in text


@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_known_numbers_do_not_wrap(how):
    def function(t):
        return t[torch.tensor([0, (1 << 32) + 1, 2])]

    text = fails(torch.compile(function) if how == "compiled" else function, torch.ones(ROWS, 5).to("spyre"))
    assert f"holds the index {(1 << 31) - 1}, which must be in 0..{ROWS - 1}" in text


def test_indices_of_the_device_do_not_wrap():
    index = torch.tensor([0, (1 << 32) + 1, 2]).to("spyre")
    text = fails(lambda t, i: t[i], torch.ones(ROWS, 5).to("spyre"), index)
    assert f"holds the index {(1 << 31) - 1}, which must be in 0..{ROWS - 1}" in text


def known(*numbers):
    return torch.tensor(numbers, device="spyre")


KNOWN = {
    "aten.index_copy.default": (lambda t: t.index_copy(0, known(0, -1), t[:2]), "index -1", "0 to 7"),
    "aten.index_add.default": (lambda t: t.index_add(0, known(0, 8), t[:2]), "index 8", "0 to 7"),
    "aten.index_put.default": (lambda t: t.index_put([known(0, 1), known(-6, 4)], t[0, :2]), "index -6", "-5 to 4"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_numbers_are_refused_when_the_function_is_compiled(name):
    function, found, allowed = KNOWN[name]
    with pytest.raises(Exception, match=rf"SPYRE-E6132: {found} of {name} at test_bad_.*py:\d+ .*give {allowed}"):
        torch.compile(function)(torch.ones(ROWS, 5).to("spyre"))
