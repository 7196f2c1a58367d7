/**
 * Reads requests out of the bytes of a connection, as they came.
 *
 * @module
 */

/** A request as it stood on the wire. */
export interface Seen {
  readonly connection: number;
  readonly atMs: number;
  readonly method: string;
  readonly target: string;
  /** Names in lower case, in their order. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

/** A header's value; `null` when it is missing, all of them when there are several. */
export function header(request: Pick<Seen, "headers">, name: string): string | null {
  const values = request.headers.filter(([own]) => own === name).map(([, value]) => value);
  return values.length === 0 ? null : values.join(", ");
}

/**
 * Takes the first whole request from the bytes: what it is, and how many bytes it has. `null` when it is not whole yet.
 *
 * @throws {Error} for what is no HTTP/1.1 request
 */
export function takeRequest(
  bytes: Buffer,
): { request: Omit<Seen, "connection" | "atMs">; length: number } | null {
  const end = bytes.indexOf("\r\n\r\n");
  if (end === -1) return null;
  const [line = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const [method = "", target = "", version] = line.split(" ");
  if (version !== "HTTP/1.1") throw new Error("not a request of HTTP/1.1");
  const headers = lines.map((text) => {
    const colon = text.indexOf(":");
    return [text.slice(0, colon).toLowerCase(), text.slice(colon + 1).replace(/^ /, "")] as const;
  });
  const start = end + 4;
  const request = { method, target, headers };
  if (header(request, "transfer-encoding") !== null) {
    const chunks = takeChunks(bytes, start);
    return chunks && { request: { ...request, body: chunks.body }, length: chunks.end };
  }
  const length = Number(header(request, "content-length") ?? 0);
  if (bytes.length < start + length) return null;
  return { request: { ...request, body: bytes.subarray(start, start + length) }, length: start + length };
}

function takeChunks(bytes: Buffer, start: number): { body: Buffer; end: number } | null {
  const parts: Buffer[] = [];
  for (let at = start;;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd === -1) return null;
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    const next = lineEnd + 2 + size + 2;
    if (bytes.length < next) return null;
    if (size === 0) return { body: Buffer.concat(parts), end: next };
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = next;
  }
}
