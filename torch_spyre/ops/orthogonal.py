"""Orthogonal polynomials of a degree that is a number: by their recurrences, in fp32, rounded once."""

import torch

from torch_spyre.ops import functions

#: Of higher degree they are left to the CPU: a step is an operation or more, and what rounding loses grows.
MOST = 32

# Name: the first polynomial after 1, and what follows two in a row, the first of which is of degree k - 1.
_RECURRENCES = {
    "chebyshev_polynomial_t": (lambda x: x.clone(), lambda x, k, before, now: 2 * x * now - before),
    "chebyshev_polynomial_u": (lambda x: 2 * x, lambda x, k, before, now: 2 * x * now - before),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, lambda x, k, before, now: 2 * x * now - before),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, lambda x, k, before, now: 2 * x * now - before),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda x, k, before, now: 2 * x * now - before * (2 * k)),
    "hermite_polynomial_he": (lambda x: x.clone(), lambda x, k, before, now: x * now - before * k),
    "laguerre_polynomial_l": (
        lambda x: 1 - x,
        lambda x, k, before, now: ((2 * k + 1 - x) * now - before * k) / (k + 1),
    ),
    "legendre_polynomial_p": (
        lambda x: x.clone(),
        lambda x, k, before, now: ((2 * k + 1) * x * now - before * k) / (k + 1),
    ),
}


def _polynomial(name, x, n):
    first, following = _RECURRENCES[name.removeprefix("shifted_")]
    x = 2 * x - 1 if name.startswith("shifted_") else x
    before, now = None, torch.full_like(x, 1.0 if n >= 0 else 0.0)
    for k in range(n):
        before, now = now, following(x, k, before, now) if k else first(x)
    return now


def _of_degree(name):
    def decomposed(x, n):
        if int(n) > MOST:
            return NotImplemented
        return functions.of_float(lambda wide: _polynomial(name, wide, int(n)))(x)

    return decomposed


def polynomials():
    """Name -> function of a tensor and a degree."""
    shifted = [f"shifted_chebyshev_polynomial_{kind}" for kind in "tuvw"]
    return {name: _of_degree(name) for name in (*_RECURRENCES, *shifted)}
