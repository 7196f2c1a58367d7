/**
 * How attackers connect: from addresses of their own on the loopback, many at once, or over and over.
 *
 * @module
 */

import http from "node:http";
import https from "node:https";
import net, { type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { connect as connectTls } from "node:tls";
import type { Attacker, AttackKind } from "./attack.ts";
import { preface } from "./http2_frames.ts";

/** Address `index` of 127.3: each is another client. */
export const address = (index: number) => `127.3.${Math.floor(index / 250)}.${1 + index % 250}`;

/** Waits until then. */
const stay = (untilMs: number) => delay(Math.max(0, untilMs - performance.now()));

/** How a connection is opened: by default from the first address, over TLS when the surface speaks it. */
interface OpenOptions {
  readonly from?: string;
  readonly isHttp2?: boolean;
  /** Without a TLS handshake. */
  readonly isBare?: boolean;
}

/** Opens a connection to the intake; it may be closed again when it comes back. */
function open(
  { task, traffic }: Attacker,
  { from = address(0), isHttp2, isBare }: OpenOptions,
): Promise<Socket> {
  const { protocol, hostname: host, port } = new URL(task.urls.intake as string);
  const options = { host, port: Number(port), localAddress: from };
  const isTls = protocol === "https:" && isBare !== true;
  const tls = {
    rejectUnauthorized: false,
    servername: "localhost",
    ...(isHttp2 ? { ALPNProtocols: ["h2"] } : {}),
  };
  const socket = traffic.watch(isTls ? connectTls({ ...options, ...tls }) : net.connect(options));
  return new Promise((settle) => {
    for (const event of [isTls ? "secureConnect" : "connect", "close"]) {
      socket.once(event, () => settle(socket));
    }
  });
}

/**
 * An attack by `count` connections to the intake, opened fifty at a time from an address for each two hundred, and held:
 * `use` does what is wrong with each, and `eachSecond` goes on with it.
 */
export function crowd(
  count: number,
  { isFromOne = false, ...options }: OpenOptions & { readonly isFromOne?: boolean },
  use: (socket: Socket, host: string, attacker: Attacker) => void,
  eachSecond?: (socket: Socket) => void,
): AttackKind["run"] {
  return async (attacker) => {
    const { task, untilMs } = attacker;
    const { host } = new URL(task.urls.intake as string);
    const sockets: Socket[] = [];
    const one = async (index: number) => {
      const socket = await open(attacker, {
        ...options,
        from: address(isFromOne ? 0 : Math.floor(index / 200)),
      });
      sockets.push(socket);
      if (socket.writable) use(socket, host, attacker);
    };
    for (let begun = 0; begun < count && performance.now() < untilMs; begun += 50) {
      await Promise.all(
        Array.from({ length: Math.min(50, count - begun) }, (_, index) => one(begun + index)),
      );
    }
    while (eachSecond !== undefined && performance.now() < untilMs) {
      await delay(1_000);
      for (const socket of sockets) if (socket.writable) eachSecond(socket);
    }
    await stay(untilMs);
  };
}

/**
 * An attack by frames that are written to four HTTP/2 connections as fast as they are taken; another is opened for each
 * that is closed.
 */
export function onFour(
  frames: (host: string, round: number) => Buffer,
  requestsEach: number,
): AttackKind["run"] {
  return async (attacker) => {
    const { task, traffic, untilMs } = attacker;
    const { host } = new URL(task.urls.intake as string);
    await Promise.all([0, 1, 2, 3].map(async (index) => {
      while (performance.now() < untilMs) {
        const socket = await open(attacker, { from: address(index), isHttp2: true });
        socket.resume();
        if (socket.writable) socket.write(preface(65_535));
        for (let round = 0; socket.writable && performance.now() < untilMs; round += 1) {
          traffic.requests += requestsEach;
          if (socket.write(frames(host, round))) await delay(0);
          else await Promise.race([new Promise((settle) => socket.once("drain", settle)), delay(200)]);
        }
        socket.destroy();
        await delay(50);
      }
    }));
  };
}

/** A request, and who sends it. */
interface Asked {
  readonly url: string;
  readonly from: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An attack by requests, over and over: `lanes` at once. */
export function ask(
  { lanes, perSecond }: { lanes: number; perSecond: number },
  request: (attacker: Attacker, lane: number, number: number) => Asked,
): AttackKind["run"] {
  return async (attacker) => {
    const { traffic, untilMs } = attacker;
    const gapMs = 1_000 / perSecond * lanes;
    await Promise.all(Array.from({ length: lanes }, async (_, lane) => {
      let kept = { from: "", agent: new http.Agent() };
      let dueMs = performance.now() + gapMs * lane / lanes;
      for (let number = 0; performance.now() < untilMs; number += 1) {
        await stay(Math.min(dueMs, untilMs));
        dueMs = Math.max(dueMs + gapMs, performance.now() - 1_000);
        const asked = request(attacker, lane, number);
        if (kept.from !== asked.from) {
          kept.agent.destroy();
          const { Agent } = asked.url.startsWith("https:") ? https : http;
          kept = { from: asked.from, agent: new Agent({ keepAlive: true, maxSockets: 1 }) };
        }
        traffic.requests += 1;
        traffic.answered(await send(attacker, asked, kept.agent));
      }
    }));
  };
}

/** The status of the answer, or what came instead. */
function send({ traffic }: Attacker, { url, from, body, headers = {} }: Asked, agent: http.Agent) {
  const options: https.RequestOptions = {
    method: body === undefined ? "GET" : "POST",
    localAddress: from,
    agent,
    headers: body === undefined ? headers : { ...headers, "Content-Type": "application/json" },
    rejectUnauthorized: false,
  };
  return new Promise<number | string>((settle) => {
    const sent = (url.startsWith("https:") ? https : http).request(url, options, (response) => {
      response.resume().on("close", () => settle(response.statusCode ?? 0));
    });
    sent.once("socket", (socket) => traffic.watch(socket));
    sent.on("error", (error: NodeJS.ErrnoException) => settle(error.code ?? "error"));
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
