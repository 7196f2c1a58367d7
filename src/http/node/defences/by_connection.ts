/**
 * What one connection may have sent ahead, and what it may send that is no request.
 *
 * @module
 */

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { RefusalStatus } from "../../options.ts";
import { fixedBounds } from "./bounds.ts";

/** The account of one connection, in bytes. */
export class ControlFrameBudget {
  #bytes = 0;
  #earnedBytes = 0;
  #readBytes = 0;
  #atMs: number;

  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  /** A request's line and headers have come. */
  asked(headBytes: number): void {
    this.#earnedBytes += headBytes;
  }

  /** Some of a request's body has come. */
  received(bytes: number): void {
    this.#earnedBytes += fixedBounds.framingFactor * bytes;
  }

  /** Some of an answer's body is on its way. */
  sent(bytes: number): void {
    this.#earnedBytes += bytes / fixedBounds.sentFraction;
  }

  /** An answer was taken. */
  answered(): void {
    this.#earnedBytes += fixedBounds.answeredBytes;
  }

  /** The client has taken a request back; whether it does so too often. */
  takenBack(): boolean {
    this.#bytes += fixedBounds.takenBackBytes;
    return this.#bytes > fixedBounds.controlBytesMax;
  }

  /** Whether too much has come without a request, with `readBytes` read on the connection in all. */
  isTooMuch(readBytes: number, nowMs: number): boolean {
    const allowed = this.#earnedBytes + fixedBounds.controlBytesPerSecond * (nowMs - this.#atMs) / 1_000;
    this.#bytes = Math.max(0, this.#bytes + readBytes - this.#readBytes - allowed);
    this.#earnedBytes = 0;
    this.#readBytes = readBytes;
    this.#atMs = nowMs;
    return this.#bytes > fixedBounds.controlBytesMax;
  }
}

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
export class PipelineQueue {
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
