"""Rows chosen by indices: compiled and eager, on the device, element for element what torch gives."""

import pytest
import torch

import tolerances


def whole_numbers(*shape, dtype=torch.float16):
    count = torch.Size(shape).numel()
    return torch.arange(count).reshape(shape).remainder(509).to(dtype)


def index_of(*shape, below, start=0, dtype=torch.int64):
    torch.manual_seed(sum(shape) + below)
    return torch.randint(start, below, shape, dtype=dtype)


# name: (function, tensors)
GATHERS = {
    "embedding": (
        torch.nn.functional.embedding,
        lambda d: (index_of(4, 10, below=100), whole_numbers(100, 256, dtype=d)),
    ),
    "embedding of one token": (
        torch.nn.functional.embedding,
        lambda d: (index_of(1, below=70), whole_numbers(70, 64, dtype=d)),
    ),
    "embedding of a width that is no stick": (
        torch.nn.functional.embedding,
        lambda d: (index_of(3, 7, below=33), whole_numbers(33, 100, dtype=d)),
    ),
    "embedding of many tokens": (
        torch.nn.functional.embedding,
        lambda d: (index_of(2, 130, below=50), whole_numbers(50, 128, dtype=d)),
    ),
    "embedding of three index dimensions": (
        torch.nn.functional.embedding,
        lambda d: (index_of(2, 3, 5, below=20), whole_numbers(20, 64, dtype=d)),
    ),
    "embedding of a table of one row": (
        torch.nn.functional.embedding,
        lambda d: (index_of(5, below=1), whole_numbers(1, 64, dtype=d)),
    ),
    "embedding of width one": (
        torch.nn.functional.embedding,
        lambda d: (index_of(9, below=30), whole_numbers(30, 1, dtype=d)),
    ),
    "index_select rows": (
        lambda x, i: torch.index_select(x, 0, i),
        lambda d: (whole_numbers(40, 70, dtype=d), index_of(33, below=40)),
    ),
    "index_select columns": (
        lambda x, i: torch.index_select(x, 1, i),
        lambda d: (whole_numbers(9, 70, dtype=d), index_of(20, below=70)),
    ),
    "index_select in the middle": (
        lambda x, i: torch.index_select(x, -2, i),
        lambda d: (whole_numbers(3, 20, 65, dtype=d), index_of(5, below=20)),
    ),
    "index_select of a vector": (
        lambda x, i: torch.index_select(x, 0, i),
        lambda d: (whole_numbers(100, dtype=d), index_of(40, below=100)),
    ),
    "index_select by a 0-d tensor": (
        lambda x, i: torch.index_select(x, 0, i),
        lambda d: (whole_numbers(10, 64, dtype=d), torch.tensor(7)),
    ),
    "index": (
        lambda x, i: x[i],
        lambda d: (whole_numbers(40, 70, dtype=d), index_of(3, 11, below=40)),
    ),
    "index from the end": (
        lambda x, i: x[i],
        lambda d: (whole_numbers(40, 70, dtype=d), index_of(50, below=40, start=-40)),
    ),
    "index of the last dimension": (
        lambda x, i: x[:, i],
        lambda d: (whole_numbers(6, 100, dtype=d), index_of(7, below=100, start=-100)),
    ),
    "index of the dimension in the middle": (
        lambda x, i: x[:, i],
        lambda d: (whole_numbers(3, 50, 64, dtype=d), index_of(2, 7, below=50)),
    ),
    "two indices": (
        lambda x, i, j: x[i, j],
        lambda d: (
            whole_numbers(9, 12, 64, dtype=d),
            index_of(5, below=9, start=-9),
            index_of(5, below=12, start=-12),
        ),
    ),
    "two indices that broadcast": (
        lambda x, i, j: x[i, j],
        lambda d: (
            whole_numbers(9, 12, 64, dtype=d),
            index_of(4, 1, below=9),
            index_of(1, 6, below=12),
        ),
    ),
    "indices with a dimension between": (
        lambda x, i, j: x[i, :, j],
        lambda d: (
            whole_numbers(5, 64, 7, dtype=d),
            index_of(6, below=5),
            index_of(6, below=7),
        ),
    ),
    "index of every dimension": (
        lambda x, i, j: x[i, j],
        lambda d: (whole_numbers(9, 12, dtype=d), index_of(8, below=9), index_of(8, below=12)),
    ),
    "gather of expanded rows": (
        lambda x, i: torch.gather(x, 1, i[:, :, None].expand(2, 5, 64)),
        lambda d: (whole_numbers(2, 30, 64, dtype=d), index_of(2, 5, below=30)),
    ),
    "gather along the sticks": (
        lambda x, i: torch.gather(x, 1, i),
        lambda d: (whole_numbers(6, 100, dtype=d), index_of(6, 3, below=100)),
    ),
    "gather along rows": (
        lambda x, i: torch.gather(x, 0, i),
        lambda d: (whole_numbers(20, 9, dtype=d), index_of(5, 7, below=20)),
    ),
    "gather of one column": (
        lambda x, i: torch.gather(x, 1, i[:, None]),
        lambda d: (whole_numbers(7, 70, dtype=d), index_of(7, below=70)),
    ),
    "rows of a slice": (
        lambda x, i: x[3:37, 5:69][i],
        lambda d: (whole_numbers(40, 70, dtype=d), index_of(9, below=34)),
    ),
    "rows of a transpose": (
        lambda x, i: x.t()[i],
        lambda d: (whole_numbers(64, 50, dtype=d), index_of(9, below=50)),
    ),
    "rows of a reshape": (
        lambda x, i: x.reshape(12, 5, 64)[:, i],
        lambda d: (whole_numbers(60, 64, dtype=d), index_of(3, below=5)),
    ),
    "a slice of the indices": (
        lambda x, i: x[i[3:20, 1]],
        lambda d: (whole_numbers(40, 64, dtype=d), index_of(30, 3, below=40)),
    ),
    "repeated index": (
        lambda x, i: x[i.expand(5)],
        lambda d: (whole_numbers(40, 64, dtype=d), torch.tensor([33])),
    ),
}


