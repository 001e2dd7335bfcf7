"""Names the compiler and its users share."""

from torch_spyre.constants import DEVICE_NAME  # noqa: F401

IDENTITY_OP = "identity"
BATCH_MATMUL_OP = "batchmatmul"
FP8_E4M3_MAX = 448.0
