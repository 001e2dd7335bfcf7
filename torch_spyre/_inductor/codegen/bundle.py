"""A kernel, which is a list of OpSpec, LoopSpec and UnimplementedOp, to a bundle."""

import os

from torch_spyre import _C
from torch_spyre._inductor import config


def generate_bundle(specs, output_dir=None):
    """File name -> text of ``bundle.mlir`` and the ``sdsc_<n>.json``, in the mode that
    ``config.bundle_symbolic_args`` and ``config.unroll_loops`` say; written to ``output_dir``."""
    files = _C.generate_bundle(
        specs,
        symbolic_args=config.bundle_symbolic_args,
        unroll_loops=config.unroll_loops,
        k_fast_cores=config.core_id_k_fast_emission,
    )
    if output_dir is not None:
        os.makedirs(output_dir, exist_ok=True)
        for name, text in files.items():
            with open(os.path.join(output_dir, name), "w", encoding="utf-8") as file:
                file.write(text)
    return files
