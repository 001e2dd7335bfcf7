"""Streams, events, asynchronous copies and errors: the device works while Python goes on."""

import gc
import threading

import pytest
import torch

from torch_spyre import _C

HALF = torch.float16


def ones(*size):
    return torch.ones(size, dtype=HALF, device="spyre")


@pytest.fixture
def clean_device():
    """A device that a failing test leaves usable for the next one."""
    yield
    torch.spyre.reset_device(0)
    gc.collect()


def test_pool_is_round_robin_with_two_priorities():
    low = [torch.spyre.Stream().stream_id for _ in range(33)]
    assert low[32] == low[0] and sorted(set(low)) == list(range(1, 33))
    high = [torch.spyre.Stream(priority=-1).stream_id for _ in range(33)]
    assert high[32] == high[0] and sorted(set(high)) == list(range(33, 65))
    assert torch.spyre.Stream(priority=7).stream_id > 32, "any other value is the high pool"


def test_operations_run_on_the_current_stream_of_the_thread():
    stream = torch.spyre.Stream()
    seen = []
    with torch.spyre.stream(stream):
        assert torch.spyre.current_stream().stream_id == stream.stream_id
        other = threading.Thread(
            target=lambda: seen.append(torch.spyre.current_stream().stream_id)
        )
        other.start()
        other.join()
        x = ones(4, 64) + 1
    assert seen == [0], "a new thread starts on the default stream"
    assert torch.spyre.current_stream().stream_id == 0
    stream.synchronize()
    assert stream.query()
    assert x.cpu().eq(2).all()


def test_the_current_stream_is_restored_after_an_exception():
    with pytest.raises(ZeroDivisionError):
        with torch.spyre.Stream():
            1 / 0
    assert torch.spyre.current_stream().stream_id == 0


def test_events_order_streams():
    producer, consumer = torch.spyre.Stream(), torch.spyre.Stream()
    x = ones(256, 256)
    torch.spyre.synchronize()
    event = torch.Event("spyre")
    with producer:
        y = x
        for _ in range(20):
            y = y + x
        event.record(producer)
    with consumer:
        event.wait(consumer)
        z = y * 2
    consumer.synchronize()
    assert event.query()
    assert z.cpu().eq(42).all()


def test_elapsed_time_is_simulated_and_positive():
    begin, end = torch.Event("spyre", enable_timing=True), torch.Event("spyre", enable_timing=True)
    x = ones(256, 256)
    torch.spyre.synchronize()
    torch.spyre.reset_counters()
    begin.record()
    y = x @ x
    end.record()
    end.synchronize()
    elapsed = begin.elapsed_time(end)
    device_ns = torch.spyre.counters()["device_ns"]
    assert elapsed == pytest.approx(device_ns / 1e6)
    assert y.cpu().eq(256).all()


def test_copies_overlap_compute_on_the_simulated_clock():
    """Two streams need less simulated time than one for the same copy and product."""
    host = torch.ones(1024, 1024, dtype=HALF).pin_memory()
    x = ones(1024, 1024)
    copied = torch.empty(1024, 1024, dtype=HALF, device="spyre")
    (x @ x).cpu()

    def run(copy_stream, compute_stream):
        x @ x  # on the default stream: what comes next starts when the compute engine is free
        torch.spyre.synchronize()
        begin = torch.Event("spyre", enable_timing=True)
        begin.record()
        copy_stream.wait_event(begin)
        compute_stream.wait_event(begin)
        with copy_stream:
            copied.copy_(host, non_blocking=True)
        with compute_stream:
            x @ x
        ends = []
        for stream in (copy_stream, compute_stream):
            end = torch.Event("spyre", enable_timing=True)
            end.record(stream)
            end.synchronize()
            ends.append(begin.elapsed_time(end))
        return max(ends)

    one = torch.spyre.Stream()
    serial = run(one, one)
    parallel = run(torch.spyre.Stream(), torch.spyre.Stream())
    assert parallel < serial * 0.95


def test_pinned_memory():
    pinned = torch.arange(1000, dtype=torch.float32).pin_memory()
    assert pinned.is_pinned() and pinned[500:].is_pinned()
    assert not torch.ones(3).is_pinned()
    x = pinned.to("spyre", non_blocking=True)
    back = torch.empty(1000, pin_memory=True)
    back.copy_(x, non_blocking=True)
    torch.spyre.synchronize()
    assert torch.equal(back, pinned)


