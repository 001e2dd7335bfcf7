"""The loss of sequences without alignment (CTC), and its gradient, from operations the device has (docs/adr/0076).

A path through the labels, with blanks between and around them, stays, moves on, or jumps over a blank. How likely paths are
that have come to a position is kept as a logarithm, for all positions of all sequences at once; time goes step by step. Lengths
are data: what lies behind the end of a sequence takes part in all steps, and in no result.

States are [positions, sequences], so that what a position reads are rows before its own. In fp32.
"""

import torch

from torch_spyre._inductor.integer_decompositions import INTEGERS
from torch_spyre.ops import fallbacks, index_writes
from torch_spyre.ops.functions import WIDE, is_float, one_of

_NONE, _MEAN, _SUM = range(3)
#: The logarithm of nothing: of its sums all are numbers, and differences of two of them, too.
_NEVER = -1e30


def _masked(condition):
    """0 where something may happen."""
    return one_of(condition, 0.0, _NEVER)


class _Labels:
    """Labels with a blank before, between and behind them: what stands where, and which ways lead there."""

    def __init__(self, log_probs, targets, input_lengths, target_lengths, blank):
        self.times, self.batch, self.classes = log_probs.shape
        device = log_probs.device
        self.count = 2 * targets.shape[1] + 1
        blanks = torch.full((self.batch, 1), blank, device=device)
        self.labels = blanks
        if targets.shape[1]:
            known = torch.clamp(targets.to(torch.int64), 0, self.classes - 1)
            pairs = torch.stack([blanks.expand(known.shape), known], 2)
            self.labels = torch.cat([pairs.reshape(self.batch, -1), blanks], 1)
        # [positions, sequences]
        self.labels = self.labels.t().contiguous()
        self.jumps = self._jumps(device)
        at = torch.arange(self.count, device=device)[:, None]
        ends = 2 * target_lengths.to(torch.int64)
        is_end = torch.logical_or(at == ends, torch.logical_and(at == ends - 1, ends > 0))
        time = torch.arange(self.times, device=device)[:, None]
        self.is_time = time < input_lengths
        is_last = time == input_lengths.to(torch.int64) - 1
        #: [times, positions, sequences]: where paths end.
        self.ends = _masked(torch.logical_and(is_last.unsqueeze(1), is_end))
        self.begins = _masked(at < 2).expand(self.count, self.batch)

    def _nobody(self, device):
        return torch.full((min(2, self.count), self.batch), _NEVER, dtype=WIDE, device=device)

    def _jumps(self, device):
        """From two positions before, where another label stands."""
        nobody = self._nobody(device)
        if self.count < 3:
            return nobody[:1]
        return torch.cat([nobody, _masked(self.labels[2:] != self.labels[:-2])])

    def jumps_back(self):
        """The same, seen from the end."""
        if self.count < 3:
            return self.jumps
        return torch.cat([self.jumps[2:], self._nobody(self.jumps.device)]).flip(0)

    def emissions(self, log_probs):
        """[times, positions, sequences]: of the label at each position. One row for all times of a class."""
        rows = log_probs.float().permute(1, 2, 0).reshape(-1, self.times)
        at = torch.arange(self.batch, device=log_probs.device) * self.classes + self.labels
        found = torch.index_select(rows, 0, at.reshape(-1)).reshape(self.count, self.batch, self.times)
        return torch.clamp_min(found.permute(2, 0, 1), _NEVER).contiguous()

    def by_class(self, shares):
        """[times, sequences, classes]: sums over the positions of a class, as products with a matrix of 0 and 1."""
        classes = torch.arange(self.classes, device=shares.device)
        is_class = (self.labels.t().unsqueeze(2) == classes).to(torch.float32)
        return torch.matmul(shares.permute(2, 0, 1), is_class).permute(1, 0, 2)


def step(state, jumps, emissions, time, enters=None):
    """The state at a time: of those that stay, move on and jump, and of those that begin here."""
    nobody = torch.full((2, state.shape[1]), _NEVER, dtype=WIDE, device=state.device)
    before = torch.cat([nobody, state])
    moved, jumped = before[1:-1], before[:-2] + jumps
    most = torch.maximum(torch.maximum(state, moved), jumped)
    total = torch.exp(state - most) + torch.exp(moved - most) + torch.exp(jumped - most)
    result = torch.log(total) + most
    if enters is not None:
        result = torch.maximum(result, torch.index_select(enters, 0, time).squeeze(0))
    return result + torch.index_select(emissions, 0, time).squeeze(0)


def _states(emissions, jumps, first, enters):
    """Of all times; ``enters`` are those that begin later. The time is data: in eager mode all steps are one program."""
    states = [first + emissions[0]]
    time = torch.zeros(1, dtype=torch.int64, device=first.device)
    for _ in range(1, emissions.shape[0]):
        time = time + 1
        states.append(torch.ops.spyre.ctc_step(states[-1], jumps, emissions, time, enters))
    return torch.stack(states)


def loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity=False):
    """-log of the probability of each sequence, and the states, which the gradient reads."""
    del zero_infinity  # it says what the gradient is
    labels = _Labels(log_probs, targets, input_lengths, target_lengths, blank)
    states = _states(labels.emissions(log_probs), labels.jumps, labels.begins, None)
    last = states + labels.ends
    most = torch.amax(last, [0, 1])
    found = torch.log(torch.sum(torch.exp(last - most), [0, 1])) + most
    # Of no time at all: no label takes none.
    found = torch.where(input_lengths > 0, found, one_of(target_lengths > 0, _NEVER, 0.0))
    never = torch.full_like(found, float("inf"))
    return torch.where(found < _NEVER / 10, never, -found).to(log_probs.dtype), states


def loss_backward(grad, log_probs, targets, input_lengths, target_lengths, losses, states, blank, zero_infinity):
    """Every time asks how probable it is that a path of the sequence is at a label: what led there, and what leads on."""
    labels = _Labels(log_probs, targets, input_lengths, target_lengths, blank)
    emissions = labels.emissions(log_probs)
    enters = labels.ends.flip(0, 1)
    onwards = _states(emissions.flip(0, 1), labels.jumps_back(), enters[0], enters).flip(0, 1)
    losses = losses.float()
    is_possible = losses < float("inf")
    shares = torch.exp(states + onwards - emissions + torch.where(is_possible, losses, 0.0))
    rest = torch.exp(log_probs.float()) - labels.by_class(shares)
    impossible = 0.0 if zero_infinity else float("nan")
    rest = torch.where(is_possible[:, None], rest, impossible) * grad.float()[:, None]
    return torch.where(labels.is_time.unsqueeze(2), rest, 0.0).to(log_probs.dtype)


def fake_loss(log_probs, targets, *_):
    times, batch, _ = log_probs.shape
    states = log_probs.new_empty((times, 2 * targets.shape[1] + 1, batch), dtype=torch.float32)
    return log_probs.new_empty(batch), states


def keep(ctx, inputs, output):
    *tensors, ctx.blank, ctx.zero_infinity = inputs
    ctx.save_for_backward(*tensors, *output)
    ctx.mark_non_differentiable(output[1])


def backward(ctx, grad, _):
    found = torch.ops.spyre.ctc_loss_backward(grad, *ctx.saved_tensors, ctx.blank, ctx.zero_infinity)
    return found, None, None, None, None, None


def _rows(targets, lengths, most):
    """[sequences, labels], of labels that are all in a row."""
    starts = torch.cumsum(lengths, 0) - lengths
    at = starts[:, None] + torch.arange(most, device=targets.device)
    at = torch.clamp(at, 0, max(targets.shape[0] - 1, 0))
    return torch.index_select(targets, 0, at.reshape(-1)).reshape(at.shape)


def _on_device(lengths, device, most):
    """Data that is beyond the most is an error of the device."""
    if _on_host(lengths) is None:
        return index_writes.checked(lengths.to(device, torch.int64), most + 1, False)
    return torch.as_tensor(lengths, dtype=torch.int64).to(device)


def _flat(lengths):
    """With one dimension: that of a single sequence may be without."""
    return lengths.reshape(-1) if isinstance(lengths, torch.Tensor) else lengths


def _on_host(lengths):
    """A list, or None where they are data of a graph or of the device, which finds out by itself."""
    if not isinstance(lengths, torch.Tensor):
        return list(lengths)
    is_known = lengths.device.type == "cpu" and type(lengths) in (torch.Tensor, torch.nn.Parameter)
    return lengths.tolist() if is_known else None


def _check_range(name, lengths, most=None):
    for length in lengths:
        if length < 0:
            raise RuntimeError(f"Expected {name} to have value at least 0, but got value {length}")
        if most is not None and length > most:
            raise RuntimeError(f"Expected {name} to have value at most {most}, but got value {length}")


def _check_targets(targets, lengths, batch):
    """Rows that are as long as the longest, or as many in a row as all together."""
    if targets.dim() not in (1, 2):
        raise RuntimeError(f"Expected 1 to 2 dimensions, but got {targets.dim()}-dimensional tensor for argument 'targets'")
    if targets.dim() == 2 and targets.shape[0] != batch:
        raise RuntimeError(
            f"Expected tensor to have size {batch} at dimension 0, but got size {targets.shape[0]} for argument 'targets'"
        )
    if lengths is None:
        return
    is_row = targets.dim() == 1
    wanted, given = sum(lengths) if is_row else max(lengths, default=0), targets.shape[-1]
    if given != wanted if is_row else given < wanted:
        least = "" if is_row else "at least "
        raise RuntimeError(
            f"Expected tensor to have size {least}{wanted} at dimension {targets.dim() - 1}, but got size {given} for "
            "argument 'targets'"
        )


