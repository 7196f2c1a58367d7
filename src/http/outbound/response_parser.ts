/**
 * Reads one HTTP/1.x response at a time from the bytes of a connection, however they are cut into chunks.
 *
 *     head ──▶ (1xx: head again) ──▶ length | close ──────────────────────────▶ done
 *                                └─▶ chunk_size ─▶ chunk_data ─▶ chunk_end ─┐   ▲
 *                                       ▲ └─ size 0 ─▶ trailer ─────────────┼───┘
 *                                       └───────────────────────────────────┘
 */

import { BodyBuffer } from "../body_buffer.ts";

/** A faulty response; `code` is `EPROTO` (malformed) or `EMSGSIZE` (too long). */
export class ResponseFault extends Error {
  readonly code: "EPROTO" | "EMSGSIZE";

  constructor(code: "EPROTO" | "EMSGSIZE", message: string) {
    super(message);
    this.code = code;
  }
}

/** How the body's end is determined. */
type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  /** The body ends with the connection. */
  | { readonly kind: "close" };

/** The parsed head. */
export interface ResponseHead {
  readonly status: number;
  readonly framing: Framing;
  /** The connection can be reused. */
  readonly isPersistent: boolean;
  /** The server's idle timeout (`Keep-Alive: timeout=N`), or `null`. */
  readonly keepAliveMs: number | null;
  readonly retryAfter: string | null;
  /** The server's `Date`. */
  readonly date: string | null;
}

// RFC 9112, 4: the reason is optional, in practice its space too.
const statusLine = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
// RFC 9112, 5: no space before the colon, no folded lines, no control characters.
const fieldLine =
  /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)[ \t]*$/;
const decimal = /^\d{1,15}$/;

/** The relevant fields, accumulated over the lines. */
interface Fields {
  length: number | null;
  isChunked: boolean;
  connection: string;
  keepAlive: string;
  retryAfter: string | null;
  date: string | null;
}

/**
 * Parses a head, Latin-1 text without the final empty line. It refuses whatever RFC 9112 lets a client refuse, because
 * no legitimate server sends it.
 *
 * Source: RFC 9112, 4–6 and 9.3.
 *
 * @throws {ResponseFault} `EPROTO`
 */
function parseResponseHead(text: string): ResponseHead {
  const [first = "", ...lines] = text.split("\r\n");
  const matched = statusLine.exec(first);
  if (matched === null) throw new ResponseFault("EPROTO", "Not a status line");
  const isOld = matched[1] === "0";
  const status = Number(matched[2]);
  const fields: Fields = {
    length: null,
    isChunked: false,
    connection: "",
    keepAlive: "",
    retryAfter: null,
    date: null,
  };
  for (const line of lines) readField(line, fields);
  if (fields.isChunked && (fields.length !== null || isOld)) {
    throw new ResponseFault("EPROTO", "Transfer-Encoding beside Content-Length, or in HTTP/1.0");
  }
  const options = fields.connection === ""
    ? []
    : fields.connection.toLowerCase().split(",").map((option) => option.trim());
  const framing = framingOf(status, fields);
  const keepAlive = /(?:^|,)[ \t]*timeout=(\d{1,9})(?:[ \t]*,|$)/i.exec(fields.keepAlive)?.[1];
  return {
    status,
    framing,
    isPersistent: framing.kind !== "close" && !options.includes("close") &&
      (!isOld || options.includes("keep-alive")),
    keepAliveMs: keepAlive === undefined ? null : Number(keepAlive) * 1000,
    retryAfter: fields.retryAfter,
    date: fields.date,
  };
}

/**
 * Validates a header or trailer line and returns its lower-case name and its value.
 *
 * @throws {ResponseFault} `EPROTO`
 */
function splitField(line: string): readonly [name: string, value: string] {
  const matched = fieldLine.exec(line);
  if (matched === null) throw new ResponseFault("EPROTO", "Not a header field");
  return [(matched[1] as string).toLowerCase(), matched[2] as string];
}

function readField(line: string, fields: Fields): void {
  const [name, value] = splitField(line);
  switch (name) {
    case "content-length":
      if (fields.length !== null || !decimal.test(value)) {
        throw new ResponseFault("EPROTO", "Content-Length is repeated or no number");
      }
      fields.length = Number(value);
      break;
    case "transfer-encoding":
      if (fields.isChunked || value.toLowerCase() !== "chunked") {
        throw new ResponseFault("EPROTO", "A transfer coding that was not asked for");
      }
      fields.isChunked = true;
      break;
    case "connection":
      fields.connection += `${fields.connection === "" ? "" : ","}${value}`;
      break;
    case "keep-alive":
      fields.keepAlive = value;
      break;
    case "retry-after":
      fields.retryAfter = value;
      break;
    case "date":
      fields.date = value;
  }
}

