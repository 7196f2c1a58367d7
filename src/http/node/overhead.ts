/**
 * What a client sends that brings no request: frames that only manage an HTTP/2 connection, empty lines, chunk
 * extensions, requests that are taken back.
 *
 * @module
 */

/**
 * What may come at once without a request. Chosen: 256 KiB, which is what a client's windows let it send of bodies that
 * nobody has read yet, several times over; they take a millisecond or two.
 */
const overheadBytesMax = 256 * 1024;
/** What may come for as long as the connection is open: a PING of 17 bytes a few hundred times a second. */
const overheadBytesPerSecond = 4 * 1024;
/** A body may be framed in as many bytes as it has. */
const framingFactor = 2;
/** For each answer that is taken: window updates, pings, priorities. */
const answeredBytes = 2 * 1024;
/** A window update for every few hundred bytes of an answer. */
const sentFraction = 16;
/** What a request counts for that its client takes back: hundreds at once, then four a second. */
const takenBackBytes = 1024;

/** The account of one connection, in bytes. */
export class Overhead {
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
    this.#earnedBytes += framingFactor * bytes;
  }

  /** Some of an answer's body is on its way. */
  sent(bytes: number): void {
    this.#earnedBytes += bytes / sentFraction;
  }

  /** An answer was taken. */
  answered(): void {
    this.#earnedBytes += answeredBytes;
  }

  /** The client has taken a request back; whether it does so too often. */
  takenBack(): boolean {
    this.#bytes += takenBackBytes;
    return this.#bytes > overheadBytesMax;
  }

  /** Whether too much has come without a request, with `readBytes` read on the connection in all. */
  isTooMuch(readBytes: number, nowMs: number): boolean {
    const allowed = this.#earnedBytes + overheadBytesPerSecond * (nowMs - this.#atMs) / 1_000;
    this.#bytes = Math.max(0, this.#bytes + readBytes - this.#readBytes - allowed);
    this.#earnedBytes = 0;
    this.#readBytes = readBytes;
    this.#atMs = nowMs;
    return this.#bytes > overheadBytesMax;
  }
}
