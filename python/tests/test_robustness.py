"""Error paths: after each the device works, and nothing leaks. docs/robustness.md lists the cases.

Machines with little memory are described in a file and used by a fresh interpreter.
"""

import gc
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
import torch

from torch_spyre import _C

HALF = torch.float16
MIB = 1 << 20


def ones(*size):
    return torch.ones(size, dtype=HALF, device="spyre")


def run_python(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def small_machine(tmp_path):
    """Runs code on a machine with 64 MiB of device memory."""
    machine = json.loads(torch.spyre.device_description())
    machine["ddrBytes"] = 64 * MIB
    path = tmp_path / "small.json"
    path.write_text(json.dumps(machine))
    prelude = """
    import gc, threading, torch
    HALF, MIB = torch.float16, 1 << 20
    def halves(mib): return torch.empty(mib * MIB // 2, dtype=HALF, device="spyre")
    def ones(*size): return torch.ones(size, dtype=HALF, device="spyre")
    def expect_oom(function):
        try:
            function()
        except torch.OutOfMemoryError as error:
            return str(error)
        raise SystemExit("no OutOfMemoryError")
    """
    return lambda code: run_python(
        textwrap.dedent(prelude) + textwrap.dedent(code), SPYRE_DEVICE_DESC=str(path)
    )


@pytest.fixture
def clean_device():
    yield
    torch.spyre.reset_device(0)
    gc.collect()


# Out of memory ------------------------------------------------------------------------------------


def test_a_request_larger_than_a_segment_has_its_own_message():
    before = torch.spyre.memory_allocated()
    with pytest.raises(torch.OutOfMemoryError, match="segment"):
        torch.empty(9 << 30, dtype=HALF, device="spyre")
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 40, dtype=HALF, device="spyre")
    assert torch.spyre.memory_allocated() == before


def test_memory_fills_up_and_comes_back(small_machine):
    small_machine("""
        kept = []
        text = expect_oom(lambda: [kept.append(halves(4)) for _ in range(100)])
        assert "requested" in text and "free" in text, text
        count = len(kept)
        assert count >= 10, count
        del kept[::2]                              # every second block: fragmented
        expect_oom(lambda: halves(30))
        kept.clear()
        big = halves(30)                           # then free, then success
        assert torch.spyre.memory_stats()["num_ooms"] == 2
        assert (ones(4, 64) + 1).cpu().eq(2).all()
    """)


def test_memory_that_only_cycles_hold_is_collected(small_machine):
    small_machine("""
        gc.disable()
        for _ in range(10):
            cycle = [halves(20)]
            cycle.append(cycle)
            del cycle
        assert torch.spyre.memory_stats()["num_alloc_retries"] > 0
    """)


def test_threads_may_run_out_of_memory_together(small_machine):
    small_machine("""
        failures = []
        def work():
            kept = []
            try:
                for _ in range(100): kept.append(halves(2))
            except torch.OutOfMemoryError:
                failures.append(1)
        threads = [threading.Thread(target=work) for _ in range(8)]
        [t.start() for t in threads]; [t.join() for t in threads]
        assert failures
        gc.collect()
        assert (ones(4, 64) + 1).cpu().eq(2).all()
    """)


def test_a_compiled_graph_that_runs_out_of_memory_leaves_nothing_behind(small_machine):
    small_machine("""
        @torch.compile
        def f(x): return x + 1, x + 2, x + 3
        f(ones(64, 64)); torch.spyre.synchronize()
        x = ones(4096, 2048)                       # 16 MiB, the results need three times that
        kept = halves(16)
        torch.spyre.synchronize()
        before = torch.spyre.memory_allocated()
        expect_oom(lambda: f(x))
        gc.collect(); torch.spyre.synchronize()
        assert torch.spyre.memory_allocated() <= before + 64 * 1024, "programs apart"
        del kept, x
        assert f(ones(64, 64))[2].cpu().eq(4).all()
    """)


def test_programs_make_room_for_tensors(small_machine):
    small_machine("""
        x = ones(64, 64)
        for i in range(2, 40):
            (x[:i] * 2).cpu()                      # many programs
        kept = []
        expect_oom(lambda: [kept.append(halves(1)) for _ in range(100)])
        kept.clear()
        assert (x[:7] * 2).cpu().eq(2).all(), "programs come back"
    """)