function framingOf(status: number, { length, isChunked }: Fields): Framing {
  if (status < 200 || status === 204 || status === 304) return { kind: "none" };
  if (isChunked) return { kind: "chunked" };
  return length === null ? { kind: "close" } : { kind: "length", bytes: length };
}

/** A complete response. */
export interface Response {
  readonly head: ResponseHead;
  /** The first 16 KiB of the body. */
  readonly body: Buffer;
}

// For all heads and trailers of a response, so that interim responses are bounded.
const headBytesMax = 16 * 1024;
// Kept body bytes: enough for an error message.
const keptBytesMax = 16 * 1024;
// Body bytes read to reuse the connection, framing included.
const bodyBytesMax = 1024 * 1024;
// Chunk extensions of a response, which nothing reads.
const extensionBytesMax = 4 * 1024;
// Chunks of a response; proxies re-chunk into some kilobytes each.
const chunksMax = 1024;
// A chunk size; extensions are skipped.
const chunkLineBytesMax = 1024;

const beginning = "HTTP/1.";
const lineEnd = Buffer.from("\r\n");
const headEnd = Buffer.from("\r\n\r\n");
const chunkLine = /^([0-9A-Fa-f]{1,8})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?$/;

type Phase =
  | "head"
  | "length"
  | "close"
  | "chunk_size"
  | "chunk_data"
  | "chunk_end"
  | "trailer"
  | "done";

/** Parses successive responses of a connection, with {@linkcode ResponseParser.reset} between them. */
export class ResponseParser {
  #phase: Phase = "head";
  /** An incomplete token. */
  readonly #held = new BodyBuffer();
  /** Bytes of it already searched. */
  #searched = 0;
  #head: ResponseHead | null = null;
  #headBytes = 0;
  #bodyBytes = 0;
  /** Remaining bytes of the body or chunk. */
  #left = 0;
  #chunks = 0;
  #extensionBytes = 0;
  readonly #kept = new BodyBuffer();
  #hasSurplus = false;
  // Caches the last head: a server's heads differ only in Date, once a second.
  #knownText = "";
  #knownHead: ResponseHead | null = null;

  /** Prepares for the next response. */
  reset(): void {
    this.#phase = "head";
    this.#held.clear();
    this.#searched = 0;
    this.#head = null;
    this.#headBytes = 0;
    this.#bodyBytes = 0;
    this.#left = 0;
    this.#chunks = 0;
    this.#extensionBytes = 0;
    this.#kept.clear();
    this.#hasSurplus = false;
  }

  /** The status once the final head is complete. */
  get status(): number | null {
    return this.#head?.status ?? null;
  }

  /** The partial response; `null` before its head. */
  get soFar(): Response | null {
    return this.#head === null ? null : { head: this.#head, body: this.#kept.bytes };
  }

  /** Excess bytes followed the response. */
  get hasSurplus(): boolean {
    return this.#hasSurplus;
  }

