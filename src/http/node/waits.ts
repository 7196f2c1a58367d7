/**
 * How long a connection may be open without a request, by what it waits for.
 *
 * @module
 */

import { Deadlines } from "../deadlines.ts";
import type { Edge } from "./edge.ts";
import type { ServerConnection } from "./server_connection.ts";

/** What is done with those whose time is up. */
interface Ends {
  readonly end: (connection: ServerConnection) => void;
  readonly destroy: (connection: ServerConnection) => void;
}

/** The connections of one listener that wait; each is in one list at most. */
export class Waits {
  /** HTTP/1 connections that have not sent a request yet. */
  readonly fresh: Deadlines<ServerConnection>;
  /** HTTP/2 sessions that have not sent a request yet. */
  readonly freshSessions: Deadlines<ServerConnection>;
  /** Those between requests. */
  readonly idle: Deadlines<ServerConnection>;
  /** Those that may still be asked once while the listener is closing. */
  readonly lingering: Deadlines<ServerConnection>;
  /** Those that are being closed: a client that takes nothing must not keep them. */
  readonly ending: Deadlines<ServerConnection>;

  constructor({ bounds }: Edge) {
    const { headersTimeoutMs, sweepIntervalMs } = bounds;
    // Node ends these first: one that is silent, and with 408 one whose headers are slow, counted from their first byte.
    this.fresh = new Deadlines(2 * (headersTimeoutMs + sweepIntervalMs));
    this.freshSessions = new Deadlines(headersTimeoutMs);
    this.idle = new Deadlines(bounds.idleTimeoutMs);
    this.lingering = new Deadlines(bounds.lingerTimeoutMs);
    this.ending = new Deadlines(bounds.discardTimeoutMs);
  }

  /** It has just been opened. */
  opened(connection: ServerConnection, nowMs: number): void {
    (connection.isHttp2 ? this.freshSessions : this.fresh).add(connection, nowMs);
  }

  /** It waits no more. */
  remove(connection: ServerConnection): void {
    this.fresh.remove(connection);
    this.freshSessions.remove(connection);
    this.idle.remove(connection);
    this.lingering.remove(connection);
    this.ending.remove(connection);
  }

  /** The listener closes: it is kept for one more request, unless it is on its way to its end. */
  linger(connection: ServerConnection, nowMs: number): void {
    const { list } = connection.deadline ?? {};
    if (list !== this.fresh && list !== this.idle) return;
    this.remove(connection);
    this.lingering.add(connection, nowMs);
  }

  /** Ends those whose time is up, unless a request has come meanwhile that was not read yet. */
  sweep(nowMs: number, { end, destroy }: Ends): void {
    const endUnused = (connection: ServerConnection): void =>
      afterReading(() => {
        const { isQuiet, isClosed, deadline } = connection;
        if (isQuiet && !isClosed && deadline === null) end(connection);
      });
    this.fresh.sweep(nowMs, destroy);
    this.freshSessions.sweep(nowMs, destroy);
    this.idle.sweep(nowMs, endUnused);
    this.lingering.sweep(nowMs, endUnused);
    this.ending.sweep(nowMs, destroy);
  }
}

/** Calls it when all has been read that is here by now: a busy process finds requests late. */
export function afterReading(call: () => void): void {
  // What is ready while one turn of the loop is at work is read in the next.
  setImmediate(() => setImmediate(call));
}
