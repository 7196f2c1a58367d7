from __future__ import annotations

import inspect
import unittest
from pathlib import Path

import leads_python as leads

PACKAGE = Path(__file__).parent.parent


class DocumentationTest(unittest.TestCase):
    def test_everything_public_has_a_docstring(self) -> None:
        for name in leads.__all__:
            thing = getattr(leads, name)
            if not inspect.isclass(thing) and not inspect.isfunction(thing):
                continue
            with self.subTest(name=name):
                self.assertTrue(thing.__doc__)
            if inspect.isclass(thing) and thing.__module__.startswith("leads_python"):
                for member, method in inspect.getmembers(thing, inspect.isfunction):
                    if not member.startswith("_"):
                        with self.subTest(name=f"{name}.{member}"):
                            self.assertTrue(method.__doc__)

    def test_both_clients_have_the_same_options(self) -> None:
        for method in ("__init__", "check_key", "post_lead", "vocabulary"):
            with self.subTest(method=method):
                blocking = set(inspect.signature(getattr(leads.Client, method)).parameters)
                tasks = set(inspect.signature(getattr(leads.AsyncClient, method)).parameters)
                self.assertEqual(blocking - {"cancellation"}, tasks)

    def test_the_readme_shows_the_example_that_is_run(self) -> None:
        example = (PACKAGE / "examples" / "ten_lines.py").read_text(encoding="utf-8")
        self.assertIn(f"```python\n{example}```", (PACKAGE / "README.md").read_text(encoding="utf-8"))
        lines = example.splitlines()
        self.assertLessEqual(len([line for line in lines if line]), 15)
        self.assertLessEqual(max(map(len, lines)), 76)
