/**
 * Sends a source as the body of one of Node's responses, no faster than the client takes it.
 *
 * @module
 */

import type { ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Reply } from "../exchange.ts";
import { BytesSource, type Sink, type Source, sourceOf, WrongLength } from "../source.ts";

/** What HTTP/2 is given of a body at a time: a frame of the usual size at most. */
const pieceBytesMax = 16 * 1024;
const pieceBytesMin = 1024;

const isDeno = "Deno" in globalThis;

/**
 * The source of a body that goes out piece by piece, `null` for one that goes as it is. Deno copies what is written to an
 * HTTP/2 stream, for as long as the client likes: there a piece is no more than the window that the client gives each
 * stream. Node holds on to the bytes as they are, and a document of 40 KB in pieces costs half as much again.
 */
export function sourceFor(body: Reply["body"], http2: ServerHttp2Stream | null): Source | null {
  if (http2 === null || !isDeno || !(body instanceof Uint8Array)) return sourceOf(body);
  const windowBytes = http2.session?.remoteSettings.initialWindowSize ?? 0;
  const pieceBytes = Math.min(Math.max(windowBytes, pieceBytesMin), pieceBytesMax);
  return body.byteLength > pieceBytes ? new BytesSource(body, pieceBytes) : null;
}

/** What a {@linkcode Pump} works with. */
export interface PumpOptions {
  readonly response: ServerResponse;
  /** Announced; `null` when it is not. */
  readonly length: number | null;
  /** Told the length of each piece before it is written. */
  readonly onPiece: (bytes: number) => void;
  /**
   * Told what the source fails with, and {@linkcode WrongLength} when it has not the announced length; the response
   * is unfinished then.
   */
  readonly onFailure: (error: unknown) => void;
}

/** Begins to send, and goes on until the source ends or is cancelled. */
export class Pump implements Sink {
  readonly #source: Source;
  readonly #options: PumpOptions;
  #sent = 0;
  // The kernel has the piece, or the response is closed: its source is cancelled then.
  readonly #written = (error?: Error | null): void => {
    if (!error && !this.#options.response.destroyed) this.#source.next(this);
  };

  constructor(source: Source, options: PumpOptions) {
    this.#source = source;
    this.#options = options;
    source.next(this);
  }

  piece(bytes: Uint8Array): void {
    const { response, length, onPiece } = this.#options;
    if (response.destroyed) return;
    this.#sent += bytes.byteLength;
    // What is beyond the length would be taken for the next response.
    if (length !== null && this.#sent > length) return this.#abandon("longer");
    onPiece(bytes.byteLength);
    response.write(bytes, this.#written);
  }

  end(): void {
    const { response, length } = this.#options;
    if (response.destroyed) return;
    if (length !== null && this.#sent < length) this.#abandon("shorter");
    else response.end();
  }

  fail(error: unknown): void {
    this.#options.onFailure(error);
  }

  #abandon(how: "longer" | "shorter"): void {
    this.#options.onFailure(new WrongLength(how));
  }
}
