/** A request body on Node: read with a cap, or discarded. */

import type { IncomingMessage } from "node:http";
import type { Buffer } from "node:buffer";
import type { Body } from "../exchange.ts";
import { BodyBuffer } from "../body_buffer.ts";
import { fixedBounds } from "./defences/bounds.ts";

/** The body exceeds the cap. */
export const tooLarge: Body = { kind: "too_large" };
/** The body will not arrive in full. */
export const incomplete: Body = { kind: "incomplete" };
/** The request has no body. */
export const emptyBody: Body = { kind: "complete", bytes: new Uint8Array(0) };

/** Options of {@linkcode NodeBody}. */
export interface NodeBodyOptions {
  /** From Content-Length; NaN without. */
  readonly announcedBytes: number;
  readonly discardBytesMax: number;
  /** Called for each chunk. */
  readonly onPiece: (bytes: number) => void;
  /** Called when the discarded body exceeds `discardBytesMax`, or has too many small chunks. */
  readonly onOverrun: () => void;
}

/** An incoming body. */
export class NodeBody {
  /** From Content-Length; NaN without. */
  readonly announcedBytes: number;
  readonly #request: IncomingMessage;
  readonly #options: NodeBodyOptions;
  #isListening = false;
  #buffer: BodyBuffer | null = null;
  #resolve: ((body: Body) => void) | null = null;
  #onDiscarded: (() => unknown) | null = null;
  #discardedBytes = 0;
  #bytes = 0;
  #pieces = 0;

  constructor(request: IncomingMessage, options: NodeBodyOptions) {
    this.#request = request;
    this.#options = options;
    this.announcedBytes = options.announcedBytes;
  }

  get isAwaited(): boolean {
    return this.#resolve !== null;
  }

  /** Reads at most `bytesMax` bytes. */
  read(bytesMax: number): Promise<Body> {
    this.#buffer = new BodyBuffer({ bytesMax, expected: this.announcedBytes || 0 });
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#listen();
    });
  }

  /** Discards the rest, then calls `onDiscarded`. */
  discard(onDiscarded: () => unknown): void {
    this.#onDiscarded = onDiscarded;
    this.#listen();
    this.#request.resume();
  }

  /** Ends the body early. */
  cut(): void {
    this.#settle(incomplete);
  }

  #listen(): void {
    if (this.#isListening) return;
    this.#isListening = true;
    this.#request.on("data", (chunk: Buffer) => this.#onData(chunk));
    this.#request.on("end", () => this.#onEnd());
  }

  #onData(chunk: Buffer): void {
    this.#options.onPiece(chunk.byteLength);
    this.#bytes += chunk.byteLength;
    this.#pieces++;
    if (this.#pieces > fixedBounds.bodyPiecesMax + this.#bytes / fixedBounds.bodyPieceBytesMin) {
      this.#options.onOverrun();
      return;
    }
    if (this.#buffer !== null) {
      if (this.#buffer.append(chunk)) return;
      this.#settle(tooLarge);
    }
    this.#discardedBytes += chunk.byteLength;
    if (this.#discardedBytes > this.#options.discardBytesMax) this.#options.onOverrun();
  }

  #onEnd(): void {
    if (this.#buffer !== null) this.#settle({ kind: "complete", bytes: this.#buffer.bytes });
    this.#onDiscarded?.();
  }

  #settle(body: Body): void {
    this.#buffer = null;
    const resolve = this.#resolve;
    this.#resolve = null;
    resolve?.(body);
  }
}
