"""Torch's own check of custom operations (torch.library.opcheck) over every operation of the `spyre` namespace: schema,
fake function, gradient and AOTAutograd, with the kernels of the CPU and with those of the device."""

import warnings

import pytest
import torch

import torch_spyre  # noqa: F401

F16, F32, I64 = torch.float16, torch.float32, torch.int64
#: What torch checks; the last with symbolic sizes, too. Torch's check of registrations knows only its own devices, that of
#: schemas compares by allclose, which the CPU does not have for bytes of fp8.
CHECKS = ("test_faketensor", "test_aot_dispatch_dynamic")
ON_THE_CPU, OF_NUMBERS = "test_autograd_registration", "test_schema"


def rand(*shape, dtype=F32, grad=True, seed=0):
    generator = torch.Generator().manual_seed(seed)
    values = torch.randint(-16, 17, shape, generator=generator) / 8
    return values.to(dtype).requires_grad_(grad and dtype.is_floating_point)


def apart(*shape, grad=True):
    """Numbers no two of which are equal."""
    count = int(torch.Size(shape).numel())
    order = torch.randperm(count, generator=torch.Generator().manual_seed(0))
    return (order.reshape(shape) / 8).requires_grad_(grad)


def whole(*values):
    return torch.tensor(values, dtype=I64)


def sequences():
    """Of a CTC loss: five times, two sequences, four classes."""
    log_probs = torch.log_softmax(rand(5, 2, 4, grad=False), -1)
    return log_probs, torch.tensor([[1, 2], [3, 3]]), whole(5, 4), whole(2, 1)


def losses():
    return torch.ops.spyre.ctc_loss(*sequences(), 0, False)


SHAPE = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1)
NUMBER = whole(1)