  /** The response, once {@linkcode ResponseParser.push} or {@linkcode ResponseParser.end} returns true. */
  get response(): Response {
    return { head: this.#head as ResponseHead, body: this.#kept.bytes };
  }

  /**
   * Parses the next bytes, which must not change afterwards; returns whether the response is complete.
   *
   * @throws {ResponseFault} when the connection is unusable
   */
  push(chunk: Buffer): boolean {
    this.#held.append(chunk);
    let rest = this.#held.bytes;
    while (rest.length > 0 && this.#phase !== "done") {
      const used = this.#take(rest);
      if (used === 0) {
        this.#searched = rest.length;
        if (rest.length < this.#held.length) this.#hold(rest);
        return false;
      }
      this.#searched = 0;
      rest = rest.subarray(used);
    }
    this.#held.clear();
    this.#hasSurplus ||= rest.length > 0;
    return this.#phase === "done";
  }

  /** Ends the input; returns whether that completes the response. */
  end(): boolean {
    if (this.#phase === "close") this.#phase = "done";
    return this.#phase === "done";
  }

  #hold(rest: Buffer): void {
    this.#held.clear();
    this.#held.append(rest);
  }

  // Returns the bytes used; 0 if more are needed.
  #take(data: Buffer): number {
    switch (this.#phase) {
      case "head":
        return this.#takeHead(data);
      case "length":
      case "close":
      case "chunk_data":
        return this.#takeBody(data);
      default:
        return this.#takeLine(data);
    }
  }

  #takeHead(data: Buffer): number {
    const end = this.#find(headEnd, data);
    const bytes = end === -1 ? data.length + 1 : end + headEnd.length;
    if (this.#headBytes + bytes > headBytesMax) throw new ResponseFault("EPROTO", "The head is too long");
    if (end === -1) {
      // Detects garbage before the timeout.
      const start = data.toString("latin1", 0, beginning.length);
      if (start !== beginning.slice(0, start.length)) throw new ResponseFault("EPROTO", "Not HTTP/1.x");
      refuseBareLineFeed(data, this.#searched);
      return 0;
    }
    this.#headBytes += bytes;
    const head = this.#parseHead(data.toString("latin1", 0, end));
    // Interim responses are skipped; an upgrade was not requested.
    if (head.status === 101) throw new ResponseFault("EPROTO", "101 without an Upgrade");
    if (head.status >= 200) this.#begin(head);
    return bytes;
  }

  /** Searches the unsearched bytes, and where a terminator may start. */
  #find(end: Buffer, data: Buffer): number {
    return data.indexOf(end, Math.max(0, this.#searched - end.length + 1));
  }

  #parseHead(text: string): ResponseHead {
    if (text === this.#knownText && this.#knownHead !== null) return this.#knownHead;
    const head = parseResponseHead(text);
    this.#knownText = text;
    this.#knownHead = head;
    return head;
  }

  #begin(head: ResponseHead): void {
    const { framing } = head;
    this.#head = head;
    this.#left = Infinity;
    if (framing.kind === "length") this.#expect(framing.bytes);
    if (framing.kind === "chunked") this.#phase = "chunk_size";
    else this.#phase = framing.kind === "none" || this.#left === 0 ? "done" : framing.kind;
  }

  #expect(bytes: number): void {
    if (this.#bodyBytes + bytes > bodyBytesMax) throw new ResponseFault("EMSGSIZE", "The body is too long");
    this.#left = bytes;
  }

  #count(bytes: number): void {
    this.#bodyBytes += bytes;
    if (this.#bodyBytes > bodyBytesMax) throw new ResponseFault("EMSGSIZE", "The body is too long");
  }

  #takeBody(data: Buffer): number {
    const used = Math.min(data.length, this.#left);
    this.#count(used);
    const kept = Math.min(used, keptBytesMax - this.#kept.length);
    if (kept > 0) this.#kept.append(data.subarray(0, kept));
    this.#left -= used;
    if (this.#left === 0) this.#phase = this.#phase === "chunk_data" ? "chunk_end" : "done";
    return used;
  }

  #takeLine(data: Buffer): number {
    if (this.#phase === "chunk_end" && (data[0] !== 13 || (data.length > 1 && data[1] !== 10))) {
      throw new ResponseFault("EPROTO", "A chunk is longer than it says");
    }
    const end = this.#find(lineEnd, data);
    const bytesMax = this.#phase === "trailer" ? headBytesMax - this.#headBytes : chunkLineBytesMax;
    const bytes = end === -1 ? data.length + 1 : end + lineEnd.length;
    if (bytes > bytesMax) throw new ResponseFault("EPROTO", "A line of a chunked body is too long");
    if (end === -1) {
      refuseBareLineFeed(data, this.#searched);
      return 0;
    }
    this.#count(bytes);
    const line = data.toString("latin1", 0, end);
    if (this.#phase === "chunk_size") this.#readChunkSize(line);
    else if (this.#phase === "chunk_end") this.#phase = "chunk_size";
    else if (line === "") this.#phase = "done";
    else {
      splitField(line);
      this.#headBytes += bytes;
    }
    return bytes;
  }

  #readChunkSize(line: string): void {
    const size = chunkLine.exec(line)?.[1];
    if (size === undefined) throw new ResponseFault("EPROTO", "Not a chunk size");
    this.#chunks += 1;
    this.#extensionBytes += line.length - size.length;
    if (this.#chunks > chunksMax || this.#extensionBytes > extensionBytesMax) {
      throw new ResponseFault("EMSGSIZE", "The body is in too many chunks, or they say too much");
    }
    this.#expect(parseInt(size, 16));
    this.#phase = this.#left === 0 ? "trailer" : "chunk_data";
  }
}

// A line that ends with LF alone never ends for us.
function refuseBareLineFeed(data: Buffer, from: number): void {
  for (let at = data.indexOf(10, from); at !== -1; at = data.indexOf(10, at + 1)) {
    if (data[at - 1] !== 13) throw new ResponseFault("EPROTO", "A line ends with LF alone");
  }
}
