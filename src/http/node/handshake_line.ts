/**
 * Where accepted sockets wait for their TLS handshake: each costs half a millisecond, and thousands may come at once.
 *
 * @module
 */

import type { Socket } from "node:net";

/**
 * Handshakes that begin in a turn of the event loop. Chosen: 2, because a turn then is about a millisecond long however
 * many clients come at once, and what is under way goes on between them. Who holds back the first bytes of many, and
 * sends them together, still makes one turn as long as they take: 128 ms for the 256 of an address.
 */
const perTurn = 2;

/**
 * What an address is known for, and the milliseconds between two handshakes of all addresses like it; each address has
 * its turn. `wasteful`: a connection of it was ended because of what it sent without a request, or one of many answers that it did not take. `many`: it has more
 * connections open than partners keep; 100 a second, a twentieth of a processor, are enough for offices and load tests.
 * `few`: everybody else, whenever none of the others is due.
 */
const gapsMs = { wasteful: 500, many: 10, few: 0 };

/** What an address is known for. */
export type Standing = keyof typeof gapsMs;

/** The sockets of addresses of one standing. */
class Line {
  readonly #gapMs: number;
  /** By address; the first one is next. */
  readonly #sockets = new Map<string, Set<Socket>>();
  #readyMs = -Infinity;

  constructor(gapMs: number) {
    this.#gapMs = gapMs;
  }

  /** How long its first socket still has to wait; `null` when there is none. */
  waitMs(nowMs: number): number | null {
    return this.#sockets.size === 0 ? null : Math.max(0, this.#readyMs - nowMs);
  }

  add(key: string, socket: Socket): void {
    const sockets = this.#sockets.get(key) ?? new Set();
    this.#sockets.set(key, sockets);
    sockets.add(socket);
  }

  remove(key: string, socket: Socket): void {
    const sockets = this.#sockets.get(key);
    if (sockets?.delete(socket) && sockets.size === 0) this.#sockets.delete(key);
  }

  /** The first socket of the address whose turn it is; the next turn is another one's. */
  next(): Socket | undefined {
    for (const [key, sockets] of this.#sockets) {
      this.#sockets.delete(key);
      this.#sockets.set(key, sockets);
      return sockets.values().next().value;
    }
    return undefined;
  }

  /** A handshake of it begins. */
  begun(nowMs: number): void {
    this.#readyMs = nowMs + this.#gapMs;
  }
}

/** A socket's place. */
interface Place {
  readonly line: Line;
  readonly key: string;
  readonly sinceMs: number;
}

/** Begins handshakes, a few in a turn. Who has waited for longer than a handshake may take is closed. */
export class HandshakeLine {
  readonly #begin: (socket: Socket) => void;
  readonly #patienceMs: number;
  readonly #lines: Readonly<Record<Standing, Line>> = {
    wasteful: new Line(gapsMs.wasteful),
    many: new Line(gapsMs.many),
    few: new Line(gapsMs.few),
  };
  /** Those that wait, the oldest first. */
  readonly #places = new Map<Socket, Place>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isDue = false;

  constructor(options: { readonly patienceMs: number; readonly begin: (socket: Socket) => void }) {
    this.#patienceMs = options.patienceMs;
    this.#begin = options.begin;
  }

  /** Adds a socket that nobody reads yet. How many there are at once is bounded by the listener's slots. */
  add(socket: Socket, { key, standing }: { readonly key: string; readonly standing: Standing }): void {
    if (socket.destroyed) return;
    const line = this.#lines[standing];
    line.add(key, socket);
    this.#places.set(socket, { line, key, sinceMs: performance.now() });
    socket.once("close", () => this.#leave(socket));
    this.#schedule();
  }

  #leave(socket: Socket): void {
    const place = this.#places.get(socket);
    this.#places.delete(socket);
    place?.line.remove(place.key, socket);
  }

  #schedule(): void {
    if (this.#isDue) return;
    const nowMs = performance.now();
    const waits = Object.values(this.#lines).map((line) => line.waitMs(nowMs)).filter((wait) =>
      wait !== null
    );
    if (waits.length === 0) return;
    clearTimeout(this.#timer ?? undefined);
    this.#timer = null;
    const waitMs = Math.min(...waits);
    this.#isDue = waitMs === 0;
    if (this.#isDue) setImmediate(() => this.#turn());
    else this.#timer = setTimeout(() => this.#schedule(), waitMs).unref();
  }

  #turn(): void {
    const nowMs = performance.now();
    // A client that has given up is not seen to leave as long as nobody reads.
    for (const [socket, { sinceMs }] of this.#places) {
      if (nowMs - sinceMs < this.#patienceMs) break;
      this.#leave(socket);
      socket.destroy();
    }
    for (let begun = 0; begun < perTurn;) {
      const line = Object.values(this.#lines).find((line) => line.waitMs(nowMs) === 0);
      const socket = line?.next();
      if (line === undefined || socket === undefined) break;
      this.#leave(socket);
      if (socket.destroyed) continue;
      line.begun(nowMs);
      begun++;
      this.#begin(socket);
    }
    this.#isDue = false;
    this.#schedule();
  }
}
