"""Cells of recurrent layers, from operations the device has.

Torch's recurrent layers call fused cells on every device but the CPU, and the CPU has none to fall back
to. The same functions are kernels of the eager device and decompositions of captured graphs.
"""

import torch

aten = torch.ops.aten


def _sum(*terms):
    total = None
    for term in terms:
        if term is not None:
            total = term if total is None else total + term
    return total


def _bias(gradient, has_bias):
    return gradient.sum(0) if has_bias else gradient.new_empty(0)


def lstm_cell(input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    """New hidden state, new cell state, and the gates for the backward pass."""
    gates = _sum(input_gates, hidden_gates, input_bias, hidden_bias)
    enter, forget, cell, leave = gates.chunk(4, 1)
    enter, forget, leave = enter.sigmoid(), forget.sigmoid(), leave.sigmoid()
    cell = cell.tanh()
    cy = forget * cx + enter * cell
    return leave * cy.tanh(), cy, torch.cat([enter, forget, cell, leave], 1)


def lstm_cell_backward(grad_hy, grad_cy, cx, cy, gates, has_bias):
    enter, forget, cell, leave = gates.chunk(4, 1)
    state = cy.tanh()
    grad_hy = torch.zeros_like(cx) if grad_hy is None else grad_hy
    grad = _sum(grad_hy * leave * (1 - state * state), grad_cy)
    parts = [
        grad * cell * enter * (1 - enter),
        grad * cx * forget * (1 - forget),
        grad * enter * (1 - cell * cell),
        grad_hy * state * leave * (1 - leave),
    ]
    grad_gates = torch.cat(parts, 1)
    return grad_gates, grad * forget, _bias(grad_gates, has_bias)


def gru_cell(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    """New hidden state, and what the backward pass needs."""
    reset_in, update_in, new_in = _sum(input_gates, input_bias).chunk(3, 1)
    reset_hidden, update_hidden, new_hidden = _sum(hidden_gates, hidden_bias).chunk(3, 1)
    reset = (reset_in + reset_hidden).sigmoid()
    update = (update_in + update_hidden).sigmoid()
    new = (new_in + reset * new_hidden).tanh()
    return new + update * (hx - new), torch.cat([reset, update, new, hx, new_hidden], 1)


def gru_cell_backward(grad_hy, workspace, has_bias):
    reset, update, new, hx, new_hidden = workspace.chunk(5, 1)
    grad_new = grad_hy * (1 - update) * (1 - new * new)
    grad_update = grad_hy * (hx - new) * update * (1 - update)
    grad_reset = grad_new * new_hidden * reset * (1 - reset)
    grad_input = torch.cat([grad_reset, grad_update, grad_new], 1)
    grad_hidden = torch.cat([grad_reset, grad_update, grad_new * reset], 1)
    return (
        grad_input,
        grad_hidden,
        grad_hy * update,
        _bias(grad_input, has_bias),
        _bias(grad_hidden, has_bias),
    )


CELLS = {
    aten._thnn_fused_lstm_cell.default: lstm_cell,
    aten._thnn_fused_lstm_cell_backward_impl.default: lstm_cell_backward,
    aten._thnn_fused_gru_cell.default: gru_cell,
    aten._thnn_fused_gru_cell_backward.default: gru_cell_backward,
}

_kernels = None


def install():
    """Registers the cells as kernels of the device; once."""
    global _kernels
    if _kernels is None:
        _kernels = torch.library.Library("aten", "IMPL")
        for op, function in CELLS.items():
            _kernels.impl(op.name().removeprefix("aten::"), function, "PrivateUse1")
