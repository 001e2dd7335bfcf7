"""Every function of torch.accelerator, torch.spyre and torch._C._accelerator*, with plain and with wrong arguments: an
answer or an exception, and the process lives."""

import json

_WALK = """
import io, json, sys, types, warnings
import torch
import torch_spyre

warnings.simplefilter("ignore")
x = torch.ones(4, device="spyre")
stream = torch.spyre.Stream()
unknown = torch.Stream(stream_id=1 << 40, device_index=0, device_type=stream.device_type)
PLAIN = [(), (0,), ("spyre",), ("spyre:0",), (torch.device("spyre", 0),), (None,), (x,), (stream,), (lambda: None,)]
WRONG = [(-1,), (99,), (1 << 70,), (-(1 << 40),), (1.5,), ("cpu",), ("nonsense",), (b"",), ([],), ({},), (object(),),
         (0, 0), (0, "x"), (1, 2, 3, 4), (float("nan"),), (True,), (torch.ones(2),),
         (torch.Stream("cpu"),), (unknown,)]
#: They end the process, leave it or block by design, or write files.
LEFT_OUT = {"_shut_down", "_dump_snapshot", "free_runtime", "range"}


def functions(module):
    for name in sorted(dir(module)):
        value = getattr(module, name, None)
        if name in LEFT_OUT or name.startswith("__") or isinstance(value, types.ModuleType):
            continue
        home = getattr(value, "__module__", "") or ""
        is_ours = home.startswith(("torch_spyre", "torch.accelerator", "torch._C")) or isinstance(
            value, types.BuiltinFunctionType
        )
        if callable(value) and is_ours:
            yield f"{module.__name__}.{name}", value


called = {}
accelerator = types.SimpleNamespace(__name__="torch._C")
for name in dir(torch._C):
    if name.startswith("_accelerator"):
        setattr(accelerator, name, getattr(torch._C, name))
modules = [torch.accelerator, torch.accelerator.memory, torch.accelerator.graphs, accelerator, torch.spyre,
           torch.spyre.memory, torch.spyre.streams, torch.spyre.nvtx, torch.spyre.graphs, torch.spyre.amp,
           torch.backends.spyre]
stdout = sys.stdout
for module in modules:
    for name, function in functions(module):
        answers = 0
        for arguments in PLAIN + WRONG:
            print(name, arguments if module is accelerator else len(arguments), file=sys.stderr, flush=True)
            sys.stdout = io.StringIO()
            try:
                result = function(*arguments)
                if hasattr(result, "__next__") or isinstance(result, types.GeneratorType):
                    result = None
                answers += 1
            except Exception:
                pass
            finally:
                sys.stdout = stdout
        called[name] = answers
torch.spyre.set_sync_debug_mode(0)
torch.spyre.set_stream(torch.spyre.default_stream(0))
for index in range(torch.spyre.device_count()):
    torch.spyre.set_per_process_memory_fraction(1.0, index)
torch.spyre.set_device(0)
assert torch.ones(3, device="spyre:0").add(1).sum().item() == 6
torch.spyre.synchronize()
print(json.dumps(called))
"""


def test_no_argument_crashes_the_process(python):
    done = python(_WALK, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    called = json.loads(done.stdout.splitlines()[-1])
    assert len(called) > 120 and called["torch.accelerator.empty_host_cache"] >= 1
    assert called["torch._C._accelerator_emptyHostCache"] >= 1
