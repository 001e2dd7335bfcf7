"""Layers of vision and of tables, order statistics, and what else is made of many rows: more entries of the differential
tests. SPECS has these and those of differential_composed.py.

Operands have sizes of their own: the shapes of the cases only say how many there are.
"""

import torch
import torch.nn.functional as F
from differential import BOOL, NUMBERS
from differential_composed import (
    SPECS,  # noqa: F401 - the tests take it from here
    add,
    full_and,
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
# Transposed convolutions

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
    layer(f"aten.adaptive_max_pool{_dims}d.default", _call, (2, 3, 5, 3, 5)[: _dims + 2], rule="exact")
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
