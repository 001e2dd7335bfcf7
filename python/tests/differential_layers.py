"""Layers of vision and of tables, order statistics, and what else is made of many rows: more entries of the differential
tests. SPECS has these and those of differential_composed.py.

Operands have sizes of their own: the shapes of the cases only say how many there are.
"""

import math

import torch
import torch.nn.functional as F
from differential import BOOL, FLOATS, NUMBERS
from differential_composed import (
    SPECS,  # noqa: F401 - the tests take it from here
    add,
    full,
    full_and,
    linear,
    moved,
    numbers,
    product,
)
from differential_ops import _APART, _distinct

aten = torch.ops.aten

#: So many cases an entry has.
_THREE = ((2, 65), (3, 1, 5), (2, 3, 4, 5))


def layer(name, call, *shapes, **more):
    """Operands of the shapes, for three cases."""
    operands = lambda d, _: [d.numbers(s) for s in shapes]  # noqa: E731
    add(name, call, operands, accepts=lambda s: s in _THREE, **more)


# --------------------------------------------------------------------------------------------------
# Convolutions of images, and transposed ones

_CONVOLVED = {
    "plain": ((2, 4, 9, 7), (6, 4, 3, 3), {}),
    "points": ((2, 5, 6, 7), (7, 5, 1, 1), {}),
    "strides": ((1, 3, 11, 9), (5, 3, 3, 2), {"stride": (2, 3)}),
    "padding": ((1, 3, 6, 5), (5, 3, 3, 2), {"padding": (2, 1)}),
    "dilation": ((2, 3, 13, 11), (4, 3, 3, 3), {"dilation": (2, 3)}),
    "groups": ((2, 4, 8, 7), (6, 2, 3, 3), {"groups": 2}),
    "each channel": ((2, 5, 8, 7), (5, 1, 3, 3), {"groups": 5, "padding": 1}),
    "all": ((2, 6, 13, 15), (9, 2, 3, 2), {"stride": (2, 1), "padding": (3, 1), "dilation": (1, 2), "groups": 3}),
}
for _label, (_image, _weight, _more_of) in _CONVOLVED.items():
    _call = lambda x, w, b, m=_more_of: F.conv2d(x, w, b, **m)  # noqa: E731
    product(
        "aten.convolution.default",
        _call,
        lambda d, _, shapes=(_image, _weight, _weight[:1]): [d.numbers(s) for s in shapes],
        between=lambda x, w, b, c=_call: [c(x, w, None)],
        accepts=lambda s: s in _THREE,
        label=_label,
    )

_TRANSPOSED = {
    "up": (F.conv_transpose2d, (2, 4, 5, 3), (4, 3, 3, 3), {"stride": 2, "padding": 1, "output_padding": 1}),
    "up patches": (F.conv_transpose2d, (2, 4, 5, 3), (4, 3, 2, 2), {"stride": 2}),
    "up groups": (F.conv_transpose1d, (2, 4, 9), (4, 3, 3), {"groups": 2, "dilation": 2}),
    "up volume": (F.conv_transpose3d, (1, 2, 3, 2, 4), (2, 3, 2, 3, 2), {"stride": (1, 2, 2)}),
}
for _label, (_convolve, _image, _weight, _more_of) in _TRANSPOSED.items():
    _call = lambda x, w, c=_convolve, m=_more_of: c(x, w, **m)  # noqa: E731
    product(
        "aten.convolution.default",
        _call,
        lambda d, _, shapes=(_image, _weight): [d.numbers(s) for s in shapes],
        accepts=lambda s: s in _THREE,
        label=_label,
    )

# --------------------------------------------------------------------------------------------------
# Images of another size: 16 bits hold what is between two dimensions


def _spread(call):
    return lambda x: torch.full_like(call(x), 2 * x.abs().amax())


def _smooth(x, size, mode):
    """The CPU has it in 32 bits and more."""
    is_narrow = x.device.type == "cpu" and x.element_size() < 4
    return F.interpolate(x.float() if is_narrow else x, size, mode=mode, antialias=True).to(x.dtype)


