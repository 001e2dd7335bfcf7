"""Operations with a gradient that round more often than once, so that no differential test has them: norms, attention,
pooling, cells of recurrent networks, losses."""

import torch
import torch.nn.functional as F
from differential import FLOATS, Spec

SPECS = []


def _shape_is(shape):
    return lambda given: given == shape


def add(name, call, *shapes, label="", forms=("contiguous", "transposed")):
    """Operands of the shapes, whatever the shape of the case is; numbers from -2 to 2."""
    operands = lambda draw, _: [draw.linear(shape, -2, 2) for shape in shapes]  # noqa: E731
    accepts = _shape_is((2, 65))
    SPECS.append(Spec(name, call, operands, FLOATS, accepts=accepts, forms=forms, label=label))


ROWS, IMAGE = (6, 65), (2, 4, 6, 8)

add("aten._softmax.default", lambda x: F.softmax(x, -1), ROWS)
add("aten.softmax.int", lambda x: torch.softmax(x, 0), ROWS)
add("aten._safe_softmax.default", lambda x: torch.ops.aten._safe_softmax(x, -1), ROWS)
add("aten._log_softmax.default", lambda x: F.log_softmax(x, -1), ROWS)
add("aten.log_softmax.int", lambda x: torch.log_softmax(x, 0), ROWS)
add("aten.layer_norm.default", lambda x, w, b: F.layer_norm(x, (65,), w, b), ROWS, (65,), (65,))
add("aten.native_layer_norm.default", lambda x: F.layer_norm(x, ROWS), (3, *ROWS))
add("aten.rms_norm.default", lambda x, w: F.rms_norm(x, (65,), w, 1e-3), ROWS, (65,))
add("aten.native_group_norm.default", lambda x, w, b: F.group_norm(x, 2, w, b), IMAGE, (4,), (4,))
add(
    "aten._native_batch_norm_legit_functional.default",
    lambda x, w, b: F.batch_norm(x, w.detach() * 0, w.detach() * 0 + 1, w, b, True),
    IMAGE,
    (4,),
    (4,),
)
add(
    "aten._batch_norm_with_update_functional.default",
    lambda x, w, b: F.batch_norm(x, w.detach() * 0, w.detach() * 0 + 1, w, b, True, 0.5),
    IMAGE,
    (4,),
    (4,),
)
add(
    "aten._native_batch_norm_legit_no_training.default",
    lambda x, w, b: F.batch_norm(x, w.detach() * 0, w.detach() * 0 + 1, w, b, False),
    IMAGE,
    (4,),
    (4,),
)
add("aten._native_batch_norm_legit.no_stats", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), IMAGE, (4,), (4,))
add("spyre.layer_norm.default", lambda x, w, b: torch.ops.spyre.layer_norm(x, (65,), w, b), ROWS, (65,), (65,))
add("spyre.rms_norm.default", lambda x, w: torch.ops.spyre.rms_norm(x, (65,), w, 1e-3), ROWS, (65,))
add("spyre.restickify.default", lambda x: torch.ops.spyre.restickify(x), ROWS)
add(
    "spyre.convolution.default",
    lambda x, w, b: torch.ops.spyre.convolution(x, w, b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1),
    IMAGE,
    (3, 4, 3, 3),
    (3,),
)
add("aten.convolution.default", lambda x, w: F.conv1d(x, w, stride=2, groups=2), (2, 4, 9), (6, 2, 3), label="1d")

_HEADS = (2, 2, 8, 64)
add(
    "aten.scaled_dot_product_attention.default",
    lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    *[_HEADS] * 3,
)
add(
    "aten._scaled_dot_product_fused_attention_overrideable.default",
    lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
    *[_HEADS] * 3,
    (2, 1, 8, 8),
)

add("aten.avg_pool2d.default", lambda x: F.avg_pool2d(x, 3, 2, 1), IMAGE)
add("aten.avg_pool3d.default", lambda x: F.avg_pool3d(x, 2), IMAGE)
add("aten._adaptive_avg_pool2d.default", lambda x: F.adaptive_avg_pool2d(x, (3, 2)), IMAGE)
add("aten.adaptive_max_pool2d.default", lambda x: F.adaptive_max_pool2d(x, (3, 2)), IMAGE)
add("aten.max_pool2d_with_indices.default", lambda x: F.max_pool2d(x, 2), IMAGE)
add("aten.max_pool3d_with_indices.default", lambda x: F.max_pool3d(x, 2), IMAGE)

_GATES = [(5, 16), (5, 16), (48, 16), (48, 16), (48,), (48,)]
add("aten._thnn_fused_gru_cell.default", torch.gru_cell, *_GATES)
add(
    "aten._thnn_fused_lstm_cell.default",
    lambda x, h, c, w, u, b, d: torch.lstm_cell(x, (h, c), w, u, b, d),
    *[(5, 16)] * 3,
    *[(64, 16)] * 2,
    *[(64,)] * 2,
)

_scatter_at = torch.tensor([0, 3, 1, 4])
add(
    "aten._unsafe_index_put.default",
    lambda x, y: torch.ops.aten._unsafe_index_put(x, [_scatter_at.to(x.device)], y),
    ROWS,
    (4, 65),
)
add(
    "aten.as_strided_scatter.default",
    lambda x, y: torch.as_strided_scatter(x, y, (2, 65), (65, 1)),
    ROWS,
    (2, 65),
    forms=("contiguous",),
)
add("aten.copy.default", lambda x, y: torch.ops.aten.copy(x, y) * y, ROWS, ROWS)
add("aten.diagonal_scatter.default", lambda x, y: torch.diagonal_scatter(x, y, 1), ROWS, (6,))
add("aten.slice_scatter.default", lambda x, y: torch.slice_scatter(x, y, 1, 1, 65, 2), ROWS, (6, 32), label="gaps")

add("aten.vdot.default", torch.vdot, (65,), (65,))
add("aten.addr.default", torch.addr, ROWS, (6,), (65,))
add("aten.linalg_cross.default", torch.linalg.cross, (6, 3), (6, 3))
add("aten.mse_loss.default", F.mse_loss, ROWS, ROWS)
add("aten.smooth_l1_loss.default", F.smooth_l1_loss, ROWS, ROWS)
add("aten.huber_loss.default", lambda x, y: F.huber_loss(x, y), ROWS, ROWS)
add("aten.l1_loss.default", F.l1_loss, ROWS, ROWS)
add(
    "aten.binary_cross_entropy_with_logits.default",
    lambda x, y: F.binary_cross_entropy_with_logits(x, torch.sigmoid(y)),
    ROWS,
    ROWS,
)
_classes = torch.tensor([0, 64, 1, 7, 7, 30])
add("aten.nll_loss_forward.default", lambda x: F.cross_entropy(x, _classes.to(x.device)), ROWS)
add("aten.glu.default", lambda x: F.glu(x, -1), (6, 64))
add("aten._prelu_kernel.default", lambda x, w: F.prelu(x, w), IMAGE, (4,))
add("aten.pixel_shuffle.default", lambda x: F.pixel_shuffle(x, 2), IMAGE)
add("aten.normalize.default", lambda x: F.normalize(x, dim=-1), ROWS)
add("aten.cosine_similarity.default", lambda x, y: F.cosine_similarity(x, y), ROWS, ROWS)
