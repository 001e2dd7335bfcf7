"""torch.amp on the device. What autocast casts is in Autocast.cpp."""

import functools

import torch

from torch_spyre.constants import DEVICE_NAME


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
