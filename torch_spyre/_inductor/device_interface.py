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

        Event = torch.spyre.Event
        Stream = torch.spyre.Stream

        class Worker:
            set_device = staticmethod(torch.spyre.set_device)
            current_device = staticmethod(torch.spyre.current_device)

            @staticmethod
            def get_device_properties(device=None):
                return SpyreInterface.get_device_properties(device)

        is_available = staticmethod(torch.spyre.is_available)
        device_count = staticmethod(torch.spyre.device_count)
        current_device = staticmethod(torch.spyre.current_device)
        set_device = staticmethod(torch.spyre.set_device)
        exchange_device = staticmethod(torch.spyre._exchange_device)
        maybe_exchange_device = staticmethod(torch.spyre._maybe_exchange_device)
        synchronize = staticmethod(torch.spyre.synchronize)
        # Dynamo knows these by identity: they are the functions users call.
        stream = staticmethod(torch.spyre.stream)
        current_stream = staticmethod(torch.spyre.current_stream)
        set_stream = staticmethod(torch.spyre.set_stream)
        memory_allocated = staticmethod(torch.spyre.memory_allocated)
        is_bf16_supported = staticmethod(torch.spyre.is_bf16_supported)

        @staticmethod
        def _set_stream_by_id(stream_id, device_index, device_type):
            torch.spyre.set_stream(
                torch.spyre.Stream(
                    stream_id=stream_id, device_index=device_index, device_type=device_type
                )
            )

        @staticmethod
        def get_raw_stream(device_idx):
            """The number of the stream: there is no native pointer."""
            return torch.spyre.current_stream(device_idx).stream_id

        @staticmethod
        def get_device_properties(device=None):
            found = torch.spyre.get_device_properties(device)
            return SpyreProperties(
                index=found.index, multi_processor_count=found.multi_processor_count
            )

        @staticmethod
        def get_compute_capability(device=None):
            return ""

    module.register_interface_for_device(DEVICE_NAME, SpyreInterface)
    for index in range(torch.spyre.device_count() if torch.spyre.is_available() else 0):
        module.register_interface_for_device(f"{DEVICE_NAME}:{index}", SpyreInterface)
