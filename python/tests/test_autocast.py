"""torch.autocast("spyre"): what is cast to what, eager and compiled, and loss scaling."""

import pytest
import torch
from torch.nn import functional

pytestmark = pytest.mark.filterwarnings("ignore::torch_spyre.ops.fallbacks.FallbackWarning")

LOW = {
    "mm": lambda x: torch.mm(x, x),
    "matmul": lambda x: x @ x,
    "linear": lambda x: functional.linear(x, x),
    "addmm": lambda x: torch.addmm(x, x, x),
    "bmm": lambda x: torch.bmm(x[None], x[None]),
    "einsum": lambda x: torch.einsum("ij,jk->ik", x, x),
    "attention": lambda x: functional.scaled_dot_product_attention(*[x[None, None]] * 3),
}
FP32 = {
    "exp": torch.exp,
    "log": torch.log,
    "rsqrt": torch.rsqrt,
    "pow": lambda x: x**2,
    "layer_norm": lambda x: functional.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x: functional.rms_norm(x, x.shape[-1:]),
    "mse_loss": lambda x: functional.mse_loss(x, x),
    "logsumexp": lambda x: torch.logsumexp(x, 0),
    # Lists that torch has for CUDA beyond the documented ones.
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "sum": torch.sum,
    "prod": torch.prod,
    "cumsum": lambda x: torch.cumsum(x, 0),
    "norm": torch.norm,
    "vector_norm": torch.linalg.vector_norm,
}


def ones(dtype=torch.float32):
    return torch.ones(8, 8, dtype=dtype, device="spyre")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", LOW)
def test_products_run_in_the_lower_type(name, dtype):
    with torch.autocast("spyre", dtype=dtype):
        result = LOW[name](ones())
    assert result.dtype == dtype and result.is_spyre
    expected = LOW[name](torch.ones(8, 8))
    assert torch.equal(result.cpu().float(), expected)  # small integers: exact in every type


@pytest.mark.parametrize("name", FP32)
def test_delicate_operations_run_in_fp32(name):
    with torch.autocast("spyre", dtype=torch.float16):
        assert FP32[name](ones(torch.float16)).dtype == torch.float32


def test_promotion_and_what_is_not_listed():
    low, high = ones(torch.float16), ones()
    with torch.autocast("spyre", dtype=torch.float16):
        assert torch.addcmul(high, low, low).dtype == torch.float32
        assert torch.dot(low[0], high[0]).dtype == torch.float32
        assert (low + low).dtype == torch.float16
        assert torch.relu(low).dtype == torch.float16
        assert torch.softmax(low, -1, dtype=torch.float16).dtype == torch.float16
        # The CPU is not concerned.
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


def test_regions_nest_and_end():
    weight = torch.nn.Linear(8, 8).to("spyre")
    with torch.autocast("spyre", dtype=torch.float16):
        assert weight(ones()).dtype == torch.float16
        with torch.autocast("spyre", enabled=False):
            assert weight(ones()).dtype == torch.float32
        # torch's cache of cast weights does not tell types apart, on any device.
        with torch.autocast("spyre", dtype=torch.bfloat16, cache_enabled=False):
            assert (ones() @ ones()).dtype == torch.bfloat16
        assert weight(ones()).dtype == torch.float16
        assert torch.is_autocast_enabled("spyre")
    assert not torch.is_autocast_enabled("spyre")
    with pytest.raises(ZeroDivisionError), torch.autocast("spyre", dtype=torch.float16):
        1 / 0
    assert weight(ones()).dtype == torch.float32

    @torch.autocast("spyre", dtype=torch.bfloat16)
    def decorated(x):
        return x @ x

    assert decorated(ones()).dtype == torch.bfloat16


def test_weights_are_cast_once():
    weight = torch.nn.Linear(64, 64, bias=False).to("spyre")
    x = torch.ones(1, 64, dtype=torch.float16, device="spyre")

    def moved(cache_enabled):
        torch.spyre.reset_counters()
        with torch.autocast("spyre", dtype=torch.float16, cache_enabled=cache_enabled):
            for _ in range(4):
                weight(x)
        counters = torch.spyre.counters()
        return counters["programs_launched"], counters["h2d_bytes"]

    assert moved(True) < moved(False)


def test_types_that_cannot_be():
    with pytest.warns(UserWarning, match="not supported"), torch.autocast("spyre", dtype=torch.float64):
        assert (ones() @ ones()).dtype == torch.float32  # torch switches autocast off
    assert torch.amp.is_autocast_available("spyre")
    assert torch.spyre.get_amp_supported_dtype() == [torch.float16, torch.bfloat16]


def test_binary_cross_entropy_is_refused():
    with torch.autocast("spyre", dtype=torch.float16):
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            functional.binary_cross_entropy(ones(), ones())
        functional.binary_cross_entropy_with_logits(ones(), ones())


def test_gradients_have_the_type_of_the_weights():
    layer = torch.nn.Linear(8, 8).to("spyre")
    with torch.autocast("spyre", dtype=torch.float16):
        loss = layer(ones()).sum()
    assert loss.dtype == torch.float32
    loss.backward()
    assert layer.weight.grad.dtype == torch.float32
    assert torch.equal(layer.weight.grad.cpu(), torch.full((8, 8), 8.0))


@pytest.mark.parametrize("inside", [False, True])
def test_compiled_code(inside, on_device):
    # Small integers: sums are exact in every format, whatever the order.
    weight = torch.randint(-2, 3, (64, 64)).float()
    x = torch.randint(-2, 3, (8, 64)).float()
    on_card = weight.to("spyre"), x.to("spyre")

    def plain(w, v):
        return functional.linear(v, w)

    def cast(w, v):
        with torch.autocast("spyre", dtype=torch.float16):
            return plain(w, v)

    with torch.no_grad():
        if inside:
            function = torch.compile(cast)
            with on_device():
                result = function(*on_card)
        else:
            function = torch.compile(plain)
            with on_device(), torch.autocast("spyre", dtype=torch.float16):
                result = function(*on_card)
            assert function(*on_card).dtype == torch.float32  # and without it once more
        eager = cast(*on_card)
    assert result.dtype == eager.dtype == torch.float16
    assert torch.equal(result.cpu(), eager.cpu())


def test_loss_scaling_steps_and_skips():
    layer = torch.nn.Linear(4, 4).to("spyre")
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    scaler = torch.amp.GradScaler("spyre", init_scale=1024.0)
    before = layer.weight.detach().cpu().clone()
    scaler.scale(layer(torch.ones(4, 4, device="spyre")).sum()).backward()
    scaler.unscale_(optimizer)
    assert torch.equal(layer.weight.grad.cpu(), torch.full((4, 4), 4.0))
    scaler.step(optimizer)
    scaler.update()
    assert torch.equal(layer.weight.detach().cpu(), before - 2.0)
    # Infinite gradients: no step, half the scale.
    optimizer.zero_grad()
    layer.weight.grad = torch.full((4, 4), float("inf"), device="spyre")
    held = layer.weight.detach().cpu().clone()
    scaler.step(optimizer)
    scaler.update()
    assert torch.equal(layer.weight.detach().cpu(), held)
    assert scaler.get_scale() == 512.0
    assert scaler.state_dict()["scale"] == 512.0
