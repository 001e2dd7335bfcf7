"""Numbers outside of a dimension: an error of the device that names operation, number and bound at the next synchronisation;
the device works again after a reset."""

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


@pytest.fixture
def device_again():
    yield
    torch.spyre.reset_device()


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("number", [ROWS, -ROWS - 1])
@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_a_number_outside_is_an_error(name, number, how, device_again):
    function = {**READS, **WRITES}[name]
    run = torch.compile(function) if how == "compiled" else function
    table = torch.arange(ROWS * 5.0).reshape(ROWS, 5).to("spyre")
    index = torch.tensor([0, number, 2]).to("spyre")
    with pytest.raises(RuntimeError, match=rf"SPYRE-E7017.*must be in 0\.\.{ROWS - 1}") as raised:
        run(table, index)
        torch.spyre.synchronize()
    text = str(raised.value)
    # Where numbers count from the end, those below are counted so before they are looked at.
    assert f"the index {number}," in text or f"the index {number + ROWS}," in text
    # Captured index_put is no longer called by its inner name.
    assert (name if how == "eager" else name.replace("_index_put_impl", "index_put")) in text


def test_the_device_works_after_a_reset():
    index = torch.tensor([ROWS]).to("spyre")
    table = torch.ones(ROWS, 5).to("spyre")
    with pytest.raises(RuntimeError, match="E7017"):
        table[index].cpu()
    torch.spyre.reset_device()
    assert torch.ones(ROWS, 5).to("spyre").sum().item() == ROWS * 5


@pytest.mark.parametrize("how", ["eager", "compiled"])
@pytest.mark.parametrize("number", [ROWS, -(1 << 20)])
@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_memory_outside_of_the_tensor_is_not_touched(name, number, how, device_again):
    """Neighbours of a table keep their bits when a number points at them, and so does the table."""
    function = {**READS, **WRITES}[name]
    run = torch.compile(function) if how == "compiled" else function
    neighbours = [torch.full((ROWS, 5), 7.0 + i).to("spyre") for i in range(3)]
    table = torch.arange(ROWS * 5.0).reshape(ROWS, 5).to("spyre")
    neighbours += [torch.full((ROWS, 5), 17.0 + i).to("spyre") for i in range(3)]
    index = torch.tensor([0, number, 2]).to("spyre")
    torch.spyre.synchronize()
    # The stream of a failed operation refuses work; others go on.
    with pytest.raises(RuntimeError, match="SPYRE-E7017"), torch.spyre.stream(torch.spyre.Stream()):
        run(table, index)
        torch.spyre.current_stream().synchronize()
    assert table.cpu().equal(torch.arange(ROWS * 5.0).reshape(ROWS, 5))
    for value, neighbour in zip((7, 8, 9, 17, 18, 19), neighbours):
        assert (neighbour.cpu() == value).all(), value
