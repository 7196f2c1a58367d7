from __future__ import annotations

import os
import unittest
from unittest import mock

import leads_python as leads

from .both_clients import Kind, both
from .scripted_server import ACCEPTED, CERTIFICATE, FORMS_KEY, KEY, OTHER_KEY, UNAUTHORIZED, Server


class EnvironmentTest(unittest.TestCase):
    @both
    def test_key_and_address_come_from_the_environment(self, kind: Kind) -> None:
        with Server(ACCEPTED) as server:
            with mock.patch.dict(os.environ, LEADS_API_KEY=OTHER_KEY, LEADS_BASE_URL=f"{server.url}/at/"):
                with kind(None, None) as client:
                    client.post()
        self.assertEqual(server.requests[0].line, "POST /at/v1/intake HTTP/1.1")
        self.assertEqual(server.requests[0].headers["x-api-key"], OTHER_KEY)

    @both
    def test_arguments_overrule_the_environment(self, kind: Kind) -> None:
        with Server(ACCEPTED) as server:
            with mock.patch.dict(os.environ, LEADS_API_KEY=OTHER_KEY, LEADS_BASE_URL="https://elsewhere.example"):
                with kind(server.url, KEY) as client:
                    client.post()
        self.assertEqual(server.requests[0].headers["x-api-key"], KEY)

    @both
    def test_a_client_without_key_or_address_is_refused(self, kind: Kind) -> None:
        with mock.patch.dict(os.environ, clear=True):
            with self.assertRaisesRegex(leads.MisconfiguredError, "LEADS_API_KEY"):
                kind("https://intake.example", None)
            with self.assertRaisesRegex(leads.MisconfiguredError, "LEADS_BASE_URL"):
                kind(None)

    @both
    def test_options_that_cannot_be_meant_are_refused(self, kind: Kind) -> None:
        for option in (
            {"tries": 0},
            {"tries": True},
            {"tries": 2.0},
            {"connections": 0},
            {"deadline": 0},
            {"deadline": float("nan")},
            {"try_timeout": -1},
            {"try_timeout": "20"},
        ):
            with self.subTest(option=option), self.assertRaises(leads.MisconfiguredError):
                kind("https://intake.example", **option)

    @both
    def test_a_client_tells_of_itself_in_its_header(self, kind: Kind) -> None:
        with Server(UNAUTHORIZED) as server, kind(server.url) as client:
            self.assertFalse(client.check_key())
        self.assertEqual(server.requests[0].headers["user-agent"], f"leads-python/{leads.__version__}")

    @both
    def test_a_closed_client_sends_nothing(self, kind: Kind) -> None:
        with Server(ACCEPTED) as server:
            client = kind(server.url)
            client.close()
            for call in (client.post, client.check_key, client.vocabulary):
                with self.assertRaisesRegex(leads.MisconfiguredError, "closed"):
                    call()
        self.assertEqual(server.connections, 0)

    @both
    def test_further_authorities_come_from_the_environment(self, kind: Kind) -> None:
        with Server(ACCEPTED, tls=True) as server:
            with mock.patch.dict(os.environ, SSL_CERT_FILE=str(CERTIFICATE)):
                client = kind(server.url)
            with client:
                self.assertEqual(client.post().tries, 1)

    def test_a_forms_key_is_told_from_a_mistyped_one(self) -> None:
        with self.assertRaisesRegex(leads.MisconfiguredError, "forms key"):
            leads.Client(FORMS_KEY, "https://intake.example")
        with self.assertRaisesRegex(leads.MisconfiguredError, "mistyped or cut off"):
            leads.Client(KEY[:-1], "https://intake.example")

    def test_idempotency_keys_are_put_together(self) -> None:
        self.assertEqual(leads.idempotency_key("acme", 1842), "acme:1842")
        for namespace, item in (("", "1"), ("acme", " "), ("acme", "ü"), ("a" * 100, "b" * 100)):
            with self.subTest(item=item), self.assertRaises(leads.MisconfiguredError):
                leads.idempotency_key(namespace, item)
