"""Operations that sum products do not round the products: one accumulator in fp32, one rounding.

Every format holds the operands exactly. Their products nearly cancel, so a rounded product shows in the result. A result may be
off by 2 units of its last place and 2^-20 of the sum of the terms' magnitudes. SPYRE_TEST_LONG=1 adds bf16 and fp32.
"""

import os

import pytest
import sums_of_products
import torch
from sums_of_products import ENTRIES

IS_LONG = os.environ.get("SPYRE_TEST_LONG") == "1"
DTYPES = (torch.float16, torch.bfloat16, torch.float32) if IS_LONG else (torch.float16,)
#: Entries of a graph: one graph takes less time than many.
_GROUP = 11
GROUPS = [[e for e in ENTRIES[i : i + _GROUP] if "compiled" in e.how] for i in range(0, len(ENTRIES), _GROUP)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_eager(entry, dtype, on_device):
    with on_device():
        wrong = sums_of_products.check([entry], dtype, "eager")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("group", GROUPS, ids=lambda group: f"{group[0].name} to {group[-1].name}")
def test_compiled(group, dtype, on_device):
    with on_device():
        wrong = sums_of_products.check(group, dtype, "compiled")
    assert not wrong, "\n".join(wrong)
