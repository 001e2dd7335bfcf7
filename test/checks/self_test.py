#!/usr/bin/env python3
"""Shows that each repository check can fail: it runs on small trees that break one rule each."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "scripts")]

import check_error_codes
import check_layers
import check_links
import check_prose
import check_spec_gaps
import check_style
import link_package
import run_quietly


class TreeTest(unittest.TestCase):
    """Gives each test an empty tree of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name).resolve()

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def assert_one(self, problems: list[str], words: str) -> None:
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(words, problems[0])


class LayersTest(TreeTest):
    def include(self, path: str, header: str) -> list[str]:
        self.write(path, f'#include "{header}"\n')
        problems = check_layers.check_tree(self.root)
        (self.root / path).unlink()
        return problems

    def test_accepts_what_the_table_allows(self):
        for path, header in (
            ("lib/Spec/Bundle.cpp", "spyre/Base/Json.h"),
            ("include/spyre/Spec/Model.h", "spyre/Layout/DeviceLayout.h"),
            ("include/spyre/Layout/Transfer.h", "spyre/Numerics/Formats.h"),
            ("lib/Runtime/Drivers/SimDriver.cpp", "spyre/Sim/SpyreSim.h"),
            ("lib/Conversion/GraphToLoop/Pass.cpp", "spyre/Dialect/Loop/IR/LoopOps.h"),
            ("lib/Dialect/Loop/IR/LoopOps.cpp", "mlir/IR/Builders.h"),
            ("tools/spyre-opt/spyre-opt.cpp", "spyre/Pipelines/Pipelines.h"),
            ("torch_spyre/csrc/Module.cpp", "torch/library.h"),
            ("torch_spyre/csrc/Compile.cpp", "spyre/CAPI/Compiler.h"),
        ):
            self.assertEqual(self.include(path, header), [], path)

    def test_refuses_what_breaks_a_layer(self):
        for path, header, words in (
            ("lib/Base/Json.cpp", "spyre/Spec/Bundle.h", "upward"),
            ("lib/Numerics/Formats.cpp", "spyre/Layout/DeviceLayout.h", "sideways"),
            ("lib/Spec/Bundle.cpp", "spyre/Program/Program.h", "sideways"),
            ("lib/Sim/Core.cpp", "spyre/BackEnd/BackEnd.h", "independent"),
            ("lib/Runtime/Executable.cpp", "spyre/Evaluator/Evaluator.h", "independent"),
            ("lib/Runtime/Executable.cpp", "spyre/Dialect/Loop/IR/LoopOps.h", "upward"),
            ("lib/Runtime/Allocator.cpp", "spyre/Sim/SpyreSim.h", "sim driver"),
            ("lib/Runtime/Drivers/SimDriver.cpp", "spyre/Sim/Core.h", "sim driver"),
            ("lib/Evaluator/Evaluator.cpp", "spyre/Program/Program.h", "independent"),
            ("lib/BackEnd/Lower.cpp", "llvm/ADT/ArrayRef.h", "without MLIR"),
            ("lib/Runtime/Device.cpp", "c10/core/Device.h", "knows torch"),
            ("lib/CAPI/Compiler.cpp", "ATen/core/Tensor.h", "knows torch"),
            ("torch_spyre/csrc/Module.cpp", "mlir/IR/MLIRContext.h", "through CAPI"),
            ("torch_spyre/csrc/Module.cpp", "spyre/Pipelines/Pipelines.h", "the plug-in may use"),
            ("lib/Mystery/A.cpp", "spyre/Base/Json.h", "no layer"),
        ):
            self.assert_one(self.include(path, header), words)

    def test_sees_private_headers_of_another_library(self):
        self.write("lib/Sim/Memory.h", "")
        self.assert_one(self.include("lib/BackEnd/Lower.cpp", "../Sim/Memory.h"), "upward")

    def test_compares_cmake_with_the_table(self):
        self.assertEqual(check_layers.check_declared({"Base": 0, "Dialect/Graph": 4}), [])
        self.assert_one(check_layers.check_declared({"Sim": 2}), "says LAYER 2")
        self.assert_one(check_layers.check_declared({"Novel": 2}), "not in the table")


