"""Distances of pairs, margins, windows and images at places that are data, most frequent elements: more entries of the
differential tests. SPECS has these and those of differential_layers.py.

Operands have sizes of their own: the shapes of the cases only say how many there are.
"""

import math

import differential
import torch
import torch.nn.functional as F
from differential import F32, FLOATS, I32, NUMBERS, WORDS
from differential_layers import (
    _THREE,
    SPECS,  # noqa: F401 - the tests take it from here
    _sampled,
    add,
    full_and,
    layer,
    numbers,
    product,
)

aten = torch.ops.aten


def of_few(name, call, operands, **more):
    """For three cases."""
    add(name, call, operands, accepts=lambda s: s in _THREE, **more)


def _wide_on_host(call):
    """Of operations that the CPU has in 32 bits and more."""

    def called(x, *rest):
        is_narrow = x.device.type == "cpu" and x.element_size() < 4
        results = call(x.float() if is_narrow else x, *rest)
        if isinstance(results, torch.Tensor):
            return results.to(x.dtype)
        return tuple(t.to(x.dtype) if t.is_floating_point() else t for t in results)

    return called


# --------------------------------------------------------------------------------------------------
# Elements and rows compared with each other

#: Of longer rows the CPU names any of equal elements.
_ROW = lambda d, _: [d.integers((5, 3, 13), -3, 4, d.dtype)]  # noqa: E731
for _dim in (1, 2):
    of_few("aten.mode.default", lambda x, n=_dim: torch.mode(x, n), _ROW, dtypes=NUMBERS, rule="exact", label=str(_dim))
for _order in (0.0, 0.5, 1.0, 2.0, 3.0, math.inf):
    _call = _wide_on_host(lambda x, p=_order: F.pdist(x.contiguous(), p))
    _sum = lambda x, p=_order: F.pdist(x.abs(), p) + F.pdist(-x.abs(), p) + F.pdist(x, p)  # noqa: E731
    layer(
        "aten._pdist_forward.default",
        _call,
        (9, 13),
        rule=_sum if _order else "exact",
        label=str(_order),
        # Equal rows have no gradient of their distance.
        forms=("contiguous", "transposed", "sliced"),
    )

# --------------------------------------------------------------------------------------------------
# Margins of classes


def _one_of(d, _):
    return [d.linear((6, 13), -2, 2), d.integers((6,), 0, 13), d.linear((13,), 0.5, 2)]


def _some_of(d, _):
    lists = [[1, 3, -1, 0, 4], [2, 2, 4, 1, 0], [-1, 1, 2, 3, 4]]
    return [d.linear((3, 5), -2, 2), torch.tensor(lists)]


def _reduced(rows, how):
    return rows if how == "none" else getattr(torch, how)(rows)


def _one_terms(power, how):
    """Each class of a row has the margin, its own score and that of the right one as terms."""

    def terms(x, target, weight):
        each = 1.5 + x.gather(1, target[:, None]).abs() + x.abs()
        return _reduced((each**power).sum(1) * weight[target] / x.shape[1], how)

    return terms


def _some_terms(how):
    def row(scores, target):
        right = target[: (target.tolist() + [-1]).index(-1)]
        wrong = [c for c in range(len(scores)) if c not in right.tolist()]
        return sum((1 + scores[c] + scores[right]).sum() for c in wrong) / len(scores) + scores.sum() * 0

    return lambda x, targets: _reduced(torch.stack([row(*both) for both in zip(x.abs(), targets)]), how)


for _how in ("none", "mean", "sum"):
    for _power in (1, 2):
        of_few(
            "aten.multi_margin_loss.default",
            _wide_on_host(
                lambda x, t, w, p=_power, r=_how: F.multi_margin_loss(x, t, p, 1.5, w.detach().to(x.dtype), reduction=r)
            ),
            _one_of,
            rule=_one_terms(_power, _how),
            label=f"{_power} {_how}",
        )
    of_few(
        "aten.multilabel_margin_loss_forward.default",
        _wide_on_host(lambda x, t, r=_how: F.multilabel_margin_loss(x, t, reduction=r)),
        _some_of,
        rule=_some_terms(_how),
        label=_how,
    )

    of_few(
        "aten.soft_margin_loss.default",
        _wide_on_host(lambda x, t, r=_how: F.soft_margin_loss(x, t.detach().to(x.dtype), reduction=r)),
        lambda d, _: [d.linear((3, 5), -20, 20), torch.tensor([1.0, -1, 1, -1, -1])],
        rule=lambda x, t, r=_how: F.soft_margin_loss(x, t, reduction=r),  # its terms are above 0
        label=_how,
    )

