"""What Dynamo and Inductor ask about a device."""

import dataclasses

import torch

from torch_spyre.constants import DEVICE_NAME


@dataclasses.dataclass
class SpyreProperties:
    type: str = "dd2"
    index: int = 0
    multi_processor_count: int = 32


def register(module):
    """Adds the interface to ``torch._dynamo.device_interface``."""

    class SpyreInterface(module.DeviceInterface):
        class device(torch.spyre.device):
            pass

        class Worker:
            @staticmethod
            def set_device(device):
                torch.spyre.set_device(device)

            @staticmethod
            def current_device():
                return torch.spyre.current_device()

            @staticmethod
            def get_device_properties(device=None):
                return SpyreInterface.get_device_properties(device)

        @staticmethod
        def is_available():
            return torch.spyre.is_available()

        @staticmethod
        def device_count():
            return torch.spyre.device_count()

        @staticmethod
        def current_device():
            return torch.spyre.current_device()

        @staticmethod
        def set_device(device):
            torch.spyre.set_device(device)

        @staticmethod
        def synchronize(device=None):
            torch.spyre.synchronize(device)

        @staticmethod
        def get_device_properties(device=None):
            found = torch.spyre.get_device_properties(device)
            return SpyreProperties(
                index=found.index, multi_processor_count=found.multi_processor_count
            )

        @staticmethod
        def get_compute_capability(device=None):
            return ""

        @staticmethod
        def is_bf16_supported(including_emulation=False):
            return True

    module.register_interface_for_device(DEVICE_NAME, SpyreInterface)
    for index in range(torch.spyre.device_count() if torch.spyre.is_available() else 0):
        module.register_interface_for_device(f"{DEVICE_NAME}:{index}", SpyreInterface)
