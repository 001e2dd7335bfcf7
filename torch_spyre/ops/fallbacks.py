"""What the user sees when an operation runs on the CPU instead of the device."""

import os
import sys
import warnings

import torch


class FallbackWarning(UserWarning):
    """An operation on spyre tensors was run on the CPU."""


_TORCH_DIR = os.path.dirname(torch.__file__) + os.sep
_OWN_DIR = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def _user_frame():
    """The innermost frame outside torch and this package: the line the user wrote."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_TORCH_DIR, _OWN_DIR)):
        frame = frame.f_back
    return frame


def warn_fallback(operation):
    """Called before each fallback. Python shows a warning once per text and line."""
    warn_graph(f"{operation} is falling back to cpu")


def warn_graph(text):
    """Called once per compiled graph with everything that runs on the CPU."""
    frame = _user_frame()
    if frame is None:  # a thread of the autograd engine
        warnings.warn(text, FallbackWarning, stacklevel=1)
        return
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        text,
        FallbackWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=registry,
    )