# Lifetime -----------------------------------------------------------------------------------------


def test_views_keep_their_storage():
    base = ones(64, 64)
    view = base[3:5].t()
    del base
    gc.collect()
    assert (view + 1).cpu().eq(2).all()


def test_tensors_may_die_in_another_thread():
    before = torch.spyre.memory_allocated()
    held = [ones(64, 64) for _ in range(20)]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    torch.spyre.synchronize()
    assert torch.spyre.memory_allocated() == before


def test_a_process_may_end_with_work_queued_and_tensors_alive():
    run_python("""
        import torch
        x = torch.ones(256, 256, dtype=torch.float16, device="spyre")
        kept = [x @ x for _ in range(50)]
    """)


# Concurrency --------------------------------------------------------------------------------------


def test_threads_share_a_stream():
    stream = torch.spyre.Stream()
    results = [None] * 8

    def work(i):
        with torch.spyre.stream(stream):
            y = ones(64, 64) * i
            for _ in range(10):
                y = y + 1
            results[i] = y

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    [t.start() for t in threads]
    while any(t.is_alive() for t in threads):
        torch.spyre.synchronize()  # while others submit
    stream.synchronize()
    assert all(results[i].cpu().eq(i + 10).all() for i in range(8))


def test_an_event_that_was_never_recorded_and_a_wait_for_oneself():
    event = torch.Event("spyre")
    stream = torch.spyre.Stream()
    event.wait(stream)
    assert event.query()
    event.record(stream)
    event.wait(stream)
    stream.synchronize()


def test_blocking_calls_release_the_interpreter():
    """A thread of Python runs on while another waits for the device.

    If a wait held the interpreter, the thread would get at most one turn before and one after each wait.
    """
    x = torch.ones(1024, 1024, dtype=HALF, device="spyre")
    ticks = 0
    done = threading.Event()

    def tick():
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    during = 0
    try:
        for _ in range(3):
            y = x @ x
            for _ in range(6):
                y = y @ x * 0.01
            before = ticks
            torch.spyre.synchronize()
            during += ticks - before
    finally:
        done.set()
        thread.join()
    assert during > 6, during


def test_an_interrupt_ends_a_program_that_waits():
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import signal, torch\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell may ignore it
            "x = torch.ones(512, 512, dtype=torch.float16, device='spyre')\n"
            "(x @ x).cpu()\n"
            "print('ready', flush=True)\n"
            "while True:\n"
            "    y = x @ x\n"
            "    torch.spyre.synchronize()\n",
        ],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline().strip() == "ready"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors


# Faults -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", ["page_fault_fetch", "page_fault_store", "timeout", "core_unavailable", "ecc"]
)
def test_a_fault_names_what_failed_and_a_reset_heals(clean_device, kind):
    x = ones(4, 64)
    (x * 3).cpu()
    _C._inject_fault(0, kind)
    with pytest.raises(RuntimeError, match=r"aten\.mul.*stream 0"):
        x * 3
        torch.spyre.synchronize()
    torch.spyre.reset_device(0)
    assert (ones(4, 64) * 3).cpu().eq(3).all()


def test_a_failed_copy_is_an_error_of_its_call(clean_device):
    x = ones(4, 64)
    torch.spyre.synchronize()
    _C._inject_fault(0, "dma_crc", target="copy")
    with pytest.raises(RuntimeError, match="SPYRE-E"):
        x.cpu()
    assert x.cpu().eq(1).all(), "the next one works"


def test_compiled_functions_survive_a_reset():
    @torch.compile
    def f(a):
        return (a @ a).relu()

    assert f(ones(64, 64)).cpu().eq(64).all()
    torch.spyre.reset_device(0)
    assert f(ones(64, 64)).cpu().eq(64).all()


def test_eager_operations_with_constants_survive_a_reset():
    """Attention brings its mask along, which the reset takes."""

    def attention():
        q = torch.linspace(-1, 1, 2 * 5 * 64).reshape(1, 2, 5, 64).half().to("spyre")
        return torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).cpu()

    before = attention()
    torch.spyre.reset_device(0)
    assert torch.equal(attention(), before)


# Kernels ------------------------------------------------------------------------------------------


