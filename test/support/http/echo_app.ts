/**
 * The service behind the tests of the server kit. Node imports it; Deno runs it as a program with settings as JSON
 * in the first argument and one line of JSON per event on standard output.
 */

import type { Exchange, Reply } from "#src/http/exchange.ts";
import { parseNetworks } from "#src/http/addresses.ts";
import type { Access, HttpObservation, Listener, Surface } from "#src/http/options.ts";
import type { Bounds } from "#src/http/node/defenses/bounds.ts";
import { json, text } from "#src/http/reply.ts";
import { type Sink, Source } from "#src/http/source.ts";
import type { TlsPaths } from "#src/http/tls_files.ts";
import { Router } from "#src/http/router.ts";
import { listen } from "#src/http/node/listen.ts";
import { staticFiles } from "#src/http/static/static_file.ts";

/** The settings that a test may change. */
export interface Settings {
  readonly tls?: TlsPaths;
  readonly bounds?: Partial<Bounds>;
  readonly bodyBytesMax?: number;
  readonly trustedProxies?: string;
  readonly connectionsPerAddress?: number;
  /** The hosts of surface "one"; if set, there is a surface "two" at two.test. */
  readonly hosts?: readonly string[];
  /** Serves only the files of this folder. */
  readonly folder?: string;
  /** The grace period of a separate process, in milliseconds; default: a second. */
  readonly graceMs?: number;
  /** The hooks that throw; the observer by observation. */
  readonly throwing?: readonly ("generate" | "refuse" | HttpObservation["kind"])[];
}

/** An event that the app reports. */
export type AppEvent =
  | { readonly event: "access"; readonly access: Access }
  | { readonly event: "fault"; readonly message: string; readonly requestId: string | null }
  | {
    readonly event: Exclude<HttpObservation["kind"], "request" | "fault"> | "began" | "cancelled" | "closing";
  };

/** As long as the published documents; every request shares it. */
const document = new Uint8Array(40_000).fill(120);

/** The longest turn of a separate process's event loop since the last request for it, in processor time. */
let longestTurnMs = 0;

/** Starts the app on a free port of 127.0.0.1. */
export function startEcho(settings: Settings, report: (event: AppEvent) => void): Promise<Listener> {
  const { folder } = settings;
  const routed = folder === undefined
    ? routes(settings, report)
    : router().get("/*", staticFiles({ folder }));
  const one = surface("one", settings.hosts ?? [], routed);
  const two = surface("two", ["two.test"], router().get("/name", () => text(200, "two")));
  let made = 0;
  const hook = (name: string): void => {
    if (settings.throwing?.some((throwing) => throwing === name)) throw new Error(`thrown by ${name}`);
  };
  return listen({
    address: { host: "127.0.0.1", port: 0 },
    surfaces: settings.hosts === undefined ? [one] : [one, two],
    tls: settings.tls ?? null,
    connectionsPerAddress: settings.connectionsPerAddress ?? null,
    trustedProxies: parseNetworks(settings.trustedProxies ?? ""),
    requestId: {
      lengthMax: 64,
      refused: /secret_[a-z]{8}/,
      generate: () => {
        hook("generate");
        return `made-${++made}`;
      },
    },
    refuse: (status, requestId) => {
      hook("refuse");
      return json(status, { refused: status, request_id: requestId });
    },
    observe: (observation) => {
      hook(observation.kind);
      report(eventOf(observation));
    },
    bounds: { sweepIntervalMs: 20, ...settings.bounds },
  });
}

function eventOf(observation: HttpObservation): AppEvent {
  switch (observation.kind) {
    case "request": {
      const { kind: _, ...access } = observation;
      return { event: "access", access };
    }
    case "fault": {
      const { error, exchange } = observation;
      return { event: "fault", message: String(error), requestId: exchange?.requestId ?? null };
    }
    default:
      return { event: observation.kind };
  }
}

function surface(name: string, hosts: readonly string[], router: Router): Surface {
  return {
    name,
    hosts,
    router,
    fault: (exchange) => json(503, { fault: true, request_id: exchange.requestId }),
  };
}

