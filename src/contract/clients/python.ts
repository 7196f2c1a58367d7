/**
 * The client of the brief in Python. This module is browser compatible.
 *
 * @module
 */

import { limits } from "../limits.ts";
import { clientIdempotencyKey, clientTriesMax, unindented } from "../snippets.ts";

/** A program of one file that sends a lead, with the standard library alone. */
export function pythonClient(baseUrl: string): string {
  return unindented(`
    # send_lead.py: for Python 3.9 or later. Run it with a sandbox key in LEAD_API_KEY.
    import http.client
    import json
    import os
    import random
    import sys
    import time
    import urllib.error
    import urllib.request

    INTAKE = "${baseUrl}/v1/intake"


    class NotSent(Exception):
        """What was answered at last; status 0 when nothing was."""

        def __init__(self, status, answer, request_id):
            code = answer.get("error", "no answer")
            super().__init__(f"The lead was not sent: {status} {code}, request {request_id}")
            self.status = status
            self.fields = answer.get("fields", {})
            self.detail = answer.get("detail", "")


    class NoRedirect(urllib.request.HTTPRedirectHandler):
        """The key goes to the intake and nowhere else."""

        def redirect_request(self, *_):
            return None


    opener = urllib.request.build_opener(NoRedirect)


    def post(body, idempotency_key):
        """Status, headers and JSON of the answer; status 0 for no connection, or no answer in time."""
        request = urllib.request.Request(INTAKE, body, {
            "X-API-Key": os.environ["LEAD_API_KEY"],
            "Content-Type": "application/json",
            "Idempotency-Key": idempotency_key,
        })
        try:
            answer = opener.open(request, timeout=${limits.requestTimeoutMs / 1000})
        except urllib.error.HTTPError as refusal:
            answer = refusal
        except (OSError, http.client.HTTPException):
            return 0, {}, {}
        try:
            with answer:
                parsed = json.load(answer)
        except (OSError, ValueError, http.client.HTTPException):
            parsed = {}  # Half an answer, or somebody else's.
        return answer.status, answer.headers, parsed if isinstance(parsed, dict) else {}


    def send_lead(lead, idempotency_key):
        """Sends one lead and retries as the policy says. Keep the event_id that comes back."""
        body = json.dumps(lead).encode()
        failures = waits = 0
        while True:
            status, headers, answer = post(body, idempotency_key)
            if status in (200, 202) and answer.get("event_id"):
                return answer
            may_retry = status in (0, 200, 202, 429) or status >= 500
            failures += status != 429  # A 429 does not count: it says when to come back.
            if not may_retry or failures == ${clientTriesMax}:
                raise NotSent(status, answer, headers.get("X-Request-Id"))
            waits += 1
            # In seconds; an edge may send a date, which is no number.
            retry_after = headers.get("Retry-After") or ""
            floor = int(retry_after) if retry_after.isdecimal() else 0
            time.sleep(floor + random.random() * min(${limits.backoffCapSeconds}, 0.25 * 2 ** min(waits, 9)))


    if __name__ == "__main__":
        lead = {"first_name": "Ada", "last_name": "Lovelace", "phone": "(555) 123-4567", "project_area": "kitchen"}
        try:
            sent = send_lead(lead, "${clientIdempotencyKey}")
            print(sent["status"], sent["event_id"], sent["flags"])
        except NotSent as error:
            if error.status == 401:
                print("The key is not accepted: tell a person", file=sys.stderr)
            sys.exit(f"{error} {error.fields} {error.detail}")  # 422: show them fields and detail.
  `);
}
