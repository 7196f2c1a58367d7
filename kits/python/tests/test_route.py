from __future__ import annotations

import base64
import contextlib
import os
import socket
import ssl
import threading
import unittest
from typing import Any
from unittest import mock

import leads_python as leads

from .both_clients import Kind, both
from .scripted_server import ACCEPTED, KEY, Request, Server, client_context, read_request


class Proxy(Server):
    """A proxy that takes whoever asks to where they ask for, or answers what it was given."""

    def speak(self, sock: socket.socket, number: int) -> None:
        request, _ = read_request(sock, b"", number)
        if request is None:
            return
        self.requests.append(request)
        if self.answers[0] != ACCEPTED:
            sock.sendall(self.answers[0])  # type: ignore[arg-type]
            return
        host, _, port = request.line.split(" ")[1].rpartition(":")
        with socket.create_connection((host, int(port))) as behind:
            sock.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=pump, args=(behind, sock))
            back.start()
            pump(sock, behind)
            back.join()


def pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            data = source.recv(65_536)
            if not data:
                break
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def environment(**variables: str) -> Any:
    return mock.patch.dict(os.environ, variables)


class RouteTest(unittest.TestCase):
    @both
    def test_a_proxy_of_the_environment_is_gone_through(self, kind: Kind) -> None:
        with Server(ACCEPTED, tls=True) as server, Proxy(ACCEPTED) as proxy:
            with environment(https_proxy=f"http://us%65r:pass@127.0.0.1:{proxy.port}"):
                with kind(server.url, ssl_context=client_context()) as client:
                    self.assertEqual(client.post().tries, 1)
                    self.assertEqual(client.post().tries, 1)
        self.assertEqual([each.line for each in proxy.requests], [f"CONNECT 127.0.0.1:{server.port} HTTP/1.1"])
        pair = base64.b64encode(b"user:pass").decode()
        self.assertEqual(proxy.requests[0].headers["proxy-authorization"], f"Basic {pair}")
        self.assertNotIn("x-api-key", proxy.requests[0].headers)
        self.assertEqual((server.connections, len(server.requests)), (1, 2))

    @both
    def test_a_proxy_may_be_spoken_to_by_tls(self, kind: Kind) -> None:
        with Server(ACCEPTED, tls=True) as server, Proxy(ACCEPTED, tls=True) as proxy:
            with environment(HTTPS_PROXY=f"https://localhost:{proxy.port}"):
                with kind(server.url, ssl_context=client_context()) as client:
                    self.assertEqual(client.post().tries, 1)
        self.assertEqual(len(proxy.requests), 1)

    @both
    def test_no_proxy_is_heeded(self, kind: Kind) -> None:
        with Server(ACCEPTED, tls=True) as server, Proxy(ACCEPTED) as proxy:
            with environment(https_proxy=f"http://127.0.0.1:{proxy.port}", no_proxy="127.0.0.1"):
                with kind(server.url, ssl_context=client_context()) as client:
                    client.post()
        self.assertEqual(proxy.connections, 0)

    @both
    def test_plain_http_goes_through_no_proxy_because_it_would_leave_the_machine(self, kind: Kind) -> None:
        with Server(ACCEPTED) as server, Proxy(ACCEPTED) as proxy:
            with environment(http_proxy=f"http://127.0.0.1:{proxy.port}", https_proxy=f"http://127.0.0.1:{proxy.port}"):
                with kind(server.url) as client:
                    client.post()
        self.assertEqual(proxy.connections, 0)

    @both
    def test_a_proxy_that_refuses_spends_tries_and_leaves_nothing_unknown(self, kind: Kind) -> None:
        with Proxy(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n") as proxy:
            with environment(https_proxy=f"127.0.0.1:{proxy.port}"):
                with kind("https://intake.example", tries=2, sleep=lambda _: None) as client:
                    with self.assertRaisesRegex(leads.UnavailableError, "the proxy answered 407") as caught:
                        client.post()
        self.assertEqual((caught.exception.tries, caught.exception.unknown_outcome), (2, False))
        self.assertEqual(caught.exception.status, None)
        self.assertEqual(len(proxy.requests), 2)

    @both
    def test_a_proxy_of_another_kind_is_refused(self, kind: Kind) -> None:
        with environment(https_proxy="socks5://127.0.0.1:9"), kind("https://intake.example") as client:
            with self.assertRaisesRegex(leads.MisconfiguredError, "proxy") as caught:
                client.post()
        self.assertEqual(caught.exception.tries, 0)

    @both
    def test_a_context_that_does_not_verify_is_refused(self, kind: Kind) -> None:
        careless = ssl.create_default_context()
        careless.check_hostname = False
        blind = ssl.create_default_context()
        blind.check_hostname = False
        blind.verify_mode = ssl.CERT_NONE
        for context in (careless, blind):
            with self.assertRaisesRegex(leads.MisconfiguredError, "verify"):
                kind("https://intake.example", ssl_context=context)

    @both
    def test_a_context_that_stops_verifying_is_refused_before_anything_is_sent(self, kind: Kind) -> None:
        context = ssl.create_default_context()
        with Server(ACCEPTED, tls=True) as server, kind(server.url, ssl_context=context) as client:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            with self.assertRaisesRegex(leads.MisconfiguredError, "verify"):
                client.post()
        self.assertEqual(server.connections, 0)

    @both
    def test_a_certificate_that_is_not_trusted_is_told_and_nothing_was_sent(self, kind: Kind) -> None:
        with Server(ACCEPTED, tls=True) as server, kind(server.url, tries=1) as client:
            with self.assertRaisesRegex(leads.UnavailableError, "certificate is not trusted") as caught:
                client.post()
        self.assertFalse(caught.exception.unknown_outcome)
        self.assertEqual(server.requests, [])

    @both
    def test_the_next_address_of_a_host_is_tried_when_one_refuses(self, kind: Kind) -> None:
        # The name has an address of IPv6, too, on most machines; nobody listens there.
        with Server(ACCEPTED) as server, kind(f"http://localhost:{server.port}", tries=1) as client:
            self.assertEqual(client.post().tries, 1)
        self.assertEqual(server.requests[0].headers["host"], f"localhost:{server.port}")

    @both
    def test_a_host_without_an_address_spends_tries(self, kind: Kind) -> None:
        with kind("https://nobody.invalid", tries=1) as client:
            with mock.patch("socket.getaddrinfo", side_effect=socket.gaierror(-2, "Name or service not known")):
                with self.assertRaisesRegex(leads.UnavailableError, "name or service not known"):
                    client.post()

    @both
    def test_a_lookup_that_does_not_end_is_ended_by_the_time_out_of_a_try(self, kind: Kind) -> None:
        end = threading.Event()
        self.addCleanup(end.set)

        def endless(host: Any, *args: Any, **options: Any) -> Any:
            if not options.get("flags"):
                end.wait()
            raise socket.gaierror(-2, "Name or service not known")

        with mock.patch("socket.getaddrinfo", side_effect=endless) as asked:
            with kind("https://nobody.invalid", tries=3, try_timeout=0.02, sleep=lambda _: None) as client:
                with self.assertRaisesRegex(leads.UnavailableError, "no whole answer came in time"):
                    client.post()
            # All three tries wait for one lookup.
            self.assertLessEqual([call.kwargs["flags"] for call in asked.call_args_list].count(0), 1)

    def test_a_big_lead_is_sent_whole(self) -> None:
        def told(request: Request) -> bytes:
            self.assertEqual(len(request.json["project_details"]), 5_000_000)
            return ACCEPTED

        with Server(told, tls=True) as server:
            with leads.Client(KEY, server.url, ssl_context=client_context()) as client:
                taken = client.post_lead({"project_details": "a" * 5_000_000}, idempotency_key="acme:1")
        self.assertEqual(taken.status, "accepted")
