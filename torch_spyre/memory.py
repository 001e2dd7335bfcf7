"""Memory statistics of the device: torch's generic accelerator functions under torch.spyre.memory."""

from torch.accelerator.memory import *  # noqa: F403
