/**
 * Where accepted sockets wait for their TLS handshake: each costs half a millisecond, and thousands may come at once.
 *
 * @module
 */

import type { Socket } from "node:net";

/**
 * Handshakes that begin in a turn of the event loop. Chosen: 2, because a turn then is about a millisecond long however
 * many clients come at once, and what is under way goes on between them; with 50 at once, each with 100 requests over
 * HTTP/2, a turn took 150 ms.
 */
const perTurn = 2;

/**
 * What an address is known for, and the milliseconds between two handshakes of all addresses like it. `few`: it has no
 * more connections open than partners keep. `many`: it has, and 100 a second, a twentieth of a processor, are enough for
 * offices and load tests. `expelled`: a connection of it was ended because it cost too much; opening the next one pays
 * for that one.
 */
const gapsMs = { few: 0, many: 10, expelled: 500 };

/** What an address is known for. */
export type Standing = keyof typeof gapsMs;

/** The sockets of one standing. */
class Line {
  readonly sockets = new Set<Socket>();
  readonly #gapMs: number;
  #begunMs = -Infinity;

  constructor(gapMs: number) {
    this.#gapMs = gapMs;
  }

  /** How long the first of them still has to wait; `null` when there is none. */
  waitMs(nowMs: number): number | null {
    return this.sockets.size === 0 ? null : Math.max(0, this.#begunMs + this.#gapMs - nowMs);
  }

  /** Takes the first one out. */
  take(nowMs: number): Socket | null {
    this.#begunMs = nowMs;
    for (const socket of this.sockets) {
      this.sockets.delete(socket);
      return socket;
    }
    return null;
  }
}

/** Begins handshakes, a few in a turn, those of addresses with few connections first. */
export class HandshakeLine {
  readonly #begin: (socket: Socket) => void;
  readonly #lines = new Map<string, Line>(Object.entries(gapsMs).map(([name, gap]) => [name, new Line(gap)]));
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isDue = false;

  constructor(begin: (socket: Socket) => void) {
    this.#begin = begin;
  }

  /** Adds a socket that nobody reads yet. How many there are at once is bounded by the listener's slots. */
  add(socket: Socket, standing: Standing): void {
    if (socket.destroyed) return;
    const { sockets } = this.#lines.get(standing) as Line;
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isDue) return;
    const waitMs = this.#first(performance.now())?.waitMs;
    if (waitMs === undefined) return;
    clearTimeout(this.#timer ?? undefined);
    this.#timer = null;
    this.#isDue = waitMs === 0;
    if (this.#isDue) setImmediate(() => this.#turn());
    else this.#timer = setTimeout(() => this.#schedule(), waitMs).unref();
  }

  #turn(): void {
    const nowMs = performance.now();
    for (let begun = 0; begun < perTurn; begun++) {
      const first = this.#first(nowMs);
      if (first?.waitMs !== 0) break;
      const socket = first.line.take(nowMs);
      // Its end may not have been told yet.
      if (socket !== null && !socket.destroyed) this.#begin(socket);
    }
    this.#isDue = false;
    this.#schedule();
  }

  /** The line that is next, and when. */
  #first(nowMs: number): { readonly line: Line; readonly waitMs: number } | null {
    let first: { readonly line: Line; readonly waitMs: number } | null = null;
    for (const line of this.#lines.values()) {
      const waitMs = line.waitMs(nowMs);
      if (waitMs !== null && waitMs < (first?.waitMs ?? Infinity)) first = { line, waitMs };
    }
    return first;
  }
}
