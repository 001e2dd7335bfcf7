"""Streams and events in the manner of torch.cuda."""

import contextlib

import torch

from torch_spyre.constants import DEVICE_NAME

_LOW_STREAMS = 32  # ids 1 to 32 have priority 0, those above -1
_STREAMS = 64  # the last id


def _device(device):
    """torch.device with an index of None, int, str, torch.device or a stream."""
    if device is None:
        return torch.device(DEVICE_NAME, torch.spyre.current_device())
    if isinstance(device, int):
        return torch.device(DEVICE_NAME, torch.spyre._check_device(device))
    device = torch.device(device)
    if device.type != DEVICE_NAME:
        raise ValueError(f"expected a {DEVICE_NAME} device, got {device}")
    return torch.device(DEVICE_NAME, torch.spyre._check_device(device))


class Stream(torch.Stream):
    """A stream of a spyre device; a context manager that makes it current.

    ``device`` is an attribute as in torch.cuda (older software had a method of that name)."""

    def __new__(cls, device=None, priority=0, **ids):
        if ids:  # stream_id=, device_index=, device_type=: an existing stream
            return super().__new__(cls, priority=priority, **ids)
        if torch.compiler.is_compiling():  # Dynamo knows how to make torch's own class
            return torch.Stream(DEVICE_NAME if device is None else device, priority=priority)
        return super().__new__(cls, device=_device(device), priority=priority)

    @classmethod
    def _of(cls, stream):
        """The same stream as an object of this class."""
        return cls(
            stream_id=stream.stream_id,
            device_index=stream.device_index,
            device_type=stream.device_type,
        )

    @property
    def id(self):
        return self.stream_id

    @property
    def spyre_stream(self):
        """The number of the stream; there is no native pointer to give away."""
        return self.stream_id

    @property
    def priority(self):
        return 0 if self.stream_id <= _LOW_STREAMS else -1

    @staticmethod
    def priority_range():
        """(lowest, highest)"""
        return (0, -1)

    def wait_stream(self, stream):
        """Work given to this stream from now on waits for what ``stream`` has now."""
        self.wait_event(stream.record_event())

    def record_event(self, event=None):
        event = Event() if event is None else event
        event.record(self)
        return event

    def __repr__(self):
        return f"<torch_spyre.Stream device={self.device_index} id={self.stream_id}>"


class _EventType(type):
    def __instancecheck__(cls, value):
        return isinstance(value, torch.Event) and value.device.type == DEVICE_NAME


class Event(metaclass=_EventType):
    """A point in the work of a stream: a torch.Event of this device, not a subclass, because torch
    measures time between objects of exactly its own type."""

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False):
        if interprocess:
            raise RuntimeError(
                "SPYRE-E6555: events of other processes are not supported; leave interprocess out"
            )
        return torch.Event(DEVICE_NAME, enable_timing=enable_timing, blocking=blocking)

    @classmethod
    def from_ipc_handle(cls, device, handle):
        raise RuntimeError(
            "SPYRE-E6555: events of other processes are not supported; synchronize and send a message"
        )


class StreamContext:
    """Context manager that makes a stream current, and its device; None leaves both as they are."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        if self.stream is not None:
            self.stream.__enter__()
        return self.stream

    def __exit__(self, *exception):
        if self.stream is not None:
            self.stream.__exit__(*exception)
        return False


class ExternalStream(Stream):
    """The stream that other software knows by its number, ``Stream.spyre_stream``: 0 to 64."""

    def __new__(cls, stream_ptr, device=None, **ids):
        if ids:
            return super().__new__(cls, **ids)
        if isinstance(stream_ptr, bool) or not isinstance(stream_ptr, int) or not 0 <= stream_ptr <= _STREAMS:
            raise ValueError(
                f"SPYRE-E6560: ExternalStream was given {stream_ptr!r}; give the number of a stream, 0 to {_STREAMS}"
            )
        where = _device(device)
        default = default_stream(where)
        return super().__new__(
            cls, stream_id=stream_ptr, device_index=where.index, device_type=default.device_type
        )


def stream(s):
    """The stream itself, ``with torch.spyre.stream(s):``; None leaves the current one."""
    return contextlib.nullcontext() if s is None else s


def set_stream(s):
    """Makes a stream current for this thread; None does nothing."""
    if s is not None:
        torch.accelerator.set_stream(s)


def current_stream(device=None):
    """The stream of this thread on the device, 0 unless another was made current."""
    if torch.compiler.is_compiling():  # Dynamo has its own object for it
        return torch.accelerator.current_stream(*(() if device is None else (device,)))
    return Stream._of(torch.accelerator.current_stream(_device(device)))


def default_stream(device=None):
    """Stream 0 of the device."""
    current = current_stream(device)
    return Stream(
        stream_id=0, device_index=current.device_index, device_type=current.device_type
    )


def get_stream_from_pool(device, priority=0):
    """The next stream of a pool: priority 0 low, any other high."""
    return Stream(device, priority)


def set_current_stream(s):
    """Makes a stream current and returns the one that was."""
    previous = current_stream(s.device)
    set_stream(s)
    return previous


def install(extension):
    """Names that older software looks for in the extension."""
    extension._SpyreStreamBase = torch.Stream
    for function in (get_stream_from_pool, set_current_stream, current_stream, default_stream):
        setattr(extension, function.__name__, function)


def synchronize(device=None):
    """Waits for all work: of all devices, or of one."""
    torch.spyre.synchronize(device)
