"""Layouts, types and shapes that cannot be: an exception of the right kind, nothing allocated, nothing broken."""

import logging

import pytest
import torch

from torch_spyre import _C

FP16 = _C.DataFormats.SEN169_FP16
FP32 = _C.DataFormats.IEEE_FP32


@pytest.fixture(autouse=True)
def nothing_leaks():
    torch.ones(1, device="spyre")
    before, programs = torch.spyre.memory_allocated(), torch.spyre.counters()["programs_compiled"]
    yield
    # Programs stay in device memory.
    if torch.spyre.counters()["programs_compiled"] == programs:
        assert torch.spyre.memory_allocated() == before
    assert torch.ones(2, device="spyre").tolist() == [1, 1]


def layout(size, stride, kind=FP16):
    return _C.SpyreTensorLayout(size, stride, kind)


BAD_LAYOUTS = {
    "rank 0": (lambda: layout([], []), (4, 128)),
    "no stick count": (lambda: layout([64], [1]), (4, 128)),
    "too many dimensions": (lambda: layout([1] * 40 + [64], [-1] * 41), (64,)),
    "sizes and strides": (lambda: layout([2, 4, 64], [64, 1]), (4, 128)),
    "overflow": (lambda: layout([1 << 40, 1 << 40, 64], [64, 128, 1]), (4, 128)),
    "negative size": (lambda: layout([2, -4, 64], [64, 128, 1]), (4, 128)),
    "negative stride": (lambda: layout([2, 4, 64], [64, -128, 1]), (4, 128)),
    "no stick": (lambda: layout([2, 4, 32], [64, 128, 1]), (4, 128)),
    "other type": (lambda: layout([4, 4, 32], [32, 128, 1], FP32), (4, 128)),
    "no format": (lambda: layout([2, 4, 64], [64, 128, 1], _C.DataFormats.INVALID), (4, 128)),
    "too small": (lambda: layout([1, 4, 64], [64, 128, 1]), (4, 128)),
    "rows missing": (lambda: layout([2, 3, 64], [64, 128, 1]), (4, 128)),
}


@pytest.mark.parametrize("name", BAD_LAYOUTS)
def test_layouts_are_refused_before_anything_is_allocated(name):
    make, shape = BAD_LAYOUTS[name]
    source = torch.ones(shape, dtype=torch.float16)
    allocations = torch.spyre.memory_stats()["allocation.all.allocated"]
    actions = [
        lambda: torch.empty(shape, dtype=torch.float16, device_layout=make()),
        lambda: source.to("spyre", device_layout=make()),
        lambda: _C.spyre_empty_with_layout(shape, source.stride(), torch.float16, make()),
    ]
    for action in actions:
        with pytest.raises((RuntimeError, ValueError), match="SPYRE-E"):
            action()
    assert torch.spyre.memory_stats()["allocation.all.allocated"] == allocations


@pytest.mark.parametrize(
    "size, stride, order",
    [
        ([4, 8], [8, 1], [0, 0]),
        ([4, 8], [8, 1], [0]),
        ([4, 8], [8, 1], [0, 1, 2]),
        ([4, 8], [8, 1], [-1, 0]),
        ([4, 8], [8, 1], [0, -1, 1]),
        ([4, 8], [8, 1], [0, 5]),
        ([4, 8], [1], [0, 1]),
        ([4, -8], [8, 1], [0, 1]),
        ([1 << 62, 1 << 62], [1, 1], [0, 1]),
        ([2] * 9, [1] * 9, list(range(9))),
    ],
)
def test_dimension_orders_are_checked(size, stride, order):
    with pytest.raises((RuntimeError, ValueError), match="SPYRE-E20"):
        _C.SpyreTensorLayout(size, stride, torch.float16, order)


def test_layouts_of_other_devices_and_views():
    good = _C.SpyreTensorLayout([4, 128], torch.float16)
    with pytest.raises(ValueError, match="device_layout is for spyre"):
        torch.empty(4, 128, dtype=torch.float16, device="cpu", device_layout=good)
    with pytest.raises(ValueError, match="device_layout is for spyre"):
        torch.ones(4, 128).half().to("cpu", device_layout=good)
    with pytest.raises(RuntimeError, match="not on spyre"):
        _C.get_spyre_tensor_layout(torch.ones(1))
    x = torch.ones(4, 128, dtype=torch.float16, device="spyre")
    with pytest.raises(RuntimeError, match="SPYRE-E6513.*view"):
        _C.set_spyre_tensor_layout(x[1:], good)
    with pytest.raises(RuntimeError, match="SPYRE-E"):
        _C.set_spyre_tensor_layout(x, _C.SpyreTensorLayout([4, 128], torch.float32))
    with pytest.raises(TypeError):
        _C.set_spyre_tensor_layout(x, "layout")


def test_a_layout_can_be_changed_and_views_follow():
    values = torch.arange(70 * 130).reshape(70, 130).half() / 64
    x = values.to("spyre")
    view = x.t()[3:5]
    expected = x.cpu()
    swapped = _C.SpyreTensorLayout([70, 130], [130, 1], torch.float16, [1, 0])
    _C.set_spyre_tensor_layout(x, swapped)
    assert x.device_tensor_layout() == view.device_tensor_layout() == swapped
    assert torch.equal(x.cpu(), expected) and torch.equal(view.cpu(), expected.t()[3:5])


def test_views_with_a_layout():
    x = torch.arange(128.0).reshape(2, 64).to("spyre")
    same = _C.as_strided_with_layout(x, [64], [1], 64, x.device_tensor_layout())
    assert torch.equal(same.cpu(), x[1].cpu())
    assert torch.equal(_C.reinterpret_tensor(x[1], [4], [2], 2).cpu(), torch.arange(66.0, 74, 2))
    with pytest.raises(RuntimeError, match="SPYRE-E6511"):
        _C.reinterpret_tensor(x, [64], [1], 65)


