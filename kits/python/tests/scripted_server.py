"""A real server on 127.0.0.1 that answers what a test says."""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional, Union

PATIENCE_SECONDS = 120.0
"""How long a test waits for what has to come; only a failing one ever waits for so long."""

KEY = "lead_test_JoIv8xyL40ekqZ3oCjH5azfkFCsmLMsN3UwV2H"
OTHER_KEY = "lead_test_XlETHbcOt7C8uoVsxI8S0FIaTvmhtz7q4fnr7C"
FORMS_KEY = "form_test_YNOLPdY0Jlvd6HldTuwBy2zExsMyn3q23OqNaS"

CERTIFICATE = Path(__file__).with_name("localhost.pem")
"""With its key: for localhost and 127.0.0.1, and of no authority but itself."""

TCP_FIN_WAIT1 = 4
"""Of the kernel's tcp_states.h: this side has ended the connection, and the other one has not acknowledged it."""


@dataclass(frozen=True)
class Request:
    """A request as it came."""

    connection: int
    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = Union[bytes, Callable[[Request], bytes]]
"""Bytes; none close the connection."""


def answer(status: int, said: object, **headers: str) -> bytes:
    """An answer with a body of JSON; `Retry_After` stands for Retry-After."""
    body = json.dumps(said).encode()
    lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items()]
    head = f"HTTP/1.1 {status} As Told\r\nContent-Length: {len(body)}\r\n{''.join(lines)}\r\n"
    return head.encode() + body


def accepted(**members: object) -> bytes:
    told = {"event_id": "e1", "status": "accepted", "received_at": "2026-11-20T22:51:59Z", "source": "web", "flags": []}
    return answer(202, {**told, **members})


ACCEPTED = accepted()
NOT_ACCEPTING = answer(503, {"error": "not_accepting"})
RATE_LIMITED = answer(429, {"error": "rate_limited"}, Retry_After="1")
UNAUTHORIZED = answer(401, {"error": "unauthorized"})
VOCABULARY = {
    "project_area": [{"area": "kitchen", "status": "confirmed"}],
    "project_service": ["repair"],
    "required": ["phone"],
}
SILENCE = b"silence"
"""No answer at all, over a connection that stays open."""


class Server:
    """Answers one request after the other with what was given; the last answer is given to all further ones."""

    def __init__(self, *answers: Answer, tls: bool = False) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []
        self.connections = 0
        self.arrived: queue.Queue[Request] = queue.Queue()
        self._lock = threading.Lock()
        self._context = server_context() if tls else None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._listen)]
        self._threads[0].start()
        self.port: int = self._listener.getsockname()[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join()
        self.close_connections()
        for thread in self._threads:
            thread.join()

    def close_connections(self) -> None:
        with self._lock:
            for sock in self._open:
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_WR)
                    # Until the client's kernel has the end of the connection, too: it may be late.
                    while hasattr(socket, "TCP_INFO") and tcp_state(sock) == TCP_FIN_WAIT1:
                        time.sleep(0.001)
                    sock.shutdown(socket.SHUT_RD)

    def wait_for_the_end_of_connections(self) -> None:
        """Until the clients have closed all of them."""
        for thread in self._threads[1:]:
            thread.join(PATIENCE_SECONDS)
            if thread.is_alive():
                raise AssertionError("a connection is still open")

    def next_request(self) -> Request:
        return self.arrived.get(timeout=PATIENCE_SECONDS)

    def _listen(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._open.append(sock)
                thread = threading.Thread(target=self._serve, args=(sock, self.connections))
                self._threads.append(thread)
            thread.start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        with sock, contextlib.suppress(OSError):
            if self._context is None:
                self.speak(sock, number)
                return
            with self._context.wrap_socket(sock, server_side=True) as secured:
                self.speak(secured, number)

    def speak(self, sock: socket.socket, number: int) -> None:
        for request in read_requests(sock, number):
            with self._lock:
                self.requests.append(request)
                said = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            self.arrived.put(request)
            told = said(request) if callable(said) else said
            if told == SILENCE:
                continue
            if not told:
                return
            sock.sendall(told)


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    return context


def client_context() -> ssl.SSLContext:
    """Trusts the server of these tests, and everybody whom the platform trusts."""
    context = ssl.create_default_context()
    context.load_verify_locations(CERTIFICATE)
    return context


def read_requests(sock: socket.socket, number: int) -> Iterator[Request]:
    buffer = b""
    while True:
        request, buffer = read_request(sock, buffer, number)
        if request is None:
            return
        yield request


def tcp_state(sock: socket.socket) -> int:
    return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]


def read_request(sock: socket.socket, buffer: bytes, number: int) -> tuple[Optional[Request], bytes]:
    while b"\r\n\r\n" not in buffer:
        data = sock.recv(65_536)
        if not data:
            return None, b""
        buffer += data
    head, _, buffer = buffer.partition(b"\r\n\r\n")
    line, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (each.partition(": ") for each in lines)}
    length = int(headers.get("content-length", 0))
    while len(buffer) < length:
        data = sock.recv(65_536)
        if not data:
            return None, b""
        buffer += data
    return Request(number, line, headers, buffer[:length]), buffer[length:]
