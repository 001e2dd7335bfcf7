"""How busy a card is: the figures of spyre-smi, for one card."""

from torch_spyre import _C
from torch_spyre.constants import DEVICE_NAME


def _index(device):
    from torch_spyre import device_module

    return device_module._check_device(device)


def _percent(part, device):
    processes = _C._card_processes(_index(device))
    return min(100, round(100 * sum(process[part] for process in processes)))


def utilization(device=None):
    """Percent of the wall time for which the simulated card computed, since the processes that are known
    to use it opened it."""
    return _percent("busy_part", device)


def memory_usage(device=None):
    """Percent of the wall time that the card's memory traffic takes at the memory's peak rate, counted
    like :func:`utilization`."""
    return _percent("memory_busy_part", device)


def clock_rate(device=None):
    """Clock of the cores in MHz, from the machine description."""
    return round(1000 * _C.device_properties(_index(device))["clock_ghz"])


def list_gpu_processes(device=None):
    """Text with the processes that use the card and the device memory that each holds. Other processes
    are listed when they tell spyre-smi about themselves (``SPYRE_SMI``)."""
    index = _index(device)
    lines = [f"{DEVICE_NAME}:{index}"]
    for process in _C._card_processes(index):
        mebibytes = process["reserved_bytes"] / 2**20
        lines.append(f"process {process['process']:>10d} uses {mebibytes:>12.3f} MiB of device memory")
    return "\n".join([*lines, *(["no processes are running"] if len(lines) == 1 else [])])