_IMAGES = {1: (2, 3, 9), 2: (2, 3, 6, 7), 3: (1, 2, 3, 4, 5)}
_SIZES = {
    "twice": {"scale_factor": 2.0},
    "more": {"scale_factor": 1.7},
    "less": {"scale_factor": 0.6},
    "corners": {"scale_factor": 1.7, "align_corners": True},
}
_MODES = {
    "upsample_linear1d": (1, "linear"),
    "upsample_bilinear2d": (2, "bilinear"),
    "upsample_trilinear3d": (3, "trilinear"),
    "upsample_bicubic2d": (2, "bicubic"),
}
for _name, (_dims, _mode) in _MODES.items():
    for _label, _size in _SIZES.items():
        _call = lambda x, m=_mode, s=_size: F.interpolate(x, mode=m, **s)  # noqa: E731
        _between = lambda x, c=_call, n=_dims: [_spread(c)(x)] * n  # noqa: E731
        layer(f"aten.{_name}.default", _call, _IMAGES[_dims], rule=_spread(_call), between=_between, label=_label)
for _kind in ("bilinear", "bicubic"):
    for _label, _counts in (("less", (4, 3)), ("more", (9, 8))):
        _call = lambda x, m=_kind, n=_counts: _smooth(x, n, m)  # noqa: E731
        _between = lambda x, c=_call: [_spread(c)(x)] * 2  # noqa: E731
        _name = f"aten._upsample_{_kind}2d_aa.default"
        layer(_name, _call, _IMAGES[2], rule=_spread(_call), between=_between, label=_label)
for _dims in (1, 2, 3):
    for _name, _mode in (("upsample_nearest", "nearest"), ("_upsample_nearest_exact", "nearest-exact")):
        for _label in ("twice", "more", "less"):
            _call = lambda x, m=_mode, s=_SIZES[_label]: F.interpolate(x, mode=m, **s)  # noqa: E731
            layer(f"aten.{_name}{_dims}d.default", _call, _IMAGES[_dims], rule="exact", label=_label)
    _call = lambda x, n=_dims: F.pad(x, (2, 1) * n, mode="replicate")  # noqa: E731
    layer(f"aten.replication_pad{_dims}d.default", _call, _IMAGES[_dims], rule="exact")

# --------------------------------------------------------------------------------------------------
# Pooling into cells that differ

for _dims in (2, 3):
    _call = lambda x, n=_dims: getattr(F, f"adaptive_max_pool{n}d")(x, 2, return_indices=True)  # noqa: E731
    layer(f"aten.adaptive_max_pool{_dims}d.default", _call, (2, 2, 5, 3, 4)[: _dims + 2], rule="exact")
layer(
    "aten._adaptive_avg_pool3d.default",
    lambda x: F.adaptive_avg_pool3d(x, (2, 2, 3)),
    (2, 3, 5, 3, 4),
    rule=lambda x: F.adaptive_avg_pool3d(x.abs(), (2, 2, 3)),
    # Sums along one dimension after the other.
    between=lambda x: [F.adaptive_avg_pool3d(x.abs(), (2, 2, 3))] * 4,
)

# --------------------------------------------------------------------------------------------------
# Bags of rows


def _bag(d, _):
    return [d.numbers((10, 65)), d.integers((14,), 0, 10), torch.tensor([0, 3, 3, 9])]


for _mode in ("sum", "mean", "max"):
    _call = lambda w, i, o, m=_mode: F.embedding_bag(i, w, o, mode=m)  # noqa: E731
    _sums = lambda w, i, o, m=_mode: F.embedding_bag(i, w.abs(), o, mode=m)  # noqa: E731
    _rounded = lambda w, i, o: [F.embedding_bag(i, w.abs(), o, mode="sum")]  # noqa: E731
    for _name in ("_embedding_bag_forward_only", "_embedding_bag"):
        add(
            f"aten.{_name}.default",
            _call if _name.endswith("only") else lambda w, i, o, c=_call: c(w.detach().requires_grad_(), i, o).detach(),
            _bag,
            rule="exact" if _mode == "max" else _sums,
            between=_rounded if _mode == "mean" else None,
            accepts=lambda s: s in _THREE,
            label=_mode,
        )