# --------------------------------------------------------------------------------------------------
# Windows and images at places that are data: samples that all formats hold, and of which all products are exact


def _fractions(size):
    return lambda d, _: [d.numbers((2, 3, *size)), d.integers((2, 3, len(size)), 0, 8, d.dtype) / 8]


for _dims, (_size, _kernel, _counts) in {2: ((11, 9), (2, 3), (7, 5)), 3: ((7, 9, 5), (2, 2, 3), (5, 5, 1))}.items():
    _pool = getattr(aten, f"fractional_max_pool{_dims}d").default
    _call = lambda x, s, c=_pool, k=_kernel, n=_counts: c(x, k, n, s.detach().to(x.dtype))  # noqa: E731
    of_few(f"aten.fractional_max_pool{_dims}d.default", _wide_on_host(_call), _fractions(_size), rule="exact")


#: What takes long to compile has two cases, one of which is compiled.
_TWO = lambda s: s in ((2, 65), (3, 1, 5))  # noqa: E731


def _sampled_volume(d, _):
    return [d.numbers((2, 3, 4, 2, 8)), d.integers((2, 2, 3, 2, 3), -12, 13, d.dtype) / 8]


for _padding, _corners in (("zeros", False), ("border", True), ("reflection", False), ("reflection", True)):
    add(
        "aten.grid_sampler_2d.default",
        lambda x, g, p=_padding, a=_corners: F.grid_sample(x, g, "bicubic", p, a),
        _sampled,
        # Weights below 0 add up to at most this much.
        rule=lambda x, g: 4 * x.abs().amax(),
        accepts=_TWO,
        label=f"bicubic {_padding} {'corners' if _corners else 'centres'}",
    )
for _mode, _padding in (("bilinear", "zeros"), ("bilinear", "reflection"), ("nearest", "border")):
    _call = lambda x, g, m=_mode, p=_padding: F.grid_sample(x, g.to(x.dtype), m, p, align_corners=False)  # noqa: E731
    add(
        "aten.grid_sampler_3d.default",
        _wide_on_host(_call),
        _sampled_volume,
        rule=(lambda x, g, c=_call: c(x.abs(), g)) if _mode == "bilinear" else "exact",
        accepts=_TWO,
        label=f"{_mode} {_padding}",
    )

# --------------------------------------------------------------------------------------------------
# Sequences of labels without alignment


def _sequences(d, _):
    labels = torch.tensor([[1, 1, 2, 4], [3, 2, 1, 1], [4, 0, 0, 0]])
    return [d.linear((9, 3, 5), -4, 0), labels, torch.tensor([9, 7, 8]), torch.tensor([4, 2, 1])]


def _in_a_row(d, s):
    given = _sequences(d, s)
    return [given[0], torch.tensor([1, 1, 2, 4, 3, 2, 4]), *given[2:]]


for _label, _operands, _blank in (("", _sequences, 0), ("in a row", _in_a_row, 0), ("last blank", _in_a_row, 4)):
    add(
        "spyre.ctc_loss.default",
        _wide_on_host(lambda x, t, i, n, b=_blank: F.ctc_loss(x, t % 4 if b else t, i, n, b, "none")),
        _operands,
        # One logarithm of each time.
        rule=lambda x, *_: x.abs().amax(2).sum(0),
        accepts=_TWO,
        forms=("contiguous", "transposed", "sliced"),
        label=_label,
    )


# --------------------------------------------------------------------------------------------------
# Integers, numbers rounded as integers, parts of ranges, copies of views


add("aten.angle.default", torch.angle, numbers(), dtypes=(*FLOATS, *WORDS))

_STEPS = torch.tensor([0.125, 0.25, 0.5, 1.0, 2.0])
_ZEROS_AT = torch.tensor([3, 0, -1, 2, 0], dtype=I32)


def _cast(x, *given):
    return [t.to(x.device) for t in given]


_QUANTIZED = {
    "fake_quantize_per_tensor_affine_cachemask": lambda x: torch.fake_quantize_per_tensor_affine(x, 0.25, 3, -8, 7),
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": lambda x: torch.fake_quantize_per_tensor_affine(
        x, *_cast(x, _STEPS[:1], _ZEROS_AT[:1]), -8, 7
    ),
    "fake_quantize_per_channel_affine_cachemask": lambda x: torch.fake_quantize_per_channel_affine(
        x, *_cast(x, _STEPS, _ZEROS_AT), 1, -8, 7
    ),
}
for _name, _call in _QUANTIZED.items():
    layer(f"aten.{_name}.default", _wide_on_host(lambda x, c=_call: c(x.float()).to(x.dtype)), (3, 5, 4), rule="exact")

