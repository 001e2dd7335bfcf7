"""Profiler of the device. The counters of torch.spyre.counters() are its present form."""


def is_available():
    """Whether device rows appear in torch.profiler traces."""
    return False
