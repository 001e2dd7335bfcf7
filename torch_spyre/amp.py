"""torch.amp on the device, also as ``torch.spyre.amp``. What autocast casts is in Autocast.cpp."""

import functools

import torch

from torch_spyre.constants import DEVICE_NAME

custom_fwd = functools.partial(torch.amp.custom_fwd, device_type=DEVICE_NAME)
custom_fwd.__doc__ = """``torch.amp.custom_fwd`` for this device."""
custom_bwd = functools.partial(torch.amp.custom_bwd, device_type=DEVICE_NAME)
custom_bwd.__doc__ = """``torch.amp.custom_bwd`` for this device."""


class autocast(torch.amp.autocast_mode.autocast):
    """``torch.autocast("spyre")``."""

    def __init__(self, enabled=True, dtype=torch.float16, cache_enabled=True):
        super().__init__(DEVICE_NAME, enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """``torch.amp.GradScaler("spyre")``."""

    def __init__(self, *args, **kwargs):
        super().__init__(DEVICE_NAME, *args, **kwargs)


def install():
    """``GradScaler`` inverts its scale in float64, which the device does not have: on the CPU then."""
    scaler = torch.amp.GradScaler
    original = scaler.unscale_
    if getattr(original, "_spyre_patched", False):
        return

    @functools.wraps(original)
    def unscale_(self, optimizer):
        scale = self._scale
        if scale is None or scale.device.type != DEVICE_NAME:
            return original(self, optimizer)
        self._scale = scale.cpu()
        try:
            return original(self, optimizer)
        finally:
            self._scale = scale

    unscale_._spyre_patched = True
    scaler.unscale_ = unscale_