CASES = {
    "softplus": (lambda: (rand(3, 65),), {"beta": 2.0}),
    "gelu": (lambda: (rand(3, 65),), {"approximate": "tanh"}),
    "silu": (lambda: (rand(3, 65),), {}),
    "clamp": (lambda: (rand(3, 65), -0.5), {"max": 0.75}),
    "logical_not": (lambda: (rand(3, 65) > 0,), {}),
    "batched_matmul": (lambda: (rand(2, 3, 5), rand(2, 5, 7)), {}),
    "layer_norm": (lambda: (rand(3, 65), [65], rand(65), rand(65)), {}),
    "rms_norm": (lambda: (rand(3, 65), [65], rand(65)), {}),
    "topkvalue": (lambda: (apart(3, 65), 3), {}),
    "topkindex": (lambda: (apart(3, 65, grad=False), 3), {}),
    "restickify": (lambda: (rand(5, 3).t(),), {}),
    "unfold": (lambda: (rand(1, 2, 5, 5), [3, 3]), {"padding": [1, 1]}),
    "convolution": (lambda: (rand(1, 2, 5, 5), rand(3, 2, 3, 3), rand(3), *SHAPE), {}),
    "convolution_backward": (
        lambda: (
            *(rand(1, 3, 5, 5, grad=False), rand(1, 2, 5, 5, grad=False), rand(3, 2, 3, 3, grad=False)),
            *(*SHAPE, [True, True, True]),
        ),
        {},
    ),
    "cummax": (lambda: (apart(3, 7), 1), {}),
    "cummin": (lambda: (apart(3, 7), 0), {}),
    "ctc_loss": (lambda: (*sequences(), 0, False), {}),
    "ctc_loss_backward": (lambda: (torch.ones(2), *sequences(), *losses(), 0, False), {}),
    "ctc_step": (lambda: (rand(7, 2, grad=False), rand(7, 2, grad=False), rand(5, 7, 2, grad=False), NUMBER), {}),
    "lu_step": (lambda: (apart(2, 4, 4, grad=False), torch.ones(2, 4, dtype=torch.int32), NUMBER), {}),
    "pivot_step": (lambda: (torch.arange(4).repeat(2, 1), torch.ones(2, 4, dtype=I64), NUMBER), {}),
    "triangular_step": (lambda: (rand(2, 4, 3, grad=False), apart(2, 4, 4, grad=False) + 1, NUMBER, False, False), {}),
    "cholesky_step": (lambda: (torch.eye(4).repeat(2, 1, 1) * 4, NUMBER), {}),
    "qr_step": (lambda: (apart(2, 4, 3, grad=False), torch.eye(4).repeat(2, 1, 1), NUMBER), {}),
    "exx2": (lambda: (rand(3, 65, grad=False), 1 / 65), {}),
    "layernormnorm": (lambda: [rand(*n, grad=False) for n in ((3, 65), (3, 1), (3, 1), (65,), (65,))], {}),
    "qfp8ch": (lambda: (rand(3, 65, dtype=F16, grad=False),), {}),
    "floordiv": (lambda: (whole(-7, 7, 5), whole(2, -2, 3)), {}),
    "truncdiv": (lambda: (whole(-7, 7, 5), whole(2, -2, 3)), {}),
    "floormod": (lambda: (whole(-7, 7, 5), whole(2, -2, 3)), {}),
    "truncmod": (lambda: (whole(-7, 7, 5), whole(2, -2, 3)), {}),
    "quantize_fp8_with_scale": (lambda: (rand(3, 65, dtype=F16, grad=False), torch.tensor(0.5, dtype=F16)), {}),
    "dequantize_fp8_with_scale": (
        lambda: (rand(3, 65, dtype=F16, grad=False).to(torch.float8_e4m3fn), torch.tensor(0.5, dtype=F16)),
        {},
    ),
    "overwrite": (lambda: (rand(2, 3, grad=False), rand(4, 5, grad=False), [0, 1], [1, 2]), {}),
    "overwrite_f": (lambda: (rand(2, 3, grad=False), rand(4, 5, grad=False), [0, 1], [1, 2]), {}),
}
#: Two numbers where a tensor shows one: not for other operations on the device, with which the check compares, and not in the
#: copies that the check makes of operands. Layer norms made of them are compared in test_named_dims.py.
OF_PAIRS = ("exx2", "layernormnorm")
OF_NO_COPIES = ("layernormscale",)


def test_every_operation_is_checked():
    names = {full for full in torch._C._dispatch_get_all_op_names() if full.startswith("spyre::")}
    assert {name.removeprefix("spyre::") for name in names} == {*CASES, *OF_NO_COPIES}


def moved(value, device):
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().to(device).requires_grad_(value.requires_grad)


@pytest.mark.parametrize(
    "name, device", [(name, on) for name in CASES for on in ("cpu", "spyre") if on == "cpu" or name not in OF_PAIRS]
)
def test_custom_operation(name, device):
    make, named = CASES[name]
    op = getattr(torch.ops.spyre, name).default
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        args = tuple(moved(value, device) for value in make())
        checks = [*CHECKS, *([ON_THE_CPU] if device == "cpu" else []), *([] if "fp8" in name else [OF_NUMBERS])]
        torch.spyre.reset_counters()
        torch.library.opcheck(op, args, named, test_utils=checks)
    # The check itself compares bytes of fp8, on the CPU.
    allowed = {"aten.eq.Tensor"} if "fp8" in name else set()
    assert torch.spyre.fallback_counts().keys() <= allowed, torch.spyre.fallback_counts()


def test_a_wrong_fake_function_is_found():
    with torch.library._scoped_library("spyre_test", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: torch.cat([x, x]), "CPU")
        torch.library.register_fake("spyre_test::twice", torch.empty_like, lib=library)
        with pytest.raises(Exception, match="(?s)[Ss]hapes?"):
            torch.library.opcheck(torch.ops.spyre_test.twice.default, (torch.ones(3),), test_utils=CHECKS)
