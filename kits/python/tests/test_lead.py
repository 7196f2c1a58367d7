from __future__ import annotations

import enum
import json
import unittest
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import leads_python as leads
from leads_python.lead import told_fields, written

from .both_clients import Kind, both
from .scripted_server import ACCEPTED, NOT_ACCEPTING, Server


def text(lead: Any) -> str:
    """The JSON of a lead, or why there is none."""
    told = written(lead)
    return told if isinstance(told, str) else bytes(told.view()).decode()


class Area(str, enum.Enum):
    KITCHEN = "kitchen"


class Size(enum.IntEnum):
    SMALL = 1


class LeadTest(unittest.TestCase):
    def test_numbers_are_written_digit_for_digit(self) -> None:
        for number, digits in (
            (Decimal("1.10"), "1.10"),
            (Decimal("0.30000000000000004000"), "0.30000000000000004000"),
            (Decimal("-0"), "-0"),
            (Decimal("1E+400"), "1E+400"),
            (12345678901234567890, "12345678901234567890"),
            (10**5000, "1" + "0" * 5000),
            (0.1 + 0.2, "0.30000000000000004"),
            (Size.SMALL, "1"),
            (True, "true"),
        ):
            with self.subTest(digits=digits[:30]):
                self.assertEqual(text({"cost": number}), f'{{"cost":{digits}}}')

    def test_text_is_written_as_it_is_and_in_utf_8(self) -> None:
        for given in ("é", "\U0001f3e0", '"\\/', "\x00\x1f\x7f\u2028", "__proto__", " a  b "):
            with self.subTest(given=given):
                self.assertEqual(json.loads(text({"city": given, given: 1})), {"city": given, given: 1})
        self.assertEqual(len(text({"city": "é"}).encode()), len('{"city":"e"}') + 1)

    def test_half_of_a_surrogate_pair_is_written_as_an_escape(self) -> None:
        self.assertEqual(text({"city": "é\ud83c"}), '{"city":"é\\ud83c"}')

    def test_whatever_json_has_may_be_in_a_mapping(self) -> None:
        lead = MappingProxyType({"a": [1, (2, [])], "b": {"c": None, "d": {}}, "e": False, "f": Area.KITCHEN})
        self.assertEqual(text(lead), '{"a":[1,[2,[]]],"b":{"c":null,"d":{}},"e":false,"f":"kitchen"}')
        self.assertEqual(text({}), "{}")

    def test_what_json_does_not_have_is_refused(self) -> None:
        for value in (float("nan"), float("inf"), Decimal("NaN"), Decimal("-Infinity"), b"x", object(), {1: 2}, {3}):
            with self.subTest(value=value):
                self.assertIn("cannot be written as JSON", text({"cost": value}))
        self.assertIn("a Lead or a mapping", text([1]))

    def test_a_lead_that_holds_itself_or_is_too_deep_is_refused(self) -> None:
        deep: list[object] = []
        for _ in range(100_000):
            deep = [deep]
        self.assertIn("too deeply", text({"extra": deep}))

    def test_fields_of_a_lead_that_are_none_are_left_out(self) -> None:
        lead = leads.Lead("Ada", "Lovelace", "1", cost=Decimal("12.50"), more={"utm_source": "web", "note": None})
        self.assertEqual(
            text(lead),
            '{"first_name":"Ada","last_name":"Lovelace","phone":"1","cost":12.50,"utm_source":"web","note":null}',
        )
        self.assertEqual(text(leads.Lead()), "{}")

    def test_a_field_that_is_given_twice_is_refused(self) -> None:
        self.assertIn("twice", text(leads.Lead(city="London", more={"city": "Paris"})))
        self.assertEqual(text(leads.Lead(more={"city": "Paris", "more": 1})), '{"city":"Paris","more":1}')

    def test_failing_fields_are_told_only_by_names_and_reasons_that_are_known(self) -> None:
        self.assertEqual(
            told_fields({"phone": "required", "cost": "out_of_range"}), "phone: required, cost: out_of_range"
        )
        self.assertEqual(told_fields({"phone": "Ada", "Ada": "required"}), "2 more")

    @both
    def test_what_goes_over_the_wire_is_equal_on_every_try(self, kind: Kind) -> None:
        with Server(NOT_ACCEPTING, NOT_ACCEPTING, ACCEPTED) as server, kind(server.url, sleep=lambda _: None) as client:
            client.post(leads.Lead("Ada", "Lovelace", "1"))
        self.assertEqual(len({(each.line, each.body, *each.headers.items()) for each in server.requests}), 1)
        self.assertEqual(
            " ".join(server.requests[0].headers),
            "host user-agent accept accept-encoding x-request-id idempotency-key content-type content-length x-api-key",
        )
