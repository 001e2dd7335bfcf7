"""Many threads on many streams: allocations, copies, launches and frees, with known results.

Every value is an integer that the device holds exactly, so results are compared without a tolerance.
"""

import gc
import os
import random
import threading

import torch

#: Random steps per thread; with SPYRE_TEST_LONG=1 they take about a minute.
STEPS = 1500 if os.environ.get("SPYRE_TEST_LONG") == "1" else 100
THREADS = 16
SHAPES = [(3,), (64,), (5, 70), (64, 64), (2, 3, 130)]


class Worker(threading.Thread):
    """Keeps some tensors with the numbers they must hold, and does something with one of them."""

    def __init__(self, seed, streams):
        super().__init__()
        self.random, self.streams = random.Random(seed), streams
        self.held, self.error = [], None

    def run(self):
        try:
            for _ in range(STEPS):
                stream = self.random.choice(self.streams)
                with torch.spyre.stream(stream):
                    self.step()
                # Tensors move between streams of this thread only after their work is done.
                stream.synchronize()
        except Exception as error:  # reported by the test
            self.error = error
        self.held.clear()

    def step(self):
        what = self.random.choice([self.make, self.compute, self.move, self.check, self.drop])
        what()

    def make(self):
        value = self.random.randrange(-8, 9)
        host = torch.full(self.random.choice(SHAPES), float(value), dtype=torch.float16)
        if self.random.random() < 0.5:
            host = host.pin_memory()
        self.held.append((host.to("spyre", non_blocking=True), value))
        if len(self.held) > 12:
            self.drop()

    def compute(self):
        if self.held:
            tensor, value = self.random.choice(self.held)
            if abs(value) < 100:
                self.held.append((tensor * 2 + tensor, value * 3))

    def move(self):
        if self.held:
            tensor, value = self.random.choice(self.held)
            self.held.append((tensor.clone().reshape(-1)[: max(1, tensor.numel() // 2)], value))

    def check(self):
        if self.held:
            tensor, value = self.random.choice(self.held)
            assert tensor.cpu().eq(value).all(), (tuple(tensor.shape), value)

    def drop(self):
        if self.held:
            self.held.pop(self.random.randrange(len(self.held)))


def test_threads_streams_and_memory():
    torch.spyre.synchronize()
    gc.collect()
    before = torch.spyre.memory_allocated()
    streams = [torch.spyre.Stream() for _ in range(32)]
    streams += [torch.spyre.Stream(priority=-1) for _ in range(32)]
    workers = [Worker(seed, streams) for seed in range(THREADS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for worker in workers:
        if worker.error is not None:
            raise worker.error
    torch.spyre.synchronize()
    gc.collect()
    assert torch.spyre.memory_allocated() == before
    torch.spyre.empty_cache()  # idle temporaries of programs stay active until then
    stats = torch.spyre.memory_stats()
    assert stats["active_bytes.all.current"] == stats["allocated_bytes.all.current"]
