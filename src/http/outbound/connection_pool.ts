/**
 * The kept-alive connections to one server: at most so many, the one that was used last first.
 *
 * @module
 */

import type { Socket } from "node:net";
import { type Answer, codeOf, Connection } from "./connection.ts";

/** How the pool works. */
export interface PoolOptions {
  /** Begins to connect; may throw, which fails the request that needs it. */
  readonly connect: () => Socket;
  /** The socket's event after which it may be written to. */
  readonly opened: "connect" | "secureConnect";
  readonly connectionsMax: number;
  /** From the request's start, its wait for a connection included, to the end of its answer. */
  readonly timeoutMs: number;
}

interface Exchange {
  readonly request: string;
  readonly settle: (answer: Answer) => void;
  connection: Connection | null;
}

/** Sends requests over its connections; those that find none free wait in their order. */
export class ConnectionPool {
  readonly #options: PoolOptions;
  readonly #open = new Set<Connection>();
  readonly #idle: Connection[] = [];
  // Bounded by whoever sends: the loop has no more requests under way than there are connections.
  readonly #waiting: Exchange[] = [];
  #isClosed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Sends one request, head and body in one text, exactly once or not at all; never rejects. */
  exchange(request: string): Promise<Answer> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#cut(exchange, "ETIMEDOUT"), this.#options.timeoutMs);
      const exchange: Exchange = {
        request,
        settle: (answer) => {
          clearTimeout(timer);
          resolve(answer);
        },
        connection: null,
      };
      this.#start(exchange);
    });
  }

  /** Lets all present connections go, each after the request that is under way. */
  retire(): void {
    for (const connection of [...this.#open]) connection.retire();
  }

  /** Cuts every connection; what is under way or comes later fails with `ECANCELED`. */
  close(): void {
    this.#isClosed = true;
    for (const exchange of this.#waiting.splice(0)) this.#cut(exchange, "ECANCELED");
    for (const connection of [...this.#open]) connection.fail("ECANCELED");
  }

  #start(exchange: Exchange): void {
    if (this.#isClosed) return this.#cut(exchange, "ECANCELED");
    const idle = this.#takeIdle();
    if (idle !== null) this.#run(idle, exchange);
    else if (this.#open.size < this.#options.connectionsMax) this.#connect(exchange);
    else this.#waiting.push(exchange);
  }

  #takeIdle(): Connection | null {
    if (this.#idle.length === 0) return null;
    const nowMs = performance.now();
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      if (idle.isUsable(nowMs)) return idle;
      idle.retire();
    }
    return null;
  }

  #connect(exchange: Exchange): void {
    const { connect, opened } = this.#options;
    let socket: Socket;
    try {
      socket = connect();
    } catch (error) {
      return this.#cut(exchange, codeOf(error));
    }
    const connection = new Connection(socket, {
      opened,
      onIdle: (freed) => this.#onIdle(freed),
      onGone: (gone) => this.#onGone(gone),
    });
    this.#open.add(connection);
    this.#run(connection, exchange);
  }

  #run(connection: Connection, exchange: Exchange): void {
    exchange.connection = connection;
    connection.run(exchange.request, exchange.settle);
  }

  #cut(exchange: Exchange, reason: string): void {
    if (exchange.connection !== null) return exchange.connection.fail(reason);
    const at = this.#waiting.indexOf(exchange);
    if (at !== -1) this.#waiting.splice(at, 1);
    exchange.settle({ kind: "failed", status: null, reason });
  }

  #onIdle(connection: Connection): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(connection);
    else this.#run(connection, next);
  }

  #onGone(connection: Connection): void {
    this.#open.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at !== -1) this.#idle.splice(at, 1);
    while (this.#waiting.length > 0 && this.#open.size < this.#options.connectionsMax) {
      this.#start(this.#waiting.shift() as Exchange);
    }
  }
}
