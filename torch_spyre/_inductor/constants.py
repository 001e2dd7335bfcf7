"""Names the compiler and its users share."""

from torch_spyre.constants import DEVICE_NAME  # noqa: F401

IDENTITY_OP = "identity"
RESTICKIFY_OP = "ReStickifyOpHBM"
BATCH_MATMUL_OP = "batchmatmul"
BATCH_MATMUL_FP8_OP = "batchmatmulfp8"
DL16_TO_FP32_OP = "dl16tofp32"
FP32_TO_DL16_OP = "fp32todl16"
FP8_TO_DL16_OP = "fp8todl16"
TOPK_VALUE_OP = "topkvalue"
TOPK_INDEX_OP = "topkindex"
FP8_E4M3_MAX = 448.0
SEGMENT_SIZE = 0x400000000
BEAM_WIDTH = 64
