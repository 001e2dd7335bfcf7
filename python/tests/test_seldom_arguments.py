"""Arguments of operations that are seldom given: bounds, switches, numbers that are none, types of results: as on the
CPU."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch.utils._pytree import tree_leaves

# What the device refuses the CPU is asked to put into words.
pytestmark = pytest.mark.filterwarnings("ignore:.*falling back to cpu")

aten = torch.ops.aten
INF, NAN = math.inf, math.nan
HOW = ("eager", "compiled")


def called(call, how):
    return torch.compile(call, backend="spyre") if how == "compiled" else call


def moved(args):
    return [a.to("spyre") if isinstance(a, torch.Tensor) else a for a in args]


def assert_as_on_cpu(call, *args, how="eager", on_device=None):
    """The same types, shapes and numbers, all of them by the device."""
    expected, run = tree_leaves(call(*args)), called(call, how)
    there = moved(args)
    with on_device():
        found = [t.cpu() for t in tree_leaves(run(*there))]
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        torch.testing.assert_close(ours, theirs, equal_nan=True)


def assert_refused(call, *args):
    """By both, with the same type of exception."""
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - the CPU says which
        call(*args)
    there = moved(args)
    with pytest.raises(theirs.type):
        call(*there)


# --------------------------------------------------------------------------------------------------
# Torch's default type


@pytest.fixture(params=[torch.float64, torch.float16], ids=str)
def default_type(request):
    """Formulas are captured anew for each."""
    before = torch.get_default_dtype()
    yield lambda: torch.set_default_dtype(request.param)
    torch.set_default_dtype(before)


_CONSTANTS = {
    "atan": lambda x, a: torch.atan(x),
    "atan2": torch.atan2,
    "angle": lambda x, a: torch.angle(x),
    "sin": lambda x, a: torch.sin(x),
    "erfcx": lambda x, a: torch.special.erfcx(x),
    "erfinv": lambda x, a: torch.erfinv(x / 8),
    "ndtri": lambda x, a: torch.special.ndtri(x.abs() / 8),
    "entr": lambda x, a: torch.special.entr(x),
    "lgamma": lambda x, a: torch.lgamma(x),
    "k0": lambda x, a: torch.special.modified_bessel_k0(x),
    "floor quotient": lambda x, a: torch.div(x, INF, rounding_mode="floor"),
    "clamp": lambda x, a: torch.clamp(x, min=0.3),
    "sort": lambda x, a: torch.sort(x)[0],
    "long list": lambda x, a: torch.topk(torch.cat([x, a], 1).repeat(1, 8), 70)[0],
    "average": lambda x, a: F.avg_pool2d(x.reshape(1, 1, 6, 4), 3, 2, 1),
    "mean at places": lambda x, a: torch.scatter_reduce(x, 1, (a > 0).long(), a, "mean"),
    "reflected": lambda x, a: F.grid_sample(
        x.reshape(1, 1, 6, 4), a.reshape(1, 3, 4, 2), padding_mode="reflection", align_corners=False
    ),
    "solved": lambda x, a: torch.linalg.solve(x.reshape(6, 4).mT @ x.reshape(6, 4), a.reshape(4, 6)),
    "mirrors": lambda x, a: torch.linalg.qr(x),
    "power": lambda x, a: torch.matrix_exp(x[:4, :4] / 4),
    "roots": lambda x, a: torch.cholesky_inverse(
        torch.linalg.cholesky(x @ x.mT + 4 * torch.eye(4, dtype=x.dtype, device=x.device))
    ),
    "sequences": lambda x, a: F.ctc_loss(
        x.reshape(6, 2, 2).log_softmax(2), (a[:2, :2] * 0 + 1).long(), (6, 5), (2, 1), reduction="none"
    ),
}


@pytest.mark.parametrize("name", sorted(_CONSTANTS))
def test_constants_are_of_the_operands_type(name, default_type, on_device):
    import torch_spyre._C as extension

    call = _CONSTANTS[name]
    generator = torch.Generator().manual_seed(0)
    given = moved(torch.randn(4, 6, generator=generator) for _ in range(2))
    expected = tree_leaves(call(*given))
    extension.clear_eager_cache()
    default_type()
    with on_device():
        found = tree_leaves(call(*given))
    for ours, theirs in zip(found, expected):
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours.cpu(), theirs.cpu(), rtol=0, atol=0, equal_nan=True)


# --------------------------------------------------------------------------------------------------
# Factors of matrices


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("size", [1e30, 1e-30])
def test_mirrors_of_columns_of_any_size(size, mode, how, on_device):
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([size, 1.0, 1 / size])
    assert_as_on_cpu(lambda x: torch.linalg.qr(x, mode), x, how=how, on_device=on_device)


def test_mirrors_of_an_unknown_mode():
    assert_refused(lambda x: torch.linalg.qr(x, "all"), torch.eye(3))


def test_mirrors_of_many_rows_are_left_to_the_cpu():
    """Their product has as many columns."""
    x = torch.randn(3000, 1).to("spyre")
    with pytest.warns(UserWarning, match="linalg_qr.default is falling back to cpu"):
        assert torch.linalg.qr(x)[0].shape == (3000, 1)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(
    "matrix, right",
    [
        ([[0.0, 2.0], [0.0, 4.0]], [[1.0], [1.0]]),
        ([[1.0, 2.0, 1.0], [0.0, 0.0, 4.0], [0.0, 0.0, 1.0]], [[1.0], [1.0], [1.0]]),
        ([[1.0, 2.0, 1.0], [0.0, 1.0, 4.0], [0.0, 0.0, 1.0]], [[INF], [1.0], [1.0]]),
    ],
)
def test_infinities_stay_in_their_rows(matrix, right, how, on_device):
    """A row that is taken off no other is not multiplied by 0."""
    call = lambda a, b: torch.linalg.solve_triangular(a, b, upper=True)  # noqa: E731
    assert_as_on_cpu(call, torch.tensor(matrix), torch.tensor(right), how=how, on_device=on_device)


def test_factors_of_a_matrix_with_an_infinity(on_device):
    x = torch.tensor([[1.0, INF, 1.0], [2.0, 1.0, 1.0], [1.0, 1.0, 3.0]])
    assert_as_on_cpu(torch.linalg.lu_factor_ex, x, on_device=on_device)


SINGULAR, REGULAR = torch.tensor([[1.0, 2.0], [2.0, 4.0]]), torch.tensor([[4.0, 2.0], [2.0, 3.0]])
_CHECKED = {
    "inv_ex": torch.linalg.inv_ex,
    "solve_ex": lambda a, **how: torch.linalg.solve_ex(a, a * 0 + 1, **how),
    "cholesky_ex": torch.linalg.cholesky_ex,
    "lu_factor_ex": torch.linalg.lu_factor_ex,
}


@pytest.mark.parametrize("name", sorted(_CHECKED))
def test_errors_of_factors_are_asked_for(name, on_device):
    """The device says of which matrix there is no result; with check_errors the host asks."""
    call = _CHECKED[name]
    for matrix in (REGULAR, torch.stack([REGULAR, REGULAR])):
        assert_as_on_cpu(lambda a: call(a, check_errors=True), matrix, on_device=on_device)
    assert_as_on_cpu(lambda a: call(a)[-1], torch.stack([REGULAR, SINGULAR]), on_device=on_device)
    assert_refused(lambda a: call(a, check_errors=True), SINGULAR)
    assert_refused(lambda a: call(a, check_errors=True), torch.stack([REGULAR, SINGULAR]))


def test_shapes_of_systems():
    assert_refused(lambda a, b: torch.linalg.solve_ex(a, b, left=False), REGULAR, torch.ones(2))
    assert_refused(torch.linalg.solve, REGULAR, torch.ones(3, 2))
    assert_refused(lambda a, b: torch.linalg.solve_triangular(a, b, upper=True), REGULAR, torch.ones(3, 2))


@pytest.mark.parametrize("matrix", [[[-1e9, 0.0], [0.0, 0.0]], [[0.0, 1e30], [0.0, 0.0]], [[INF, 0.0], [0.0, 1.0]]])
def test_powers_of_matrices_of_any_norm(matrix, on_device):
    """In graphs those beyond 2^20 have none."""
    x = torch.tensor(matrix)
    assert_as_on_cpu(torch.matrix_exp, x, on_device=on_device)
    assert called(torch.matrix_exp, "compiled")(x.to("spyre")).isnan().all()


# --------------------------------------------------------------------------------------------------
# Numbers that are none


@pytest.mark.parametrize("number", [NAN, INF, -INF])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_samples_at_no_place(mode, padding, number, on_device):
    image, grid = torch.arange(1, 17.0).reshape(1, 1, 4, 4), torch.zeros(1, 1, 3, 2)
    grid[0, 0, 0, 0] = number
    call = lambda x, g: F.grid_sample(x, g, mode, padding, align_corners=False)  # noqa: E731
    for how in HOW if math.isnan(number) else HOW[:1]:
        assert_as_on_cpu(call, image, grid, how=how, on_device=on_device)
    if mode == "bicubic":
        return
    volume, grid = torch.arange(1, 65.0).reshape(1, 1, 4, 4, 4), torch.zeros(1, 1, 1, 2, 3)
    grid[0, 0, 0, 0, 0] = number
    assert_as_on_cpu(call, volume, grid, on_device=on_device)


_SCORES = torch.tensor([[1.0, NAN, 2.0], [NAN, 1.0, 2.0], [1.0, 2.0, 3.0]])
_LISTS = torch.tensor([[0, -1, 1], [0, -1, 1], [1, 2, -1]])
_LOSSES = {
    "multi_margin": (F.multi_margin_loss, torch.tensor([0, 0, 1])),
    "multilabel_margin": (F.multilabel_margin_loss, _LISTS),
    "soft_margin": (F.soft_margin_loss, torch.ones(3, 3)),
    "margin_ranking": (lambda x, t, reduction: F.margin_ranking_loss(x, t, t, reduction=reduction), torch.ones(3, 3)),
    "hinge_embedding": (F.hinge_embedding_loss, torch.ones(3, 3)),
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("reduction", ["none", "mean"])
@pytest.mark.parametrize("name", sorted(_LOSSES))
def test_margins_of_no_number(name, reduction, how, on_device):
    loss, target = _LOSSES[name]
    call = lambda x, t: loss(x, t, reduction=reduction)  # noqa: E731
    assert_as_on_cpu(call, _SCORES, target, how=how, on_device=on_device)

    def slope(x, t):
        x = x.detach().clone().requires_grad_()
        return torch.autograd.grad(call(x, t).sum(), x)

    if how == "eager":
        assert_as_on_cpu(slope, _SCORES, target, on_device=on_device)


_ROWS = torch.tensor([[1.0, NAN, 2.0], [3.0, 4.0, 3.0], [0.0, 0.0, 0.0], [1e30, 1e30, 0.0], [INF, 1.0, 1.0]])


@pytest.mark.parametrize("order, most", [(2, 1.0), (2, 0.0), (1, 2.0), (INF, 1.0), (0.5, 2.0), (2, INF)])
def test_bounds_of_norms(order, most, on_device):
    assert_as_on_cpu(lambda x: torch.renorm(x, order, 0, most), _ROWS, on_device=on_device)
    assert_as_on_cpu(lambda x: x.clone().renorm_(order, -1, most), _ROWS, on_device=on_device)


@pytest.mark.parametrize("order, dim, most", [(0, 0, 1.0), (-1, 0, 1.0), (2, 0, -1.0), (2, 0, NAN), (2, 2, 1.0)])
def test_bounds_of_norms_that_are_none(order, dim, most):
    assert_refused(lambda x: torch.renorm(x, order, dim, most), _ROWS)
    assert_refused(lambda x: torch.renorm(x, 2, 0, 1.0), _ROWS[0])


# --------------------------------------------------------------------------------------------------
# Bins, ranges and bounds

_VALUES = torch.tensor([0.0, 1.0, 1.5, 2.0, 2.0, -5.0, 7.0, 0.5])


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("bounds", [(5,), (4, 0, 2), (4, -1, 3.5), (3, 2, 2), (1,)])
def test_bins(bounds, how, on_device):
    """Equal bounds are those of the elements; what is beyond bounds that are given, or no number, is in no bin."""
    call = lambda x: torch.histc(x, *bounds)  # noqa: E731
    assert_as_on_cpu(call, _VALUES, how=how, on_device=on_device)
    if len(bounds) > 1 and bounds[1] != bounds[2]:
        beyond = torch.tensor([1.0, INF, -INF, NAN, 0.5])
        assert_as_on_cpu(call, beyond, how=how, on_device=on_device)


def test_bins_of_equal_elements(on_device):
    assert_as_on_cpu(lambda x: torch.histc(x, 4), torch.full((5,), 2.0), on_device=on_device)


@pytest.mark.parametrize("bounds", [(0,), (-1,), (3, 5, 1), (3, -INF, INF), (3, 0, NAN)])
def test_bins_that_torch_refuses(bounds):
    assert_refused(lambda x: torch.histc(x, *bounds), _VALUES)


@pytest.mark.parametrize("number", [NAN, INF])
def test_bins_without_bounds(number):
    """The elements give none: the device finds out."""
    with pytest.raises(RuntimeError, match="SPYRE-E7017"):
        torch.histc(torch.tensor([1.0, number]).to("spyre"), 3).cpu()
    torch.spyre.reset_device()


_EDGES = torch.cat([torch.tensor([NAN, INF, -INF]), torch.arange(-80, 80) * 0.0625])


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("scale, zero", [(0.125, 0), (0.125, -8), (0.1, 3), (1 / 3, 7)])
def test_numbers_rounded_as_integers(scale, zero, how, on_device):
    """Halves go to the even number; what is no number is the least."""
    call = lambda x: aten.fake_quantize_per_tensor_affine_cachemask(x, scale, zero, -8, 7)  # noqa: E731
    assert_as_on_cpu(call, _EDGES, how=how, on_device=on_device)


_ZEROS = {"whole": torch.tensor([0, 3], dtype=torch.int32), "fractions": torch.tensor([0.25, -1.5])}


@pytest.mark.parametrize("zero", _ZEROS.values(), ids=_ZEROS)
def test_channels_rounded_as_integers(zero, on_device):
    """A zero point that is a fraction is added before the sum is rounded."""
    call = lambda x, s, z: torch.fake_quantize_per_channel_affine(x, s, z, 0, -8, 7)  # noqa: E731
    assert_as_on_cpu(call, _EDGES[3:].reshape(2, 80), torch.tensor([0.125, 0.1]), zero, on_device=on_device)


@pytest.mark.parametrize("axis, zero", [(2, 0), (-1, 0), (0, 20)])
def test_ranges_that_torch_refuses(axis, zero):
    x, scale = torch.ones(1, 1), torch.tensor([0.5])
    assert_refused(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.5, 20, -8, 7), x)
    assert_refused(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.5, 0, 7, -8), x)
    if not zero:
        point = torch.tensor([0], dtype=torch.int32)
        assert_refused(lambda *a: torch.fake_quantize_per_channel_affine(*a, axis, -8, 7), x, scale, point)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("lower, upper", [(0.9, 0.1), (0.1, INF), (NAN, 0.1)])
def test_random_slopes_out_of_bounds(lower, upper, training):
    assert_refused(lambda x: F.rrelu(x, lower, upper, training), torch.randn(3))


# --------------------------------------------------------------------------------------------------
# Types, and dimensions


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("call", [torch.any, torch.all], ids=["any", "all"])
def test_truths_of_bytes_are_bytes(call, how, on_device):
    x = torch.tensor([[0, 1, 2], [1, 2, 3]], dtype=torch.uint8)
    every = lambda x: (call(x), call(x, 0), call(x, (0, 1)), call(x, 1, True), call(x[0, 1]))  # noqa: E731
    assert_as_on_cpu(every, x, how=how, on_device=on_device)


@pytest.mark.parametrize("x", [torch.arange(3), torch.tensor([True]), torch.tensor(3)], ids=["row", "truth", "number"])
def test_integers_have_no_mean(x, on_device):
    assert_refused(torch.mean, x)
    assert_refused(lambda x: torch.mean(x, 0), x)
    assert_refused(lambda x: torch.mean(x.float(), dtype=torch.int64), x)
    assert_as_on_cpu(lambda x: torch.mean(x, dtype=torch.float32), x, on_device=on_device)


def _place(x):
    return torch.zeros(x.shape, dtype=torch.int64, device=x.device)


_ALONG = {
    name: getattr(torch, name)
    for name in (
        "all amax any argmax argsort cummax cumprod cumsum flip log_softmax logcumsumexp logsumexp max mean median min mode "
        "nansum prod softmax sort sum"
    ).split()
} | {
    "flip": lambda x, d: torch.flip(x, (d,)),
    "gather": lambda x, d: torch.gather(x, d, _place(x)),
    "index_add": lambda x, d: torch.index_add(x, d, _place(x).reshape(-1)[:1], x),
    "index_fill": lambda x, d: torch.index_fill(x, d, _place(x).reshape(-1)[:1], 3),
    "index_select": lambda x, d: torch.index_select(x, d, _place(x).reshape(-1)[:1]),
    "kthvalue": lambda x, d: torch.kthvalue(x, 1, d),
    "scatter": lambda x, d: torch.scatter(x, d, _place(x), x),
    "topk": lambda x, d: torch.topk(x, 1, d),
    "unfold": lambda x, d: x.unfold(d, 1, 1),
    "var": lambda x, d: torch.var(x, d, correction=0),
    "vector_norm": lambda x, d: torch.linalg.vector_norm(x, 2, d),
}


@pytest.mark.parametrize("name", sorted(_ALONG))
def test_dimensions_of_tensors_without_any(name):
    """0 and -1 are the one that is not there; 1 is an IndexError."""
    call, x = _ALONG[name], torch.tensor(2.0)
    torch.spyre.reset_counters()
    for dim in (0, -1):
        for ours, theirs in zip(tree_leaves(call(x.to("spyre"), dim)), tree_leaves(call(x, dim)), strict=True):
            torch.testing.assert_close(ours.cpu(), theirs)
    assert torch.spyre.counters()["fallback_ops"] == 0
    for dim in (1, -2):
        assert_refused(lambda x, d=dim: call(x, d), x)
    for dim in (2, -3, 5):
        assert_refused(lambda x, d=dim: call(x, d), torch.rand(2, 3))


@pytest.mark.parametrize("call", [torch.mode, torch.sort, torch.median, torch.cummax], ids=lambda call: call.__name__)
@pytest.mark.parametrize("dim", [0, 2, -1])
def test_rows_of_tensors_of_many_dimensions(dim, call, on_device):
    """Pairs of their elements have more than the device has names for."""
    x = torch.randperm(96, generator=torch.Generator().manual_seed(0)).float().reshape(2, 2, 2, 2, 2, 3) % 7
    for how in HOW:
        assert_as_on_cpu(lambda x: call(x, dim)[0], x, how=how, on_device=on_device)
    if call is not torch.cummax:
        assert_as_on_cpu(lambda x: call(x, dim)[0], x.reshape(2, 1, 2, 2, 2, 2, 3), on_device=on_device)


def test_modes_into_tensors_that_are_given(on_device):
    def call(x):
        out = torch.empty(0, device=x.device), torch.empty(0, dtype=torch.int64, device=x.device)
        torch.mode(x, 1, out=out)
        return out

    assert_as_on_cpu(call, torch.tensor([[1.0, 2.0, 2.0], [3.0, 3.0, 1.0]]), on_device=on_device)


_MASKS = [torch.tensor([True, False]), torch.tensor([[True, False, True], [False, True, True]])]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("mask", _MASKS, ids=["row", "matrix"])
def test_values_of_fewer_dimensions_at_a_mask(mask, how, on_device):
    x = torch.arange(24.0).reshape(2, 3, 4)
    count, rest = int(mask.sum()), x.shape[mask.dim() :]
    for shape in {(), (1,), (4,), tuple(rest), (1, *rest), (count, *rest), (count, *[1] * len(rest))}:
        value = -torch.arange(1.0, 1 + math.prod(shape)).reshape(shape)
        for sums in (False, True):
            call = lambda x, m, v, s=sums: torch.index_put(x, (m,), v, s)  # noqa: E731
            assert_as_on_cpu(call, x, mask, value, how=how, on_device=on_device)


def test_values_that_do_not_fit_a_mask():
    for shape in ((7,), (1, 1, 3, 4)):
        assert_refused(lambda x, m, v: torch.index_put(x, (m,), v), torch.zeros(2, 3, 4), _MASKS[0], torch.ones(shape))
    assert_refused(lambda x, m, v: torch.index_put(x, (m,), v), torch.zeros(3, 3), _MASKS[0], torch.ones(()))


@pytest.mark.parametrize("how", HOW)
def test_elements_in_another_order(how, on_device):
    """Along any dimensions, also where there are no elements."""
    x = torch.arange(120.0).reshape(2, 3, 5, 4)

    def call(x):
        flips = [torch.flip(x, dims) for dims in [(0,), (3,), (0, 1), (2, 3), (1, 2, 3), (0, 1, 2, 3), ()]]
        rolls = [torch.roll(x, 1, 0), torch.roll(x, (1, -2), (0, 3)), torch.roll(x, 7)]
        return flips + rolls + [torch.rot90(x, k, dims) for k in (1, 2, 3) for dims in ((0, 1), (2, 3), (3, 0))]

    assert_as_on_cpu(call, x, how=how, on_device=on_device)
    torch.spyre.reset_counters()
    for ours, theirs in zip(called(call, how)(x[:, :0].to("spyre")), call(x[:, :0]), strict=True):
        assert ours.shape == theirs.shape
    assert torch.spyre.counters()["fallback_ops"] == 0


@pytest.mark.parametrize("how", HOW)
def test_logarithms_of_sums_of_nothing(how, on_device):
    call = lambda x: torch.logsumexp(x[:, :0], 1) + x[:, 0]  # noqa: E731
    if how == "compiled":
        assert_as_on_cpu(call, torch.ones(3, 4), how=how, on_device=on_device)
    else:
        assert call(torch.ones(3, 4).to("spyre")).tolist() == [-INF] * 3
