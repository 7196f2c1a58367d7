/** Budgets of one connection: pipelined requests and control frames. */

import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { RefusalStatus } from "../../options.ts";
import { fixedBounds } from "./bounds.ts";

/** Counts the bytes of one connection that belong to no request. */
export class ControlFrameBudget {
  #bytes = 0;
  #earnedBytes = 0;
  #readBytes = 0;
  #atMs: number;

  constructor(nowMs: number) {
    this.#atMs = nowMs;
  }

  /** Credits a request's headers. */
  asked(headBytes: number): void {
    this.#earnedBytes += headBytes;
  }

  /** Credits request body bytes. */
  received(bytes: number): void {
    this.#earnedBytes += fixedBounds.framingFactor * bytes;
  }

  /** Credits response body bytes. */
  sent(bytes: number): void {
    this.#earnedBytes += bytes / fixedBounds.sentFraction;
  }

  /** Credits a response that was read. */
  answered(): void {
    this.#earnedBytes += fixedBounds.answeredBytes;
  }

  /** Charges a canceled request; returns whether there are too many. */
  takenBack(): boolean {
    this.#bytes += fixedBounds.takenBackBytes;
    return this.#bytes > fixedBounds.controlBytesMax;
  }

  /** Whether the budget is exceeded, with `readBytes` read in total. */
  isTooMuch(readBytes: number, nowMs: number): boolean {
    const allowed = this.#earnedBytes + fixedBounds.controlBytesPerSecond * (nowMs - this.#atMs) / 1_000;
    this.#bytes = Math.max(0, this.#bytes + readBytes - this.#readBytes - allowed);
    this.#earnedBytes = 0;
    this.#readBytes = readBytes;
    this.#atMs = nowMs;
    return this.#bytes > fixedBounds.controlBytesMax;
  }
}

/** A queued request. */
export interface Turn {
  readonly request: IncomingMessage;
  /** Starts it, or refuses it with a status. */
  readonly begin: (refusal?: RefusalStatus) => void;
}

/**
 * Queues requests in order and pauses reading meanwhile.
 *
 * Rejected: feeding node:http one request at a time, because reading the socket itself saves it 2 to 3 of 14 µs a
 * request.
 */
export class PipelineQueue {
  readonly #socket: Socket;
  #waiting: { readonly turn: Turn; refusal?: RefusalStatus }[] = [];
  #isPaused = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** Whether reading is paused. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  add(turn: Turn): void {
    this.#waiting.push({ turn });
    this.pause();
  }

  /** Starts the next request; resumes reading when none is left. */
  next(): void {
    const first = this.#waiting.shift();
    if (first !== undefined) first.turn.begin(first.refusal);
    // Its body may be unread.
    if (this.#waiting.length === 0 && first?.turn.request.complete !== true) this.#resume();
  }

  /** Malformed data follows the queue: refuses the last request if its body is incomplete. */
  fail(status: RefusalStatus): void {
    const last = this.#waiting.at(-1);
    if (last !== undefined && !last.turn.request.complete) last.refusal = status;
  }

  clear(): void {
    this.#waiting = [];
  }

  /** Pauses reading until the last request starts or its response is sent. */
  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
    // node:http resumes the socket after each request.
    this.#socket.resume = () => this.#socket;
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    delete (this.#socket as Partial<Socket>).resume;
    this.#socket.resume();
  }
}