@pytest.mark.parametrize("name", GATHERS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_compiled_gather(name, dtype, on_device):
    function, tensors = GATHERS[name]
    host = tensors(dtype)
    device = [t.to("spyre") for t in host]
    with on_device():
        result = torch.compile(function)(*device)
    assert torch.equal(result.cpu(), function(*host))


@pytest.mark.parametrize(
    "name", [n for n in GATHERS if n not in ("a slice of the indices", "repeated index")]
)
def test_eager_gather(name, on_device):
    function, tensors = GATHERS[name]
    host = tensors(torch.float16)
    device = [t.to("spyre") for t in host]
    with on_device():
        result = function(*device)
    assert torch.equal(result.cpu(), function(*host))


def test_eager_indices_on_the_cpu_are_moved(on_device):
    table = whole_numbers(10, 64)
    device = table.to("spyre")
    with on_device():
        result = device[[3, -1]], device[:, torch.tensor([5, 63])]
    assert torch.equal(result[0].cpu(), table[[3, -1]])
    assert torch.equal(result[1].cpu(), table[:, [5, 63]])


@pytest.mark.parametrize("dtype", [torch.bool, torch.int32, torch.int64, torch.bfloat16])
def test_tables_of_other_types(dtype, on_device):
    table = whole_numbers(30, 70).remainder(2 if dtype == torch.bool else 250).to(dtype)
    index = index_of(11, below=30, dtype=torch.int32)
    with on_device():
        result = torch.compile(lambda t, i: t[i])(table.to("spyre"), index.to("spyre"))
    assert torch.equal(result.cpu(), table[index])


def test_module_with_embedding_and_linear(on_device):
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Embedding(200, 128, padding_idx=0), torch.nn.Linear(128, 192, bias=False)
    ).half()
    tokens = index_of(2, 16, below=200)
    expected = model.float()(tokens).detach()
    scale = model[0](tokens).abs() @ model[1].weight.abs().t()
    device = model.half().to("spyre")
    with on_device(pt_macs=32 * 128 * 192):
        result = torch.compile(device)(tokens.to("spyre")).cpu().float()
    bound = tolerances.tolerance("matmul", torch.float16, 128) * scale.detach()
    assert torch.all((result - expected).abs() <= bound)