def _checked(log_probs, targets, input_lengths, target_lengths, blank):
    """What torch refuses, in its words."""
    if log_probs.dim() != 3:
        raise RuntimeError(f"Expected 3-dimensional tensor, but got {log_probs.dim()}-dimensional tensor for 'log_probs'")
    if log_probs.numel() == 0:
        raise RuntimeError("log_probs tensor must not be empty")
    if not 0 <= blank < log_probs.shape[2]:
        raise RuntimeError("blank must be in label range")
    if not is_float(log_probs):
        raise NotImplementedError(f"ctc_loss is not implemented for {log_probs.dtype}")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if isinstance(lengths, torch.Tensor) and lengths.dtype not in INTEGERS:
            raise RuntimeError(f"{name} must be integral")
        if len(lengths) != log_probs.shape[1]:
            raise RuntimeError(f"{name} must be of size batch_size")
    inputs, known = _on_host(input_lengths), _on_host(target_lengths)
    _check_range("input_lengths", inputs or (), log_probs.shape[0])
    _check_range("target_lengths", known or ())
    _check_targets(targets, known, log_probs.shape[1])


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=_MEAN, zero_infinity=False):
    is_batch = log_probs.dim() == 3
    wide = log_probs if is_batch else log_probs.unsqueeze(1)
    input_lengths, target_lengths = _flat(input_lengths), _flat(target_lengths)
    _checked(wide, targets, input_lengths, target_lengths, blank)
    targets, inputs, lengths = _padded(wide, targets.to(wide.device), input_lengths, target_lengths)
    losses = torch.ops.spyre.ctc_loss(wide, targets, inputs, lengths, blank, zero_infinity)[0]
    if zero_infinity:
        losses = torch.where(losses == float("inf"), 0.0, losses)
    if reduction == _MEAN:
        return (losses / torch.clamp_min(lengths, 1)).mean()
    if reduction == _SUM:
        return losses.sum()
    return losses if is_batch else losses.squeeze(0)


# --------------------------------------------------------------------------------------------------
# The parts of torch's own loss: states are [sequences, times, positions] there, and nothing is -inf.


def _padded(log_probs, targets, input_lengths, target_lengths):
    """Two dimensions of targets, and lengths on the device."""
    inputs = _on_device(input_lengths, log_probs.device, log_probs.shape[0])
    lengths = _on_device(target_lengths, log_probs.device, targets.shape[-1])
    known = _on_host(target_lengths)
    most = targets.shape[-1] if known is None else max(known, default=0)
    if targets.dim() == 1:
        targets = _rows(targets, lengths, most)
    elif most < targets.shape[1]:
        targets = targets.narrow(1, 0, most)
    return targets, inputs, lengths


def torch_loss(log_probs, targets, input_lengths, target_lengths, blank=0, zero_infinity=False):
    if log_probs.dim() != 3 or not is_float(log_probs) or targets.dtype not in INTEGERS:
        return NotImplemented
    given = _padded(log_probs, targets, input_lengths, target_lengths)
    losses, states = torch.ops.spyre.ctc_loss(log_probs, *given, blank, zero_infinity)
    states = torch.where(states < _NEVER / 10, float("-inf"), states)
    return losses, states.permute(2, 0, 1).to(log_probs.dtype).contiguous()


def torch_loss_backward(
    grad, log_probs, targets, input_lengths, target_lengths, losses, log_alpha, blank, zero_infinity=False
):
    if log_probs.dim() != 3 or not is_float(log_probs) or targets.dtype not in INTEGERS:
        return NotImplemented
    given = _padded(log_probs, targets, input_lengths, target_lengths)
    states = torch.clamp_min(log_alpha.float(), _NEVER).permute(1, 2, 0).contiguous()
    return torch.ops.spyre.ctc_loss_backward(grad, log_probs, *given, losses, states, blank, zero_infinity)


def decompositions():
    """Operator overload -> function."""
    aten, spyre = torch.ops.aten, torch.ops.spyre
    return {
        aten._ctc_loss.default: torch_loss,
        aten._ctc_loss.Tensor: torch_loss,
        aten._ctc_loss_backward.default: torch_loss_backward,
        aten._ctc_loss_backward.Tensor: torch_loss_backward,
        spyre.ctc_loss.default: loss,
        spyre.ctc_loss_backward.default: loss_backward,
        spyre.ctc_step.default: step,
    }


_kernels = []


def install():
    """Registers the kernels of the device; once. In eager mode every step of time is a program, the same for all."""
    if _kernels:
        return
    of_torch, own = (torch.library.Library(name, "IMPL") for name in ("aten", "spyre"))
    # Torch's reads lengths on the host, and has a shape that depends on them.
    for name in ("ctc_loss.IntList", "ctc_loss.Tensor"):
        for key in ("PrivateUse1", "AutogradPrivateUse1"):
            of_torch.impl(name, ctc_loss, key)
    for name, function in (("_ctc_loss", torch_loss), ("_ctc_loss_backward", torch_loss_backward)):
        for overload in ("default", "Tensor"):
            op = getattr(getattr(torch.ops.aten, name), overload)
            of_torch.impl(op.name().removeprefix("aten::"), fallbacks.otherwise_on_cpu(function, op), "PrivateUse1")
    own.impl("ctc_loss", loss, "PrivateUse1")
    own.impl("ctc_loss_backward", loss_backward, "PrivateUse1")
    _kernels.extend((of_torch, own))