class ErrorCodesTest(TreeTest):
    PAGE = "# SPYRE-E{}: title\n\n## Example\n\n## Cause\n\n## What to do\n"

    def page(self, code: str) -> None:
        self.write(f"docs/error-codes/E{code}.md", self.PAGE.format(code))

    def test_accepts_pairs_and_ignores_comments(self):
        self.page("5001")
        self.page("7002")
        self.write("lib/Spec/A.cpp", '// error<5009>("x")\n/* SPYRE-E5008 */ return error<5001>("// x");\n')
        self.write("lib/Sim/Fault.h", "enum Fault { OutOfBounds = 7002 };\n")
        self.assertEqual(check_error_codes.check(self.root), [])

    def test_refuses_a_code_without_a_page(self):
        self.write("lib/Spec/A.cpp", 'return error<5001>("x");\n')
        self.assert_one(check_error_codes.check(self.root), "no page")

    def test_refuses_simulator_and_python_codes_without_a_page(self):
        self.write("lib/Sim/A.cpp", 'fail("E7003");\n')
        self.write("torch_spyre/a.py", 'raise RuntimeError("SPYRE-E1002: x")\n')
        self.assertEqual(len(check_error_codes.check(self.root)), 2)

    def test_refuses_a_page_without_a_code(self):
        self.page("5001")
        self.assert_one(check_error_codes.check(self.root), "no source uses")

    def test_refuses_an_incomplete_page(self):
        self.write("lib/Spec/A.cpp", 'return error<5001>("x");\n')
        self.write("docs/error-codes/E5001.md", "# SPYRE-E5001: t\n\n## Example\n\n## Cause\n")
        self.assert_one(check_error_codes.check(self.root), "What to do")


