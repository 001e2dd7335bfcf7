"""Random numbers of the device. The generators live in C++ and do not need a started device.

For the same seed the values are those of the CPU's generator, whatever the CPU's own stream does.
"""

import copyreg
import functools
import inspect

import torch

from torch_spyre import _C
from torch_spyre.constants import DEVICE_NAME

# Dynamo does not trace them: torch calls some where no tensor may be looked at.
_untraced = torch._disable_dynamo

_MASK = (1 << 64) - 1


def _index(device):
    from torch_spyre import device_module

    return device_module._check_device(device)


def _rebuild_generator(device, state):
    generator = torch.Generator(device)
    generator.set_state(state)
    return generator


def _reduce_generator(generator):
    """torch's own reduction asks every generator but the CPU's for an offset, which ours has not."""
    if generator.device.type != DEVICE_NAME:
        return generator.__reduce__()
    return _rebuild_generator, (generator.device, generator.get_state())


def _wrap_fork_rng(original):
    """Torch warns of many cards, whose generators it would have to start; ours need no started card."""
    signature = inspect.signature(original)

    @functools.wraps(original)
    def fork_rng(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        accelerator = torch.accelerator.current_accelerator()
        kind = given.get("device_type") or getattr(accelerator, "type", None)
        if kind == DEVICE_NAME and given.get("devices") is None:
            given["devices"] = range(_C.device_count())
        return original(**given)

    return fork_rng


def install():
    """Pickle and copy.deepcopy of generators; ``torch.random.fork_rng`` for all cards without a warning."""
    copyreg.pickle(torch._C.Generator, _reduce_generator)
    torch.random.fork_rng = _wrap_fork_rng(torch.random.fork_rng)


@_untraced
def manual_seed(seed, device=None):
    """Seeds the generator of one device (the current one)."""
    _C.manual_seed(int(seed) & _MASK, _index(device))


@_untraced
def manual_seed_all(seed):
    """Seeds the generators of all devices."""
    _C.manual_seed_all(int(seed) & _MASK)


@_untraced
def seed():
    """Seeds the generator of the current device from the operating system."""
    value = torch._C.Generator().seed()
    manual_seed(value)
    return value


@_untraced
def seed_all():
    """Seeds the generators of all devices with one number from the operating system."""
    value = torch._C.Generator().seed()
    manual_seed_all(value)
    return value


@_untraced
def initial_seed(device=DEVICE_NAME):
    return _C.initial_seed(_index(device))


@_untraced
def get_rng_state(device=DEVICE_NAME):
    """State of the generator: 5016 bytes."""
    return _C.get_rng_state(_index(device))


@_untraced
def get_rng_state_all():
    return [get_rng_state(index) for index in range(_C.device_count())]


@_untraced
def set_rng_state(new_state, device=DEVICE_NAME):
    if not isinstance(new_state, torch.Tensor):
        raise TypeError(
            f"set_rng_state: expected a torch.ByteTensor, got {type(new_state).__name__}"
        )
    _C.set_rng_state(new_state.cpu(), _index(device))


@_untraced
def set_rng_state_all(new_states):
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


@_untraced
def default_generator(device=DEVICE_NAME):
    return _C._get_default_generator(_index(device))
