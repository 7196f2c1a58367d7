from __future__ import annotations

import asyncio
import copy
import functools
import os
import pickle
import pprint
import signal
import threading
import traceback
import unittest
from collections.abc import Iterator
from typing import Any, Callable

import leads_python as leads
from leads_python._secret import Secret

from .both_clients import LEAD, Kind, both
from .scripted_server import ACCEPTED, KEY, NOT_ACCEPTING, SILENCE, UNAUTHORIZED, Request, Server, answer

SECRETS = (KEY[10:], "canary", "010-4477")


def echo(request: Request) -> bytes:
    body = b'{"you said": ' + request.body + b", and your key is " + request.headers["x-api-key"].encode()
    return b"HTTP/1.1 500 Oh\r\nContent-Length: %d\r\nX-Echo: %s\r\n\r\n%s" % (len(body), request.body, body)


def echo_as_fields(request: Request) -> bytes:
    return answer(422, {"error": "validation_failed", "fields": {**request.json, "phone": "required"}})


def echo_as_redirect(request: Request) -> bytes:
    return answer(302, {"error": request.headers["x-api-key"]}, Location=f"/{request.headers['x-api-key']}")


def echo_as_status_line(request: Request) -> bytes:
    return b"HTTP/1.1 " + request.body + b"\r\n\r\n"


