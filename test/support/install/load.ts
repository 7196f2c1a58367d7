/**
 * Posts leads at a constant rate and counts the outcomes. Its argument is {@linkcode Options} as JSON. It runs on
 * the machine that is upgraded, ends at SIGTERM, and prints {@linkcode Counts}.
 *
 * Some leads use a new connection each, the others kept ones with HTTP/1.1 or HTTP/2. Nothing is sent twice except
 * streams that HTTP/2 has refused, which every client may repeat (RFC 9113, 8.7).
 */

import http2 from "node:http2";
import https from "node:https";
import process from "node:process";
import { performance } from "node:perf_hooks";

/** The options of the load. */
export interface Options {
  readonly url: string;
  readonly key: string;
  /** The trusted certificate, PEM. */
  readonly ca: string;
  readonly perSecond: number;
  readonly name: string;
  readonly address: string;
}

/** The outcomes of the load. */
export interface Counts {
  readonly sent: number;
  /** The number of refused streams that were repeated. */
  readonly again: number;
  /** By status, or by the error's code and the kind of connection. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly longestMs: number;
}

type Way = "new" | "kept" | "h2";
// One lead in twenty opens a connection: a handshake costs as much as many leads, for the client too.
const ways: readonly Way[] = Array.from(
  { length: 20 },
  (_, index) => index === 0 ? "new" : index % 2 === 0 ? "h2" : "kept",
);

const tickMs = 10;
const answerMs = 30_000;

const options = JSON.parse(process.argv[2] ?? "{}") as Options;
const { hostname, port } = new URL(options.url);
const tls = { ca: options.ca, servername: hostname, host: options.address, port: Number(port || 443) };
const kept = new https.Agent({ ...tls, keepAlive: true, maxSockets: 32 });
const outcomes: Record<string, number> = {};
const latencies: number[] = [];
let sent = 0;
let again = 0;
let open = 0;
let session: http2.ClientHttp2Session | null = null;

function post(way: Way): void {
  const beganMs = performance.now();
  const number = sent;
  sent += 1;
  open += 1;
  let isDone = false;
  const done = (outcome: string) => {
    if (isDone) return;
    isDone = true;
    open -= 1;
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    latencies.push(performance.now() - beganMs);
  };
  const fail = (error: NodeJS.ErrnoException) => done(`${way} ${error.code ?? error.message}`);
  const body = JSON.stringify({
    first_name: "Ada",
    last_name: "Lovelace",
    phone: `555123${String(number % 10_000).padStart(4, "0")}`,
  });
  const headers = {
    "content-type": "application/json",
    "x-api-key": options.key,
    "idempotency-key": `${options.name}:${number}`,
  };
  if (way === "h2") return postOverHttp2(headers, { body, done, isAgain: false });
  const request = https.request({
    ...tls,
    method: "POST",
    path: "/v1/intake",
    agent: way === "kept" ? kept : false,
    headers: { ...headers, host: hostname, "content-length": Buffer.byteLength(body) },
    timeout: answerMs,
  }, (response) => {
    response.on("error", fail).on("end", () => done(String(response.statusCode))).resume();
  });
  request.on("error", fail).on("timeout", () => request.destroy(new Error("no answer"))).end(body);
}

function postOverHttp2(
  headers: Record<string, string>,
  lead: { readonly body: string; readonly done: (outcome: string) => void; readonly isAgain: boolean },
): void {
  if (session === null || session.closed || session.destroyed) {
    const fresh = http2.connect(`https://${hostname}:${tls.port}`, tls);
    fresh.on("error", () => {}).on("goaway", () => fresh.close()).on("close", () => {
      if (session === fresh) session = null;
    });
    session = fresh;
  }
  const stream = session.request({
    ":method": "POST",
    ":path": "/v1/intake",
    ":authority": hostname,
    ...headers,
  });
  let status = "no answer";
  stream.setTimeout(answerMs, () => stream.close());
  stream.on("response", ({ ":status": code }) => status = String(code)).on("error", (error) => {
    const kind = /NGHTTP2_\w+/.exec(error.message)?.[0] ?? error.message;
    if (kind !== "NGHTTP2_REFUSED_STREAM" || lead.isAgain) return lead.done(`h2 ${kind}`);
    again += 1;
    session = null;
    postOverHttp2(headers, { ...lead, isAgain: true });
  });
  stream.on("end", () => lead.done(status === "no answer" ? "h2 no answer" : status)).resume();
  stream.end(lead.body);
}

const beganMs = performance.now();
const timer = setInterval(() => {
  const due = Math.floor((performance.now() - beganMs) / 1_000 * options.perSecond);
  while (sent < due) post(ways[sent % ways.length] as Way);
}, tickMs);

process.once("SIGTERM", () => {
  clearInterval(timer);
  const over = setInterval(() => {
    if (open > 0) return;
    clearInterval(over);
    latencies.sort((one, other) => one - other);
    const at = (share: number) =>
      Math.round((latencies[Math.floor(latencies.length * share)] ?? 0) * 10) / 10;
    const counts: Counts = {
      sent,
      again,
      outcomes,
      p50Ms: at(0.5),
      p99Ms: at(0.99),
      longestMs: at(0.999_999),
    };
    console.log(JSON.stringify(counts));
    process.exit();
  }, tickMs);
});
console.log("begun");
