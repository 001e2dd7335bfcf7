"""Tensors on the device: transfers, views, storage, layouts, number formats."""

import copy
import itertools
import pickle
import warnings

import numpy as np
import pytest
import torch
from tolerances import DL16_MAX, dl16

import torch_spyre._C as C

FLOATS = [torch.float16, torch.bfloat16, torch.float32]
EXACT = [torch.bool, torch.int8, torch.int16, torch.int32, torch.int64]
FP8 = [torch.float8_e4m3fn, torch.float8_e5m2fnuz]
SHAPES = [
    (),
    (1,),
    (63,),
    (64,),
    (65,),
    (200,),
    (3, 80),
    (4, 128),
    (7, 1),
    (1, 7),
    (5, 100, 15),
    (2, 3, 4, 70),
    (2, 1, 3, 1, 66),
    (2, 2, 2, 2, 2, 65),
    (0,),
    (3, 0, 5),
]


def make(shape, dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if dtype in EXACT:
        return torch.randint(-100, 100, shape, generator=generator).to(dtype)
    return torch.randn(shape, generator=generator).to(dtype)


def expected(x):
    """What a round trip leaves: DLFloat16 rounding for the 16-bit floats, nothing for the rest."""
    if x.dtype in (torch.float16, torch.bfloat16):
        return torch.from_numpy(dl16(x.float().numpy())).to(x.dtype)
    return x


def same(a, b):
    if a.dtype in FP8:
        a, b = a.view(torch.int8), b.view(torch.int8)
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)


@pytest.mark.parametrize("dtype", FLOATS + EXACT + FP8, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_round_trip(shape, dtype):
    x = make(shape, dtype)
    y = x.to("spyre")
    assert y.device == torch.device("spyre:0") and y.dtype == dtype and y.shape == x.shape
    assert y.stride() == x.stride()
    assert same(y.cpu(), expected(x))


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.complex64, torch.uint16, torch.float8_e5m2], ids=str
)
def test_unsupported_dtype_names_itself(dtype):
    with pytest.raises(RuntimeError, match="SPYRE-E6502: Spyre backend does not support dtype"):
        torch.zeros(3, dtype=dtype).to("spyre")


# Known answers of the format: halves away from zero, saturation, no subnormals.
@pytest.mark.parametrize(
    "value, bits, back",
    [
        (0.0, 0x0000, 0.0),
        (1.0, 0x3E00, 1.0),
        (-1.0, 0xBE00, -1.0),
        (0.1, 0x3733, 0.0999755859375),
        (3.140625, 0x4124, 3.140625),
        (1 + 2**-10, 0x3E01, 1.001953125),
        (-(1 + 2**-10), 0xBE01, -1.001953125),
        (448.0, 0x4F80, 448.0),
        (65504.0, 0x5E00, 65536.0),
        (2**-24, 0x0E00, 2**-24),
        (2**-31, 0x0000, 0.0),
        (1e30, 0x7FFE, DL16_MAX),
        (float("inf"), 0x7FFE, DL16_MAX),
        (float("-inf"), 0xFFFE, -DL16_MAX),
    ],
)
def test_dl16_bits(value, bits, back):
    assert C.encode_constant(value, C.DataFormats.SEN169_FP16) == bits
    x = torch.empty(1, dtype=torch.float16, device="spyre")
    x.copy_(torch.tensor([value], dtype=torch.float32))
    assert x.to(dtype=torch.float32, device="cpu").item() == (65472.0 if value == 65504.0 else back)
    assert dl16(np.float32(value)) == np.float32(back)


def test_every_fp16_value_is_rounded_like_the_format_says():
    bits = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    x = torch.from_numpy(bits.view(np.float16).copy())
    result = x.to("spyre").to(device="cpu", dtype=torch.float32).numpy()
    expected = dl16(x.float().numpy())
    # Finite numbers stay finite: 65504 would become 65536.
    expected = np.where(np.isfinite(x.numpy()), np.clip(expected, -65472, 65472), expected)
    assert np.array_equal(result, expected, equal_nan=True)


def test_infinity_of_fp16_survives_a_round_trip():
    x = torch.tensor([float("inf"), float("-inf"), 65504.0], dtype=torch.float16)
    assert x.to("spyre").cpu().tolist() == [float("inf"), float("-inf"), 65472.0]