class StyleTest(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("LICENSE", "Apache License\n")

    def test_accepts_a_clean_tree(self):
        self.write("lib/A.cpp", "int a;\n")
        self.assertEqual(check_style.check(self.root), [])

    def test_refuses_each_fault(self):
        for path, text, words in (
            ("lib/A.cpp", "int a; \n", "trailing white space"),
            ("lib/A.cpp", "\tint a;\n", "tab"),
            ("docs/a.md", "see /" + "root/x\n", "one machine"),
            ("lib/A.cpp", 'auto *p = std::getenv("X");\n', "environment"),
            ("a.py", "# TO" + "DO\n", "unfinished"),
            ("a.py", "x = 1\n" * 801, "801 lines"),
            ("a.txt", "no end", "newline"),
            ("test/tools/a.test", "RUN: spyre-run --no-" + "sanitizer m\n", "sanitizer"),
            ("python/tests/a.py", "X = '--no-" + "sanitizer'\n", "sanitizer"),
            ("golden/a.bin", "x" * (1 << 20) + "x", "refused"),
        ):
            self.write(path, text)
            self.assert_one(check_style.check(self.root), words)
            (self.root / path).unlink()

    def test_refuses_a_missing_licence(self):
        (self.root / "LICENSE").unlink()
        self.assert_one(check_style.check(self.root), "Apache")


class LinksTest(TreeTest):
    def test_follows_files_and_headings(self):
        self.write("docs/a.md", "# First part\n[b](b.md) [up](../c.md#the-end) [x](https://x) `[no](no.md)`\n")
        self.write("docs/b.md", "[a](a.md#first-part)\n")
        self.write("c.md", "## The end\n")
        self.assertEqual(check_links.check(self.root), [])

    def test_refuses_a_dead_link_and_a_dead_heading(self):
        self.write("a.md", "[b](b.md)\n")
        self.assert_one(check_links.check(self.root), "leads nowhere")
        self.write("b.md", "# One\n")
        self.write("a.md", "[b](b.md#two)\n")
        self.assert_one(check_links.check(self.root), "no such heading")


    def test_marks_of_the_specification_lead_to_a_section_or_a_statement(self):
        self.write("docs/spec/layouts.md", "## 2 Sticks\n\n### 2.1 Size\n\n| L3 | text |\n")
        self.write("lib/A.cpp", "// Sticks [spec: layouts 2.1, L3] and rows [spec: layouts 2, row 7].\n")
        self.assertEqual(check_links.check(self.root), [])
        self.write("lib/A.cpp", "// [spec: layouts 2.2]\n")
        self.assert_one(check_links.check(self.root), "layouts.md has no section 2.2")
        self.write("lib/A.cpp", "// [spec: colours 2]\n")
        self.assert_one(check_links.check(self.root), "docs/spec has no page colours")


class ProseTest(TreeTest):
    def count(self, text: str) -> int:
        self.write("lib/A/a.cpp", text)
        return len(list(check_prose.places(self.root)))

    def test_counts_comments_that_are_not_understood_alone(self):
        for text in (
            "/// Of a tensor.\n",
            "// What is no number stays.\n",
            "// Over the rows.\n",
            "// The same for columns, as long as they fit.\n",
        ):
            self.assertEqual(self.count(text), 1, text)
        for text in (
            "/// Shape of the tensor-typed value.\n",
            "// Returns None for an empty list.\n// Of these, the first counts.\n",
            "// RUN: spyre-opt %s\n",
            "int a; // Of a.\n",
        ):
            self.assertEqual(self.count(text), 0, text)

    def test_a_folder_may_neither_exceed_nor_keep_its_budget(self):
        self.assertEqual(check_prose.compare({"lib/A": 2}, {"lib/A": 2}), [])
        self.assert_one(check_prose.compare({"lib/A": 3}, {"lib/A": 2}), "2 allowed; see them")
        self.assert_one(check_prose.compare({"lib/B": 1}, {}), "0 allowed; see them")
        self.assert_one(check_prose.compare({"lib/A": 1}, {"lib/A": 2}), "--shrink")


class SpecGapsTest(TreeTest):
    def table(self, **rows: str) -> list[str]:
        lines = [f"| {i} | {rows.get(i, 'text | open | - |')} |" for i in check_spec_gaps.expected_ids()]
        self.write("docs/spec-gaps.md", "\n".join(lines + [rows.get("more", "")]) + "\n")
        return check_spec_gaps.check(self.root, {"unit.AlgebraTests", "lit", "check.style"})

    def test_accepts_open_rows_and_existing_tests(self):
        self.write("unittests/Layout/A.cpp", "TEST(Layout, RoundTrips) {\n")
        self.write("python/tests/test_a.py", "def test_b():\n")
        self.write("test/tools/run.test", "RUN: true\n")
        ids = "gtest:AlgebraTests.Layout.RoundTrips pytest:test_a.py::test_b lit:tools/run.test, ctest:check.style"
        self.assertEqual(self.table(A1=f"text | done | `{ids}` | note"), [])

    def test_refuses_wrong_rows(self):
        for row, words in (
            ("text | done | - |", "needs a test id"),
            ("text | maybe | - |", "is none of"),
            (" | open | - |", "summary is empty"),
            ("text | done | ctest:nothing |", "no CTest case"),
            ("text | done | gtest:Other.Layout.RoundTrips |", "no CTest case runs"),
            ("text | done | gtest:AlgebraTests.Layout.Absent |", "no TEST"),
            ("text | done | pytest:test_a.py::test_b |", "no file"),
            ("text | done | lit:tools/absent.test |", "no such lit test"),
            ("text | done | by eye |", "must begin with"),
            ("text | open |", "cells"),
        ):
            problems = self.table(A1=row)
            self.assertTrue(any(words in problem for problem in problems), (row, problems))

    def test_refuses_missing_double_and_unknown_rows(self):
        self.assert_one(self.table(more="| A1 | text | open | - | |"), "2 rows")
        self.assert_one(self.table(more="| A7 | text | open | - | |"), "not a numbered statement")
        self.write("docs/spec-gaps.md", "")
        self.assertEqual(len(check_spec_gaps.check(self.root, None)), 71)


class ScriptsTest(TreeTest):
    PROJECT = """[project]
name = "torch_spyre"
version = "{}"
description = "d"
[project.entry-points."torch.backends"]
torch_spyre = "torch_spyre:_autoload"
"""

    def test_link_is_idempotent_and_replaces_another_version(self):
        site = self.root / "site"
        self.write("pyproject.toml", self.PROJECT.format("0.1.0"))
        self.assertTrue(link_package.link(site, self.root))
        self.assertFalse(link_package.link(site, self.root))
        self.write("pyproject.toml", self.PROJECT.format("0.2.0"))
        self.assertTrue(link_package.link(site, self.root))
        self.assertEqual([p.name for p in site.glob("*.dist-info")], ["torch_spyre-0.2.0.dist-info"])
        self.assertEqual((site / "torch_spyre.pth").read_text().strip(), str(self.root))
        points = (site / "torch_spyre-0.2.0.dist-info" / "entry_points.txt").read_text()
        self.assertEqual(points, "[torch.backends]\ntorch_spyre = torch_spyre:_autoload\n")

    def quietly(self, code: str) -> tuple[int, str]:
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            result = run_quietly.run("step", self.root / "log" / "a.log", [sys.executable, "-c", code])
        return result, shown.getvalue()

    def test_quiet_steps_show_output_only_when_they_fail(self):
        result, shown = self.quietly("print('noise')")
        self.assertEqual((result, "noise" in shown), (0, False))
        result, shown = self.quietly("print('noise'); print('FAILED: a.o'); print('why'); raise SystemExit(3)")
        self.assertEqual((result, "noise" in shown, "why" in shown), (3, False, True))


if __name__ == "__main__":
    unittest.main(verbosity=0)
