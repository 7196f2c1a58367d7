"""What the kit costs: posts a second, of the kit and of ``http.client``, over one kept-alive connection each.

The kit reads HTTP by itself; ``http.client`` is what a program without the kit would use.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import time
from decimal import Decimal
from typing import Callable
from urllib.parse import urlsplit

import leads_python as leads

LEAD = {
    "first_name": "Ada",
    "last_name": "Lovelace",
    "phone": "(555) 010-4477",
    "email": "ada@lead.example",
    "city": "London",
    "project_area": "kitchen",
    "project_service": "repair",
    "project_details": "The tap drips.\nMostly at night.",
    "cost": Decimal("12.50"),
}


def main() -> None:
    posts, rounds = (int(argument) for argument in sys.argv[1:3])
    kit, bare = kit_poster(), bare_poster()
    for turn in range(rounds + 1):
        # Who goes first alternates; the round before the first warms both.
        order = [("kit", kit), ("bare", bare)][:: 1 if turn % 2 else -1]
        speeds = {name: speed(post, posts) for name, post in order}
        if turn > 0:
            sys.stdout.write(json.dumps({name: round(speeds[name], 1) for name in ("kit", "bare")}) + "\n")
            sys.stdout.flush()


def speed(post: Callable[[str], object], posts: int) -> float:
    began = time.perf_counter()
    for n in range(posts):
        post(f"bench:{began}-{n}")
    return posts / (time.perf_counter() - began)


def kit_poster() -> Callable[[str], object]:
    client = leads.Client()
    return lambda key: client.post_lead(LEAD, idempotency_key=key)


def bare_poster() -> Callable[[str], object]:
    address = urlsplit(os.environ["LEADS_BASE_URL"])
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    connection = kind(address.hostname or "", address.port, timeout=20)
    body = json.dumps({**LEAD, "cost": 12.5})
    headers = {
        "X-API-Key": os.environ["LEADS_API_KEY"],
        "Content-Type": "application/json",
        "Accept": "application/json",
        "User-Agent": f"leads-python/{leads.__version__}",
        "X-Request-Id": "leads-python-0123456789abcdef",
    }

    def post(key: str) -> object:
        connection.request("POST", f"{address.path}/v1/intake", body, {**headers, "Idempotency-Key": key})
        answer = connection.getresponse()
        if answer.status not in (200, 202):
            raise SystemExit(f"the server answered {answer.status}")
        return json.loads(answer.read())

    return post


main()