VIEWS = {
    "row slice": lambda t: t[1:3],
    "column slice": lambda t: t[:, 5:70],
    "steps": lambda t: t[::2, ::3],
    "transpose": lambda t: t.t(),
    "one column": lambda t: t[:, 7],
    "one row": lambda t: t[2],
    "element": lambda t: t[3, 66],
    "expand": lambda t: t[1].expand(4, -1),
    "offset then expand": lambda t: t[2, 5:6].expand(3),
    "diagonal": lambda t: t.diagonal(),
    "unfold": lambda t: t.unfold(1, 8, 5),
    "reshape": lambda t: t.reshape(-1),
    "view": lambda t: t.view(5, 4, 20),
    "permuted view": lambda t: t.view(5, 4, 20).permute(2, 0, 1),
    "as_strided": lambda t: t.as_strided((3, 3), (50, 2), 17),
    "unsqueeze": lambda t: t.unsqueeze(1),
    "flip by view": lambda t: t.narrow(0, 1, 2).squeeze(),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int8, torch.bool], ids=str)
@pytest.mark.parametrize("name", VIEWS)
def test_views_read_what_the_cpu_reads(name, dtype):
    host = expected(make((5, 80), dtype))
    device = host.to("spyre")
    a, b = VIEWS[name](host), VIEWS[name](device)
    assert (
        b.shape == a.shape and b.stride() == a.stride() and b.storage_offset() == a.storage_offset()
    )
    if name != "reshape":
        assert b.untyped_storage().data_ptr() == device.untyped_storage().data_ptr()
    assert same(b.cpu(), a.clone())
    assert b.device_tensor_layout() == device.device_tensor_layout()


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int8, torch.bool], ids=str)
@pytest.mark.parametrize(
    "name", [n for n in VIEWS if "expand" not in n and n not in ("unfold", "reshape")]
)
def test_writes_into_views_change_only_the_view(name, dtype):
    host = expected(make((5, 80), dtype))
    device = host.to("spyre")
    value = expected(make(VIEWS[name](host).shape, dtype, seed=1))
    VIEWS[name](host).copy_(value)
    VIEWS[name](device).copy_(value.to("spyre"))
    assert same(device.cpu(), host)
    VIEWS[name](host).fill_(1)
    VIEWS[name](device).fill_(1)
    assert same(device.cpu(), host)


def test_writing_part_of_a_storage_keeps_values_fp16_cannot_hold():
    x = torch.empty(130, dtype=torch.float16, device="spyre")
    x.copy_(torch.full((130,), 1e9))
    x[3:7] = 2.0
    y = x.clone().t().contiguous()
    back = y.to(device="cpu", dtype=torch.float32)
    assert (
        back[:3].tolist() == [dl16(1e9)] * 3
        and back[3:7].tolist() == [2.0] * 4
        and back[129] == dl16(1e9)
    )


@pytest.mark.parametrize(
    "source, target",
    list(
        itertools.product(
            [torch.float16, torch.float32, torch.int32, torch.bool, torch.float64],
            FLOATS + [torch.int32, torch.bool],
        )
    ),
    ids=str,
)
def test_copies_convert_types(source, target):
    host = (make((3, 70), torch.float32) * 10).to(source)
    device = torch.empty((3, 70), dtype=target, device="spyre")
    device.copy_(host)
    reference = torch.empty((3, 70), dtype=target).copy_(
        host.float() if target.is_floating_point else host
    )
    if target in (torch.float16, torch.bfloat16):
        exact = torch.from_numpy(dl16(host.float().numpy()))
        assert torch.equal(device.to(device="cpu", dtype=torch.float32), exact)
    else:
        assert same(device.cpu(), reference)


@pytest.mark.parametrize(
    "source, target", list(itertools.product(FLOATS + [torch.int32, torch.bool], repeat=2)), ids=str
)
def test_conversions_on_the_device(source, target):
    host = expected((make((3, 70), torch.float32) * 10).to(source))
    device = host.to("spyre").to(target)
    if source is torch.float32 and target in (torch.float16, torch.bfloat16):
        # One rounding, to the device's format.
        exact = torch.from_numpy(dl16(host.numpy()))
        assert torch.equal(device.to(device="cpu", dtype=torch.float32), exact)
    else:
        assert same(device.cpu(), expected(host.to(target)))


