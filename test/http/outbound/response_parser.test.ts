import assert from "node:assert/strict";
import test from "node:test";
import { ResponseParser } from "../../../src/http/outbound/response_parser.ts";
import { countSteps } from "../../support/steps/meter.ts";

/** Returns a summary of the response in these chunks, or the error's code. */
function parse(chunks: readonly Buffer[], parser = new ResponseParser()): string {
  try {
    let isWhole = false;
    for (const chunk of chunks) isWhole = parser.push(chunk);
    if (!isWhole && !parser.end()) return `cut ${parser.status}`;
    const { head, body } = parser.response;
    const end = `${head.isPersistent ? "kept" : "closed"}${parser.hasSurplus ? ", surplus" : ""}`;
    return `${head.status} ${body.toString("latin1")} ${end}`;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

/** Four times the costliest response's steps; reading bytes repeatedly takes thousands. */
const stepsPerByteMax = 120;

const head = (...lines: string[]) => lines.map((line) => `${line}\r\n`).join("") + "\r\n";
const chunked = head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked");

/** Responses with their summaries. */
const vectors: readonly (readonly [text: string, expected: string])[] = [
  [head("HTTP/1.1 200 OK", "Content-Length: 5") + "hello", "200 hello kept"],
  [head("HTTP/1.1 200", "content-length:0"), "200  kept"],
  [head("HTTP/1.1 424 Failed Dependency", "CONTENT-LENGTH: 2 ", "Retry-After: 3") + "{}", "424 {} kept"],
  [head("HTTP/1.1 200 OK", "Content-Length: 2", "Connection: foo, Close") + "{}", "200 {} closed"],
  [
    head("HTTP/1.1 200 OK", "Connection: a", "Content-Length: 2", "Connection: close") + "{}",
    "200 {} closed",
  ],
  [head("HTTP/1.0 200 OK", "Content-Length: 2") + "{}", "200 {} closed"],
  [head("HTTP/1.0 200 OK", "Content-Length: 2", "Connection: keep-alive") + "{}", "200 {} kept"],
  [head("HTTP/1.1 200 OK", "Content-Length: 5") + "hell", "cut 200"],
  [head("HTTP/1.1 200 OK", "Content-Length: 2") + "{}HTTP", "200 {} kept, surplus"],
  [head("HTTP/1.1 200 OK", "X: \xe9") + "till the end", "200 till the end closed"],
  [head("HTTP/1.1 200 OK"), "200  closed"],
  [head("HTTP/1.1 204 No Content"), "204  kept"],
  [head("HTTP/1.1 304 Not Modified", "Content-Length: 5"), "304  kept"],
  [
    head("HTTP/1.1 100 Continue") + head("HTTP/1.1 103 Early Hints", "Link: x") + head("HTTP/1.1 204 X"),
    "204  kept",
  ],
  [head("HTTP/1.1 100 Continue"), "cut null"],
  [chunked + "5\r\nhello\r\n0\r\n\r\n", "200 hello kept"],
  [chunked + '0005;a=b;c="d e"\r\nhello\r\nA ;x\r\n0123456789\r\n0\r\n\r\n', "200 hello0123456789 kept"],
  [chunked + "1\r\n\r\r\n1\r\n\n\r\n0;x\r\nX-Sum: 1\r\nDate: now\r\n\r\n", "200 \r\n kept"],
  [chunked + "5\r\nhello\r\n0\r\n", "cut 200"],
  [chunked + "5\r\nhello\r\n", "cut 200"],
  [chunked + "5\r\nhel", "cut 200"],
  [chunked + "5\r\nhello\r\n0\r\n\r\nmore", "200 hello kept, surplus"],
  ["", "cut null"],
  ["HTTP/1.1 200 O", "cut null"],
  // Malformed.
  [chunked + "5\r\nhelloworld\r\n0\r\n\r\n", "EPROTO"],
  [chunked + "5\r\nhello\rX", "EPROTO"],
  [chunked + "5 \r\nhello\r\n0\r\n\r\n", "EPROTO"],
  [chunked + "-5\r\nhello\r\n0\r\n\r\n", "EPROTO"],
  [chunked + "0x5\r\nhello\r\n0\r\n\r\n", "EPROTO"],
  [chunked + "\r\nhello\r\n0\r\n\r\n", "EPROTO"],
  [chunked + "123456789\r\nhello", "EPROTO"],
  [chunked + "5\nhello\n0\n\n", "EPROTO"],
  [chunked + "0\r\nnot a field\r\n\r\n", "EPROTO"],
  [chunked + `5;${"x".repeat(1024)}\r\nhello\r\n`, "EPROTO"],
  [head("HTTP/1.1 200 OK", "Content-Length: 5", "Content-Length: 6") + "hello", "EPROTO"],
  [head("HTTP/1.1 200 OK", "Content-Length: 5", "Content-Length: 5") + "hello", "EPROTO"],
  [head("HTTP/1.1 200 OK", "Content-Length: 5, 5") + "hello", "EPROTO"],
  [head("HTTP/1.1 200 OK", "Content-Length: +5") + "hello", "EPROTO"],
  [head("HTTP/1.1 200 OK", "Content-Length: 5a") + "hello", "EPROTO"],
  [head("HTTP/1.1 200 OK", "Content-Length:") + "hello", "EPROTO"],
  [head("HTTP/1.1 200 OK", "Content-Length: 5", "Transfer-Encoding: chunked") + "0\r\n\r\n", "EPROTO"],
  [head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Content-Length: 5") + "0\r\n\r\n", "EPROTO"],
  [head("HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked") + "0\r\n\r\n", "EPROTO"],
  [head("HTTP/1.1 200 OK", "Transfer-Encoding: identity") + "x", "EPROTO"],
  [
    head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + "0\r\n\r\n",
    "EPROTO",
  ],
  [head("HTTP/1.0 200 OK", "Transfer-Encoding: chunked") + "0\r\n\r\n", "EPROTO"],
  [head("HTTP/1.1 101 Switching Protocols", "Upgrade: x"), "EPROTO"],
  [head("HTTP/1.1 200 OK", " folded"), "EPROTO"],
  [head("HTTP/1.1 200 OK", "A: b", "\tfolded"), "EPROTO"],
  [head("HTTP/1.1 200 OK", "Content-Length : 5") + "hello", "EPROTO"],
  [head("HTTP/1.1 200 OK", "A: b\0c"), "EPROTO"],
  [head("HTTP/1.1 200 OK", "A: b\rc"), "EPROTO"],
  [head("HTTP/1.1 200 OK", "A: b\nContent-Length: 0"), "EPROTO"],
  [head("HTTP/1.1 200 OK", ": b"), "EPROTO"],
  [head("HTTP/1.1 200 OK", "nothing"), "EPROTO"],
  [head("HTTP/2 200 OK"), "EPROTO"],
  [head("HTTP/1.2 200 OK"), "EPROTO"],
  [head("http/1.1 200 OK"), "EPROTO"],
  [head("HTTP/1.1 20 OK"), "EPROTO"],
  [head("HTTP/1.1 600 What"), "EPROTO"],
  [head("HTTP/1.1 2000 OK"), "EPROTO"],
  [head("HTTP/1.1  200 OK"), "EPROTO"],
  ["\r\n" + head("HTTP/1.1 200 OK"), "EPROTO"],
  ["220 mail.example.com ESMTP\r\n", "EPROTO"],
  ["HTTP/1.1 200 OK\nContent-Length: 0\n\n", "EPROTO"],
  ["\x15\x03\x01\x00\x02\x02\x46", "EPROTO"],
];

test("a response parses the same in any two pieces and byte by byte", () => {
  for (const [text, expected] of vectors) {
    const bytes = Buffer.from(text, "latin1");
    assert.equal(parse([bytes]), expected, JSON.stringify(text));
    for (let at = 1; at < bytes.length; at += 1) {
      const halves = [bytes.subarray(0, at), bytes.subarray(at)];
      assert.equal(parse(halves), expected, `${JSON.stringify(text)} cut at ${at}`);
    }
    // Bytes after the end are surplus in any split.
    assert.equal(
      parse([...bytes].map((byte) => Buffer.of(byte))),
      expected,
      `${JSON.stringify(text)} by bytes`,
    );
  }
});

test("headers of up to 16 KiB are read, including interim responses and trailers", () => {
  const padded = (bytes: number) => {
    const frame = head("HTTP/1.1 204 X", "A: ");
    return head("HTTP/1.1 204 X", `A: ${"x".repeat(bytes - frame.length)}`);
  };
  assert.equal(parse([Buffer.from(padded(16_384))]), "204  kept");
  assert.equal(parse([Buffer.from(padded(16_385))]), "EPROTO");
  assert.equal(parse([Buffer.from(padded(16_384).slice(0, -1))]), "cut null");
  // An unfinished header fails as soon as it is too long.
  assert.equal(parse([Buffer.from(padded(16_385).slice(0, -1))]), "EPROTO");
  assert.equal(parse([Buffer.from(head("HTTP/1.1 100 Continue").repeat(1_000))]), "EPROTO");
  const trailer = `T: ${"x".repeat(8_000)}\r\n`;
  assert.equal(parse([Buffer.from(`${chunked}0\r\n${trailer}\r\n`)]), "200  kept");
  assert.equal(parse([Buffer.from(`${chunked}0\r\n${trailer}${trailer}${trailer}\r\n`)]), "EPROTO");
});

test("of a body 64 KiB are retained, 1 MiB is read, and a longer one fails", () => {
  const mebibyte = 1024 * 1024;
  const kept = "x".repeat(65_536);
  const length = (bytes: number) => head("HTTP/1.1 200 OK", `Content-Length: ${bytes}`);
  const whole = (start: string, bytes: number) => parse([Buffer.from(start), Buffer.alloc(bytes, "x")]);
  assert.equal(whole(length(mebibyte), mebibyte), `200 ${kept} kept`);
  assert.equal(whole(length(mebibyte + 1), 0), "EMSGSIZE");
  assert.equal(whole(head("HTTP/1.1 200 OK"), mebibyte), `200 ${kept} closed`);
  assert.equal(whole(head("HTTP/1.1 200 OK"), mebibyte + 1), "EMSGSIZE");
  assert.equal(whole(`${chunked}ff000\r\n`, 0xff000), "cut 200");
  assert.equal(whole(`${chunked}100001\r\n`, 0), "EMSGSIZE");
  // Chunk framing counts too.
  const padded = `1;${"e".repeat(1_000)}\r\nx\r\n`.repeat(1_100);
  assert.equal(parse([Buffer.from(chunked + padded)]), "EMSGSIZE");
});

test("a body with more than 1,024 chunks or 4 KiB of extensions fails", () => {
  const ended = (chunks: string) => parse([Buffer.from(`${chunked}${chunks}0\r\n\r\n`)]);
  assert.equal(ended("1\r\nx\r\n".repeat(1_023)), `200 ${"x".repeat(1_023)} kept`);
  assert.equal(ended("1\r\nx\r\n".repeat(1_024)), "EMSGSIZE");
  const extended = `1;${"e".repeat(511)}\r\nx\r\n`;
  assert.equal(ended(extended.repeat(8)), "200 xxxxxxxx kept");
  assert.equal(ended(extended.repeat(8) + "1;\r\nx\r\n"), "EMSGSIZE");
});

test("the parser's work is linear in the bytes, even if they arrive one by one", () => {
  const bytes = (text: string) => Array.from(Buffer.from(text, "latin1"), (byte) => Buffer.of(byte));
  const field = (length: number) => head("HTTP/1.1 204 X", `A: ${"x".repeat(length)}`);
  const trailers = `T: ${"x".repeat(1_000)}\r\n`.repeat(15);
  const responses = [
    field(16_000),
    head("HTTP/1.1 204 X", ...Array<string>(3_000).fill("a:b")),
    head("HTTP/1.1 204 X", `Connection: close${" ".repeat(16_000)}x`),
    head("HTTP/1.1 204 X", `Keep-Alive: ${"timeout=1 ".repeat(1_600)}`),
    head("HTTP/1.1 100 Continue").repeat(600),
    `${chunked}1;${"e".repeat(1_000)}\r\nx\r\n0\r\n${trailers}\r\n`,
    `${chunked}${"1\r\nx\r\n".repeat(1_000)}0\r\n\r\n`,
    head("HTTP/1.1 200 OK") + "x".repeat(20_000),
  ];
  for (const [index, response] of responses.entries()) {
    const pieces = bytes(response);
    const steps = countSteps(() => parse(pieces)) / pieces.length;
    assert.ok(steps <= stepsPerByteMax, `${index}: ${steps.toFixed(1)} per byte`);
  }
});
