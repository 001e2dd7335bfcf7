"""Profiling of the device.

``torch.profiler`` shows the host side of the device's work as ranges (``launch::Compute``,
``launch::H2D``, ``launch::D2H``, ``launch::Memset``, ``host::synchronize``) and, with
``profile_memory=True``, each allocation; ``torch.autograd.profiler.profile(use_device="spyre")`` adds
the times of the simulated clock. What the device itself did is in ``torch.spyre.counters()``.
"""

from torch.profiler import ProfilerActivity

HOST_RANGES = (
    "launch::Compute",
    "launch::H2D",
    "launch::D2H",
    "launch::Memset",
    "host::synchronize",
)


def is_available():
    """Whether traces of torch.profiler have rows about the device's work."""
    return True


def supported_activities():
    return {ProfilerActivity.CPU}
