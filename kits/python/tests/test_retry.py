from __future__ import annotations

import math
import unittest

from leads_python._retry import after_failure, after_rate_limit, read_retry_after

NOW = 1_795_215_119.0
"""2026-11-20, 22:51:59 UTC."""


class RetryTest(unittest.TestCase):
    def test_waits_grow_to_their_cap_with_jitter_of_a_half(self) -> None:
        self.assertEqual([after_failure(n, None, 1.0) for n in (1, 2, 3, 4, 5, 6, 7)], [1, 2, 4, 8, 16, 30, 30])
        self.assertEqual([after_failure(n, None, 0.0) for n in (1, 6)], [0.5, 15])
        self.assertEqual(after_failure(10**9, None, 1.0), 30)

    def test_what_the_service_asks_for_is_a_floor(self) -> None:
        self.assertEqual(after_failure(1, 45.0, 1.0), 45)
        self.assertEqual(after_failure(6, 7.0, 1.0), 30)

    def test_rate_limits_grow_from_what_is_asked_for(self) -> None:
        self.assertEqual([after_rate_limit(k, 2.0, 0.0) for k in (1, 2, 3, 4, 5, 6)], [2, 4, 8, 16, 30, 30])
        self.assertEqual(after_rate_limit(9, 45.0, 1.0), 56.25)
        self.assertEqual(after_rate_limit(1, 0.0, 0.0), 1)
        self.assertEqual(after_rate_limit(10**9, None, 1.0), 37.5)

    def test_retry_after_is_whole_seconds_or_a_date(self) -> None:
        for text, seconds in (
            (None, None),
            ("0", 0),
            ("007", 7),
            ("9" * 400, math.inf),
            ("Fri, 20 Nov 2026 22:52:09 GMT", 10),
            ("Fri, 20 Nov 2026 22:00:00 GMT", 0),
            ("Friday, 20-Nov-26 22:52:09 GMT", 10),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 0),
            ("Fri Nov 20 22:52:09 2026", 10),
            ("Sun Nov  6 08:49:37 1994", 0),
        ):
            with self.subTest(text=text):
                self.assertEqual(read_retry_after(text, NOW), seconds)

    def test_anything_else_is_unreadable(self) -> None:
        for text in (
            *("", "-1", "+1", "1.5", "1e3", "0x10", "1, 2", "soon", "\u0661", "1_000"),
            "Fri, 31 Feb 2026 22:52:09 GMT",
            "Fri, 20 Nov 2026 24:52:09 GMT",
            "Fri, 20 Nov 0000 22:52:09 GMT",
            "Fri, 20 Nov 2026 22:52:09 CET",
        ):
            with self.subTest(text=text):
                self.assertIsNone(read_retry_after(text, NOW))
