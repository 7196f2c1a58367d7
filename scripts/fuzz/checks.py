"""What schemathesis checks of every answer besides what the OpenAPI document says of its form."""

import json
import os
import re
from decimal import ROUND_HALF_UP, Decimal

import schemathesis

# The keys that this run posts with; their random parts alone would be as bad.
SECRETS = [key[10:42].encode() for key in os.environ["FUZZ_KEYS"].split()]

# What a stack, a query or a file of ours looks like.
INTERNALS = (b"node:", b"file://", b"postgres", b"sqlstate", b"select ", b"insert ")

WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
SPACES = re.compile(f"[{WHITE_SPACE}]+")
VANISHING = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")
LINE_BREAK = re.compile("\r\n?|[\x85\u2028\u2029]")
SPACES_IN_LINE = re.compile(f"[{WHITE_SPACE.replace(chr(10), '')}]+")


@schemathesis.check
def no_secret(ctx, response, case):
    """No answer has a key in it, in a header or in the body."""
    parts = [response.content, *(value.encode() for values in response.headers.values() for value in values)]
    if any(secret in part for secret in SECRETS for part in parts):
        raise AssertionError("A key is in the answer")


@schemathesis.check
def no_internals(ctx, response, case):
    """No refusal tells of the inside."""
    if response.status_code >= 400 and any(text in response.content.lower() for text in INTERNALS):
        raise AssertionError("The inside shows in the answer")


@schemathesis.check
def lead_as_published(ctx, response, case):
    """A lead is accepted when it is as the document says, and refused for what is not; lengths count after
    white space is collapsed, which the schema alone cannot say."""
    if case.operation.path != "/v1/intake" or response.status_code not in (200, 202, 422):
        return
    schema = case.operation.schema.raw_schema["components"]["schemas"]["Lead"]
    lead = json.loads(response.request.body, parse_float=Decimal, parse_int=Decimal)
    expected = failing_fields(schema, lead)
    if is_too_long(response.request.headers.get("Idempotency-Key", "")):
        expected["Idempotency-Key"] = "too_long"
    got = json.loads(response.content).get("fields", {})
    if got != expected:
        raise AssertionError(f"The fields {got} are refused, and {expected} should be")


def is_too_long(key):
    sent = key if isinstance(key, bytes) else key.encode("latin-1")
    try:
        text = sent.decode()
    except UnicodeDecodeError:
        text = sent.decode("latin-1")
    # A tab, and what stands between ASCII and Latin-1, are control characters.
    return text.strip() != "" and (len(text.strip(" \t")) > 200 or CONTROLS.search(text.strip(" \t")) is not None)


def failing_fields(schema, lead):
    failing = {}
    for name, rule in schema["properties"].items():
        value = lead.get(name)
        if rule["type"] == "string":
            text = "" if value is None else NORMAL.get(name, one_line)(value)
            if text == "" and name in schema["required"]:
                failing[name] = "required"
            elif len(text) > rule["maxLength"]:
                failing[name] = "too_long"
        elif name == "cost" and value is not None:
            cents = value.quantize(Decimal("0.01"), ROUND_HALF_UP) if abs(value) < 10_000 else value
            if not Decimal("0.01") <= cents <= Decimal("999.99"):
                failing[name] = "out_of_range"
    return failing


def one_line(text):
    return SPACES.sub(" ", VANISHING.sub("", text)).strip(" ")


def as_sent(text):
    text = CONTROLS.sub(" ", VANISHING.sub("", text))
    return re.sub(f"^[{WHITE_SPACE}]+|[{WHITE_SPACE}]+$", "", text)


def lines(text):
    text = SPACES_IN_LINE.sub(" ", LINE_BREAK.sub("\n", text.replace("\0", "")))
    return re.sub("\n{4,}", "\n\n", re.sub(" ?\n ?", "\n", text)).strip(" \n")


NORMAL = {"phone": as_sent, "project_details": lines}
