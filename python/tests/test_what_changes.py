"""docs/how-to/what-changes-on-the-device.md: every fragment has the results that it shows."""

import doctest
import pathlib
import re
import warnings

import torch

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "how-to" / "what-changes-on-the-device.md"


def test_every_fragment_has_the_results_that_it_shows():
    text = PAGE.read_text()
    fences = re.findall(r"```(\w*)\n(.*?)```", text, re.S)
    assert fences and all(kind == "python" and code.startswith(">>> ") for kind, code in fences)
    page = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    assert len(page.examples) == text.count("\n>>> ")
    torch.spyre.reset_counters()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        failed = doctest.DocTestRunner(verbose=False).run(page)
    assert failed.failed == 0
    assert torch.spyre.counters()["programs_launched"] > 20
    assert torch.spyre.counters()["fallback_ops"] == 0, torch.spyre.fallback_counts()