def test_rotary_tables_by_position(on_device):
    torch.manual_seed(2)
    cos, sin = torch.randn(64, 64).half(), torch.randn(64, 64).half()
    x = torch.randn(2, 4, 12, 64).half()
    positions = torch.stack([torch.arange(12), torch.arange(20, 32)])

    def rotate(x, cos, sin, positions):
        half = torch.cat([-x[..., 32:], x[..., :32]], -1)
        return x * cos[positions][:, None] + half * sin[positions][:, None]

    expected = rotate(x.float(), cos.float(), sin.float(), positions)
    with on_device():
        result = torch.compile(rotate)(*(t.to("spyre") for t in (x, cos, sin, positions)))
    turned = torch.cat([x[..., 32:], x[..., :32]], -1).abs().float()
    scale = x.abs() * cos.abs()[positions][:, None] + turned * sin.abs()[positions][:, None]
    bound = tolerances.tolerance("chain", torch.float16, 4) * scale
    assert torch.all((result.cpu().float() - expected).abs() <= bound)


def test_an_index_outside_of_the_table_is_an_error_and_the_device_lives_on(on_device):
    table = whole_numbers(10, 64)
    look_up = torch.compile(torch.nn.functional.embedding)
    for wrong in (10, -1):
        with pytest.raises(RuntimeError, match="SPYRE-E7"):
            look_up(torch.tensor([1, wrong]).to("spyre"), table.to("spyre")).cpu()
        torch.spyre.reset_device()
    with on_device():
        result = look_up(torch.tensor([1, 9]).to("spyre"), table.to("spyre"))
    assert torch.equal(result.cpu(), table[[1, 9]])


@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_a_gather_of_many_tables_is_one_of_elements(how, on_device):
    def function(x, i):
        return torch.gather(x, 1, i)

    x, i = whole_numbers(400, 8), index_of(400, 2, below=8)
    run = torch.compile(function) if how == "compiled" else function
    with on_device():
        result = run(x.to("spyre"), i.to("spyre"))
    assert torch.equal(result.cpu(), torch.gather(x, 1, i))
    i[123, 1] = 8
    try:
        with pytest.raises(RuntimeError, match="E7017.*the index 8, which must be in 0..7"):
            run(x.to("spyre"), i.to("spyre")).cpu()
    finally:
        torch.spyre.reset_device()


# A place that does not exist is an error as on the CPU, never another place.
@pytest.mark.parametrize("position", [5, 12, -6])
def test_known_places_that_do_not_exist(position):
    def store(x):
        x = x.clone()
        x[[0, position]] = 7.0
        return x

    def select(x):
        return x.index_select(0, torch.tensor([0, position], device=x.device))

    x = whole_numbers(5, 67)
    for function in (store, select):
        with pytest.raises((IndexError, RuntimeError), match="out of (range|bounds)"):
            function(x)
        with pytest.raises(Exception, match=f"SPYRE-E6132: index {position} .* out of range"):
            torch.compile(function, backend="spyre")(x.to("spyre"))


def test_known_places_from_the_end(on_device):
    def function(x):
        x = x.clone()
        x[[-1, 0, -5]] = 7.0
        return x

    x = whole_numbers(5, 67)
    with on_device():
        result = torch.compile(function, backend="spyre")(x.to("spyre"))
    assert torch.equal(result.cpu(), function(x))


def test_the_one_place_of_a_number():
    def function(x):
        return x.index_select(0, torch.tensor([0], device=x.device)) + 1

    x = torch.tensor(3.0).half()
    assert torch.equal(torch.compile(function, backend="spyre")(x.to("spyre")).cpu(), function(x))


@pytest.mark.parametrize("rows", [65535, 65536, 70001])
def test_tables_of_more_rows_than_sixteen_bits_count(on_device, rows):
    table = whole_numbers(rows, 64)
    index = torch.tensor([0, 1, 65533, 65534, rows - 1, rows - 2, 12345] * 5)
    with on_device():
        result = torch.compile(torch.nn.functional.embedding)(index.to("spyre"), table.to("spyre"))
    assert torch.equal(result.cpu(), table[index])


@pytest.mark.parametrize("cores", [1, 32])
def test_more_indices_than_sixteen_bits_count(on_device, cores):
    from torch_spyre._inductor import config

    table = whole_numbers(33, 64)
    index = torch.arange(66000) % 33
    with on_device(), config.patch(sencores=cores):
        result = torch.compile(torch.nn.functional.embedding)(index.to("spyre"), table.to("spyre"))
    assert torch.equal(result.cpu(), table[index])
