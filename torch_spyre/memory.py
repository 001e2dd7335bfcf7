"""Memory statistics of the device: torch's generic accelerator functions."""

from torch.accelerator.memory import *  # noqa: F403
