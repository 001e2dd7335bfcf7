"""Fused optimizers (``fused=True``) and the scale of gradients (torch.amp.GradScaler).

Every formula is functional and for one parameter: captured graphs take it as it is, eager kernels copy its results into the
arguments. Halves are computed in fp32, as the CPU's kernels do. Nothing is read on the host: a step that found infinite
gradients selects the old values.
"""

import math

import torch


aten = torch.ops.aten
_WIDE = torch.float32


def _wide(*tensors):
    return [t if t is None else t.to(_WIDE) for t in tensors]


def _unscaled(gradient, grad_scale):
    return gradient if grad_scale is None else gradient / grad_scale


def _kept(found_inf, old, new):
    """New values in the types of the old ones; the old ones where gradients were not finite."""
    new = [n.to(o.dtype) for o, n in zip(old, new, strict=True)]
    if found_inf is None:
        return new
    is_bad = found_inf != 0
    return [torch.where(is_bad, o, n) for o, n in zip(old, new, strict=True)]


def _less_than_one(beta, step):
    """1 - beta ** step, without the digits the difference loses next to 1."""
    return -torch.expm1(step.to(_WIDE) * math.log(beta)) if beta else torch.ones_like(step, dtype=_WIDE)


def _adam(is_decoupled):
    def one(
        old, gradient, mean, square, largest, step, *, lr, beta1, beta2, weight_decay, eps, amsgrad, maximize, scale, found_inf
    ):
        parameter, scaled, average, power, most = _wide(old, gradient, mean, square, largest)
        scaled = _unscaled(scaled, scale)
        used = -scaled if maximize else scaled
        if weight_decay and is_decoupled:
            parameter = parameter - parameter * (lr * weight_decay)
        elif weight_decay:
            used = used + parameter * weight_decay
        average = average + (used - average) * (1 - beta1)
        power = power * beta2 + used * used * (1 - beta2)
        most = torch.maximum(most, power) if amsgrad else most
        root = torch.sqrt(most if amsgrad else power) / torch.sqrt(_less_than_one(beta2, step))
        parameter = parameter - average / (root + eps) * (lr / _less_than_one(beta1, step))
        states = (old, mean, square, *([largest] if amsgrad else []))
        kept = _kept(found_inf, states, (parameter, average, power, *([most] if amsgrad else [])))
        return [kept[0], scaled.to(gradient.dtype), *kept[1:]]

    def function(
        parameters, gradients, means, squares, largest, steps, *, grad_scale=None, found_inf=None, amsgrad=False, **named
    ):
        given = zip(parameters, gradients, means, squares, largest if amsgrad else [None] * len(parameters), steps, strict=True)
        rows = [one(*row, amsgrad=amsgrad, scale=grad_scale, found_inf=found_inf, **named) for row in given]
        columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * 5
        return (*columns, *([] if amsgrad else [list(largest)]))

    return function


def _sgd(
    parameters,
    gradients,
    buffers,
    *,
    weight_decay,
    momentum,
    lr,
    dampening,
    nesterov,
    maximize,
    is_first_step,
    grad_scale=None,
    found_inf=None,
):
    def one(old, gradient, buffer):
        parameter, scaled, velocity = _wide(old, gradient, buffer)
        scaled = _unscaled(scaled, grad_scale)
        used = -scaled if maximize else scaled
        used = used + parameter * weight_decay if weight_decay else used
        if momentum:
            velocity = used if is_first_step else velocity * momentum + used * (1 - dampening)
            used = used + velocity * momentum if nesterov else velocity
        new = (parameter - used * lr, *([velocity] if momentum else []))
        kept = _kept(found_inf, (old, *([buffer] if momentum else [])), new)
        return [kept[0], scaled.to(gradient.dtype), *kept[1:]]

    rows = [one(*row) for row in zip(parameters, gradients, buffers if momentum else [None] * len(parameters), strict=True)]
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * 3
    return (*columns, *([] if momentum else [list(buffers)]))