_BOUNDS = torch.tensor([[-8.0] * 13, [8.0] * 13])
for _label, _range in (("", (-4, 4)), ("own range", (0, 0))):
    of_few(
        "aten.histc.default",
        _wide_on_host(lambda x, r=_range: torch.histc(x, 16, *r)),
        # Places between the bounds are exact.
        lambda d, _: [torch.cat([d.integers((3, 13), -40, 41, d.dtype) / 8, _BOUNDS.to(d.dtype)])],
        rule="exact",
        # Rows of a range that is not drawn have another.
        forms=("contiguous", "transposed"),
        label=_label,
    )
for _side in (False, True):
    _in = {"rule": "exact", "dtypes": FLOATS, "accepts": full_and(1), "forms": ("contiguous",), "label": str(_side)}
    _row = lambda d, s: [torch.sort(d.numbers((9,)))[0]]  # noqa: E731
    add("aten.searchsorted.Scalar", lambda r, n=_side: torch.searchsorted(r, 0.75, right=n), _row, **_in)
    add("aten.bucketize.Scalar", lambda r, n=_side: torch.bucketize(0.75, r, right=n), _row, **_in)


def _renormed(x, i):
    return aten.embedding_renorm.default(x, i.contiguous(), 2.0, 2.0)


of_few(
    "aten.embedding_renorm.default",
    _wide_on_host(_renormed),
    lambda d, _: [d.numbers((9, 13)), torch.tensor([[1, 1, 4], [0, 8, 4]])],
)
_CONTIGUOUS = {"rule": "exact", "forms": ("contiguous",)}
layer("aten.narrow_copy.default", lambda x: torch.narrow_copy(x, 1, 2, 3), (4, 7), copies=True, **_CONTIGUOUS)
layer("aten.unbind_copy.int", lambda x: torch.unbind_copy(x, 1), (4, 7), copies=True, **_CONTIGUOUS)
layer("aten.unfold_copy.default", lambda x: torch.unfold_copy(x, 1, 3, 2), (4, 7), copies=True, **_CONTIGUOUS)
layer(
    "spyre.unfold.default",
    lambda x: torch.ops.spyre.unfold(x, [3, 2], [1, 1], [1, 0], [2, 1]),
    (2, 3, 4, 5),
    copies=True,
    **_CONTIGUOUS,
)
of_few(
    "aten.take.default",
    torch.take,
    lambda d, _: [d.numbers((4, 7)), torch.tensor([[0, -1, 5], [27, 5, 9]])],
    rule="exact",
    dtypes=NUMBERS,
)
_PLACES = torch.arange(24).reshape(2, 3, 2, 2) * 5 % 16
of_few(
    "aten.max_unpool2d.default",
    lambda x, i: aten.max_unpool2d.default(x, i.contiguous(), [4, 4]),
    lambda d, _: [d.numbers((2, 3, 2, 2)), _PLACES],
    rule="exact",
)
of_few(
    "aten.max_unpool3d.default",
    lambda x, i: aten.max_unpool3d.default(x, i.contiguous(), [2, 2, 4], [2, 2, 2], [0, 0, 0]),
    lambda d, _: [d.numbers((2, 3, 1, 2, 2)), _PLACES.unsqueeze(2)],
    rule="exact",
)
of_few(
    "aten.nonzero_static.default",
    lambda x: torch.nonzero_static(x, size=9),
    lambda d, _: [d.integers((4, 7), -1, 2).to(d.dtype)],
    rule="exact",
    dtypes=NUMBERS,
)
for _how in ("add", "multiply"):
    of_few(
        "aten.scatter.reduce",
        lambda x, i, s, r=_how: torch.scatter(x, 1, i, s, reduce=r),
        lambda d, _: [d.numbers((3, 5)), torch.tensor([[0, 2, 4], [1, 1, 3], [2, 0, 0]]), d.numbers((3, 3))],
        rule=lambda x, i, s: torch.full((), 2.0**8, dtype=torch.float64),
        label=_how,
    )
    of_few(
        "aten.scatter.value_reduce",
        lambda x, i, r=_how: torch.scatter(x, 1, i, 2.0, reduce=r),
        lambda d, _: [d.numbers((3, 5)), torch.tensor([[0, 2, 4], [1, 1, 3], [2, 0, 0]])],
        rule=lambda x, i: torch.full((), 2.0**8, dtype=torch.float64),
        label=_how,
    )