def test_a_pageable_source_may_change_after_a_non_blocking_copy():
    source = torch.full((512, 512), 3, dtype=HALF)
    busy = ones(512, 512)
    for _ in range(5):
        busy = busy @ busy * 0
    x = source.to("spyre", non_blocking=True)
    source.zero_()
    assert x.cpu().eq(3).all()


def test_a_blocking_copy_to_the_host_is_complete_when_it_returns():
    x = ones(64, 64)
    for _ in range(50):
        x = x + 1
    assert torch.empty(64, 64, dtype=HALF).copy_(x, non_blocking=True).eq(51).all(), "pageable"
    pinned = x.to("cpu", non_blocking=True)  # torch pins what it makes itself, as for other devices
    torch.spyre.synchronize()
    assert pinned.is_pinned() and pinned.eq(51).all()


def test_inputs_may_be_deleted_right_after_a_launch():
    expected = 0
    results = []
    for i in range(200):
        x = torch.full((64, 64), float(i % 7), dtype=HALF, device="spyre")
        results.append(x + x)
        del x
    torch.spyre.synchronize()
    for i, result in enumerate(results):
        assert result.cpu().eq(2 * (i % 7)).all(), expected


def test_memory_is_active_until_queued_work_is_done():
    torch.spyre.synchronize()
    base = torch.spyre.memory_allocated()
    x = ones(1024, 1024)
    y = x + x
    size = torch.spyre.memory_allocated() - base
    del x, y
    assert torch.spyre.memory_allocated() == base, "falls with the last reference"
    torch.spyre.synchronize()
    torch.spyre.empty_cache()  # idle temporaries of programs stay active until then
    stats = torch.spyre.memory_stats()
    assert stats["active_bytes.all.current"] == stats["allocated_bytes.all.current"]
    assert size == 2 * 2 * 1024 * 1024


def test_record_stream_keeps_memory():
    side = torch.spyre.Stream()
    x = ones(64, 64)
    torch.spyre.synchronize()
    with side:
        y = x + 1
    x.record_stream(side)
    del x
    side.synchronize()
    assert y.cpu().eq(2).all()


def test_synchronize_covers_all_streams():
    results = []
    for _ in range(10):
        with torch.spyre.Stream():
            results.append(ones(64, 64) * 3)
    torch.spyre.synchronize()
    assert all(torch.spyre.Stream().query() for _ in range(32))
    assert all(r.cpu().eq(3).all() for r in results)


def test_a_fault_is_raised_at_the_next_wait(clean_device):
    x = ones(4, 64)
    (x + x).cpu()
    torch.spyre.synchronize()
    _C._inject_fault(0, "page_fault_fetch", 0)
    with pytest.raises(RuntimeError, match="aten.add.Tensor.*stream 0"):
        x + x
        torch.spyre.synchronize()
    side = torch.spyre.Stream()
    with side:
        z = ones(4, 64) * 2
        side.synchronize()
        assert z.cpu().eq(2).all(), "other streams go on"
    with pytest.raises(RuntimeError, match="reset_device"):
        torch.spyre.synchronize()


def test_reset_makes_the_device_usable_again(clean_device):
    base = torch.spyre.memory_allocated()
    old = ones(4, 64)
    _C._inject_fault(0, "page_fault_fetch", 0)
    with pytest.raises(RuntimeError):
        old + old
        torch.spyre.synchronize()
    torch.spyre.reset_device(0)
    with pytest.raises(RuntimeError, match="reset"):
        old.cpu()
    del old
    x = ones(4, 64)
    assert (x + x).cpu().eq(2).all()
    del x
    torch.spyre.synchronize()
    assert torch.spyre.memory_allocated() <= base


def test_control_blocks_of_an_operation():
    x = ones(64, 64)
    (x + x).cpu()
    torch.spyre.record_control_blocks(100)
    (x + x).cpu()
    kinds = [line.split()[1] for line in torch.spyre.control_blocks()]
    torch.spyre.record_control_blocks(0)
    assert [k for k in kinds if k != "discard"] == ["write", "launch", "read"]


def test_compiled_functions_on_side_streams():
    @torch.compile
    def f(a, b):
        return (a @ b).relu() + 1

    x = ones(128, 128)
    torch.spyre.synchronize()
    streams = [torch.spyre.Stream() for _ in range(4)]
    results = []
    for stream in streams * 3:
        with stream:
            results.append(f(x, x))
    torch.spyre.synchronize()
    assert all(r.cpu().eq(129).all() for r in results)