add(
    "aten._embedding_bag_forward_only.default",
    lambda w, i, o, p: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=p, padding_idx=3),
    lambda d, s: [*_bag(d, s), d.numbers((14,))],
    rule=lambda w, i, o, p: F.embedding_bag(i, w.abs(), o, mode="sum", per_sample_weights=p.abs()),
    between=lambda w, i, o, p: [F.embedding_bag(i, w.abs(), o, mode="sum", per_sample_weights=p.abs())] * 2,
    accepts=lambda s: s in _THREE,
    label="weights",
)

# --------------------------------------------------------------------------------------------------
# Images sampled at places: numbers of the grid that all formats hold, and of which all products are exact


def _sampled(d, _):
    return [d.numbers((2, 3, 6, 8)), d.integers((2, 4, 5, 2), -12, 13, d.dtype) / 8]


for _mode in ("bilinear", "nearest"):
    for _padding in ("zeros", "border", "reflection"):
        _call = lambda x, g, m=_mode, p=_padding: F.grid_sample(x, g, m, p, align_corners=False)  # noqa: E731
        _sum = lambda x, g, c=_call: c(x.abs(), g)  # noqa: E731
        add(
            "aten.grid_sampler_2d.default",
            _call,
            _sampled,
            rule=_sum if _mode == "bilinear" else "exact",
            accepts=lambda s: s in _THREE,
            label=f"{_mode} {_padding}",
        )

# --------------------------------------------------------------------------------------------------
# Distances and norms


def _size(order):
    return lambda x: torch.linalg.vector_norm(x, order, -1)


for _order in (0, 3, math.inf):
    _how = {"rule": _size(_order), "accepts": full_and(1), "label": str(_order)}
    add("aten.linalg_vector_norm.default", _size(_order), numbers(), **_how)
add("aten.dist.default", torch.dist, numbers(2), rule=torch.dist, accepts=full)
for _order in (1.0, 2.0, 3.0, math.inf):
    _call = lambda x, y, p=_order: _distances(x, y, p)  # noqa: E731
    _sum = lambda x, y, c=_call: c(x.abs(), -y.abs())  # noqa: E731
    layer("aten._cdist_forward.default", _call, (2, 5, 9), (2, 7, 9), rule=_sum, label=str(_order))


def _distances(x, y, p):
    """The CPU has it in 32 bits and more."""
    is_narrow = x.device.type == "cpu" and x.element_size() < 4
    far = torch.cdist(*(t.float() if is_narrow else t for t in (x, y)), p)
    return far.to(x.dtype)


for _dim in (0, 2):
    _call = lambda v, g, d=_dim: torch._weight_norm(v, g, d)  # noqa: E731
    _factors = ((4, 5, 3), [n if d == _dim else 1 for d, n in enumerate((4, 5, 3))])
    _sum = lambda v, g, c=_call: c(v.abs(), g.abs())  # noqa: E731
    layer("aten._weight_norm_interface.default", _call, *_factors, rule=_sum, label=str(_dim))
product(
    "aten.addbmm.default",
    lambda x, a, b: torch.addbmm(x, a, b),
    lambda d, _: [d.numbers(s) for s in ((5, 7), (3, 5, 9), (3, 9, 7))],
    between=lambda x, a, b: [torch.bmm(a, b).sum(0)],
    accepts=lambda s: s in _THREE,
)
product(
    "aten._trilinear.default",
    lambda x, y, w: F.bilinear(x, y, w),
    lambda d, _: [d.numbers(s) for s in ((5, 7), (5, 9), (4, 7, 9))],
    between=lambda x, y, w: [F.bilinear(x.abs(), y.abs(), w.abs())],
    accepts=lambda s: s in _THREE,
)

# --------------------------------------------------------------------------------------------------
# Searches, writes by number, running sums of exponentials


def _in_row(d, s):
    return [torch.sort(d.numbers((9,)))[0], d.numbers(s)]


for _side in ("left", "right"):
    add(
        "aten.searchsorted.Tensor",
        lambda r, x, s=_side: torch.searchsorted(r.contiguous(), x.contiguous(), side=s),
        _in_row,
        dtypes=NUMBERS,
        rule="exact",
        accepts=full_and(0, 1 << 14),
        forms=("contiguous", "transposed"),
        label=_side,
    )
