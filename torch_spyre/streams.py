"""Streams in the manner of torch.cuda. Operations have finished when their call returns."""

import torch

from torch_spyre.constants import DEVICE_NAME


def _device(device):
    if device is None:
        return torch.device(DEVICE_NAME, torch.spyre.current_device())
    if isinstance(device, int):
        return torch.device(DEVICE_NAME, device)
    device = torch.device(device)
    return device if device.index is not None else torch.device(DEVICE_NAME, torch.spyre.current_device())


class Stream(torch.Stream):
    """A stream of the spyre device; a context manager that makes it current."""

    def __new__(cls, device=None, priority=0):
        return super().__new__(cls, device=_device(device), priority=priority)


def stream(s):
    """The stream itself: ``with torch.spyre.stream(s):``."""
    return s


def current_stream(device=None):
    return torch.accelerator.current_stream(_device(device))


def default_stream(device=None):
    current = current_stream(device)
    return torch.Stream(
        stream_id=0, device_index=current.device_index, device_type=current.device_type
    )


def synchronize(device=None):
    """Waits for all work on the device: it is already done."""
    torch.spyre._check_device(_device(device).index)
