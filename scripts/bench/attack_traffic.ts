/**
 * What an attacker sends and gets, counted.
 *
 * @module
 */

import type { Socket } from "node:net";

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
    return {
      connections,
      ended,
      requests,
      statuses,
      sentBytes: sent,
      receivedBytes: received,
    };
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
