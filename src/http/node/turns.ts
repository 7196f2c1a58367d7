/**
 * The requests of an HTTP/1.1 connection that have been read before their turn: node:http parses all that one read
 * brings, however many requests that are.
 *
 * @module
 */

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { RefusalStatus } from "../options.ts";

/** A request whose turn has not come. */
export interface Turn {
  readonly request: IncomingMessage;
  /** Starts on it; with a status it is refused. */
  readonly begin: (refusal?: RefusalStatus) => void;
}

/**
 * Keeps them in their order, and has nothing more read meanwhile.
 *
 * Rejected: to take the socket's bytes from node:http and give it one request at a time. It reads them itself as long
 * as nobody else does, which saved 2 to 3 µs of the 14 µs that a request costs on Node.
 */
export class Turns {
  readonly #socket: Socket;
  #waiting: { readonly turn: Turn; refusal?: RefusalStatus }[] = [];
  #isPaused = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** How many wait. */
  get size(): number {
    return this.#waiting.length;
  }

  /** Whether what the client sends is left unread. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** Keeps one more. */
  add(turn: Turn): void {
    this.#waiting.push({ turn });
    this.pause();
  }

  /** Begins the first of them; with none left, reads on. */
  next(): void {
    const first = this.#waiting.shift();
    if (first !== undefined) first.turn.begin(first.refusal);
    // The rest of its body may be what is to be read.
    if (this.#waiting.length === 0 && first?.turn.request.complete !== true) this.#resume();
  }

  /** What came behind them is malformed: part of the last one's body, if that has not come whole. */
  fail(status: RefusalStatus): void {
    const last = this.#waiting.at(-1);
    if (last !== undefined && !last.turn.request.complete) last.refusal = status;
  }

  /** Forgets them. */
  clear(): void {
    this.#waiting = [];
  }

  /** Has nothing more read, until the last of them begins or its answer is out. */
  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
    // node:http resumes it for each request that it has read.
    this.#socket.resume = () => this.#socket;
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    // Its class has the real one.
    delete (this.#socket as Partial<Socket>).resume;
    this.#socket.resume();
  }
}