function router(): Router {
  return new Router({
    notFound: (exchange) => json(404, { error: "not_found", request_id: exchange.requestId }),
    methodNotAllowed: () => json(405, { error: "method_not_allowed" }),
  });
}

function routes(settings: Settings, report: (event: AppEvent) => void): Router {
  const bodyBytesMax = settings.bodyBytesMax ?? 1024;
  let release: () => void = () => {};
  return router()
    .get("/name", () => text(200, "one"))
    .get("/turn", () => {
      const turn = text(200, String(longestTurnMs));
      longestTurnMs = 0;
      return turn;
    })
    .get("/seen", (exchange) => json(200, seen(exchange)))
    .get("/items/{item}", (exchange) => json(200, exchange.params))
    .get("/files/*", (exchange) => text(200, exchange.path))
    .any("/echo", async (exchange) => {
      if (exchange.requestId === "gone") report({ event: "began" });
      const body = await exchange.readBody(bodyBytesMax);
      if (body.kind === "complete") {
        return { status: 202, headers: { "Cache-Control": "no-store" }, body: body.bytes };
      }
      return json(body.kind === "too_large" ? 413 : 503, { error: body.kind });
    })
    .post("/twice", async (exchange) => {
      await exchange.readBody(bodyBytesMax);
      await exchange.readBody(bodyBytesMax);
      return text(200, "");
    })
    .post("/unread", () => json(429, { error: "unread" }))
    .get("/throw", () => {
      throw new Error("thrown by the handler");
    })
    .get("/bad-header", () => json(200, {}, { "X-Bad": "a\r\nb" }))
    .get("/document", () => ({ status: 200, headers: {}, body: document }))
    .get("/latin1", () => text(200, "\u00e9", { "X-Name": "\u00e9" }))
    .get("/empty", () => ({ status: 204, headers: {}, body: null }))
    .get("/never", (exchange) => {
      if (exchange.requestId === "gone") report({ event: "began" });
      return new Promise<Reply>(() => {});
    })
    .get("/held", () => {
      report({ event: "began" });
      return new Promise<Reply>((resolve) => release = () => resolve(text(200, "held")));
    })
    .post("/release", () => {
      release();
      return text(200, "released");
    })
    .get("/stream", (exchange) => ({
      status: 200,
      headers: {},
      body: new CountingSource(Number(exchange.query), () => report({ event: "cancelled" })),
    }));
}

function seen(exchange: Exchange): unknown {
  exchange.keyId = "key-1";
  const { method, path, query, requestId, clientAddress } = exchange;
  return { method, path, query, requestId, clientAddress, twice: exchange.header("x-twice") ?? null };
}

/** Sends `chunks` chunks of 64 KiB; NaN: a source that hangs. */
class CountingSource extends Source {
  readonly #chunks: number;
  readonly #onCancel: () => void;
  #sent = 0;
  #hasEnded = false;

  constructor(chunks: number, onCancel: () => void) {
    super();
    this.#chunks = chunks;
    this.#onCancel = onCancel;
  }

  next(sink: Sink): void {
    if (Number.isNaN(this.#chunks)) return;
    if (this.#sent++ < this.#chunks) return sink.chunk(new Uint8Array(65_536).fill(this.#sent));
    this.#hasEnded = true;
    sink.end();
  }

  cancel(): void {
    if (!this.#hasEnded) this.#onCancel();
    this.#hasEnded = true;
  }
}

if (import.meta.main) {
  const print = (value: unknown) => console.log(JSON.stringify(value));
  const settings = JSON.parse(process.argv[2] ?? "{}") as Settings;
  const listener = await startEcho(settings, print);
  print({ event: "listening", port: listener.port });
  let used = process.cpuUsage();
  setInterval(() => {
    const { user, system } = process.cpuUsage(used);
    longestTurnMs = Math.max(longestTurnMs, (user + system) / 1_000);
    used = process.cpuUsage();
  }, 10);
  process.on("SIGTERM", async () => {
    const closed = listener.close(settings.graceMs ?? 1_000);
    print({ event: "closing" });
    await closed;
    process.exit(0);
  });
}
