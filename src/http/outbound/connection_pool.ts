/**
 * The kept-alive connections to one server: at most so many, the one that was used last first.
 *
 * Chosen: an HTTP/1.1 client of our own, because each request costs the others more. A PUT of a kilobyte over mutual
 * TLS, 64 in flight to one sink, each client a process of its own, in turns of 20,000 requests (21 on Node 24, 5 on Deno
 * 2.9.6, medians; processor time of the client's process, `npm run bench -- outbound`):
 *
 * | | Node | Deno |
 * |---|---|---|
 * | this one | 30.6 µs | 26.9 µs |
 * | undici 8.12.4, `dispatch` with a handler | 38.6 µs | 45.8 µs |
 * | undici 8.12.4, `request` and `text()` | 50.6 µs | 68.7 µs |
 * | node:https with an agent | 63.3 µs | 55.6 µs |
 *
 * @module
 */

import type { OnReadOpts, Socket } from "node:net";
import { Deadlines, type Timed } from "../deadlines.ts";
import {
  type Answer,
  type Beginning,
  ClientConnection,
  codeOf,
  type Failed,
  type Stage,
} from "./client_connection.ts";

/** How the pool works. */
export interface PoolOptions extends Beginning {
  /** Begins to connect, with this option of the socket or without it; may throw, which fails the request that needs it. */
  readonly connect: (onread: OnReadOpts) => Socket;
  readonly connectionsMax: number;
  /** From the request's start, its wait for a connection included, to the end of its answer. */
  readonly timeoutMs: number;
}

interface Pending extends Timed {
  readonly request: string;
  readonly settle: (answer: Answer) => void;
  connection: ClientConnection | null;
}

/** Sends requests over its connections; those that find none free wait in their order. */
export class ConnectionPool {
  readonly #options: PoolOptions;
  readonly #open = new Set<ClientConnection>();
  readonly #idle: ClientConnection[] = [];
  // Bounded by whoever sends.
  readonly #waiting: Pending[] = [];
  /** All that have no answer yet. */
  readonly #pending: Deadlines<Pending>;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#pending = new Deadlines(options.timeoutMs);
  }

  /** Sends one request, head and body in one text, exactly once or not at all, and calls `settle` once; never throws. */
  send(request: string, settle: (answer: Answer) => void): void {
    const pending: Pending = { request, settle, connection: null, deadline: null };
    this.#pending.add(pending, performance.now());
    this.#timer ??= setTimeout(() => this.#cutLate(), this.#pending.boundMs);
    this.#start(pending);
  }

  // A function of its own in each of them, which had it in turn, would be kept by V8 until old objects are collected.
  #settle(pending: Pending, answer: Answer): void {
    this.#pending.remove(pending);
    if (this.#pending.firstAtMs === null) this.#forgetTimer();
    pending.settle(answer);
  }

  // One timer for all: one for each request cost more than its parsing.
  #cutLate(): void {
    this.#forgetTimer();
    // A timer may fire early.
    const nowMs = performance.now() + 1;
    this.#pending.sweep(nowMs, (pending) => this.#cut(pending, "ETIMEDOUT"));
    const { firstAtMs } = this.#pending;
    if (firstAtMs !== null) this.#timer ??= setTimeout(() => this.#cutLate(), firstAtMs - nowMs);
  }

  #forgetTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /**
   * Opens a connection beyond those that there are, which the next request takes: `null`, or why there is none. Sends
   * nothing; never rejects.
   */
  open(timeoutMs: number): Promise<Failed | null> {
    return new Promise((resolve) => {
      const settle = (failed: Failed | null) => {
        clearTimeout(timer);
        resolve(failed);
      };
      const failed = (reason: string): Failed => ({
        kind: "failed",
        status: null,
        reason,
        stage: "connecting",
      });
      const timer = setTimeout(() => {
        if (connection instanceof ClientConnection) connection.fail("ETIMEDOUT");
      }, timeoutMs);
      const connection = this.#isClosed ? "ECANCELED" : this.#make();
      if (connection instanceof ClientConnection) connection.open(settle);
      else settle(failed(connection));
    });
  }

  /** Lets all present connections go, each after the request that is under way. */
  retire(): void {
    for (const connection of [...this.#open]) connection.retire();
  }

  /** Cuts every connection; what is under way or comes later fails with `ECANCELED`. */
  close(): void {
    this.#isClosed = true;
    for (const pending of this.#waiting.splice(0)) this.#cut(pending, "ECANCELED");
    for (const connection of [...this.#open]) connection.fail("ECANCELED");
  }

  #start(pending: Pending): void {
    if (this.#isClosed) return this.#cut(pending, "ECANCELED");
    const idle = this.#takeIdle();
    if (idle !== null) this.#run(idle, pending);
    else if (this.#open.size < this.#options.connectionsMax) this.#connect(pending);
    else this.#waiting.push(pending);
  }

  #takeIdle(): ClientConnection | null {
    if (this.#idle.length === 0) return null;
    const nowMs = performance.now();
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isUsable(nowMs)) return idle;
      idle.retire();
    }
    return null;
  }

  #connect(pending: Pending): void {
    const connection = this.#make();
    if (connection instanceof ClientConnection) this.#run(connection, pending);
    else this.#cut(pending, connection, "connecting");
  }

  /** A connection that begins, or the code of why it does not. */
  #make(): ClientConnection | string {
    const { connect } = this.#options;
    try {
      const connection = new ClientConnection(connect, {
        ...this.#options,
        onIdle: (freed) => this.#onIdle(freed),
        onGone: (gone) => this.#onGone(gone),
      });
      this.#open.add(connection);
      return connection;
    } catch (error) {
      return codeOf(error);
    }
  }

  #run(connection: ClientConnection, pending: Pending): void {
    pending.connection = connection;
    connection.run(pending.request, (answer) => this.#settle(pending, answer));
  }

  #cut(pending: Pending, reason: string, stage: Stage = "waiting"): void {
    if (pending.connection !== null) return pending.connection.fail(reason);
    const at = this.#waiting.indexOf(pending);
    if (at !== -1) this.#waiting.splice(at, 1);
    this.#settle(pending, { kind: "failed", status: null, reason, stage });
  }

  #onIdle(connection: ClientConnection): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(connection);
    else this.#run(connection, next);
  }

  #onGone(connection: ClientConnection): void {
    this.#open.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    while (this.#waiting.length > 0 && this.#open.size < this.#options.connectionsMax) {
      this.#start(this.#waiting.shift() as Pending);
    }
  }
}
