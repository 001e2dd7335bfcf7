"""int64 values that the device's 32-bit integers cannot hold: one rule for every way to the device."""

import io
import warnings

import pytest
import torch

MOST, LEAST = torch.iinfo(torch.int32).max, torch.iinfo(torch.int32).min
WIDE = 2**40 + 5
SPYRE = torch.device("spyre")


def wide(*shape):
    """Positions 0 and 1 hold numbers beyond both ends."""
    x = torch.arange(torch.Size(shape).numel())
    x[:2] = torch.tensor([WIDE, -WIDE])[: x.numel()]
    return x.reshape(shape)


def loaded(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file, map_location="spyre")


def stored(x):
    y = torch.zeros(x.shape, dtype=torch.int64, device=SPYRE)
    y.copy_(x)
    return y


def part_of_many(x):
    y = torch.zeros(300, 400, dtype=torch.int64, device=SPYRE)
    y[7, 3 : 3 + x.numel()] = x.flatten()
    return y[7, 3 : 3 + x.numel()].reshape(x.shape)


def compiled_constant(x):
    numbers = x.clone()
    return torch.compile(lambda zero: zero + numbers.to("spyre"))(torch.zeros_like(x).to("spyre"))


#: Ways of a tensor to the device, with the shapes they are tried with.
WAYS = {
    "to": (lambda x: x.to("spyre"), [(), (1,), (2,), (5, 70), (100, 300)]),
    "list": (lambda x: torch.tensor(x.tolist(), device=SPYRE), [(), (1,), (3,)]),
    "transposed": (lambda x: x.t().to("spyre").t(), [(5, 70)]),
    "steps": (lambda x: torch.stack([x, x], -1)[..., 0].to("spyre"), [(5, 70)]),
    "pinned": (lambda x: x.pin_memory().to("spyre", non_blocking=True), [(2,), (5, 70)]),
    "non-blocking": (lambda x: x.to("spyre", non_blocking=True), [(2,), (5, 70)]),
    "copy_": (stored, [(), (1,), (5, 70)]),
    "part": (part_of_many, [(1,), (2,), (3, 5)]),
    "storage": (lambda x: torch.empty(0, dtype=torch.int64, device=SPYRE).set_(x.to("spyre")), [(5, 70)]),
    "torch.load": (loaded, [(1,), (5, 70)]),
    "module": (lambda x: torch.nn.ParameterDict({"p": torch.nn.Parameter(x, False)}).to("spyre")["p"], [(5, 70)]),
    "constant of a graph": (compiled_constant, [(5,)]),
    "result of the CPU": (lambda x: torch.where(x > 0, WIDE, x // (x + (x == 0)) * x).to("spyre"), [(5,)]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore:Spyre does not support int64")
def test_every_way_to_the_device_has_the_nearest_number(way):
    function, shapes = WAYS[way]
    for shape in shapes:
        x = wide(*shape) if shape else torch.tensor(WIDE)
        x = torch.where(x > 0, WIDE, x // (x + (x == 0)) * x) if way == "result of the CPU" else x
        result = function(x)
        assert result.device.type == "spyre" and torch.equal(result.cpu(), x.clamp(LEAST, MOST)), shape


@pytest.mark.parametrize("number", [WIDE, -WIDE, 2**31, -(2**31) - 1, 2**32 + 1])
@pytest.mark.filterwarnings("ignore:Spyre does not support int64")
def test_fills_have_the_nearest_number(number):
    nearest = max(min(number, MOST), LEAST)
    x = torch.zeros(3, 50, dtype=torch.int64, device=SPYRE)
    x[1] = number
    results = [
        torch.full((3,), number, device=SPYRE),
        x[1],
        x.new_full((2, 2), number),
        torch.zeros(2, dtype=torch.int64, device=SPYRE).fill_(number),
        torch.zeros(2, dtype=torch.int64, device=SPYRE).fill_(torch.tensor(number)),
        torch.scalar_tensor(number, dtype=torch.int64, device=SPYRE),
    ]
    for result in results:
        assert (result.cpu() == nearest).all()
    assert (x[0].cpu() == 0).all() and (x[2].cpu() == 0).all()


@pytest.mark.filterwarnings("ignore:Spyre does not support int64", "ignore::torch_spyre.ops.fallbacks.FallbackWarning")
@pytest.mark.parametrize("how", ["eager", "compiled"])
def test_numbers_in_programs(how):
    def function(x):
        return x + WIDE, x - WIDE, (x < WIDE), torch.minimum(x, torch.full_like(x, 2**31))

    x = torch.tensor([-7, 0, 7])
    results = (torch.compile(function) if how == "compiled" else function)(x.to("spyre"))
    for result, expected in zip(results, function(x), strict=True):
        exact = expected if expected.dtype == torch.bool else expected.clamp(LEAST, MOST)
        assert torch.equal(result.cpu(), exact)


def test_values_that_fit_are_silent(python):
    out = python("""
import warnings, torch
torch.set_warn_always(True)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for x in (torch.tensor(2**31 - 1), torch.tensor([-2**31, 2**31 - 1]), torch.arange(5000).reshape(50, 100).t()):
        assert torch.equal(x.to("spyre").cpu(), x)
    torch.zeros(3, dtype=torch.int64, device="spyre").fill_(2**31 - 1)
    torch.ones(3, 4).to("spyre")[torch.tensor([0, 2])]
    torch.tensor([2**40]).to("spyre", torch.float32)
    torch.nn.functional.cross_entropy(torch.ones(2, 3).to("spyre"), torch.tensor([1, -100]).to("spyre"))
print([str(w.message) for w in caught])
""")
    assert out.strip() == "[]"


def test_the_warning_names_number_and_index(python):
    out = python("""
import warnings, torch
from torch_spyre import _C

def caught(make):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        make()
    return found

x = torch.zeros(3, 40, dtype=torch.int64)
x[1, 7], x[2, 0] = -2**33, 2**35
(first,) = caught(lambda: x.to("spyre"))
assert first.category is UserWarning and first.filename == "<string>", first
print(first.message)
assert not caught(lambda: x.to("spyre"))
torch.set_warn_always(True)
(again,) = caught(lambda: x.t().to("spyre"))
print(again.message)
_C.set_downcast_warning(False)
assert not _C.get_downcast_warning() and not caught(lambda: x.to("spyre"))
_C.set_downcast_warning(True)
assert len(caught(lambda: torch.full((2,), 2**40, device="spyre"))) == 1
""")
    first, again = out.strip().splitlines()
    assert "Spyre does not support int64: 2 of 120 values do not fit" in first
    assert "the first is -8589934592 at index [1, 7]" in first
    assert "the first is 34359738368 at index [0, 2]" in again


def test_the_warning_can_be_switched_off(python):
    python(
        """
import warnings, torch
warnings.simplefilter("error")
assert torch.tensor([2**40, 1]).to("spyre").tolist() == [2**31 - 1, 1]
""",
        env={"TORCH_SPYRE_DOWNCAST_WARN": "0"},
    )


def test_values_that_do_not_fit_may_be_refused(python):
    python(
        """
import torch
x = torch.zeros(300, 400, dtype=torch.int64, device="spyre")
wide = torch.tensor([1, 2**40])
for make in (lambda: wide.to("spyre"), lambda: wide[1].to("spyre"), lambda: x.fill_(2**31), lambda: x[3, :2].copy_(wide),
             lambda: torch.full((2,), 2**40, device="spyre"), lambda: torch.ones(3).to("spyre")[wide],
             lambda: wide.pin_memory().to("spyre", non_blocking=True), lambda: torch.tensor([2**40], device="spyre"),
             lambda: torch.tensor([3e12]).to("spyre", torch.int64),
             lambda: torch.compile(lambda x: x[0, :2] + wide.to("spyre"))(x),
             lambda: torch.compile(lambda x: x[0, :2] * torch.full((2,), 2**40, device="spyre"))(x)):
    try:
        make()
    except Exception as error:
        assert "SPYRE-E6130: Spyre does not support int64: 1 of " in str(error), error
    else:
        raise AssertionError(make)
assert not x.cpu().any()
""",
        env={"TORCH_SPYRE_DOWNCAST_WARN": "error"},
    )