@pytest.fixture
def kernel(tmp_path):
    """The SpyreCode folder of x + y on [64, 64]."""
    (ones(64, 64) + ones(64, 64)).cpu()

    @torch.compile
    def add(a, b):
        return a + b

    with torch._dynamo.config.patch(suppress_errors=False):
        add(ones(64, 64), ones(64, 64))
    record = torch_spyre_last()
    record.save(str(tmp_path / "model"))
    return next((tmp_path / "model").glob("*/spyreCodeDir"))


def torch_spyre_last():
    import torch_spyre

    return torch_spyre.last_compile()


def test_a_kernel_is_prepared_and_launched(kernel):
    plan = torch.spyre.prepare_kernel(str(kernel))
    kinds = [plan.get_step_type(i) for i in range(plan.num_steps())]
    assert kinds == ["HostCompute", "H2D", "Compute"]
    assert plan.job_allocation_size() > 0
    x, y, z = ones(64, 64), ones(64, 64), torch.zeros(64, 64, dtype=HALF, device="spyre")
    torch.spyre.launch_jobplan(plan, [x, y, z])
    del plan  # in flight
    assert z.cpu().eq(2).all()
    torch.spyre.launch_kernel(str(kernel.parent), [z, y, x])
    assert x.cpu().eq(3).all()


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda d: d["JobPreparationPlan"].pop(0), "Allocate"),
        (lambda d: d["JobPreparationPlan"][1]["properties"].pop("dev_ptr"), "missing 'dev_ptr'"),
        (lambda d: d["JobPreparationPlan"][0]["properties"].update(size="128"), "do not fit"),
        (lambda d: d["JobPreparationPlan"][0]["properties"].update(size=51200), "SPYRE-E5201"),
        (lambda d: d["JobExecPlan"][-1].update(command="Jump"), "Step ordering violation"),
        (lambda d: d["JobExecPlan"].pop(), "Incomplete step sequence"),
        (
            lambda d: d["JobExecPlan"][-1]["properties"].update(job_bin_ptr="5"),
            "out of program segment bounds",
        ),
    ],
)
def test_damaged_plans_are_refused(kernel, change, message):
    path = kernel / "spyrecode.json"
    plan = json.loads(path.read_text())
    change(plan)
    path.write_text(json.dumps(plan))
    with pytest.raises(RuntimeError, match=message):
        torch.spyre.prepare_kernel(str(kernel))


def test_missing_and_truncated_files_are_refused(kernel, tmp_path):
    with pytest.raises(RuntimeError, match="SpyreCode directory does not exist"):
        torch.spyre.prepare_kernel(str(tmp_path / "nothing"))
    with pytest.raises(RuntimeError, match="spyrecode.json not found"):
        torch.spyre.prepare_kernel(str(tmp_path))
    binary = next(kernel.glob("*.bin"))
    binary.write_bytes(binary.read_bytes()[:-128])
    with pytest.raises(RuntimeError, match="SPYRE-E6202"):
        torch.spyre.prepare_kernel(str(kernel))
    binary.unlink()
    with pytest.raises(RuntimeError, match="missing"):
        torch.spyre.prepare_kernel(str(kernel))
    (kernel / "spyrecode.json").write_text("{")
    with pytest.raises(RuntimeError, match="SPYRE-E5201"):
        torch.spyre.prepare_kernel(str(kernel))


def test_threads_prepare_one_kernel(kernel):
    plans = [None] * 4
    threads = [
        threading.Thread(
            target=lambda i=i: plans.__setitem__(i, torch.spyre.prepare_kernel(str(kernel)))
        )
        for i in range(4)
    ]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert all(plan.num_steps() == 3 for plan in plans)


def test_arguments_of_kernels_are_checked(kernel):
    plan = torch.spyre.prepare_kernel(str(kernel))
    x = ones(64, 64)
    with pytest.raises(RuntimeError, match="argument 1 must be on Spyre device"):
        torch.spyre.launch_jobplan(plan, [x, x.cpu(), x])
    with pytest.raises(RuntimeError, match="SPYRE-E6204"):
        torch.spyre.launch_jobplan(plan, [x])
    with pytest.raises(RuntimeError, match="is a view"):
        torch.spyre.launch_jobplan(plan, [x, ones(65, 64)[1:], x])
    with pytest.raises(RuntimeError, match="Step index out of range"):
        plan.get_step_type(3)