def test_copy_into_strided_and_broadcast_destinations():
    device = make((4, 6), torch.float32).to("spyre")
    host = torch.zeros(6, 8, 2)
    host[:, ::2, 0].copy_(device.t())
    assert torch.equal(host[:, ::2, 0], device.cpu().t()) and host[:, 1::2].abs().sum() == 0
    wide = torch.empty(3, 4, 6, device="spyre")
    wide.copy_(device)
    assert torch.equal(wide.cpu(), device.cpu().expand(3, 4, 6))
    wide.copy_(torch.arange(6.0))
    assert torch.equal(wide.cpu(), torch.arange(6.0).expand(3, 4, 6))


def test_non_contiguous_host_sources():
    base = make((40, 70), torch.float16)
    for view in (
        base.t(),
        base[::2, 3:],
        base[5],
        base[:, 60:],
        base.view(8, 5, 70).permute(2, 0, 1),
    ):
        assert same(view.to("spyre").cpu(), expected(view))


def test_clone_contiguous_and_device_copies():
    x = make((5, 70), torch.float16).to("spyre")
    torch.spyre.reset_counters()
    y = x.clone()
    counters = torch.spyre.counters()
    assert counters["d2d_bytes"] == 5 * 2 * 128 and counters["d2h_bytes"] == 0
    assert y.data_ptr() != x.data_ptr() and same(y.cpu(), x.cpu())
    z = x.t().contiguous()
    assert z.is_contiguous() and same(z.cpu(), x.cpu().t().contiguous())


def test_factories_and_scalars():
    assert torch.ones(2, 3, device="spyre").cpu().tolist() == [[1] * 3] * 2
    assert torch.full((3,), 2.5, dtype=torch.float16, device="spyre").cpu().tolist() == [2.5] * 3
    assert torch.zeros((), device="spyre").item() == 0.0
    assert torch.tensor([1, 2, 3], dtype=torch.int32, device="spyre")[1].item() == 2
    assert torch.tensor(True, device="spyre").item() is True
    assert torch.empty_like(torch.ones(2, 3), device="spyre").shape == (2, 3)
    assert torch.ones(4, device="spyre").new_zeros(2).cpu().tolist() == [0, 0]
    x = torch.empty(3, device="spyre")
    x.fill_(torch.tensor(4.0))
    assert x.zero_().cpu().tolist() == [0, 0, 0]
    for dim in range(9):
        assert torch.ones((1,) * dim, device="spyre").dim() == dim


def test_rank_above_the_layouts_limit_is_stored_flat():
    x = make((2,) * 10, torch.float16)
    assert same(x.to("spyre").cpu(), expected(x))


def test_bad_factory_options_are_errors():
    with pytest.raises(RuntimeError, match="Spyre backend only supports contiguous memory format"):
        torch.empty(2, 3, 4, 4, device="spyre", memory_format=torch.channels_last)
    with pytest.raises(RuntimeError, match="Pin memory can only be on CPU"):
        torch.empty(2, device="spyre", pin_memory=True)
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.empty(-1, device="spyre")
    x = torch.zeros(60, dtype=torch.float16, device="spyre")
    with pytest.raises(RuntimeError, match="SPYRE-E6511"):
        x.as_strided((64,), (1,))
    with pytest.raises(RuntimeError, match="SPYRE-E6504"):
        x.view(torch.int16)


@pytest.mark.parametrize(
    "old, new",
    [
        ((4, 8), (8, 4)),
        ((2, 8), (4, 16)),
        ((64,), (256,)),
        ((16, 16), (8, 8)),
        ((4, 8), (32,)),
        ((3,), (0,)),
        ((0,), (5, 70)),
        ((8,), (8,)),
    ],
    ids=str,
)
def test_resize_keeps_the_order_of_elements(old, new):
    host = expected(make(old, torch.float16))
    device = host.to("spyre")
    kept = min(host.numel(), int(np.prod(new)))
    device.resize_(new)
    assert device.shape == torch.Size(new)
    assert torch.equal(device.cpu().flatten()[:kept], host.flatten()[:kept])


def test_resize_of_a_view_and_its_siblings():
    host = expected(make((10,), torch.float16))
    device = host.to("spyre")
    view = device[6:]
    view.resize_(70)
    assert torch.equal(view.cpu()[:4], host[6:])
    assert torch.equal(device.cpu(), host)


