"""The driver of the conformance suite: cases on standard input, what happened on standard output.

Both clients are driven, by the environment variable LEADS_PYTHON_CLIENT: ``threads`` (or nothing) and ``async``.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys
import threading
import time
import traceback
from contextvars import ContextVar
from decimal import Decimal
from typing import Any, Callable, Optional

import leads_python as leads

Line = dict[str, Any]


class Record:
    """What happens to one call."""

    def __init__(self, line: Line) -> None:
        self.cancel_after = line.get("cancel_after_waits")
        self.waits_ms: list[float] = []
        self.shift = 0.0
        self.cancel: Callable[[], object] = lambda: None


current: ContextVar[Record] = ContextVar("current")


class Clock:
    """Time that goes on by itself, and by each wait that is not slept."""

    def time(self) -> float:
        return time.time() + current.get().shift

    def monotonic(self) -> float:
        return time.monotonic() + current.get().shift


def observe(event: leads.Event) -> None:
    if isinstance(event, leads.WaitBegun):
        record = current.get()
        record.waits_ms.append(event.seconds * 1000)
        if len(record.waits_ms) == record.cancel_after:
            record.cancel()


def skip(seconds: float) -> None:
    current.get().shift += seconds


async def skip_async(seconds: float) -> None:
    current.get().shift += seconds
    await asyncio.sleep(0)


def client_options(line: Line) -> dict[str, Any]:
    options = line.get("options") or {}
    chosen: dict[str, Any] = {"observer": observe, "clock": Clock()}
    if options.get("tries") is not None:
        chosen["tries"] = options["tries"]
    if options.get("try_timeout_ms") is not None:
        chosen["try_timeout"] = options["try_timeout_ms"] / 1000
    if line.get("random") is not None:
        chosen["random"] = lambda: float(line["random"])
    if line.get("ca_file") is not None:
        chosen["ssl_context"] = ssl.create_default_context()
        chosen["ssl_context"].load_verify_locations(line["ca_file"])
    return chosen


def call_options(line: Line) -> dict[str, Any]:
    deadline_ms = (line.get("options") or {}).get("deadline_ms")
    return {
        "request_id": line.get("request_id"),
        "deadline": None if deadline_ms is None else deadline_ms / 1000,
    }


def lead_of(line: Line) -> Any:
    return json.loads(line["lead_json"], parse_float=Decimal)


def told(result: object) -> dict[str, Any]:
    if isinstance(result, str):
        return {"idempotency_key": result}
    if isinstance(result, leads.KeyCheck):
        verdict = "valid" if result else "invalid"
        return {"verdict": verdict, "request_id": result.request_id, "tries": result.tries}
    if isinstance(result, leads.Vocabulary):
        areas = [vars(area) for area in result.areas]
        return {"areas": areas, "services": result.services, "required": result.required}
    return vars(result)


def told_error(error: leads.LeadsError) -> dict[str, Any]:
    members = ("kind", "status", "code", "detail", "request_id", "tries", "unknown_outcome")
    told = {name: getattr(error, name) for name in members}
    return {**told, "fields": error.fields} if isinstance(error, leads.InvalidLeadError) else told


def text_of(error: BaseException) -> str:
    """All that anybody could print of an error, and what a reporter of errors would: the local variables of frames."""
    parts = [str(error), repr(error), *traceback.format_exception(type(error), error, error.__traceback__)]
    behind: Optional[BaseException] = error
    while behind is not None:
        parts.append(repr((behind, behind.args, members(behind))) if not is_told(behind) else repr(behind))
        for frame, _ in traceback.walk_tb(behind.__traceback__):
            if "leads_python" in frame.f_code.co_filename:
                parts.append(repr({name: shown(value) for name, value in frame.f_locals.items()}))
        behind = behind.__cause__ or behind.__context__
    return "\n".join(parts)


def members(value: object) -> dict[str, Any]:
    """What an object holds, but for the detail, which is told as the service said it."""
    return {name: held for name, held in vars(value).items() if name != "detail"}


def is_told(error: BaseException) -> bool:
    return isinstance(error, leads.InvalidLeadError)


def shown(value: object) -> str:
    return f"{value!r} {members(value)!r}" if hasattr(value, "__dict__") and not is_told(value) else repr(value)  # type: ignore[arg-type]


lock = threading.Lock()


def answer(line: Line, record: Record, **outcome: Any) -> None:
    text = json.dumps({"id": line.get("id"), **outcome, "waits_ms": record.waits_ms})
    with lock:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


def answer_result(line: Line, record: Record, result: object, client: object) -> None:
    answer(line, record, result=told(result), text=f"{result} {result!r} {client!r} {shown(client)}")


def answer_error(line: Line, record: Record, error: BaseException) -> None:
    if isinstance(error, leads.LeadsError):
        answer(line, record, error=told_error(error), text=text_of(error))
    else:
        answer(line, record, error={"kind": "bug"}, text=text_of(error))


class Clients:
    """One client for each name."""

    def __init__(self, make: Callable[..., Any], more: Callable[[Line], dict[str, Any]]) -> None:
        self._made: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._make = make
        self._more = more

    def of(self, line: Line) -> Any:
        name = str(line.get("client"))
        with self._lock:
            if name not in self._made:
                options = {**client_options(line), **self._more(line)}
                self._made[name] = self._make(line.get("key"), line.get("base_url"), **options)
            return self._made[name]


def call_of(line: Line, client: Any, **more: Any) -> Any:
    options = {**call_options(line), **more}
    if line["call"] == "post_lead":
        return client.post_lead(lead_of(line), idempotency_key=line.get("idempotency_key"), **options)
    return {"check_key": client.check_key, "vocabulary": client.vocabulary}[line["call"]](**options)


def drive_threads() -> None:
    clients = Clients(leads.Client, lambda line: {} if line.get("real_time") else {"sleep": skip})

    def run(line: Line) -> None:
        record, cancellation = Record(line), leads.Cancellation()
        record.cancel = cancellation.cancel
        current.set(record)
        try:
            if line["call"] == "idempotency_key":
                result, client = leads.idempotency_key(line["namespace"], line["item"]), None
            else:
                client = clients.of(line)
                result = call_of(line, client, cancellation=cancellation)
        except Exception as error:
            answer_error(line, record, error)
        else:
            answer_result(line, record, result, client)

    threads = []
    for text in sys.stdin:
        threads.append(threading.Thread(target=run, args=(json.loads(text),)))
        threads[-1].start()
    for thread in threads:
        thread.join()


async def drive_async() -> None:
    clients = Clients(leads.AsyncClient, lambda line: {} if line.get("real_time") else {"sleep": skip_async})

    async def run(line: Line) -> None:
        record = Record(line)
        task: Any = asyncio.current_task()
        record.cancel = task.cancel
        current.set(record)
        try:
            if line["call"] == "idempotency_key":
                result, client = leads.idempotency_key(line["namespace"], line["item"]), None
            else:
                client = clients.of(line)
                result = await call_of(line, client)
        except asyncio.CancelledError as cancelled:
            answer_error(line, record, cancelled.__cause__ or cancelled)
        except Exception as error:
            answer_error(line, record, error)
        else:
            answer_result(line, record, result, client)

    tasks = []
    loop = asyncio.get_running_loop()
    while True:
        text = await loop.run_in_executor(None, sys.stdin.readline)
        if not text:
            break
        tasks.append(loop.create_task(run(json.loads(text))))
    await asyncio.gather(*tasks)


if os.environ.get("LEADS_PYTHON_CLIENT") == "async":
    asyncio.run(drive_async())
else:
    drive_threads()
