from __future__ import annotations

import unittest
from typing import Optional

from leads_python._http1 import BODY_BYTES_MAX, HEAD_BYTES_MAX, Answer, AnswerReader, NotHttp

OK = b"HTTP/1.1 200 OK\r\n"


def read(*parts: bytes) -> Optional[Answer]:
    reader = AnswerReader()
    for part in parts:
        reader.feed(part)
        if reader.answer is not None:
            break
    return reader.answer


class AnswerReaderTest(unittest.TestCase):
    def answer(self, *parts: bytes) -> Answer:
        answer = read(*parts)
        assert answer is not None
        return answer

    def test_an_answer_is_the_same_however_it_is_cut_into_pieces(self) -> None:
        for text in (
            OK + b"A: b\r\nContent-Length: 5\r\n\r\nhello",
            OK + b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n002\r\nlo\r\n0\r\nTrailer: x\r\n\r\n",
            b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
            + OK
            + b"Content-Length: 5\r\n\r\nhello",
            b"HTTP/1.1 200\nContent-Length: 5\n\nhello",
        ):
            whole = self.answer(text)
            self.assertEqual((whole.status, whole.body, whole.whole, whole.reusable), (200, b"hello", True, True))
            for at in range(1, len(text)):
                self.assertEqual(self.answer(text[:at], text[at:]), whole)
            self.assertEqual(self.answer(*(text[at : at + 1] for at in range(len(text)))), whole)

    def test_an_answer_without_a_length_ends_with_the_connection(self) -> None:
        self.assertIsNone(read(OK + b"\r\nhello"))
        answer = self.answer(OK + b"\r\nhel", b"lo", b"")
        self.assertEqual((answer.body, answer.reusable), (b"hello", False))

    def test_what_keeps_a_connection_from_being_used_again(self) -> None:
        for text in (
            OK + b"Connection: Upgrade, CLOSE\r\nContent-Length: 0\r\n\r\n",
            b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
            OK + b"Content-Length: 0\r\n\r\nH",
        ):
            self.assertFalse(self.answer(text).reusable)

    def test_some_statuses_have_no_body(self) -> None:
        for status in (b"204", b"304"):
            answer = self.answer(b"HTTP/1.1 " + status + b" X\r\nContent-Length: 5\r\n\r\n")
            self.assertEqual((answer.body, answer.reusable), (b"", True))

    def test_many_headers_are_no_fault(self) -> None:
        lines = b"".join(b"X-%d: y\r\n" % n for n in range(1_000))
        self.assertEqual(self.answer(OK + lines + b"Content-Length: 0\r\n\r\n").headers["x-999"], "y")

    def test_blanks_around_a_value_are_none_of_it_and_many_within_it_cost_no_time(self) -> None:
        within = b"b" + b" " * 200_000 + b"b"
        answer = self.answer(OK + b"A: \t" + within + b"\t \r\nContent-Length: 0\r\n\r\n")
        self.assertEqual(answer.headers["a"], within.decode())

    def test_of_equal_headers_the_first_counts_and_lists_are_joined(self) -> None:
        lines = b"Retry-After: 1\r\nretry-after: 2\r\nCache-Control: public\r\nCache-Control: max-age=3\r\n"
        headers = self.answer(OK + lines + b"Content-Length: 0\r\n\r\n").headers
        self.assertEqual((headers["retry-after"], headers["cache-control"]), ("1", "public, max-age=3"))

    def test_what_is_no_http_is_found_as_soon_as_can_be(self) -> None:
        for text in (
            b"S",
            b"HTTP/2 ",
            b"HTTP/1.1 20 OK\r\n\r\n",
            b"HTTP/1.1 2000 OK\r\n\r\n",
            b"HTTP/1.1 099 OK\r\n\r\n",
            OK + b"no header\r\n\r\n",
            OK + b"A: b\r\n folded\r\n\r\n",
            OK + b"A : b\r\n\r\n",
            OK + b"A: b\rC: d\r\n\r\n",
            OK + b"A: b\0\r\n\r\n",
            OK + b"Content-Length: -1\r\n\r\n",
            OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
            OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
            OK + b"Transfer-Encoding: chunked\r\n\r\nz\r\n",
            OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabcd",
            OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"0" * 10_000,
            OK + b"A: " + b"b" * HEAD_BYTES_MAX,
            OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"A: b\r\n" * HEAD_BYTES_MAX,
        ):
            with self.subTest(text=text[:60]), self.assertRaises(NotHttp):
                read(text)

    def test_an_answer_that_ends_too_early_is_cut_short(self) -> None:
        for text in (
            b"HTTP/1.1 2",
            OK + b"Content-Length: 5\r\n\r\nhell",
            OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
            b"HTTP/1.1 100 Continue\r\n\r\n",
        ):
            with self.subTest(text=text), self.assertRaisesRegex(NotHttp, "cut short"):
                read(text, b"")
        with self.assertRaisesRegex(NotHttp, "without an answer"):
            read(b"")

    def test_a_body_over_the_limit_is_not_read_to_its_end(self) -> None:
        chunk = b"%x\r\n" % BODY_BYTES_MAX
        for parts in (
            (OK + b"Content-Length: %d\r\n\r\n" % (BODY_BYTES_MAX + 1),),
            (OK + b"Content-Length: " + b"9" * 10_000 + b"\r\n\r\n",),
            (OK + b"Transfer-Encoding: chunked\r\n\r\n" + chunk, b"a" * BODY_BYTES_MAX, b"\r\n1\r\n"),
            (OK + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n",),
            (OK + b"\r\n", b"a" * BODY_BYTES_MAX, b"a"),
        ):
            answer = self.answer(*parts)
            self.assertEqual((answer.status, answer.whole, answer.reusable), (200, False, False))
        limit = self.answer(OK + b"Content-Length: %d\r\n\r\n" % BODY_BYTES_MAX, b"a" * BODY_BYTES_MAX)
        self.assertEqual((len(limit.body), limit.whole), (BODY_BYTES_MAX, True))

    def test_interim_answers_are_skipped_up_to_a_limit(self) -> None:
        hint = b"HTTP/1.1 103 Early Hints\r\n\r\n"
        end = OK + b"Content-Length: 0\r\n\r\n"
        other = b"HTTP/1.1 199 Whatever\r\n\r\n"
        self.assertEqual(self.answer(hint * 19 + other + end).status, 200)
        for text, status in ((hint * 21, 103), (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", 101)):
            answer = self.answer(text + end)
            self.assertEqual((answer.status, answer.whole, answer.reusable), (status, False, False))
