"""OpSpec to SuperDSC."""

from torch_spyre import _C
from torch_spyre._inductor import config
from torch_spyre._inductor.codegen.compute_ops import generate_sdsc


def parse_op_spec(op_spec):
    """The twelve steps: an ``SDSCSpec``."""
    return _C.emit_sdsc(op_spec, k_fast_cores=config.core_id_k_fast_emission)


def compile_op_spec(op_spec, index=0):
    """The JSON of operation ``index`` of a bundle, as a dict."""
    return generate_sdsc(parse_op_spec(op_spec), index)
