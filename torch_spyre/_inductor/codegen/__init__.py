"""Code generation by name: OpSpec to SuperDSC to bundle. The work is done in C++ (lib/Spec)."""

from torch_spyre._inductor.codegen import bundle, compute_ops, superdsc

__all__ = ["bundle", "compute_ops", "superdsc"]
