/**
 * What an attack is, what an attacker is told, and how it counts what it sends and gets.
 *
 * @module
 */

import type { Socket } from "node:net";

/** What an attacker is told. */
export interface AttackTask {
  readonly name: string;
  readonly seconds: number;
  /** The base address of each surface. */
  readonly urls: Readonly<Record<string, string>>;
  readonly formsKey: string;
  readonly formsPath: string;
  /** A file of the site, large. */
  readonly sitePath: string;
}

/** What an attacker works with. */
export interface Attacker {
  readonly task: AttackTask;
  readonly traffic: Traffic;
  /** When it ends, on the process's clock. */
  readonly untilMs: number;
}

/** One way to attack. */
export interface AttackKind {
  readonly about: string;
  readonly run: (attacker: Attacker) => Promise<void>;
}

/** What an attack came to. */
export interface AttackCounts {
  readonly connections: number;
  /** Connections that were refused or reset. */
  readonly ended: number;
  readonly requests: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** Counts what an attacker sends and gets. */
export class Traffic {
  requests = 0;
  readonly #statuses: Record<string, number> = {};
  readonly #open = new Set<Socket>();
  #connections = 0;
  #ended = 0;
  #sentBytes = 0;
  #receivedBytes = 0;

  /** Counts a socket. */
  watch<T extends Socket>(socket: T): T {
    if (this.#open.has(socket)) return socket;
    this.#connections += 1;
    this.#open.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => {
      this.#ended += 1;
      this.#close(socket);
    });
    return socket;
  }

  /** Counts an answer. */
  answered(status: number | string): void {
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
  }

  /** All, at the end. */
  counts(): AttackCounts {
    for (const socket of this.#open) this.#close(socket);
    return {
      connections: this.#connections,
      ended: this.#ended,
      requests: this.requests,
      statuses: this.#statuses,
      sentBytes: this.#sentBytes,
      receivedBytes: this.#receivedBytes,
    };
  }

  #close(socket: Socket): void {
    this.#open.delete(socket);
    this.#sentBytes += socket.bytesWritten;
    this.#receivedBytes += socket.bytesRead;
  }
}
