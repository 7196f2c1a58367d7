/** Bytes on a socket, for what no HTTP client would send. */

import { connect } from "node:net";
import { assertDocumented } from "../contract/contract.ts";

/** An answer as it came. */
export interface RawAnswer {
  readonly status: number;
  /** Lower-case names; a name that came twice has two values. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /** Header lines, one character per byte. */
  readonly head: string;
  readonly body: string;
}

/** Sends bytes (text is one character per byte) and reads one answer; then the connection is closed. */
export function exchangeRaw(
  url: string,
  bytes: string | Uint8Array,
  options: { readonly localAddress?: string; readonly timeoutMs?: number; readonly isOfIntake?: boolean } =
    {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((settle, reject) => {
    const socket = connect({ host: hostname, port: Number(port), localAddress: options.localAddress });
    socket.setTimeout(options.timeoutMs ?? 10_000, () => socket.destroy(new Error("no answer in time")));
    let received = "";
    const finish = (answer: RawAnswer | null) => {
      if (answer === null) return;
      socket.destroy();
      try {
        if (options.isOfIntake ?? true) checkContract(bytes, answer);
        settle(answer);
      } catch (error) {
        reject(error);
      }
    };
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      received += text;
      finish(parse(received));
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`closed without an answer: ${JSON.stringify(received)}`)));
    socket.write(typeof bytes === "string" ? bytes : new Uint8Array(bytes), "latin1");
  });
}

/** Holds the answer to the OpenAPI document, as far as the request was one. */
function checkContract(bytes: string | Uint8Array, { status, headers, body }: RawAnswer): void {
  const sent = typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("latin1");
  const [, method = "-", target] = /^(\S+) (?:https?:\/\/[^/ ]*)?(\/\S*) HTTP\/1\.[01]\r\n/.exec(sent) ?? [];
  assertDocumented({
    method,
    path: target ?? null,
    status,
    headers: Object.fromEntries(headers),
    text: body,
  });
}

function parse(received: string): RawAnswer | null {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const [statusLine = "", ...lines] = received.slice(0, end).split("\r\n");
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    headers.set(name, [...headers.get(name) ?? [], line.slice(colon + 1).trim()]);
  }
  const status = Number(statusLine.split(" ")[1]);
  // 100 Continue comes before the answer.
  if (status < 200) return parse(received.slice(end + 4));
  const length = Number(headers.get("content-length")?.[0] ?? 0);
  const body = received.slice(end + 4);
  if (body.length < length) return null;
  return { status, headers, head: received.slice(0, end), body: body.slice(0, length) };
}
