"""Operations that sum products, operands whose products nearly cancel, and how far a result may be off."""

import dataclasses
import warnings
import zlib

import differential
import torch
import torch.nn.functional as F
from tolerances import TABLE

LIMITS = TABLE["differential"]
aten = torch.ops.aten


@dataclasses.dataclass(frozen=True)
class Entry:
    """An operation and its operands of the given ``shapes``.

    Along dimension ``dims[i]`` the second half of operand i repeats the first half, negated in operand 0. ``terms`` returns the
    sum of the terms' magnitudes for operands in float64; without it the operation is applied to the operands' magnitudes.
    ``made`` maps the drawn numbers to others. ``how`` lists "eager" and "compiled"."""

    name: str
    call: object
    shapes: tuple
    dims: tuple
    terms: object = None
    made: object = None
    how: tuple = ("eager", "compiled")


def cancelling(dtype, shapes, dims, seed=0):
    """Draws operands whose sums of products cancel but for a few of the last bits."""
    generator = torch.Generator().manual_seed(zlib.crc32(f"{shapes} {dims} {seed}".encode()))
    operands = []
    for number, (shape, dim) in enumerate(zip(shapes, dims, strict=True)):
        x = differential.exact(torch.rand(shape, generator=generator, dtype=torch.float64) + 0.5, dtype)
        if dim is not None:
            half = x.shape[dim] // 2
            first = x.narrow(dim, 0, half)
            if number == 0:
                few = torch.rand(first.shape, generator=generator) < 0.125
                first = -differential.exact(torch.where(few, first * (1 + 2.0**-6), first).double(), dtype)
            x.narrow(dim, half, half).copy_(first)
        operands.append(x)
    return operands


def operands_of(entry, dtype):
    operands = cancelling(dtype, entry.shapes, entry.dims)
    return [differential.exact(entry.made(t.double()), dtype) for t in operands] if entry.made else operands


def far_from_zero(x):
    """Numbers around 17 that differ by a few units of the last place."""
    return torch.round(x * 8) / 8 + 16


def allowed(entry, operands, reference, dtype):
    terms = entry.terms(*operands) if entry.terms else entry.call(*(t.abs() for t in operands))
    return LIMITS["ulps"] * differential.ulp(reference, dtype) + 2.0 ** LIMITS["termExponent"] * terms


