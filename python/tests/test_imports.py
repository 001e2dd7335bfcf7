"""Modules of the package that are imported first, before torch, and what is an attribute afterwards."""

import os
import pathlib
import sys

import pytest
import torch_spyre

ROOT = pathlib.Path(torch_spyre.__file__).parent
MODULES = sorted(
    ".".join(["torch_spyre", *path.relative_to(ROOT).with_suffix("").parts]).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
)
#: Module with the most imports. The unpickled warning below tries the formulas.
SAMPLE = ["torch_spyre._inductor.compile"]
IS_LONG = os.environ.get("SPYRE_TEST_LONG") == "1"
_IMPORT = """
import importlib, sys
module = importlib.import_module(sys.argv[1])
import torch
assert torch.ones(2, device="spyre").sum().item() == 2.0
"""


@pytest.mark.parametrize("module", MODULES if IS_LONG else SAMPLE)
def test_any_module_may_be_imported_before_torch(python, module):
    python(_IMPORT, args=[module])


def test_a_warning_can_be_unpickled_where_nothing_was_imported(python):
    """Test runners send warnings from worker processes to the one that reports."""
    import pickle

    from torch_spyre.ops.fallbacks import FallbackWarning

    text = pickle.dumps(FallbackWarning("aten.x is falling back to cpu"))
    python(f"import pickle; assert 'aten.x' in str(pickle.loads({text!r}))")


def test_submodules_are_attributes_after_import_of_torch(python):
    python(
        """
import torch, torch_spyre
assert torch_spyre.memory is torch.spyre.memory and torch_spyre.profiler.is_available()
assert torch_spyre._inductor.config.sencores == 32
assert torch._inductor.codecache.__name__ == "torch._inductor.codecache"
for module, name in ((torch_spyre, "no_such_name"), (torch_spyre._inductor, "no_such_name"), (torch._inductor, "x_y")):
    assert not hasattr(module, name)
"""
    )


def test_a_failed_import_leaves_its_patch_for_the_next(monkeypatch):
    from torch_spyre._inductor import hooks

    patched, fails = [], [True]

    class Loader:
        def create_module(self, spec):
            return None

        def exec_module(self, module):
            if fails:
                fails.clear()
                raise ImportError("the first import fails")

    class Finder:
        def find_spec(self, fullname, path=None, target=None):
            from importlib.machinery import ModuleSpec

            return ModuleSpec(fullname, Loader()) if fullname == "patched_by_a_test" else None

    monkeypatch.setitem(hooks._PATCHES, "patched_by_a_test", patched.append)
    monkeypatch.setattr(sys, "meta_path", [hooks._Finder(), Finder(), *sys.meta_path])
    with pytest.raises(ImportError):
        __import__("patched_by_a_test")
    assert __import__("patched_by_a_test") is patched[0] and len(patched) == 1
    monkeypatch.delitem(sys.modules, "patched_by_a_test")
