/**
 * Parses a connection's HTTP/1.x responses, one at a time.
 *
 *     head ──▶ (1xx: head again) ──▶ length | close ──────────────────────────▶ done
 *                                └─▶ chunk_size ─▶ chunk_data ─▶ chunk_end ─┐   ▲
 *                                       ▲ └─ size 0 ─▶ trailer ─────────────┼───┘
 *                                       └───────────────────────────────────┘
 */

import { BodyBuffer } from "../body_buffer.ts";

/** Thrown for a response that is malformed (`EPROTO`) or too long (`EMSGSIZE`). */
class ResponseFault extends Error {
  readonly code: "EPROTO" | "EMSGSIZE";

  constructor(code: "EPROTO" | "EMSGSIZE", message: string) {
    super(message);
    this.code = code;
  }
}

/** How the end of the body is determined. */
type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  /** The body ends with the connection. */
  | { readonly kind: "close" };

interface ResponseHead {
  readonly status: number;
  readonly framing: Framing;
  /** Whether the connection can be reused after the response. */
  readonly isPersistent: boolean;
  /** The server's idle timeout (`Keep-Alive: timeout=N`), or `null`. */
  readonly keepAliveMs: number | null;
  readonly retryAfter: string | null;
  readonly date: string | null;
  /** The head as received, without its last empty line. */
  readonly text: string;
}

// RFC 9112, section 4: the reason phrase is optional; some servers also omit the space before it.
const statusLine = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
// RFC 9112, section 5: no space before the colon, no folded lines, no control characters.
const fieldLine =
  /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)[ \t]*$/;
const decimal = /^\d{1,15}$/;

interface Fields {
  length: number | null;
  isChunked: boolean;
  connection: string;
  keepAlive: string;
  retryAfter: string | null;
  date: string | null;
}

/**
 * Parses a response head: Latin-1 text without the final empty line. Refuses what RFC 9112 (sections 4–6 and 9.3) lets
 * a client refuse, because no legitimate server sends it.
 */
function parseResponseHead(text: string): ResponseHead {
  const [first = "", ...lines] = text.split("\r\n");
  const matched = statusLine.exec(first);
  if (matched === null) throw new ResponseFault("EPROTO", "Not a status line");
  const isHttp10 = matched[1] === "0";
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
  if (fields.isChunked && (fields.length !== null || isHttp10)) {
    throw new ResponseFault("EPROTO", "Transfer-Encoding with Content-Length, or in HTTP/1.0");
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
      (!isHttp10 || options.includes("keep-alive")),
    keepAliveMs: keepAlive === undefined ? null : Number(keepAlive) * 1000,
    retryAfter: fields.retryAfter,
    date: fields.date,
    text,
  };
}