def test_set_shares_storage():
    x = make((4, 6), torch.float32).to("spyre")
    y = torch.empty(0, device="spyre").set_(x.untyped_storage(), 6, (2, 6), (6, 1))
    assert torch.equal(y.cpu(), x.cpu()[1:3]) and not y.is_set_to(x)
    z = torch.empty(0, device="spyre").set_(x)
    assert z.is_set_to(x)
    z.zero_()
    assert x.cpu().abs().sum() == 0
    assert z.set_().numel() == 0
    with pytest.raises(RuntimeError, match="SPYRE-E6511"):
        torch.empty(0, device="spyre").set_(x.untyped_storage(), 20, (2, 6), (6, 1))


def test_data_pointers_are_tokens():
    x = torch.zeros(64, 64, dtype=torch.float16, device="spyre")
    assert x.data_ptr() > 1 << 48 and x[1].data_ptr() - x.data_ptr() == 128
    assert x.untyped_storage().nbytes() == 8192
    assert torch.empty(0, device="spyre").data_ptr() == 0
    with pytest.raises(RuntimeError, match="SPYRE-E6556"):
        x.untyped_storage().tolist()


def test_storage_sizes_as_documented():
    for shape, dtype, nbytes in [
        ((), torch.float16, 128),
        ((2,), torch.float16, 128),
        ((65,), torch.float16, 256),
        ((3, 80), torch.float16, 768),
        ((64, 64), torch.int64, 32768),
        ((64, 64), torch.bool, 8192),
        ((0,), torch.float32, 0),
    ]:
        assert torch.empty(shape, dtype=dtype, device="spyre").untyped_storage().nbytes() == nbytes


def test_storage_resize_keeps_the_first_bytes():
    x = make((64,), torch.float16).to("spyre")
    before = x.cpu()
    x.untyped_storage().resize_(1024)
    assert torch.equal(x.cpu(), before)


def test_printing():
    x = torch.tensor([1.0, 2.0], dtype=torch.float16, device="spyre")
    assert repr(x) == "tensor([1., 2.], dtype=torch.float16, device='spyre:0')"
    assert repr(x[1]) == "tensor(2., dtype=torch.float16, device='spyre:0')"
    assert "requires_grad=True" in repr(torch.ones(2, device="spyre", requires_grad=True))
    assert repr(torch.ones(2)) == "tensor([1., 1.])"


def test_parameters_detach_and_data():
    p = torch.nn.Parameter(torch.ones(3, 4)).to("spyre")
    q = p.detach()
    assert q.data_ptr() == p.data_ptr() and not q.requires_grad
    r = torch.zeros(2, device="spyre")
    r.data = torch.ones(70, device="spyre")
    assert r.shape == (70,) and r.cpu().sum() == 70
    module = torch.nn.Linear(5, 3)
    weight = module.weight.detach().clone()
    assert torch.equal(module.to("spyre").weight.detach().cpu(), weight)
    assert torch.equal(module.cpu().weight.detach(), weight)


# -- layouts ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, dtype, size, stride",
    [
        ((), torch.float16, [1, 64], [-1, -1]),
        ((60,), torch.float16, [1, 64], None),
        ((512, 240), torch.float16, [4, 512, 64], [64, 240, 1]),
        ((512, 1), torch.float16, [1, 512, 64], [-1, 1, -1]),
        ((5, 100, 150), torch.float16, [100, 3, 5, 64], [150, 64, 15000, 1]),
        ((512, 240), torch.float32, [8, 512, 32], [32, 240, 1]),
        ((7, 33), torch.int64, [2, 7, 32], [32, 33, 1]),
    ],
)
def test_default_layouts(shape, dtype, size, stride):
    layout = C.SpyreTensorLayout(list(shape), dtype)
    assert layout.device_size == size and (stride is None or layout.stride_map == stride)
    assert torch.empty(shape, dtype=dtype, device="spyre").device_tensor_layout() == layout
    assert layout.device_dtype == C.get_device_dtype(dtype)
    assert layout.elems_per_stick() == C.get_elem_in_stick(dtype) == size[-1]


