"""Reads an answer of HTTP/1.1 out of the bytes of a connection, without a connection.

The standard library's own reader is not used: it takes an interim answer other than 100 for the final one, refuses an
answer of more than 100 headers, bounds each read and not the whole, and cannot be shared by threads and asyncio.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Optional

BODY_BYTES_MAX = 1_048_576
"""After transfer decoding."""

HEAD_BYTES_MAX = 262_144
"""Of each head, and of all trailers. Chosen: four times what proxies allow, and no burden."""

CHUNK_LINE_BYTES_MAX = 8_192
"""Of the line with a chunk's size and extensions."""

INTERIM_ANSWERS_MAX = 20

_WITHOUT_BODY = frozenset((204, 304))
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_STATUS_LINE = re.compile(rb"HTTP/1\.([0-9]) ([1-9][0-9]{2})(?: .*)?")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\r\n\0]*)")
_KEEP_ALIVE = re.compile(r"(?:^|[,;\s])timeout=([0-9]{1,9})(?![0-9])", re.IGNORECASE)
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?", re.DOTALL)


class NotHttp(Exception):
    """The bytes are no answer of HTTP/1.x, or end before it does. The text says how, and quotes nothing of them."""


@dataclass(frozen=True)
class Answer:
    """An answer, or as much of it as decides.

    Attributes:
        status: The status; of an interim answer, when that is what is refused.
        headers: By name in lower case; of several with one name, the first.
        body: After transfer decoding.
        whole: False for one that was not read to its end: it is too long, changes the protocol, or is one interim
            answer too many.
        reusable: Whether the connection can take another request.
    """

    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool
    reusable: bool

    def __repr__(self) -> str:
        return f"<Answer {self.status}>"

    @property
    def idle_seconds(self) -> float:
        """How long the connection may be kept without a request: what the server says, less a second of safety."""
        told = _KEEP_ALIVE.search(self.headers.get("keep-alive", ""))
        return math.inf if told is None else max(0, int(told[1]) - 1)


