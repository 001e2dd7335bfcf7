#!/usr/bin/env python3
"""The scanner of mutation sites finds what it should and nothing else."""

import unittest

import sites

TEXT = r"""
#include <a + b>
// comment: a + b
static_assert(sizeof(int) * 2 == 8);
template <typename T>
std::vector<std::pair<int, int>> f(const char *text, T &&value) {
  const char *s = "x + y"; /* p * q */
  for (int i = 0; i < count; i += step) {
    out[i] = addF32(a[i], b[i + half]);
    total += stride;
  }
  if (at + width > size) {
    return error<1402>("{} + {}", at, width);
  }
  call(use({.base = left - right, .width = 4}), std::min(a, b));
  return -value;
}
"""


def changes(kind=None):
    return [
        (site.statement, site.replacement) for site in sites.find_sites(TEXT) if kind in (None, site.kind)
    ]


class SitesTest(unittest.TestCase):
    def test_masking_keeps_positions(self):
        code = sites.mask(TEXT)
        self.assertEqual(len(code), len(TEXT))
        self.assertEqual(code.count("\n"), TEXT.count("\n"))
        for gone in ("comment", "x + y", "p * q", "include"):
            self.assertNotIn(gone, code)

    def test_finds_arithmetic_on_data(self):
        self.assertEqual(
            changes(sites.DATA),
            [("out[i] = addF32(a[i], b[i @+@ half]);", "-"), ("out[i] = @addF32@(a[i], b[i + half]);", "mulF32")],
        )

    def test_finds_other_arithmetic(self):
        found = changes(sites.ARITHMETIC)
        self.assertIn(("for (int i = 0; i < count; i @+=@ step) {", "-="), found)
        self.assertIn(("total @+=@ stride;", "-="), found)
        self.assertIn(("@total += stride;@", ";"), found)
        whole = "call(use({.base = left @-@ right, .width = 4}), std::min(a, b));"
        self.assertIn((whole, "+"), found)
        self.assertIn(("call(use({.base = left - right, .width = 4}), @std::min@(a, b));", "std::max"), found)
        self.assertEqual(len(found), 5)

    def test_finds_comparisons_and_constants(self):
        found = changes(sites.CONTROL)
        self.assertIn(("for (int i = 0; i @<@ count; i += step) {", "<="), found)
        self.assertIn(("for (int i = @0@; i < count; i += step) {", "1"), found)

    def test_leaves_errors_templates_pointers_and_signs_alone(self):
        for statement, _ in changes():
            for word in ("error", "static_assert", "template", "vector", "return", "width > size", "text"):
                self.assertNotIn(word, statement)

    def test_applies_the_change_at_its_place(self):
        site = next(s for s in sites.find_sites(TEXT) if s.statement.startswith("total @"))
        self.assertEqual(TEXT.replace("total += stride", "total -= stride"), site.apply(TEXT))


if __name__ == "__main__":
    unittest.main()
