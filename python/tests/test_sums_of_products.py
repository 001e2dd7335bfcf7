"""Operations that sum products keep every product whole: one accumulator in fp32, one rounding.

The operands hold numbers that every format on the way has, and their products nearly cancel, so that a rounded product shows
in the result. Allowed are 2 units of the result's last place and 2^-20 of the sum of the terms' magnitudes.
"""

import pytest
import sums_of_products
import torch
from sums_of_products import ENTRIES

DTYPES = (torch.float16, torch.bfloat16, torch.float32)


WAYS = [pytest.param(entry, how, id=f"{entry.name}, {how}") for entry in ENTRIES for how in entry.how]


@pytest.mark.parametrize(("entry", "how"), WAYS)
def test_products_are_not_rounded(entry, how, on_device):
    wrong = []
    for dtype in DTYPES:
        with on_device():
            wrong += sums_of_products.check(entry, dtype, how)
    assert not wrong, "\n".join(wrong)
