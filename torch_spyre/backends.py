"""``torch.backends.spyre``: what there is of the device, in the manner of the other backends of torch."""

import sys

import torch

from torch_spyre import _C


def is_built():
    """True: the plug-in is part of this installation."""
    return True


def is_available():
    """Whether there is a device to use."""
    return _C.is_available()


def version():
    """Version of the plug-in, such as "0.1.0"."""
    import torch_spyre

    return torch_spyre.__version__


def install():
    """Makes this module known as ``torch.backends.spyre``."""
    torch.backends.spyre = sys.modules["torch.backends.spyre"] = sys.modules[__name__]