NO_FORMAT = [
    torch.float64,
    torch.complex64,
    torch.complex128,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.float8_e5m2,
    torch.float8_e4m3fnuz,
]


@pytest.mark.parametrize("dtype", NO_FORMAT, ids=str)
def test_types_without_a_format(dtype):
    for action in (
        lambda: torch.empty(3, dtype=dtype, device="spyre"),
        lambda: torch.zeros(3).to(dtype).to("spyre"),
        lambda: torch.ones(3, device="spyre").to(dtype),
        lambda: torch.empty_strided((2, 2), (2, 1), dtype=dtype, device="spyre"),
    ):
        with pytest.raises(RuntimeError, match="SPYRE-E6502: Spyre backend does not support dtype"):
            action()
    with pytest.raises(RuntimeError, match="SPYRE-E"):
        _C.SpyreTensorLayout([3], dtype)
    with pytest.raises(RuntimeError, match="SPYRE-E"):
        _C.get_elem_in_stick(dtype)
    assert _C.get_device_dtype(dtype) == _C.DataFormats.INVALID


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_quantised_sparse_and_nested_tensors():
    quantised = torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8)
    sparse = torch.eye(3).to_sparse()
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
    for tensor in (quantised, sparse, nested):
        with pytest.raises((RuntimeError, NotImplementedError)):
            tensor.to("spyre")


def test_numbers_at_the_edge_of_a_type():
    special = torch.tensor([float("inf"), -float("inf"), float("nan"), -0.0, 0.0, 6e-8, 65472.0])
    for dtype in (torch.float32, torch.float16):
        source = special.to(dtype)
        back = source.to("spyre").cpu()
        assert torch.equal(back.isnan(), source.isnan()) and torch.equal(
            back.isinf(), source.isinf()
        )
        assert torch.equal(back.signbit()[:2], source.signbit()[:2])
    exact = special.to("spyre").cpu()
    assert torch.equal(exact.signbit(), special.signbit())
    odd = torch.tensor([0, 1, 2, 255], dtype=torch.uint8).view(torch.bool)
    assert odd.to("spyre").cpu().tolist() == [False, True, True, True]


SIZES = [(1,), (63,), (64,), (65,), (5, 1), (1, 5), (1, 1, 1, 1), (2, 1, 65), (1, 64, 1, 3)]


@pytest.mark.parametrize("shape", SIZES, ids=str)
def test_odd_sizes(shape):
    x = torch.arange(float(torch.Size(shape).numel())).reshape(shape).half()
    y = x.to("spyre")
    assert torch.equal(y.cpu(), x)
    assert torch.equal((y + y).cpu(), x + x)
    assert torch.equal(y.flip(0).cpu(), x.flip(0))
    assert torch.equal(y.expand(2, *shape).cpu(), x.expand(2, *shape))
    assert torch.equal(y.flatten()[-1:].cpu(), x.flatten()[-1:])


@pytest.mark.parametrize("rank", [0, 6, 7, 8, 9])
def test_ranks(rank):
    x = torch.ones([2] * rank)
    assert torch.equal(x.to("spyre").cpu(), x)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)], ids=str)
def test_nothing_in_any_place(shape):
    x = torch.empty(shape, device="spyre")
    assert x.data_ptr() == 0 and x.untyped_storage().nbytes() == 0
    for result in (x + x, x * 2, x.relu(), x.clone(), x.to(torch.float16), torch.cat([x, x])):
        assert result.is_spyre and result.numel() == 0
    assert x.sum().item() == 0 and x.tolist() == torch.empty(shape).tolist()


def test_sizes_nobody_has_memory_for():
    with pytest.raises(RuntimeError, match="SPYRE-E6111|SPYRE-E6102"):
        torch.empty(1 << 40, dtype=torch.int8, device="spyre")
    for shape in ((1 << 62,), (1 << 32, 1 << 32), (1 << 62, 4)):
        with pytest.raises(RuntimeError):
            torch.empty(shape, device="spyre")
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.empty(-1, device="spyre")
    with pytest.raises(RuntimeError, match="SPYRE-E6511"):
        torch.ones(4, device="spyre").as_strided((4,), (1,), 1)
    with pytest.raises(RuntimeError):
        torch.ones(4, device="spyre").as_strided((2,), (-1,))


def test_many_small_tensors():
    base = torch.spyre.memory_allocated()
    tensors = [torch.empty(1, device="spyre") for _ in range(20_000)]
    assert torch.spyre.memory_allocated() - base == 20_000 * 128
    del tensors[::2]
    assert torch.spyre.memory_allocated() - base == 10_000 * 128
    del tensors
    assert torch.spyre.memory_allocated() == base


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + torch.ones(4, device=x.device),
        lambda x: torch.cat([x, torch.ones(2, 4, device=x.device)]),
        lambda x: x.sum(4),
        lambda x: x @ x,
    ],
)
def test_mistakes_get_the_words_of_the_cpu_and_nothing_else(call, capfd):
    def mistake(device):
        try:
            call(torch.ones(2, 3, device=device))
        except (RuntimeError, IndexError) as error:
            return type(error), str(error).split("\n")[0]
        return None

    torch_logs = logging.getLogger("torch._subclasses.fake_tensor")
    handler = logging.StreamHandler()
    torch_logs.addHandler(handler)
    try:
        expected = mistake("cpu")
        assert expected is not None and mistake("spyre") == expected
    finally:
        torch_logs.removeHandler(handler)
    assert "Traceback" not in capfd.readouterr().err