/** Returns a head's fields by lower-case name; the values of a repeated field are joined with commas. */
export function headerFields({ text }: Pick<ResponseHead, "text">): Readonly<Record<string, string>> {
  const fields = new Map<string, string>();
  for (const line of text.split("\r\n").slice(1)) {
    const [name, value] = splitField(line);
    const before = fields.get(name);
    fields.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return Object.fromEntries(fields);
}

/** Validates a header or trailer line; returns its name in lower case and its value. */
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
        throw new ResponseFault("EPROTO", "Content-Length is repeated or not a number");
      }
      fields.length = Number(value);
      break;
    case "transfer-encoding":
      if (fields.isChunked || value.toLowerCase() !== "chunked") {
        throw new ResponseFault("EPROTO", "Unsupported transfer coding");
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

export interface Response {
  readonly head: ResponseHead;
  /** The first 64 KiB of the response body. */
  readonly body: Buffer;
}

// Includes interim responses and trailers.
const headBytesMax = 16 * 1024;
/** Enough for what a recipe reads of a CRM's response. Source: DECISIONS, CRM. */
export const storedBytesMax = 64 * 1024;
// Includes the framing of chunks.
const bodyBytesMax = 1024 * 1024;
const extensionBytesMax = 4 * 1024;
// Proxies send chunks of a few kilobytes.
const chunksMax = 1024;
const chunkLineBytesMax = 1024;

const httpVersion = "HTTP/1.";
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

/** Parses the responses on a connection; call {@linkcode ResponseParser.reset} between them. */
export class ResponseParser {
  #phase: Phase = "head";
  /** The bytes of an incomplete head or line. */
  readonly #incomplete = new BodyBuffer();
  /** The number of bytes in `#incomplete` that were already searched for the end of the head or line. */
  #searched = 0;
  #head: ResponseHead | null = null;
  #headBytes = 0;
  #bodyBytes = 0;
  /** The bytes that remain of the body or chunk. */
  #left = 0;
  #chunks = 0;
  #extensionBytes = 0;
  readonly #body = new BodyBuffer();
  #hasSurplus = false;
  // Caches the last head, because a server's heads differ only in Date, which changes once per second.
  #cachedText = "";
  #cachedHead: ResponseHead | null = null;

  reset(): void {
    this.#phase = "head";
    this.#incomplete.clear();
    this.#searched = 0;
    this.#head = null;
    this.#headBytes = 0;
    this.#bodyBytes = 0;
    this.#left = 0;
    this.#chunks = 0;
    this.#extensionBytes = 0;
    this.#body.clear();
    this.#hasSurplus = false;
  }

  /** `null` until the final head is complete. */
  get status(): number | null {
    return this.#head?.status ?? null;
  }

  /** The part of the response that has arrived; `null` until its head is complete. */
  get partial(): Response | null {
    return this.#head === null ? null : { head: this.#head, body: this.#body.bytes };
  }

  get hasSurplus(): boolean {
    return this.#hasSurplus;
  }

  /** The response, once {@linkcode ResponseParser.push} or {@linkcode ResponseParser.end} returns true. */
  get response(): Response {
    return { head: this.#head as ResponseHead, body: this.#body.bytes };
  }

  /**
   * Parses the next bytes, which must not change afterwards. Returns whether the response is complete; throws a
   * `ResponseFault` if it is malformed or too long.
   */
  push(chunk: Buffer): boolean {
    this.#incomplete.append(chunk);
    let rest = this.#incomplete.bytes;
    while (rest.length > 0 && this.#phase !== "done") {
      const consumed = this.#parse(rest);
      if (consumed === 0) {
        this.#searched = rest.length;
        if (rest.length < this.#incomplete.length) {
          this.#incomplete.clear();
          this.#incomplete.append(rest);
        }
        return false;
      }
      this.#searched = 0;
      rest = rest.subarray(consumed);
    }
    this.#incomplete.clear();
    this.#hasSurplus ||= rest.length > 0;
    return this.#phase === "done";
  }

  /** Handles the end of the input; returns whether the response is complete. */
  end(): boolean {
    if (this.#phase === "close") this.#phase = "done";
    return this.#phase === "done";
  }

  /** Returns the number of parsed bytes; 0 if more bytes are needed. */
  #parse(data: Buffer): number {
    switch (this.#phase) {
      case "head":
        return this.#parseHead(data);
      case "length":
      case "close":
      case "chunk_data":
        return this.#parseBody(data);
      default:
        return this.#parseLine(data);
    }
  }

  #parseHead(data: Buffer): number {
    const end = this.#find(headEnd, data);
    const bytes = end === -1 ? data.length + 1 : end + headEnd.length;
    if (this.#headBytes + bytes > headBytesMax) throw new ResponseFault("EPROTO", "The head is too long");
    if (end === -1) {
      // Otherwise, garbage without an empty line would only end with the request's timeout.
      const start = data.toString("latin1", 0, httpVersion.length);
      if (start !== httpVersion.slice(0, start.length)) throw new ResponseFault("EPROTO", "Not HTTP/1.x");
      refuseBareLineFeed(data, this.#searched);
      return 0;
    }
    this.#headBytes += bytes;
    const head = this.#headOf(data.toString("latin1", 0, end));
    if (head.status === 101) throw new ResponseFault("EPROTO", "101 without an Upgrade");
    if (head.status >= 200) this.#startBody(head);
    return bytes;
  }

  /** Finds `end`, which may start within the bytes that were already searched. */
  #find(end: Buffer, data: Buffer): number {
    return data.indexOf(end, Math.max(0, this.#searched - end.length + 1));
  }

  #headOf(text: string): ResponseHead {
    if (text === this.#cachedText && this.#cachedHead !== null) return this.#cachedHead;
    const head = parseResponseHead(text);
    this.#cachedText = text;
    this.#cachedHead = head;
    return head;
  }

  #startBody(head: ResponseHead): void {
    const { framing } = head;
    this.#head = head;
    this.#left = Infinity;
    if (framing.kind === "length") this.#setLength(framing.bytes);
    if (framing.kind === "chunked") this.#phase = "chunk_size";
    else this.#phase = framing.kind === "none" || this.#left === 0 ? "done" : framing.kind;
  }

  #setLength(bytes: number): void {
    if (this.#bodyBytes + bytes > bodyBytesMax) throw new ResponseFault("EMSGSIZE", "The body is too long");
    this.#left = bytes;
  }

  #count(bytes: number): void {
    this.#bodyBytes += bytes;
    if (this.#bodyBytes > bodyBytesMax) throw new ResponseFault("EMSGSIZE", "The body is too long");
  }

  #parseBody(data: Buffer): number {
    const consumed = Math.min(data.length, this.#left);
    this.#count(consumed);
    const stored = Math.min(consumed, storedBytesMax - this.#body.length);
    if (stored > 0) this.#body.append(data.subarray(0, stored));
    this.#left -= consumed;
    if (this.#left === 0) this.#phase = this.#phase === "chunk_data" ? "chunk_end" : "done";
    return consumed;
  }

  #parseLine(data: Buffer): number {
    if (this.#phase === "chunk_end" && (data[0] !== 13 || (data.length > 1 && data[1] !== 10))) {
      throw new ResponseFault("EPROTO", "A chunk is longer than its size");
    }
    const end = this.#find(lineEnd, data);
    const bytesMax = this.#phase === "trailer" ? headBytesMax - this.#headBytes : chunkLineBytesMax;
    const bytes = end === -1 ? data.length + 1 : end + lineEnd.length;
    if (bytes > bytesMax) throw new ResponseFault("EPROTO", "A line in a chunked body is too long");
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
      throw new ResponseFault("EMSGSIZE", "The body has too many chunks or too long extensions");
    }
    this.#setLength(parseInt(size, 16));
    this.#phase = this.#left === 0 ? "trailer" : "chunk_data";
  }
}

// The parser waits for CRLF, so a bare LF would only end with the request's timeout.
function refuseBareLineFeed(data: Buffer, from: number): void {
  for (let at = data.indexOf(10, from); at !== -1; at = data.indexOf(10, at + 1)) {
    if (data[at - 1] !== 13) throw new ResponseFault("EPROTO", "A line ends with LF alone");
  }
}
