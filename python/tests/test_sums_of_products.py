"""Operations that sum products do not round the products: one accumulator in fp32, one rounding.

Every format holds the operands exactly. Their products nearly cancel, so a rounded product shows in the result. A result may be
off by 2 units of its last place and 2^-20 of the sum of the terms' magnitudes.
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
