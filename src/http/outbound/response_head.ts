/**
 * The head of an HTTP/1.x response: status line and header fields, read strictly.
 *
 * @module
 */

/** What is wrong with a response; `code` is `EPROTO` (malformed) or `EMSGSIZE` (longer than what is read). */
export class ResponseFault extends Error {
  readonly code: "EPROTO" | "EMSGSIZE";

  constructor(code: "EPROTO" | "EMSGSIZE", message: string) {
    super(message);
    this.code = code;
  }
}

/** How the end of the body is known. */
export type Framing =
  | { readonly kind: "none" }
  | { readonly kind: "length"; readonly bytes: number }
  | { readonly kind: "chunked" }
  /** It ends with the connection. */
  | { readonly kind: "close" };

/** What the client needs of a head. */
export interface ResponseHead {
  readonly status: number;
  readonly framing: Framing;
  /** The server will take another request on this connection. */
  readonly isPersistent: boolean;
  /** How long the server keeps an idle connection (`Keep-Alive: timeout=N`), or `null` when it does not say. */
  readonly keepAliveMs: number | null;
  readonly retryAfter: string | null;
  /** By the server's own clock. */
  readonly date: string | null;
}

// RFC 9112, 4: the reason is optional, and so is the space before it in practice.
const statusLine = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/;
// RFC 9112, 5: no space before the colon, no folded lines, no control characters.
const fieldLine =
  /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)[ \t]*$/;
const decimal = /^\d{1,15}$/;

/** The fields that decide something, as they add up over the lines of a head. */
interface Fields {
  length: number | null;
  isChunked: boolean;
  connection: string;
  keepAlive: string;
  retryAfter: string | null;
  date: string | null;
}

/**
 * Reads a head, given as Latin-1 text without the empty line at its end.
 *
 * Chosen: what RFC 9112 lets a client refuse is refused (a repeated Content-Length even when both agree, a transfer
 * coding other than `chunked`), because no server that is meant to be asked sends it: it is a fault, or somebody else.
 *
 * Source: RFC 9112, 4–6 and 9.3.
 *
 * @throws {ResponseFault} `EPROTO`
 */
export function parseResponseHead(text: string): ResponseHead {
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
 * Checks one line of a head or a trailer and returns the field's name in lower case and its value.
 *
 * @throws {ResponseFault} `EPROTO`
 */
export function splitField(line: string): readonly [name: string, value: string] {
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