def run(entries, dtype, how):
    """Runs the entries on the device, compiled ones in one graph. Returns the operands of each entry, and its result."""
    operands = [operands_of(entry, dtype) for entry in entries]

    def call(given):
        return [entry.call(*own) for entry, own in zip(entries, given, strict=True)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if how == "compiled":
            torch._dynamo.reset()
            call = torch.compile(call, backend="spyre", fullgraph=True, dynamic=False)
        return operands, call([[t.to("spyre") for t in own] for own in operands])


def check(entries, dtype, how):
    """Lines that describe wrong results of the entries; none when all are right."""
    wrong = []
    for entry, operands, got in zip(entries, *run(entries, dtype, how), strict=True):
        wide = [t.double() for t in operands]
        reference = entry.call(*wide)
        text = differential.distance_text(got.cpu(), reference, allowed(entry, wide, reference, dtype))
        text = text or ("" if got.dtype == dtype else f"the result is {got.dtype}")
        wrong += [f"{entry.name} {dtype} {how}: {text}"] if text else []
    return wrong


def _rms_norm(x):
    norm = F.rms_norm if x.dtype == torch.float64 else torch.ops.spyre.rms_norm
    return norm(x, [x.shape[-1]], None, 1e-5)


def _of_softmax(g, y):
    return aten._softmax_backward_data(g, y, -1, g.dtype)


def _of_layer_norm(number):
    def gradient(g, x, mean, scale, weight):
        return aten.native_layer_norm_backward(g, x, [x.shape[-1]], mean, scale, weight, None, [True, True, False])[number]

    return gradient


def _of_group_norm(number):
    def gradient(g, x, mean, scale, weight):
        shape = (x.shape[0], x.shape[1], x.shape[2], mean.shape[1])
        return aten.native_group_norm_backward(g, x, mean, scale, weight, *shape, [True, True, True])[number]

    return gradient


def _largest(g, x, mean, scale, weight):
    """Bound of the sums: at most 64 products of numbers below 2."""
    return torch.tensor(2.0**8, dtype=torch.float64)


def _of_convolution(number, transposed=False):
    def gradient(g, x, weight):
        mask = [number == 0, number == 1, False]
        return aten.convolution_backward(g, x, weight, None, [1], [0], [1], transposed, [0], 1, mask)[number]

    return gradient


def _of_magnitudes(number, transposed=False):
    return lambda *operands: _of_convolution(number, transposed)(*(t.abs() for t in operands))


K = 130
EAGER = ("eager",)
ENTRIES = [
    Entry("mv", torch.mv, ((5, K), (K,)), (1, 0)),
    Entry("mv of many rows", torch.mv, ((200, K), (K,)), (1, 0)),
    Entry("mv of columns", lambda x, v: torch.mv(x.t(), v), ((K, 5), (K,)), (0, 0)),
    Entry("matrices @ vector", torch.matmul, ((1, 2, 1, K), (K,)), (3, 0)),
    Entry("vector @ matrices", lambda x, v: v @ x, ((3, K, 5), (K,)), (1, 0)),
    Entry("vector @ vector", lambda x, v: x @ v, ((K,), (K,)), (0, 0)),
    Entry("dot", torch.dot, ((K,), (K,)), (0, 0)),
    Entry("vdot", torch.vdot, ((K,), (K,)), (0, 0)),
    Entry("inner of vectors", torch.inner, ((K,), (K,)), (0, 0)),
    Entry("inner", torch.inner, ((3, K), (4, K)), (1, 1)),
    Entry("inner of matrix and vector", torch.inner, ((3, K), (K,)), (1, 0)),
    Entry("mm", torch.mm, ((3, K), (K, 5)), (1, 0)),
    Entry("mm of one column", torch.mm, ((3, K), (K, 1)), (1, 0)),
    Entry("mm of one row", torch.mm, ((1, K), (K, 5)), (1, 0)),
    Entry("bmm", torch.bmm, ((2, 3, K), (2, K, 5)), (2, 1)),
    Entry("bmm of one row and column", torch.bmm, ((2, 1, K), (2, K, 1)), (2, 1)),
    Entry("linear", F.linear, ((3, K), (5, K)), (1, 1)),
    Entry("linear of a vector", F.linear, ((K,), (5, K)), (0, 1)),
    Entry("linear with one result", F.linear, ((3, K), (1, K)), (1, 1)),
    Entry("vecdot", torch.linalg.vecdot, ((3, K), (3, K)), (1, 1)),
    Entry("tensordot", lambda x, y: torch.tensordot(x, y, ([1, 2], [0, 1])), ((3, K, 2), (K, 2, 5)), (1, 0)),
    Entry("einsum of vectors", lambda x, y: torch.einsum("i,i->", x, y), ((K,), (K,)), (0, 0)),
    Entry("einsum of rows", lambda x, y: torch.einsum("ij,ij->i", x, y), ((3, K), (3, K)), (1, 1)),
    Entry("einsum of matrix and vector", lambda x, y: torch.einsum("ij,j->i", x, y), ((3, K), (K,)), (1, 0)),
    Entry("einsum of a transposed one", lambda x, y: torch.einsum("ji,jk->ik", x, y), ((K, 3), (K, 4)), (0, 0)),
    Entry("chain_matmul", torch.chain_matmul, ((3, K), (K, 5)), (1, 0)),
    Entry("multi_dot", lambda x, v: torch.linalg.multi_dot([x, v]), ((3, K), (K,)), (1, 0)),
    Entry("bilinear", F.bilinear, ((3, K), (3, 4), (2, K, 4)), (1, None, 1)),
    Entry("addr", lambda x, y, z: torch.addr(x, y, -z), ((3, 5), (3,), (5,)), (None,) * 3, lambda x, y, z: x + y[:, None] * z),
    Entry("cross", torch.linalg.cross, ((200, 3), (200, 3)), (None, None), lambda x, y: (x * y).sum(-1, keepdim=True).expand(x.shape)),
    Entry("cosine_similarity", F.cosine_similarity, ((3, K), (3, K)), (1, 1), lambda x, y: torch.ones(3, dtype=x.dtype)),
    Entry("cov", torch.cov, ((3, K),), (None,), lambda x: 2 * x @ x.t() / K, far_from_zero, EAGER),
    Entry("corrcoef", torch.corrcoef, ((3, K),), (None,), lambda x: torch.full((3, 3), 2.0**13, dtype=x.dtype), far_from_zero, EAGER),
    Entry("var of large numbers", lambda x: torch.var(x, -1), ((3, K),), (None,), lambda x: (x * x).mean(-1), far_from_zero),
    Entry("std of large numbers", lambda x: torch.std(x, -1), ((3, K),), (None,), lambda x: x.mean(-1) * 2**10, far_from_zero),
    Entry("var", lambda x: torch.var(x, -1), ((3, K),), (None,), lambda x: (x * x).mean(-1)),
    Entry("std", lambda x: torch.std(x, -1), ((3, K),), (None,), lambda x: x.mean(-1) * 2),
    Entry("vector_norm", lambda x: torch.linalg.vector_norm(x, 2, -1), ((3, K),), (1,)),
    Entry("norm", lambda x: torch.norm(x), ((3, K),), (1,)),
    Entry("matrix_norm", lambda x: torch.linalg.matrix_norm(x), ((3, 4, K),), (2,)),
    Entry("cdist", torch.cdist, ((3, K), (4, K)), (1, 1), lambda x, y: torch.cdist(x.abs(), -y.abs())),
    Entry("cdist of many rows", torch.cdist, ((30, 8), (30, 8)), (1, 1), lambda x, y: torch.cdist(x.abs(), -y.abs())),
    Entry("mse_loss", F.mse_loss, ((3, K), (3, K)), (None, None), lambda x, y: (x**2 + y**2).mean() * 2),
    Entry("huber_loss", F.huber_loss, ((3, K), (3, K)), (None, None), lambda x, y: (x**2 + y**2).mean() * 2),
    Entry("smooth_l1_loss", F.smooth_l1_loss, ((3, K), (3, K)), (None, None), lambda x, y: (x**2 + y**2).mean() * 2),
    Entry("trapezoid", torch.trapezoid, ((3, 64), (64,)), (1, None), lambda y, x: y.abs().sum(-1) * 2),
    Entry("group_norm", lambda x: F.group_norm(x, 2), ((2, 4, 64),), (None,), lambda x: 2.0**11 + 0 * x, far_from_zero),
    Entry("batch_norm", lambda x: F.batch_norm(x, None, None, training=True), ((4, 3, 32),), (None,), lambda x: 2.0**11 + 0 * x, far_from_zero),
    Entry("instance_norm", F.instance_norm, ((2, 3, 64),), (None,), lambda x: 2.0**11 + 0 * x, far_from_zero),
    Entry("layer_norm", lambda x: F.layer_norm(x, [33]), ((4, 33),), (None,), lambda x: 2.0**11 + 0 * x, far_from_zero),
    Entry("rms_norm", lambda x: F.rms_norm(x, [K], eps=1e-5), ((4, K),), (1,), torch.zeros_like),
    Entry("spyre.rms_norm", _rms_norm, ((64, K),), (1,), lambda x: _rms_norm(x).abs()),
    Entry("conv1d", F.conv1d, ((2, 64, 9), (3, 64, 3)), (1, 1)),
    Entry("conv2d", F.conv2d, ((1, 64, 5, 5), (3, 64, 3, 3)), (1, 1)),
    Entry("conv of each channel", lambda x, w: F.conv1d(x, w, groups=3), ((2, 3, 64), (3, 1, 64)), (2, 2)),
    Entry("conv_transpose2d", F.conv_transpose2d, ((1, 64, 3, 3), (64, 3, 2, 2)), (1, 0)),
    Entry("avg_pool2d", lambda x: F.avg_pool2d(x, 4), ((2, 3, 8, 8),), (3,)),
    Entry("adaptive_avg_pool2d", lambda x: F.adaptive_avg_pool2d(x, 2), ((2, 3, 8, 8),), (3,)),
    Entry("avg_pool3d", lambda x: F.avg_pool3d(x, 4), ((1, 3, 4, 4, 8),), (4,)),
    Entry("sum over pairs", lambda x: x.sum((0, 2)), ((8, 3, K),), (2,)),
    Entry("mean over pairs", lambda x: x.mean((0, 2)), ((8, 3, K),), (2,)),
    Entry("cumsum", lambda x: x.cumsum(-1), ((3, K),), (1,)),
    Entry("index_add", lambda x, y: x.index_add(0, torch.zeros(64, dtype=torch.int64, device=x.device), y), ((1, 5), (64, 5)), (None, None)),
    Entry("softmax's gradient", _of_softmax, ((3, 64), (3, 64)), (1, 1), lambda g, y: y * (g * y).abs().sum(-1, True) + (g * y).abs()),
    Entry(
        "log_softmax's gradient",
        lambda g, y: aten._log_softmax_backward_data(g, y, -1, g.dtype),
        ((3, 64), (3, 64)),
        (1, None),
        lambda g, y: y.exp() * g.abs().sum(-1, True) + g.abs(),
    ),
    Entry("layer_norm's gradient", _of_layer_norm(0), ((4, 64), (4, 64), (4, 1), (4, 1), (64,)), (1, 1, None, None, None), _largest),
    Entry("layer_norm's gradient of weights", _of_layer_norm(1), ((64, 9), (64, 9), (64, 1), (64, 1), (9,)), (0, 0, 0, 0, None), _largest),
    Entry("group_norm's gradient", _of_group_norm(0), ((2, 4, 64), (2, 4, 64), (2, 2), (2, 2), (4,)), (2, 2, None, None, None), _largest),
    Entry("convolution's gradient of images", _of_convolution(0), ((2, 64, 7), (2, 3, 9), (64, 3, 3)), (1, None, 0), _of_magnitudes(0)),
    Entry("convolution's gradient of kernels", _of_convolution(1), ((64, 2, 7), (64, 3, 9), (2, 3, 3)), (0, 0, None), _of_magnitudes(1)),
    Entry("transposed convolution's gradient", _of_convolution(0, True), ((2, 64, 11), (2, 3, 9), (3, 64, 3)), (1, None, 1), _of_magnitudes(0, True)),
]