add(
    "aten.bucketize.Tensor",
    lambda r, x: torch.bucketize(x, r),
    _in_row,
    dtypes=NUMBERS,
    rule="exact",
    accepts=full_and(0, 1 << 14),
    forms=("contiguous", "transposed"),
)
for _name in ("amax", "amin", "mean", "prod"):
    add(
        "aten.index_reduce.default",
        lambda x, i, y, r=_name: torch.index_reduce(x, 0, i, y, r),
        lambda d, _: [d.integers((5, 13), 1, 4, d.dtype), d.integers((4,), 0, 5), d.integers((4, 13), 1, 3, d.dtype)],
        dtypes=FLOATS,
        rule=(lambda x, i, y: x) if _name == "mean" else "exact",
        accepts=lambda s: s in _THREE,
        label=_name,
    )
for _accumulate in (False, True):
    add(
        "aten.put.default",
        lambda x, i, y, a=_accumulate: torch.put(x, i, y, a),
        lambda d, _: [d.numbers((5, 13)), torch.tensor([3, 64, -2, 9]), d.numbers((4,))],
        rule=(lambda x, i, y: x.abs() + y.abs().amax()) if _accumulate else "exact",
        accepts=lambda s: s in _THREE,
        # Of places that are the same, which a number of places is when it is expanded, any may be the last.
        forms=("contiguous", "transposed", "sliced"),
        label="added" if _accumulate else "",
    )
for _name in ("_logcumsumexp", "logcumsumexp"):
    add(
        f"aten.{_name}.default",
        lambda x, d=-1 if _name == "logcumsumexp" else 0: torch.logcumsumexp(x, d),
        linear(-4, 4),
        rule=lambda x: torch.full_like(x, 16),
        accepts=full_and(1, 1 << 14),
    )
_call = lambda x: F.pad(x, (1, 2, 2, 1), "circular")  # noqa: E731
layer("aten.empty.memory_format", _call, (2, 3, 5, 4), rule="exact")

# --------------------------------------------------------------------------------------------------
# Order statistics


def _few_pairs(shape):
    return full_and(1, 1 << 14)(shape) and shape[-1] > 2


_ORDERED = {"dtypes": NUMBERS, "rule": "exact", "forms": _APART, "accepts": _few_pairs}
for _name in ("median", "nanmedian"):
    _call = getattr(torch, _name)
    add(f"aten.{_name}.dim", lambda x, c=_call: c(x, -1), _distinct, **_ORDERED)
    _rows = {**_ORDERED, "accepts": lambda s: s in ((65,), (64,))}
    add(f"aten.{_name}.default", lambda x, c=_call: c(x), _distinct, **_rows)
add("aten.kthvalue.default", lambda x: torch.kthvalue(x, 2), _distinct, **_ORDERED)
for _name in ("cummax", "cummin"):
    _call = getattr(torch, _name)
    add(
        f"aten.{_name}.default",
        lambda x, c=_call: c(x, -1),
        numbers(),
        dtypes=(BOOL,),
        rule="exact",
        accepts=full_and(1, 1 << 14),
        label="truths",
    )

# --------------------------------------------------------------------------------------------------
# Numbers beside tensors, and parts of memory

add("aten.xlogy.Scalar_Other", lambda x: torch.xlogy(x, 2.5), numbers())
add("aten.xlogy.Scalar_Self", lambda x: torch.xlogy(2.5, x), numbers(signed=False), rule=lambda x: torch.ones_like(x))
add("aten.special_xlog1py.other_scalar", lambda x: torch.special.xlog1py(x, 2.5), numbers())

_PLACES = {"gaps": ((2, 3), (9, 2), 1), "turned": ((3, 2), (2, 9), 0), "rows": ((4, 5), (13, 1), 3)}
for _label, (_size, _stride, _offset) in _PLACES.items():
    moved(
        "aten.as_strided_scatter.default",
        lambda x, y, p=(_size, _stride, _offset): torch.as_strided_scatter(x.contiguous(), y, *p),
        lambda d, _, n=_size: [d.numbers((5, 13)), d.numbers(n)],
        lambda s: s in _THREE,
        label=_label,
    )