def parts_of(thing: object, seen: set[int]) -> Iterator[object]:
    """Everything of this package that can be reached from a thing, and what its members hold."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    yield thing
    if isinstance(thing, dict):
        members = [*thing.keys(), *thing.values()]
    elif isinstance(thing, (list, tuple, set)):
        members = list(thing)
    elif type(thing).__module__.startswith("leads_python"):
        members = list(vars(thing).values()) if hasattr(thing, "__dict__") else []
    else:
        members = []
    for member in members:
        yield from parts_of(member, seen)


def error_of(call: Callable[[], object]) -> BaseException:
    """What a call raises, with its frames; assertRaises takes them away."""
    try:
        call()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


class SecretsTest(unittest.TestCase):
    def assert_nothing_told(self, text: str) -> None:
        for secret in SECRETS:
            self.assertNotIn(secret.lower(), text.lower())

    def assert_error_tells_nothing(self, error: BaseException) -> None:
        self.assert_nothing_told(f"{error} {error!r} {error.args}")
        if not isinstance(error, leads.InvalidLeadError):
            self.assert_nothing_told(pprint.pformat(vars(error)))
        self.assertIsNotNone(error.__traceback__)
        told = traceback.TracebackException.from_exception(error, capture_locals=True)
        behind: Any = told
        while behind is not None:
            for frame in behind.stack:
                if f"{os.sep}leads_python{os.sep}" in frame.filename:
                    self.assert_nothing_told(f"{frame.name}: {frame.locals}")
            behind = behind.__cause__ or behind.__context__

    @both
    def test_no_form_of_a_client_has_the_key(self, kind: Kind) -> None:
        with Server(ACCEPTED) as server, kind(server.url) as client:
            client.post()
            inner = client.client
            self.assertIn(server.url, repr(inner))
            for part in parts_of(inner, set()):
                self.assert_nothing_told(f"{part!r} {part!s} {pprint.pformat(part)}")
            for spread in (pickle.dumps, copy.copy, copy.deepcopy):
                with self.subTest(spread=spread.__name__), self.assertRaises(TypeError):
                    spread(inner._core.settings.key)
            with self.assertRaises(TypeError):
                pickle.dumps(inner)

    @both
    def test_no_error_has_the_key_or_the_lead(self, kind: Kind) -> None:
        for said in (
            *(echo, echo_as_fields, echo_as_redirect, echo_as_status_line),
            *(NOT_ACCEPTING, UNAUTHORIZED, b"", b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        ):
            with Server(said) as server, kind(server.url, tries=1) as client:
                with self.subTest(said=getattr(said, "__name__", said)):
                    error = error_of(client.post)
                    self.assertIsInstance(error, leads.LeadsError)
                    self.assert_error_tells_nothing(error)
                    self.assertIsNone(error.__cause__)
                    self.assertIsNone(error.__context__)

    @both
    def test_no_refusal_of_an_argument_has_it(self, kind: Kind) -> None:
        endless: dict[str, object] = {**LEAD}
        endless["more"] = endless
        by_number: dict[object, object] = {"first_name": LEAD["first_name"], 1: 2}
        twice = leads.Lead(LEAD["first_name"], more={"first_name": LEAD["last_name"]})
        refused = [endless, {**LEAD, "cost": float("nan")}, {**LEAD, "when": object()}, [LEAD], by_number, twice]
        with kind("http://127.0.0.1:9") as client:
            calls: list[Callable[[], object]] = [
                lambda: kind("https://intake.example", KEY + "1"),
                lambda: kind(f"https://user:{KEY}@intake.example"),
                lambda: kind(""),
                lambda: client.post(idempotency_key=""),
                *(functools.partial(client.post, lead) for lead in refused),
            ]
            for call in calls:
                error = error_of(call)
                with self.subTest(error=error):
                    self.assertIsInstance(error, leads.MisconfiguredError)
                    self.assert_error_tells_nothing(error)

    def test_no_frame_of_an_interrupted_call_has_it(self) -> None:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        with Server(SILENCE) as server, leads.Client(KEY, server.url) as client:
            interrupter = threading.Thread(target=lambda: (server.next_request(), os.kill(os.getpid(), signal.SIGINT)))
            interrupter.start()
            error = error_of(lambda: client.post_lead(LEAD, idempotency_key="acme:1"))
            interrupter.join()
        self.assertIsInstance(error, KeyboardInterrupt)
        self.assert_error_tells_nothing(error)

    def test_no_frame_of_a_cancelled_task_has_it(self) -> None:
        async def run(server: Server) -> BaseException:
            async with leads.AsyncClient(KEY, server.url) as client:
                task = asyncio.create_task(client.post_lead(LEAD, idempotency_key="acme:1"))
                await asyncio.get_running_loop().run_in_executor(None, server.next_request)
                task.cancel()
                try:
                    await task
                except asyncio.CancelledError as cancelled:
                    return cancelled
            raise AssertionError("the call was not cancelled")

        with Server(SILENCE) as server:
            self.assert_error_tells_nothing(asyncio.run(run(server)))

    def test_a_lead_does_not_show_itself(self) -> None:
        lead = leads.Lead(LEAD["first_name"], LEAD["last_name"], LEAD["phone"])
        self.assert_nothing_told(f"{lead} {lead!r} {[lead]} {pprint.pformat(lead)}")

    def test_only_known_fields_and_reasons_are_told_in_a_message(self) -> None:
        with Server(echo_as_fields) as server, leads.Client(KEY, server.url) as client:
            with self.assertRaises(leads.InvalidLeadError) as caught:
                client.post_lead({**LEAD, "x": "y"}, idempotency_key="acme:1")
        self.assertIn("(phone: required, 3 more)", str(caught.exception))
        self.assertEqual(caught.exception.fields["x"], "y")

    def test_errors_go_from_process_to_process(self) -> None:
        with Server(echo_as_fields) as server, leads.Client(KEY, server.url) as client:
            with self.assertRaises(leads.InvalidLeadError) as caught:
                client.post_lead(LEAD, idempotency_key="acme:1")
        error = pickle.loads(pickle.dumps(caught.exception))
        self.assertIs(type(error), leads.InvalidLeadError)
        self.assertEqual((str(error), vars(error)), (str(caught.exception), vars(caught.exception)))

    def test_a_secret_shows_nothing(self) -> None:
        self.assertEqual(f"{Secret(b'x')} {Secret(b'x')!r} {[Secret(b'x')]}", "<secret> <secret> [<secret>]")