layer("aten.as_strided_copy.default", lambda x: torch.as_strided_copy(x, (3, 2), (2, 5), 1), (4, 7), copies=True, **_CONTIGUOUS)
product(
    "aten.conv_tbc.default",
    _wide_on_host(lambda x, w, b: torch.conv_tbc(x, w.to(x.dtype), b.to(x.dtype), 1)),
    lambda d, _: [d.numbers((7, 2, 5)), d.numbers((3, 5, 4)), d.numbers((4,))],
    accepts=lambda s: s in _THREE,
    between=lambda x, w, b: [torch.conv_tbc(x, w, b * 0, 1)],
    # Torch's own has others as views.
    forms=("contiguous",),
)


# --------------------------------------------------------------------------------------------------
# Factors of matrices, in fp32 as on the CPU: errors grow with the condition, which is small here


def _regular(d, count=6):
    return d.linear((2, count, count), -1, 1) + 3 * torch.eye(count)


def _positive(d, count=6):
    x = d.linear((2, count, count), -1, 1)
    return x @ x.mT + torch.eye(count)


def _general(d):
    return d.linear((2, 6, 4), -2, 2)


def _triangle(d):
    return torch.tril(_regular(d))


def factors(name, call, *operands, label=""):
    add(
        f"aten.{name}",
        call,
        lambda d, _: [operand(d) for operand in operands],
        dtypes=(F32,),
        # Sums of products of as many elements as a row has, times the condition.
        rule=lambda *given: torch.stack([8 * t.abs().amax() for t in (*given, *differential.results_of(call(*given)))]).amax(),
        accepts=_TWO,
        forms=_SEPARATE,
        label=label,
    )


_SEPARATE = ("contiguous", "transposed", "sliced")
_linalg = torch.linalg
_right, _row_of_right = (lambda d: d.linear((2, 6, 3), -2, 2)), (lambda d: d.linear((2, 3, 6), -2, 2))

factors("linalg_cholesky_ex.default", _linalg.cholesky, _positive)
factors("linalg_cholesky_ex.default", lambda x: _linalg.cholesky(x, upper=True), _positive, label="upper")
factors("cholesky_solve.default", lambda x, a: torch.cholesky_solve(x, a), _right, _triangle)
factors("_cholesky_solve_helper.default", lambda x, a: torch.cholesky_solve(x, a.mT, True), _right, _triangle)
factors("cholesky_inverse.default", lambda a: torch.cholesky_inverse(a), _triangle)
for _upper in (False, True):
    factors(
        "linalg_solve_triangular.default",
        lambda a, x, u=_upper: _linalg.solve_triangular(a, x, upper=u),
        _regular,
        _right,
        label=f"{_upper}",
    )
factors(
    "linalg_solve_triangular.default",
    lambda a, x: _linalg.solve_triangular(a / 2, x, upper=True, left=False, unitriangular=True),
    _regular,
    _row_of_right,
    label="right",
)
factors("linalg_lu_factor_ex.default", _linalg.lu_factor, lambda d: d.linear((2, 6, 6), -2, 2))
factors("linalg_lu.default", _linalg.lu, _general)
factors("lu_unpack.default", lambda x: torch.lu_unpack(*_linalg.lu_factor(x)), lambda d: _general(d).mT.contiguous())
factors("linalg_lu_solve.default", lambda a, x: _linalg.lu_solve(*_linalg.lu_factor(a), x), _regular, _right)
factors(
    "linalg_lu_solve.default",
    lambda a, x: _linalg.lu_solve(*_linalg.lu_factor(a), x, left=False, adjoint=True),
    _regular,
    _row_of_right,
    label="adjoint",
)
factors("linalg_inv_ex.default", _linalg.inv, _regular)
factors("_linalg_solve_ex.default", _linalg.solve, _regular, _right)
factors("_linalg_solve_ex.default", lambda a, x: _linalg.solve(a, x[..., 0]), _regular, _right, label="vector")
factors(
    "_linalg_solve_ex.default", lambda a, x: _linalg.solve(a, x, left=False), _regular, _row_of_right, label="right"
)
factors("_linalg_det.default", lambda a: _linalg.det(a) / 256, _regular)
factors("_linalg_slogdet.default", _linalg.slogdet, _regular)
factors("linalg_qr.default", _linalg.qr, _general)
factors("linalg_qr.default", lambda x: _linalg.qr(x)[1], lambda d: _general(d).mT.contiguous(), label="wide")
factors("linalg_matrix_exp.default", torch.matrix_exp, lambda d: d.linear((2, 6, 6), -1, 1))
