/**
 * How attackers connect: from addresses of their own on the loopback, many at once, or over and over.
 *
 * @module
 */

import http from "node:http";
import https from "node:https";
import net, { type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Traffic } from "./attack_traffic.ts";
import { preface } from "./http2_frames.ts";

/** Waits. */
export const pause = (ms: number) => new Promise<void>((settle) => setTimeout(settle, ms));

/** Address `index` of 127.x: each is another client. */
export const address = (index: number, net = 3) => `127.${net}.${Math.floor(index / 250)}.${1 + index % 250}`;

/** Opens a connection, over TLS when the surface speaks it. */
export function open(
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
export async function openMany(
  count: number,
  untilMs: number,
  one: (index: number) => Promise<unknown>,
): Promise<void> {
  for (
    let begun = 0;
    begun < count && performance.now() < untilMs;
    begun += 50
  ) {
    await Promise.all(
      Array.from(
        { length: Math.min(50, count - begun) },
        (_, index) => one(begun + index),
      ),
    );
  }
}

/** Waits until then. */
export async function stay(untilMs: number): Promise<void> {
  await pause(Math.max(0, untilMs - performance.now()));
}

/** Posts or gets over and over: `lanes` requests at once. */
export async function ask(
  traffic: Traffic,
  { untilMs, lanes, perSecond, request }: {
    untilMs: number;
    lanes: number;
    perSecond: number;
    request: (
      lane: number,
      number: number,
    ) => {
      url: string;
      from: string;
      body?: string;
      headers?: Record<string, string>;
    };
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
        kept = {
          from,
          agent: new library.Agent({ keepAlive: true, maxSockets: 1 }),
        };
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

/** Writes frames to four HTTP/2 connections as fast as they are taken, and opens another for each that is closed. */
export async function onFour(
  url: string,
  traffic: Traffic,
  untilMs: number,
  frames: (round: number) => Buffer,
): Promise<void> {
  await Promise.all(Array.from({ length: 4 }, async (_, index) => {
    while (performance.now() < untilMs) {
      const socket = await open(traffic, url, {
        from: address(index),
        alpn: "h2",
      });
      socket.resume();
      if (socket.writable) socket.write(preface(65_535));
      for (
        let round = 0;
        socket.writable && performance.now() < untilMs;
        round += 1
      ) {
        if (socket.write(frames(round))) await pause(0);
        else {await Promise.race([
            new Promise((settle) => socket.once("drain", settle)),
            pause(200),
          ]);}
      }
      socket.destroy();
      await pause(50);
    }
  }));
}
