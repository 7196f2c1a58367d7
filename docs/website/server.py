# server.py: a contractor's website with a quote form, for Python 3.9 or later, without dependencies.
# `application` also runs on any WSGI server, such as gunicorn.
import os
import re
import sys
from datetime import datetime, timezone
from html import escape
from http import HTTPStatus
from pathlib import Path
from socketserver import ThreadingMixIn
from urllib.parse import parse_qsl, quote
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from submit_form import submit_form

BODY_BYTES_MAX = 65_536
PAGES = {"/": "home.html", "/quote": "quote.html", "/thanks": "thanks.html", "/privacy": "privacy.html"}
ASSETS = {
    "/style.css": "text/css",
    "/icon.svg": "image/svg+xml",
    "/first_touch.js": "text/javascript",
    "/send_once.js": "text/javascript",
}
HTML_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
}


def read(file):
    return (Path(__file__).parent / "pages" / file).read_text("utf-8")


def parse(encoded):
    """Returns the values of each name, which are several for a group of check boxes. PHP's `name[]` becomes `name`."""
    values = {}
    for name, value in parse_qsl(encoded, keep_blank_values=True):
        values.setdefault(name.removesuffix("[]"), []).append(value)
    return values


def render(file, values, shown=()):
    """Fills in a page's placeholders. `shown` has the names of missing fields and of the notices to show."""
    known = {"form_started_at": [datetime.now(timezone.utc).isoformat()], **values}

    def fill(match):
        kind, name, value = match.groups()
        if kind == "value":
            return escape(", ".join(known.get(name, [])))
        if kind == "checked":
            return "checked" if value in known.get(name, []) else ""
        if kind == "show":
            return "" if name in shown else "hidden"
        return f'aria-invalid="true" aria-describedby="{name}-error"' if name in shown else ""

    title, content = re.fullmatch("(<title>.*</title>)(.*)", read(file), re.DOTALL).groups()
    html = read("layout.html").replace("{{ title }}", title).replace("{{ content }}", content)
    return re.sub(r"\{\{(\w+) (\w+) ?(.*?)\}\}", fill, html)


def submit(environ):
    """Sends the form and redirects to the thanks page, so that a reload does not send it again."""

    def reply_quote(status, values, shown):
        return status, HTML_HEADERS, render("quote.html", values, shown)

    length = environ.get("CONTENT_LENGTH", "")
    if not re.fullmatch("[0-9]{1,15}", length):
        return reply_quote(411, {}, ["failed"])
    # A browser shows the reply only if the body is read.
    body = environ["wsgi.input"].read(min(int(length), 16 * BODY_BYTES_MAX))
    if not environ.get("CONTENT_TYPE", "").lower().startswith("application/x-www-form-urlencoded"):
        return reply_quote(415, {}, ["failed"])
    if int(length) > BODY_BYTES_MAX:
        return reply_quote(413, {}, ["too_long"])
    if len(body) < int(length):
        return reply_quote(400, {}, ["failed"])  # The visitor aborted the request.
    values = parse(body.decode(errors="replace"))
    fields = {name: ", ".join(filter(None, texts)) for name, texts in values.items()}
    # Without JavaScript, the page sends no page_url.
    fields["page_url"] = fields.get("page_url") or environ.get("HTTP_REFERER")
    is_sent, submission_id, missing = submit_form(fields)
    if is_sent:
        print("form sent:", submission_id, file=sys.stderr)
        return 303, {"Location": f"/thanks?reference={quote(submission_id or '')}"}, ""
    on_page = [name for name in missing if f"{{{{show {name}}}}}" in read("quote.html")]
    elsewhere = [name for name in missing if name not in on_page]
    if elsewhere:
        print("required, but not on the page:", ", ".join(elsewhere), file=sys.stderr)
    notices = ["missing"] if on_page else []
    if elsewhere or not on_page:
        notices.append("failed")
    return reply_quote(422 if on_page else 503, values, on_page + notices)


def handle(environ):
    method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "")
    if method == "POST" and path == "/quote":
        return submit(environ)
    if method not in ("GET", "HEAD"):
        return 405, {"Allow": "GET, HEAD"}, ""
    if path in ASSETS:
        return 200, {"Content-Type": ASSETS[path], "Cache-Control": "max-age=3600"}, read(path[1:])
    values = parse(environ.get("QUERY_STRING", ""))
    return 200 if path in PAGES else 404, HTML_HEADERS, render(PAGES.get(path, "404.html"), values)


def application(environ, start_response):
    try:
        status, headers, text = handle(environ)
    except Exception as error:
        print("request failed:", repr(error), file=sys.stderr)
        status, headers, text = 503, HTML_HEADERS, render("quote.html", {}, ["failed"])
    headers = {"X-Content-Type-Options": "nosniff", **headers}
    start_response(f"{status} {HTTPStatus(status).phrase}", list(headers.items()))
    return [b"" if environ["REQUEST_METHOD"] == "HEAD" else text.encode()]


class Server(ThreadingMixIn, WSGIServer):
    request_queue_size = 128


class Handler(WSGIRequestHandler):
    timeout = 20  # In seconds, for a visitor who sends nothing.


if __name__ == "__main__":
    port = int(os.environ.get("PORT", "3000"))
    make_server("127.0.0.1", port, application, Server, Handler).serve_forever()
