/**
 * PostgreSQL's messages in a stream of bytes: where each ends, and the little that is read of them.
 *
 * @module
 */

/** Sync: commits, and asks for ReadyForQuery. */
export const syncMessage = Uint8Array.of("S".charCodeAt(0), 0, 0, 0, 4);
/** Flush: has the server answer without a commit. */
export const flushMessage = Uint8Array.of("H".charCodeAt(0), 0, 0, 0, 4);

/** One message: its type's letter, or `startup` for the first one, which has none. */
export interface Message {
  readonly type: string;
  readonly bytes: Uint8Array;
}

/** Cuts a stream of bytes into messages. */
export class Messages {
  #rest: Buffer = Buffer.alloc(0);
  #startup: boolean;

  constructor(startsWithStartup: boolean) {
    this.#startup = startsWithStartup;
  }

  push(bytes: Uint8Array): void {
    this.#rest = this.#rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#rest, bytes]);
  }

  next(): Message | undefined {
    const typeLength = this.#startup ? 0 : 1;
    if (this.#rest.length < typeLength + 4) return undefined;
    const length = typeLength + this.#rest.readUInt32BE(typeLength);
    if (this.#rest.length < length) return undefined;
    const bytes = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    const type = this.#startup ? "startup" : String.fromCharCode(bytes[0] as number);
    this.#startup = false;
    return { type, bytes };
  }
}

/** The nth of the zero-terminated strings that a message begins with. */
export function textAt(bytes: Uint8Array, n: number): string {
  let start = 5;
  for (let skipped = 0; skipped < n; skipped++) start = bytes.indexOf(0, start) + 1;
  return new TextDecoder().decode(bytes.subarray(start, bytes.indexOf(0, start)));
}

/** A parameter of the startup message; empty when it is not there. */
export function startupParameter(bytes: Uint8Array, name: string): string {
  const words = new TextDecoder().decode(bytes.subarray(8)).split("\0");
  for (let i = 0; i + 1 < words.length; i += 2) if (words[i] === name) return words[i + 1] ?? "";
  return "";
}