def test_a_graph_compiled_for_one_layout_is_right_for_another():
    @torch.compile
    def f(a):
        return a * 2 + 1

    host = torch.arange(64 * 96, dtype=torch.float32).reshape(64, 96).remainder(50).to(HALF)
    layout = torch.spyre.SpyreTensorLayout([64, 96], [96, 1], HALF, [1, 0])
    plain, other = host.to("spyre"), host.to("spyre", device_layout=layout)
    for x in (plain, other, plain, other):
        assert torch.equal(f(x).cpu(), host * 2 + 1)


def test_a_back_end_that_fails_or_crashes_is_reported(tmp_path):
    for name, body in {"fails": "exit 3", "dies": "kill -9 $$"}.items():
        script = tmp_path / name
        script.write_text(f"#!/bin/sh\n{body}\n")
        script.chmod(0o755)
        run_python(
            """
            import torch
            x = torch.ones(4, 64, dtype=torch.float16, device="spyre")
            try:
                torch.compile(lambda a: a.exp())(x)
            except Exception as error:
                assert "SPYRE-E" in str(error), error
            else:
                raise SystemExit("no error")
            """,
            SPYRE_BACKEND_CMD=str(script), SPYRE_CACHE="0",
        )  # fmt: skip


def test_the_table_of_cases_names_tests_that_exist():
    root = pathlib.Path(__file__).parents[2]
    text = (root / "docs" / "robustness.md").read_text()
    names = {
        line.strip()
        for cell in text.split("`")[1::2]
        for line in [cell]
        if "::" in line or "." in line and line[0].isupper()
    }
    assert len(names) > 50
    sources = "".join(
        path.read_text()
        for folder in ("python/tests", "unittests/Runtime", "conformance", "unittests/Spec")
        for path in (root / folder).glob("*.*")
        if path.suffix in (".py", ".cpp")
    )
    for name in names:
        if "::" in name:
            file, test = name.split("::")
            assert f"def {test}(" in (root / "python/tests" / file).read_text(), name
        else:
            suite, case = name.split(".")
            assert f"{suite}, {case})" in sources, name


def test_a_storage_without_memory_does_not_cost_the_stream():
    """Libraries that shard models free parameters like this."""
    x = torch.ones(64, 64, device="spyre", dtype=torch.float16)
    view = x[3]
    size = x.untyped_storage().nbytes()
    for less in (0, size // 2):
        x.untyped_storage().resize_(less)
        for use in (
            lambda: x + x,
            x.cpu,
            x.zero_,
            view.zero_,
            lambda: x.copy_(torch.zeros(64, 64), non_blocking=True),
            lambda: torch.zeros_like(x).copy_(x),
        ):
            with pytest.raises(RuntimeError, match="SPYRE-E6131"):
                use()
        torch.spyre.synchronize()
        assert "SpyreTensor" in repr(x)
    x.untyped_storage().resize_(size)
    assert x.fill_(2).sum().item() == 8192


def test_graphs_with_constants_run_after_a_reset(on_device):
    """Masks and tables that belong to a graph are sent again; only the user's tensors are lost."""

    def angles(x):
        at = torch.arange(x.shape[-1], device=x.device).float()
        return x * at.cos().to(x.dtype)

    def attention(q):
        return torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)

    x = torch.randn(2, 3, 64, generator=torch.Generator().manual_seed(0)).half()
    for function in (angles, attention):
        compiled = torch.compile(function)
        first = compiled(x.to("spyre")).cpu()
        torch.spyre.reset_device()
        with on_device():
            again = compiled(x.to("spyre"))
        assert torch.equal(again.cpu(), first)


def test_a_tensor_from_before_a_reset_does_not_cost_the_stream():
    x = torch.ones(64, 64, device="spyre", dtype=torch.float16)
    torch.spyre.synchronize()
    _C._inject_fault(0, "timeout")
    x + x
    with pytest.raises(RuntimeError, match="SPYRE-E6151"):
        torch.spyre.synchronize()
    torch.spyre.reset_device()
    for use in (x.zero_, x[3].zero_, lambda: x.copy_(torch.zeros(64, 64)), lambda: x + x, x.cpu):
        with pytest.raises(RuntimeError, match="SPYRE-E6117"):
            use()
    torch.spyre.synchronize()
    assert torch.ones(3, device="spyre").sum().item() == 3