class AnswerReader:
    """Fed with bytes until it has an `answer`."""

    def __init__(self, *, bodyless: bool = False) -> None:
        """Args:
        bodyless: Any 2xx ends with its head, as the answer to a CONNECT does.
        """
        self.answer: Optional[Answer] = None
        self._bodyless = bodyless
        self._buffer = bytearray()
        self._searched = 0
        self._interim = 0
        self._step = self._head
        self._status = 0
        self._headers: dict[str, str] = {}
        self._reusable = False
        self._body = bytearray()
        self._left = 0
        self._trailer_bytes = 0

    def feed(self, data: bytes) -> None:
        """Takes the next bytes; none at all say that the connection has ended.

        Raises:
            NotHttp: They cannot be, or become, an answer.
        """
        if not data:
            self._end_of_connection()
            return
        self._buffer += data
        while self.answer is None and self._step():
            pass

    @property
    def begun(self) -> bool:
        """Whether any byte has come."""
        return bool(self._buffer or self._interim or self._status)

    # Each step takes what it can from the buffer, and says whether the next one may go on.

    def _head(self) -> bool:
        if not b"HTTP/1.".startswith(bytes(self._buffer[:7])):
            raise NotHttp("the answer is not HTTP/1.1")
        end = _HEAD_END.search(self._buffer, max(0, self._searched - 3))
        if end is None:
            self._searched = len(self._buffer)
            if self._searched > HEAD_BYTES_MAX:
                raise NotHttp("the head of the answer is too long")
            return False
        if end.end() > HEAD_BYTES_MAX:
            raise NotHttp("the head of the answer is too long")
        head = bytes(self._buffer[: end.start()])
        del self._buffer[: end.end()]
        self._searched = 0
        minor = self._read_head(head)
        return self._judge_head(minor)

    def _read_head(self, head: bytes) -> int:
        first, *lines = re.split(rb"\r?\n", head)
        status_line = _STATUS_LINE.fullmatch(first)
        if status_line is None:
            raise NotHttp("the answer has no valid status line")
        self._status = int(status_line[2])
        self._headers = {}
        lists: dict[str, str] = {}
        for line in lines:
            header = _HEADER.fullmatch(line)
            if header is None:
                # Among them lines that go on with the one before: RFC 9112 has banned them.
                raise NotHttp("the answer has a line that is no header")
            name, value = header[1].decode("ascii").lower(), header[2].strip(b" \t").decode("latin-1")
            self._headers.setdefault(name, value)
            if name in ("connection", "content-length", "transfer-encoding", "cache-control"):
                lists[name] = f"{lists[name]}, {value}" if name in lists else value
        self._headers.update(lists)
        return int(status_line[1])

    def _judge_head(self, minor: int) -> bool:
        status = self._status
        if status < 200:
            self._interim += 1
            return self._stop() if status == 101 or self._interim > INTERIM_ANSWERS_MAX else True
        tokens = self._headers.get("connection", "").lower().replace(" ", "").split(",")
        self._reusable = minor >= 1 and "close" not in tokens
        if status in _WITHOUT_BODY or (self._bodyless and status < 300):
            return self._finish()
        coding = self._headers.get("transfer-encoding")
        if coding is not None:
            if coding.lower() != "chunked":
                raise NotHttp("the answer has a transfer coding that is not known")
            self._step = self._chunk_line
            return True
        self._step = self._counted if self._read_length() else self._until_closed
        return self.answer is None

    def _read_length(self) -> bool:
        """Reads the Content-Length; False when there is none."""
        if "content-length" not in self._headers:
            return False
        lengths = {length.strip() for length in self._headers["content-length"].split(",")}
        length = lengths.pop()
        if lengths or not (length.isascii() and length.isdigit()):
            raise NotHttp("the answer has no valid Content-Length")
        digits = length.lstrip("0")
        # Compared by its digits first: there may be more of them than Python makes a number of.
        if len(digits) > len(str(BODY_BYTES_MAX)) or int(digits or "0") > BODY_BYTES_MAX:
            self._stop()
        else:
            self._left = int(digits or "0")
        return True

    def _counted(self) -> bool:
        self._take(self._left)
        return False if self._left else self._finish()

    def _until_closed(self) -> bool:
        self._reusable = False
        self._take(len(self._buffer))
        return False

    def _chunk_line(self) -> bool:
        line = self._line(CHUNK_LINE_BYTES_MAX)
        if line is None:
            return False
        size = _CHUNK_SIZE.fullmatch(line)
        if size is None:
            raise NotHttp("the answer has no valid chunk size")
        self._left = int(size[1], 16)
        if len(self._body) + self._left > BODY_BYTES_MAX:
            return self._stop()
        self._step = self._chunk if self._left else self._trailer
        return True

    def _chunk(self) -> bool:
        self._take(self._left)
        if self._left:
            return False
        line = self._line(2)
        if line is None:
            return False
        if line:
            raise NotHttp("the answer has a chunk that is longer than its size")
        self._step = self._chunk_line
        return True

    def _trailer(self) -> bool:
        line = self._line(HEAD_BYTES_MAX)
        if line is None:
            return False
        self._trailer_bytes += len(line) + 2
        if self._trailer_bytes > HEAD_BYTES_MAX:
            raise NotHttp("the trailers of the answer are too long")
        return True if line else self._finish()

    def _line(self, bytes_max: int) -> Optional[bytes]:
        end = self._buffer.find(b"\n", self._searched)
        if (end if end >= 0 else len(self._buffer)) > bytes_max:
            raise NotHttp("the answer has a line that is too long")
        if end < 0:
            self._searched = len(self._buffer)
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._searched = 0
        return line[:-1] if line.endswith(b"\r") else line

    def _take(self, count: int) -> None:
        taken = self._buffer[:count]
        del self._buffer[:count]
        self._left -= len(taken)
        self._body += taken
        if len(self._body) > BODY_BYTES_MAX:
            self._stop()

    def _end_of_connection(self) -> None:
        if self._step == self._until_closed:
            self._finish()
        elif self.begun:
            raise NotHttp("the answer was cut short")
        else:
            raise NotHttp("the connection was closed without an answer")

    def _finish(self) -> bool:
        # Bytes beyond the answer are nobody's, and would be taken for the next one.
        reusable = self._reusable and not self._buffer
        self.answer = Answer(self._status, self._headers, bytes(self._body), whole=True, reusable=reusable)
        return False

    def _stop(self) -> bool:
        self.answer = Answer(self._status, self._headers, b"", whole=False, reusable=False)
        return False