def test_layout_is_a_value():
    layout = C.SpyreTensorLayout([512, 256], torch.float16)
    same_layout = C.SpyreTensorLayout([512, 256], [256, 1], torch.float16, [0, 1])
    other = C.SpyreTensorLayout([512, 256], [256, 1], torch.float16, [1, 0])
    expert = C.SpyreTensorLayout([4, 512, 64], [64, 256, 1], C.DataFormats.SEN169_FP16)
    assert layout == same_layout == expert != other and hash(layout) == hash(same_layout)
    assert layout != "layout"
    assert repr(layout) == (
        "SpyreTensorLayout(device_size=[4, 512, 64], stride_map =[64, 256, 1], "
        "device_dtype=DataFormats.SEN169_FP16)"
    )
    assert pickle.loads(pickle.dumps(layout)) == layout == copy.deepcopy(layout)
    arranged = layout.with_element_arrangement(C.ElementArrangement.QFP8CH)
    assert arranged != layout and pickle.loads(pickle.dumps(arranged)) == arranged
    assert layout.__getstate__()[0] == 3

    def unpickled(state):
        fresh = C.SpyreTensorLayout.__new__(C.SpyreTensorLayout)
        fresh.__setstate__(state)
        return fresh

    assert unpickled((2, [1, 64], [64, 1], C.DataFormats.SEN169_FP16)).device_size == [1, 64]
    assert unpickled((1, [1, 64], [0], [64, 1], C.DataFormats.SEN169_FP16)).stride_map == [64, 1]
    with pytest.raises(ValueError, match="Unsupported SpyreTensorLayout pickle version"):
        unpickled((9,))
    with pytest.raises(ValueError, match="pickle version 3 has 5 fields, got 2"):
        unpickled((3, [1]))


@pytest.mark.parametrize("order", [[0, 1], [1, 0], [0, 1, -1], [1, 0, -1]], ids=str)
def test_transfers_with_a_chosen_layout(order):
    x = make((40, 70), torch.float16)
    layout = C.SpyreTensorLayout([40, 70], [70, 1], torch.float16, order)
    y = x.to("spyre", device_layout=layout)
    assert y.device_tensor_layout() == layout and same(y.cpu(), expected(x))
    assert y.to("spyre", device_layout=layout) is y
    plain = y.to("spyre", device_layout=C.SpyreTensorLayout([40, 70], torch.float16))
    assert same(plain.cpu(), expected(x))
    z = torch.empty(40, 70, dtype=torch.float16, device="spyre", device_layout=layout)
    z.copy_(y)
    assert z.device_tensor_layout() == layout and same(z.cpu(), expected(x))
    assert same(z[3:9, 5:].cpu(), expected(x)[3:9, 5:])


def test_layout_errors():
    with pytest.raises(RuntimeError, match="SPYRE-E2004"):
        C.SpyreTensorLayout([4, 4], [4, 1], torch.float16, [0, 0])
    with pytest.raises(RuntimeError, match="SPYRE-E6513"):
        torch.ones(8, dtype=torch.float16).to(
            "spyre", device_layout=C.SpyreTensorLayout([8], torch.float32)
        )
    with pytest.raises(RuntimeError, match="SPYRE-E2008"):
        torch.empty(
            4,
            dtype=torch.float16,
            device="spyre",
            device_layout=C.SpyreTensorLayout([4, 64], [1], C.DataFormats.SEN169_FP16),
        )
    with pytest.raises(RuntimeError, match="not on spyre"):
        C.get_spyre_tensor_layout(torch.ones(2))


def test_enumerations_have_the_documented_numbers():
    names = [
        "SEN169_FP16",
        "IEEE_FP32",
        "INVALID",
        "SEN143_FP8",
        "SEN152_FP8",
        "SEN153_FP9",
        "SENINT2",
        "SENINT4",
        "SENINT8",
        "SENINT16",
        "SENINT24",
        "IEEE_INT64",
        "IEEE_INT32",
        "SENUINT32",
        "SENUINT2",
        "IEEE_FP16",
        "BOOL",
        "BFLOAT16",
        "SEN18F_FP24",
    ]
    assert [int(getattr(C.DataFormats, name)) for name in names] == list(range(19))
    assert C.DataFormats.IEEE_INT32.elems_per_stick() == 32
    with pytest.raises(RuntimeError, match="No device stick geometry"):
        C.DataFormats.INVALID.elems_per_stick()
    assert int(C.ElementArrangement.EXX2) == 3
    assert C.encode_constant(1.0, C.DataFormats.IEEE_FP32) == 0x3F800000


def test_no_warnings_on_ordinary_use():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = torch.ones(3, 70, dtype=torch.float16).to("spyre")
        repr(x), x.t().contiguous().cpu(), x[1:].clone(), x.to(torch.float32).cpu()