def _adagrad(
    parameters, gradients, sums, steps, *, lr, lr_decay, weight_decay, eps, maximize, grad_scale=None, found_inf=None
):
    def one(old, gradient, total, step):
        parameter, scaled, squares = _wide(old, gradient, total)
        scaled = _unscaled(scaled, grad_scale)
        used = -scaled if maximize else scaled
        used = used + parameter * weight_decay if weight_decay else used
        rate = lr / (1 + (step.to(_WIDE) - 1) * lr_decay)
        squares = squares + used * used
        kept = _kept(found_inf, (old, total), (parameter - used / (torch.sqrt(squares) + eps) * rate, squares))
        return [kept[0], scaled.to(gradient.dtype), kept[1]]

    rows = [one(*row) for row in zip(parameters, gradients, sums, steps, strict=True)]
    return tuple(list(column) for column in zip(*rows, strict=True)) or ([], [], [])


def _unscale(gradients, found_inf, inv_scale):
    """Gradients without their scale, and whether one of them is not finite."""
    for gradient in gradients:
        is_bad = torch.logical_not(torch.isfinite(gradient)).any().to(found_inf.dtype)
        found_inf = torch.maximum(found_inf, is_bad.reshape(found_inf.shape))
    factor = inv_scale.reshape(())
    return [(g.to(_WIDE) * factor).to(g.dtype) for g in gradients], found_inf


def _update_scale(scale, growth_tracker, found_inf, growth_factor, backoff_factor, growth_interval):
    is_bad = found_inf != 0
    count = growth_tracker + 1
    is_due = count == growth_interval
    grown = scale * growth_factor
    grown = torch.where(torch.isfinite(grown), grown, scale)
    good = torch.where(is_due, grown, scale)
    rest = torch.where(is_due, torch.zeros_like(count), count)
    return torch.where(is_bad, scale * backoff_factor, good), torch.where(is_bad, torch.zeros_like(count), rest)


_STEPS = {"_fused_adam": _adam(False), "_fused_adamw": _adam(True), "_fused_sgd": _sgd, "_fused_adagrad": _adagrad}


def _functional_adagrad(parameters, gradients, sums, steps, **named):
    """The schema of adagrad returns the steps, too."""
    return (*_adagrad(parameters, gradients, sums, steps, **named), list(steps))


def decompositions():
    """Operator overload -> function."""
    table = {}
    for name, function in _STEPS.items():
        function = _functional_adagrad if name == "_fused_adagrad" else function
        for op in (getattr(aten, name).default, getattr(aten, name).tensor_lr):
            outputs = len(op._schema.returns)
            table[op] = lambda *args, _f=function, _n=outputs, **named: tuple(_f(*args, **named)[:_n])
    table[aten._amp_foreach_non_finite_check_and_unscale.default] = _unscale
    table[aten._amp_update_scale.default] = _update_scale
    return table


def _stored(function):
    """A kernel that copies the results of the function into the lists of tensors it was given."""

    def kernel(*args, **named):
        lr = named.get("lr")
        if isinstance(lr, torch.Tensor):  # may be the host's
            named["lr"] = lr.to(args[0][0].device) if args[0] else lr
        for given, results in zip(args, function(*args, **named)):
            for tensor, result in zip(given, results, strict=True):
                if tensor is not result:
                    tensor.copy_(result)

    return kernel


def _unscale_in_place(gradients, found_inf, inv_scale):
    new, found = _unscale(gradients, found_inf, inv_scale)
    for gradient, value in zip(gradients, new, strict=True):
        gradient.copy_(value)
    found_inf.copy_(found)


def _update_scale_in_place(scale, growth_tracker, *args):
    new, count = _update_scale(scale, growth_tracker, *args)
    growth_tracker.copy_(count)
    return scale.copy_(new)


_library = torch.library.Library("aten", "IMPL")


def install():
    """The in-place forms, which optimizers and GradScaler call."""
    for name, function in _STEPS.items():
        for overload in ("", ".tensor_lr"):
            _library.impl(f"{name}_{overload}", _stored(function), "PrivateUse1")
    _library.impl("_amp_foreach_non_finite_check_and_unscale_", _unscale_in_place, "PrivateUse1")
    _library.impl("_amp_update_scale_", _update_scale_in_place, "PrivateUse1")


__all__ = ["decompositions", "install"]
